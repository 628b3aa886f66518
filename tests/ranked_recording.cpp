#include "ranked_recording.hpp"

#include <algorithm>

#include "base/forwarding_file.hpp"

namespace caesura::testing {

class RankedRecording::ViewFile final : public base::ForwardingFile {
  public:
    ViewFile(RankedRecording& recording, int rank, std::unique_ptr<base::File> inner)
        : ForwardingFile(std::move(inner)), recording_(recording), rank_(rank) {}

    Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        const std::lock_guard lock(recording_.order_);
        recording_.operations_.push_back(
            {Operation::Kind::write, rank_, offset, {bytes.begin(), bytes.end()}});
        return ForwardingFile::write_at(offset, bytes);
    }
    Status write_at(std::uint64_t offset,
                    std::span<const std::span<const std::byte>> buffers) override {
        return write_at(offset, base::joined(buffers));
    }
    Status sync() override {
        const std::lock_guard lock(recording_.order_);
        recording_.operations_.push_back({Operation::Kind::sync, rank_, 0, {}});
        return {};
    }
    Status truncate(std::uint64_t bytes) override {
        const std::lock_guard lock(recording_.order_);
        recording_.operations_.push_back({Operation::Kind::truncate, rank_, bytes, {}});
        return ForwardingFile::truncate(bytes);
    }
    Status extend(std::uint64_t bytes) override {
        const std::lock_guard lock(recording_.order_);
        recording_.operations_.push_back({Operation::Kind::extend, rank_, bytes, {}});
        return ForwardingFile::extend(bytes);
    }

  private:
    RankedRecording& recording_;
    int rank_;
};

class RankedRecording::View final : public base::FileSystem {
  public:
    View(RankedRecording& recording, int rank) : recording_(recording), rank_(rank) {}

    Result<std::unique_ptr<base::File>> open(const std::string& path, Mode mode) override {
        const std::lock_guard lock(recording_.order_);
        auto inner = base::FileSystem::posix().open(path, mode);
        if (!inner.ok()) return inner.status();
        return std::unique_ptr<base::File>(
            std::make_unique<ViewFile>(recording_, rank_, std::move(*inner)));
    }
    Status sync_directory_of(const std::string&) override {
        const std::lock_guard lock(recording_.order_);
        recording_.operations_.push_back({Operation::Kind::sync_directory, rank_, 0, {}});
        return {};
    }

  private:
    RankedRecording& recording_;
    int rank_;
};

RankedRecording::RankedRecording(int n_ranks) {
    for (int rank = 0; rank < n_ranks; ++rank)
        views_.push_back(std::make_unique<View>(*this, rank));
}

RankedRecording::~RankedRecording() = default;

std::size_t RankedRecording::size() const {
    const std::lock_guard lock(order_);
    return operations_.size();
}

bool RankedRecording::is_synced(std::size_t i, std::size_t count) const {
    for (std::size_t later = i + 1; later < count; ++later)
        if (operations_[later].rank == operations_[i].rank &&
            operations_[later].kind == Operation::Kind::sync)
            return true;
    return false;
}

std::vector<std::byte> file_after(std::span<const Operation* const> operations,
                                  std::size_t last_bytes) {
    std::vector<std::byte> file;
    for (std::size_t i = 0; i < operations.size(); ++i) {
        const Operation& operation = *operations[i];
        if (operation.kind == Operation::Kind::truncate) file.resize(operation.offset);
        if (operation.kind == Operation::Kind::extend)
            file.resize(std::max<std::size_t>(file.size(), operation.offset));
        if (operation.kind != Operation::Kind::write) continue;
        const bool last = i + 1 == operations.size();
        const std::size_t bytes =
            last ? std::min(last_bytes, operation.bytes.size()) : operation.bytes.size();
        if (file.size() < operation.offset + bytes) file.resize(operation.offset + bytes);
        std::copy_n(operation.bytes.begin(), bytes,
                    file.begin() + static_cast<std::ptrdiff_t>(operation.offset));
    }
    return file;
}

}  // namespace caesura::testing
