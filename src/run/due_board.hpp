// What is left and due in all executors of this process that have a standby thread. Their threads
// share a core with the application and a link to the disk: each alone would begin too late
// (decision D16).
//
// Invariants:
//  - No lock: nobody who writes or reads here waits for anybody (decision D22). A reader that was
//    overtaken by a writer reads again.
//  - A place is written by one thread at a time: by the standby thread of the executor that has
//    taken it, and when that is joined by the application's.
//  - Places are taken and left, never freed: whoever wakes others may come late.
#pragma once

#include <array>
#include <atomic>
#include <span>
#include <vector>

#include "base/event.hpp"
#include "plan/standby_policy.hpp"

namespace caesura::run {

class DuePlace {
  public:
    static constexpr std::size_t k_most = 8;

    /// A free place, else a new one. Application's thread, any of them.
    static DuePlace& take();
    /// With nothing left to be done. The standby thread is joined.
    void leave();

    /// What its executor still has to do by when: whose it is, is set here. Beyond k_most the rest
    /// counts as due with the last one.
    /// @param work  sorted by is_before(), each with a promise.
    /// @return  true if others should look again: there is more than before, or their turn may
    ///          have come.
    [[nodiscard]] bool publish(std::span<const plan::DueWork> work);
    /// Append what all the other places say.
    void add_others(std::vector<plan::DueWork>& all) const;
    void wake_others() const;

    std::uint32_t number() const { return number_; }
    /// Of the standby thread.
    base::Event& event() { return event_; }

  private:
    // Two, in turn: what readers read is not written.
    struct Said {
        struct Work {
            std::atomic<double> by_s{0.0}, left_s{0.0};
            std::atomic<bool> open{false};
        };
        std::atomic<std::size_t> count{0};
        std::array<Work, k_most> work;
    };
    void add_to(std::vector<plan::DueWork>& all) const;

    std::atomic<std::uint64_t> version_{0};  // the lowest bit: which of the two holds
    std::array<Said, 2> said_;
    std::size_t said_open_ = 0;  // the writer's own
    double said_left_s_ = 0.0;
    std::atomic<bool> taken_{true};
    base::Event event_;
    std::uint32_t number_ = 0;
    DuePlace* next_ = nullptr;  // constant once it is in the list
};

}  // namespace caesura::run
