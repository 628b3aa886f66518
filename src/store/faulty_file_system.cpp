#include "store/faulty_file_system.hpp"

namespace caesura::store {
namespace {

const Status k_full{StatusCode::no_space, "the disk is full (injected)"};

class FaultyFile final : public base::File {
  public:
    FaultyFile(FaultyFileSystem& faults, std::unique_ptr<base::File> inner)
        : faults_(faults), inner_(std::move(inner)) {}
    Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        if (!faults_.count()) return inner_->write_at(offset, bytes);
        if (Status s = inner_->write_at(offset, bytes.first(bytes.size() / 2)); !s.ok()) return s;
        return k_full;
    }
    Status write_at(std::uint64_t offset,
                    std::span<const std::span<const std::byte>> buffers) override {
        std::vector<std::byte> all;
        for (const auto& buffer : buffers) all.insert(all.end(), buffer.begin(), buffer.end());
        return write_at(offset, all);
    }
    Status read_at(std::uint64_t offset, std::span<std::byte> bytes) override {
        return inner_->read_at(offset, bytes);
    }
    Status sync() override { return faults_.count() ? k_full : Status{}; }
    Status truncate(std::uint64_t bytes) override {
        return faults_.count() ? k_full : inner_->truncate(bytes);
    }
    Result<std::uint64_t> size() override { return inner_->size(); }
    Status lock(bool exclusive) override { return inner_->lock(exclusive); }

  private:
    FaultyFileSystem& faults_;
    std::unique_ptr<base::File> inner_;
};

}  // namespace

Result<std::unique_ptr<base::File>> FaultyFileSystem::open(const std::string& path, Mode mode) {
    auto inner = inner_.open(path, mode);
    if (!inner.ok()) return inner.status();
    return std::unique_ptr<base::File>(std::make_unique<FaultyFile>(*this, std::move(*inner)));
}

bool FaultyFileSystem::count() {
    const std::uint64_t n = counter_++;
    return n == fail_at_ || (n > fail_at_ && after_ == After::fails_for_ever);
}

}  // namespace caesura::store
