// The workers that compress blocks of all clients, below everything else on the machine or on cores
// of their own, and the queue before them.
//
// Invariants:
//  - Workers share no lock with anybody: a worker at idle priority may be preempted anywhere
//    (decision D5). One thread at normal priority, the dispatcher, has the queue, and puts the next
//    block into a slot of a worker before it has finished the last.
//  - What a client that is gone has left in the queue comes back undone.
//  - Work that nobody has begun can be taken back, and is then not known here any more.
//  - Cores that applications keep busy leave workers at idle priority next to nothing. So a block
//    that none of them has begun for most_wait_s, or that is due (its dump's max_delay), the
//    dispatcher compresses itself; what a client claims to be due within its share alone.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/buffer.hpp"
#include "base/clock.hpp"
#include "base/event.hpp"
#include "transit/service/fair_queue.hpp"

namespace caesura::transit {

/// Something to compute on a worker.
class Work {
  public:
    virtual ~Work() = default;
    /// On a worker. Afterwards the Press knows it no more.
    virtual void compute() = 0;
    /// Instead: its client was forgotten before, or the Press has stopped. On a thread of normal
    /// priority.
    virtual void give_up() = 0;
};

class Press {
  public:
    struct Options {
        int threads = 1;
        bool idle_priority = true;
        double most_wait_s = 10.0;  ///< with it; as the Writer's usual max_delay_s
    };
    explicit Press(const Options& options);
    ~Press() { stop(); }
    /// What is in the queue is given up, as everything is from now on; what is being computed is
    /// finished.
    void stop();
    /// Any thread of normal priority. `work` lives until one of its calls is over.
    /// @param cost  seconds that it is expected to take. @param done_s  of the steady clock: by
    /// then what waits of the client should be over, as it claims; workers at idle priority alone
    /// need to know.
    void give(std::uint64_t client, double weight, double cost, Work& work,
              double done_s = Due::k_never_s);
    /// Give up what waits of a client. Any thread of normal priority; returns at once.
    void forget(std::uint64_t client);
    /// The newest work that has not begun and is accepted; null: none. Any thread of normal
    /// priority. `accept` is called under the lock of the queue.
    Work* take_back(const std::function<bool(Work&)>& accept);
    /// Called by the dispatcher, at normal priority, whenever a worker could take more than there
    /// is: it may give() work that waits elsewhere. It returns the seconds after which it wants to
    /// be called again. Empty: nobody. It is not being called any more when this returns.
    void when_free(std::function<double()> call);
    /// Ask when_free's again, now. Any thread.
    void look_again() { event_.raise(); }
    /// Blocks that wait or are being computed.
    std::size_t waiting() const { return waiting_.load(std::memory_order_relaxed); }

  private:
    struct Waiting {
        Work* work = nullptr;
        std::uint64_t client = 0;
        double cost = 0.0;
        double begin_s = Due::k_never_s;  ///< at the latest
        double claim_s = Due::k_never_s;  ///< as its client claims, if nothing else waited of it
    };
    struct Worker {
        base::Event event;
        std::atomic<Work*> slot{nullptr};  ///< the next one
        Waiting ready{};                   ///< of it: until when it is waited for; the dispatcher's
        std::thread thread;
    };
    void dispatch();
    bool fill_slots();
    double ask_for_more();
    Work* take_due(double& wait_s);
    double leave_s(const Waiting& ready, double now_s);
    void work(Worker& worker);

    Options options_;
    base::Event event_;
    std::mutex mutex_;  ///< of threads at normal priority alone: the queue, what to forget
    FairQueue<Waiting> queue_;
    std::vector<std::uint64_t> to_forget_;
    std::atomic<std::size_t> waiting_{0};
    std::atomic<bool> stopping_{false};
    std::mutex free_mutex_;
    std::function<double()> when_free_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::thread dispatcher_;
};

}  // namespace caesura::transit
