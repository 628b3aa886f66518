// A disk that becomes full: the operating system's files, with room for so many bytes in all.
#pragma once

#include <atomic>

#include "base/file.hpp"

namespace caesura::testing {

class LimitedFileSystem final : public base::FileSystem {
  public:
    explicit LimitedFileSystem(std::int64_t bytes) : left_bytes_(bytes) {}
    Result<std::unique_ptr<base::File>> open(const std::string& path, Mode mode) override;
    Status sync_directory_of(const std::string& path) override {
        return posix().sync_directory_of(path);
    }
    /// Make room again.
    void refill(std::int64_t bytes) { left_bytes_.store(bytes); }

  private:
    std::atomic<std::int64_t> left_bytes_;
};

}  // namespace caesura::testing
