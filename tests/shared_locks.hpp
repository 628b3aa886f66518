// Test support: mutexes that a thread at idle priority (or at nice 19) locks, and another one too.
//
// A thread that gets no CPU time while it has such a mutex stops the other. To see them,
// pthread_mutex_lock of the whole test program is this one's.
#pragma once

#include <string>
#include <vector>

namespace caesura::testing {

/// One at a time.
class SharedLocks {
  public:
    /// From now on.
    SharedLocks();
    ~SharedLocks();
    SharedLocks(const SharedLocks&) = delete;
    SharedLocks& operator=(const SharedLocks&) = delete;
    /// Where the lower thread locked each of them first, for addr2line.
    std::vector<std::string> found() const;
};

}  // namespace caesura::testing
