// A disk that takes its time: files of the operating system, each open one so many bytes a second,
// as the clients of a parallel file system are limited. Emulated: the caller waits.
#pragma once

#include "base/file.hpp"

namespace caesura::testing {

class SlowFileSystem final : public base::FileSystem {
  public:
    explicit SlowFileSystem(double bytes_per_s) : bytes_per_s_(bytes_per_s) {}
    Result<std::unique_ptr<base::File>> open(const std::string& path, Mode mode) override;
    Status sync_directory_of(const std::string& path) override {
        return posix().sync_directory_of(path);
    }

  private:
    double bytes_per_s_;
};

/// A calibration of this machine and the file system of `path` that says so: writing, and not
/// compressing, is what takes time.
std::string slow_profile(const std::string& path, double bytes_per_s);

}  // namespace caesura::testing
