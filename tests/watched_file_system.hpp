// Files of the operating system of which it is known how many are open, and which take their time
// or refuse what is written to them, each by its name.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <set>

#include "base/file.hpp"

namespace caesura::testing {

class WatchedFileSystem final : public base::FileSystem {
  public:
    Result<std::unique_ptr<base::File>> open(const std::string& path, Mode mode) override;
    Status sync_directory_of(const std::string& path) override {
        ++directory_syncs;
        return posix().sync_directory_of(path);
    }
    /// Different files that are open, now and at most.
    std::size_t open_files() const;
    std::size_t most_open_files() const;

    std::atomic<double> bytes_per_s{0.0};  ///< of each open file; 0: as fast as it is
    /// Before each write; an error is the write's.
    std::function<Status(const std::string& path)> before_write = {};
    std::atomic<int> directory_syncs{0};

  private:
    class Watched;
    void count(const std::string& path, bool open);
    mutable std::mutex mutex_;
    std::multiset<std::string> open_;
    std::size_t most_ = 0;
};

}  // namespace caesura::testing
