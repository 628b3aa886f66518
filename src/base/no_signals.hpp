// Threads that get no signals: these are the application's.
#pragma once

#include <csignal>

namespace caesura::base {

/// While it lives, the calling thread blocks all signals. A thread that is begun meanwhile does so
/// as long as it lives.
class NoSignals {
  public:
    NoSignals() {
        sigset_t every;
        sigfillset(&every);
        pthread_sigmask(SIG_SETMASK, &every, &before_);
    }
    ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    NoSignals(const NoSignals&) = delete;
    NoSignals& operator=(const NoSignals&) = delete;

  private:
    sigset_t before_{};
};

}  // namespace caesura::base
