// UCX's own words: it prints to stdout what it has to say, of every user in the process alike. The
// application's MPI may be another user of it, so neither the environment nor UCX's level of
// logging is ours to change. While a Quiet lives, what UCX says on this thread is kept instead of
// printed.
#pragma once

#include <string>

namespace caesura::transit {

class Quiet {
  public:
    Quiet();
    ~Quiet();
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

    /// The last error or warning of UCX on this thread, in brackets with a space before; "" if
    /// there was none. For messages of ours.
    const std::string& last() const { return said_; }

  private:
    friend struct QuietAccess;
    std::string said_;
    Quiet* outer_;
};

}  // namespace caesura::transit
