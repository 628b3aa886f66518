// Test support: the operating system's files, where something else happens at a chosen moment while
// a file becomes somebody's.
#pragma once

#include <functional>

#include "base/forwarding_file.hpp"

namespace caesura::store {

/// Before the open, lock, truncate or sync of a directory number `at`, `other` is called.
class InterleavedFileSystem final : public base::FileSystem {
  public:
    InterleavedFileSystem(std::uint64_t at, std::function<void()> other)
        : at_(at), other_(std::move(other)) {}
    Result<std::unique_ptr<base::File>> open(const std::string& path, Mode mode) override {
        step();
        auto inner = posix().open(path, mode);
        if (!inner.ok()) return inner.status();
        return std::unique_ptr<base::File>(std::make_unique<Steps>(*this, *std::move(inner)));
    }
    Status sync_directory_of(const std::string& path) override {
        step();
        return posix().sync_directory_of(path);
    }
    bool reached() const { return steps_ > at_; }

  private:
    class Steps final : public base::ForwardingFile {
      public:
        Steps(InterleavedFileSystem& system, std::unique_ptr<base::File> inner)
            : ForwardingFile(std::move(inner)), system_(system) {}
        Status lock(bool exclusive) override {
            system_.step();
            return ForwardingFile::lock(exclusive);
        }
        Status truncate(std::uint64_t bytes) override {
            system_.step();
            return ForwardingFile::truncate(bytes);
        }

      private:
        InterleavedFileSystem& system_;
    };
    void step() {
        if (steps_++ == at_) other_();
    }
    std::uint64_t at_, steps_ = 0;
    std::function<void()> other_;
};

}  // namespace caesura::store
