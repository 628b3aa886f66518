// Test support: a file behind which another one stands; doubles override what they change.
#pragma once

#include "base/file.hpp"

namespace caesura::base {

class ForwardingFile : public File {
  public:
    explicit ForwardingFile(std::unique_ptr<File> inner) : inner_(std::move(inner)) {}
    Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        return inner_->write_at(offset, bytes);
    }
    Status write_at(std::uint64_t offset,
                    std::span<const std::span<const std::byte>> buffers) override {
        return inner_->write_at(offset, buffers);
    }
    Status read_at(std::uint64_t offset, std::span<std::byte> bytes) override {
        return inner_->read_at(offset, bytes);
    }
    std::uint64_t next_data(std::uint64_t offset) override { return inner_->next_data(offset); }
    Status sync() override { return inner_->sync(); }
    Status truncate(std::uint64_t bytes) override { return inner_->truncate(bytes); }
    Status extend(std::uint64_t bytes) override { return inner_->extend(bytes); }
    Result<std::uint64_t> size() override { return inner_->size(); }
    Status lock(bool exclusive) override { return inner_->lock(exclusive); }
    void unlock() override { inner_->unlock(); }

  private:
    std::unique_ptr<File> inner_;
};

/// Several buffers as one.
inline std::vector<std::byte> joined(std::span<const std::span<const std::byte>> buffers) {
    std::vector<std::byte> all;
    for (const auto& buffer : buffers) all.insert(all.end(), buffer.begin(), buffer.end());
    return all;
}

}  // namespace caesura::base
