// A file that another process of the job has closed by itself and that is not complete yet
// (decision D38). Once its blocks lie in the file, whoever opens it makes the commit, as `recover`
// does.
#pragma once

#include <chrono>
#include <string>

#include "caesura/base.hpp"

namespace caesura::vol {

/// How long one process waits for what another one is doing with a file.
class Patience {
  public:
    /// Sleeps for a moment. @return  false: it has been long enough.
    bool wait() const;

  private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Make the commit if all blocks lie in the file. What is not whole stays as it is: where locks do
/// not reach from node to node, its writer may be alive.
/// @return  was it done?
bool complete_if_whole(const std::string& name);

/// To be called by a process alone, after the file could not be opened. Waits while another process
/// is writing it, and completes it.
/// @return  whether it is worth another try. Errors: unsupported (it is still being written).
Result<bool> complete_for_other_process(const std::string& name);

}  // namespace caesura::vol
