// One thread that does jobs in the order in which they are given.
//
// Invariants:
//  - A job runs once, whatever became of those before it. The destructor waits for all. What it
//    throws is its error: no_space for memory, else internal.
//  - Nothing of the giver's is touched but what the job itself touches.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "caesura/base.hpp"

namespace caesura::checkpoint {

class Background {
  public:
    using Job = std::function<Status()>;
    struct Done {
        std::uint64_t ticket = 0;
        Status status;
    };

    Background() = default;
    ~Background();
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;

    /// Starts the thread with the first job. @return its ticket, ascending from 1.
    /// Errors: no_space (no thread to be had; the job was not taken).
    Result<std::uint64_t> give(Job job);
    /// What is done and was not told yet, in order. Does not wait.
    std::vector<Done> take_done();
    /// Until that job is done.
    void wait(std::uint64_t ticket);

  private:
    void run();

    std::mutex mutex_;
    std::condition_variable given_changed_, done_changed_;
    std::deque<Job> jobs_;
    std::vector<Done> done_;
    std::uint64_t given_ = 0, finished_ = 0;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace caesura::checkpoint
