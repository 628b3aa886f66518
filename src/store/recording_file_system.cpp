#include "store/recording_file_system.hpp"

#include <algorithm>

#include "base/forwarding_file.hpp"

namespace caesura::store {
namespace {

class RecordingFile final : public base::ForwardingFile {
  public:
    RecordingFile(RecordingFileSystem& log, std::unique_ptr<base::File> inner)
        : ForwardingFile(std::move(inner)), log_(log) {}
    Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        log_.add({Operation::Kind::write, offset, {bytes.begin(), bytes.end()}});
        return ForwardingFile::write_at(offset, bytes);
    }
    Status write_at(std::uint64_t offset,
                    std::span<const std::span<const std::byte>> buffers) override {
        return write_at(offset, base::joined(buffers));
    }
    Status sync() override {
        log_.add({});
        return {};
    }
    Status truncate(std::uint64_t bytes) override {
        log_.add({Operation::Kind::truncate, bytes, {}});
        return ForwardingFile::truncate(bytes);
    }
    Status extend(std::uint64_t bytes) override {
        log_.add({Operation::Kind::extend, bytes, {}});
        return ForwardingFile::extend(bytes);
    }

  private:
    RecordingFileSystem& log_;
};

void apply(std::vector<std::byte>& file, const Operation& operation, std::size_t bytes) {
    if (operation.kind == Operation::Kind::truncate) {
        file.resize(operation.offset);
    } else if (operation.kind == Operation::Kind::extend) {
        file.resize(std::max<std::size_t>(file.size(), operation.offset));
    } else if (operation.kind == Operation::Kind::write) {
        if (file.size() < operation.offset + bytes) file.resize(operation.offset + bytes);
        std::copy_n(operation.bytes.begin(), bytes,
                    file.begin() + static_cast<std::ptrdiff_t>(operation.offset));
    }
}

}  // namespace

Result<std::unique_ptr<base::File>> RecordingFileSystem::open(const std::string& path, Mode mode) {
    auto inner = inner_.open(path, mode);
    if (!inner.ok()) return inner.status();
    return std::unique_ptr<base::File>(std::make_unique<RecordingFile>(*this, std::move(*inner)));
}

Status RecordingFileSystem::sync_directory_of(const std::string&) {
    add({Operation::Kind::sync_directory, 0, {}});
    return {};
}

void RecordingFileSystem::add(Operation operation) {
    const std::lock_guard lock(mutex_);
    operations_.push_back(std::move(operation));
}

std::size_t RecordingFileSystem::size() const {
    const std::lock_guard lock(mutex_);
    return operations_.size();
}

std::vector<std::byte> state_after(std::span<const Operation> operations, std::size_t count,
                                   std::size_t torn_bytes, std::vector<std::byte> before) {
    std::vector<std::byte> file = std::move(before);
    for (const Operation& operation : operations.first(count))
        apply(file, operation, operation.bytes.size());
    if (torn_bytes > 0) apply(file, operations[count], torn_bytes);
    return file;
}

bool has_name(std::span<const Operation> operations, std::size_t count) {
    const auto done = operations.first(count);
    return std::any_of(done.begin(), done.end(), [](const Operation& operation) {
        return operation.kind == Operation::Kind::sync_directory;
    });
}

std::size_t unsynced(std::span<const Operation> operations, std::size_t count) {
    std::size_t n = 0;
    while (n < count && operations[count - 1 - n].kind != Operation::Kind::sync) ++n;
    return n;
}

std::vector<std::byte> state_with_losses(std::span<const Operation> operations, std::size_t count,
                                         const std::vector<bool>& keep) {
    const std::size_t first = count - unsynced(operations, count);
    auto file = state_after(operations, first);
    for (std::size_t i = first; i < count; ++i)
        if (keep[i - first]) apply(file, operations[i], operations[i].bytes.size());
    return file;
}

}  // namespace caesura::store
