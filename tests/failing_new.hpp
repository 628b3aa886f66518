// An operator new that fails when it is told to. It is the whole program's: link failing_new.cpp
// into a test program of its own.
#pragma once

#include <cstddef>

namespace caesura::testing {

/// While it lives, one allocation of the thread that has made it fails: the one after `n` others.
/// What other threads allocate, or HDF5 and zstd with malloc, succeeds. So does what has at most
/// k_small_bytes: if the copy of a string throws, GCC 12's std::variant destroys what was never
/// constructed, and nlohmann-json allocates in destructors.
class FailingAllocation {
  public:
    static constexpr std::size_t k_small_bytes = 512;
    explicit FailingAllocation(long n);
    ~FailingAllocation();
    FailingAllocation(const FailingAllocation&) = delete;
    FailingAllocation& operator=(const FailingAllocation&) = delete;
    bool has_failed() const;
};

/// While it lives, all of its thread's allocations succeed, and none counts.
class UnfailingAllocation {
  public:
    UnfailingAllocation();
    ~UnfailingAllocation();
    UnfailingAllocation(const UnfailingAllocation&) = delete;
    UnfailingAllocation& operator=(const UnfailingAllocation&) = delete;

  private:
    const long left_;
};

}  // namespace caesura::testing
