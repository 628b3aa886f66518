#include "store/faulty_file_system.hpp"

#include "base/forwarding_file.hpp"

namespace caesura::store {
namespace {

const Status k_full{StatusCode::no_space, "the disk is full (injected)"};

class FaultyFile final : public base::ForwardingFile {
  public:
    FaultyFile(FaultyFileSystem& faults, std::unique_ptr<base::File> inner)
        : ForwardingFile(std::move(inner)), faults_(faults) {}
    Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        if (!faults_.count()) return ForwardingFile::write_at(offset, bytes);
        if (Status s = ForwardingFile::write_at(offset, bytes.first(bytes.size() / 2)); !s.ok())
            return s;
        return k_full;
    }
    Status write_at(std::uint64_t offset,
                    std::span<const std::span<const std::byte>> buffers) override {
        return write_at(offset, base::joined(buffers));
    }
    Status sync() override { return faults_.count() ? k_full : Status{}; }
    Status truncate(std::uint64_t bytes) override {
        return faults_.count() ? k_full : ForwardingFile::truncate(bytes);
    }

  private:
    FaultyFileSystem& faults_;
};

}  // namespace

Result<std::unique_ptr<base::File>> FaultyFileSystem::open(const std::string& path, Mode mode) {
    auto inner = inner_.open(path, mode);
    if (!inner.ok()) return inner.status();
    return std::unique_ptr<base::File>(std::make_unique<FaultyFile>(*this, std::move(*inner)));
}

Status FaultyFileSystem::sync_directory_of(const std::string&) {
    return count() ? k_full : Status{};
}

bool FaultyFileSystem::count() {
    const std::uint64_t n = counter_++;
    return n == fail_at_ || (n > fail_at_ && after_ == After::fails_for_ever);
}

}  // namespace caesura::store
