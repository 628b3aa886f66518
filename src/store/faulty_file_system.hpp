// Test support: a file system whose disk is full at a chosen operation.
#pragma once

#include <atomic>

#include "base/file.hpp"

namespace caesura::store {

class FaultyFileSystem final : public base::FileSystem {
  public:
    enum class After { fails_for_ever, works_again };
    /// Operation `fail_at` (writes, truncates and syncs, counted from 0) is no_space; of a write
    /// half of the bytes arrive.
    FaultyFileSystem(base::FileSystem& inner, std::uint64_t fail_at, After after)
        : inner_(inner), fail_at_(fail_at), after_(after) {}
    Result<std::unique_ptr<base::File>> open(const std::string& path, Mode mode) override;
    Status sync_directory_of(const std::string& path) override;
    /// True if this operation fails.
    bool count();
    /// Did the fault happen?
    bool reached() const { return counter_ > fail_at_; }

  private:
    base::FileSystem& inner_;
    std::uint64_t fail_at_;
    After after_;
    std::atomic<std::uint64_t> counter_{0};
};

}  // namespace caesura::store
