// A thread of the service at normal priority, and what it does one after the other: calls in the
// order in which they were given, and blocks that a worker has compressed.
//
// Invariants:
//  - A worker at idle priority never waits here: it pushes on a list without a lock.
//  - All state of a session belongs to its lane: what runs here needs no lock for it.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "base/event.hpp"

namespace caesura::transit {

/// Something that a worker has done, as the lane has to hear of it.
class DoneWork {
  public:
    virtual ~DoneWork() = default;
    /// On the lane.
    virtual void take_up() = 0;

  private:
    friend class Lane;
    DoneWork* next_ = nullptr;
};

class Lane {
  public:
    Lane();
    /// Does what was given, then ends.
    ~Lane();
    /// Any thread of normal priority.
    void give(std::function<void()> call);
    /// On the lane: `call` comes after so many seconds; never, if the lane ends before.
    void give_later(double after_s, std::function<void()> call);
    /// Any thread, without waiting. `work` must live until it has been taken up.
    void done(DoneWork& work);

  private:
    void loop();
    bool do_done();
    bool do_call();
    /// @return  seconds until the next of `later_`.
    double do_due();

    std::multimap<double, std::function<void()>> later_;  ///< by when; the lane's own
    base::Event event_;
    std::mutex mutex_;
    std::deque<std::function<void()>> calls_;
    std::atomic<DoneWork*> done_{nullptr};
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace caesura::transit
