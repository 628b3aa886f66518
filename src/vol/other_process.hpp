// A file that another process has closed and that is not complete yet: its thread completes it, or
// it was killed, and who opens the file makes the commit, as `recover` does.
//
// Invariant: application's thread only.
#pragma once

#include <chrono>
#include <string>

#include "base/file.hpp"

namespace caesura::vol {

/// How long one process waits for what another one is doing with a file.
class Patience {
  public:
    /// Sleeps, each time for longer. @return  false: it has been long enough.
    bool wait();

  private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    std::chrono::milliseconds next_{2};
};

/// Before a file is opened, replaced or deleted: wait while another process is writing it, and
/// complete it. Local. Errors: unsupported (it is still being written). What the file's own state
/// is an error of, its opening says.
Status wait_for_other_process(base::FileSystem& files, const std::string& name);

}  // namespace caesura::vol
