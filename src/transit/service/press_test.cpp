#include "transit/service/press.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include "transit/service/lane.hpp"

namespace caesura::transit {
namespace {

// A block of work that says on a lane what became of it.
class Counted final : public Work, public DoneWork {
  public:
    Counted(Lane& lane, std::atomic<int>& computed, std::atomic<int>& given_up)
        : lane_(lane), computed_(computed), given_up_(given_up) {}
    void compute() override {
        begun = true;
        const bool is_held =
            hold != nullptr && (!only_idle || ::sched_getscheduler(0) == SCHED_IDLE);
        while (is_held && hold->load()) std::this_thread::yield();
        was_computed_ = true;
        lane_.done(*this);
    }
    void give_up() override { lane_.done(*this); }
    void take_up() override {
        ++times;
        ++(was_computed_ ? computed_ : given_up_);
    }
    std::atomic<bool>* hold = nullptr;
    bool only_idle = false;  ///< hold on a thread at idle priority alone
    int times = 0;
    std::atomic<bool> begun{false};
    bool was_computed() const { return was_computed_; }

  private:
    Lane& lane_;
    std::atomic<int>&computed_, &given_up_;
    bool was_computed_ = false;
};

// Goal: every piece of work comes to its lane exactly once, computed or given up.
TEST(Press, brings_each_work_to_its_lane_once) {
    std::atomic<int> computed{0}, given_up{0};
    std::vector<std::unique_ptr<Counted>> all;
    {
        Lane lane;
        Press press({3, true});
        for (int i = 0; i < 2000; ++i) {
            all.push_back(std::make_unique<Counted>(lane, computed, given_up));
            press.give(static_cast<std::uint64_t>(i % 5), 1.0 + i % 3, 1.0, *all.back());
            if (i == 1000) press.forget(2);
        }
        press.stop();
    }
    EXPECT_EQ(computed + given_up, 2000);
    for (const auto& one : all) EXPECT_EQ(one->times, 1);
}

/// So many that wait for `hold` in their turn; returns when the first is being computed.
void give_held(Press& press, int n, Lane& lane, std::atomic<int>& computed,
               std::atomic<int>& given_up, std::atomic<bool>& hold,
               std::vector<std::unique_ptr<Counted>>& all) {
    for (int i = 0; i < n; ++i) {
        all.push_back(std::make_unique<Counted>(lane, computed, given_up));
        all.back()->hold = &hold;
        press.give(1, 1.0, 1.0, *all.back());
    }
    while (!all[0]->begun) std::this_thread::yield();
}

// Goal: what has not begun can be taken back, the newest first, also what lies ready for a worker;
// what is being computed cannot.
TEST(Press, gives_back_what_has_not_begun) {
    std::atomic<int> computed{0}, given_up{0};
    std::atomic<bool> hold{true};
    std::vector<std::unique_ptr<Counted>> all;  // the lane may be at one until it ends
    Lane lane;
    Press press({1, false});
    give_held(press, 4, lane, computed, given_up, hold, all);
    const auto any = [](Work&) { return true; };
    EXPECT_EQ(press.take_back([&](Work& work) { return &work == all[2].get(); }), all[2].get());
    EXPECT_EQ(press.take_back(any), all[3].get());
    EXPECT_EQ(press.take_back(any), all[1].get());
    EXPECT_EQ(press.take_back(any), nullptr);
    EXPECT_EQ(press.waiting(), 1u);
    hold = false;
    press.stop();
    EXPECT_EQ(all[0]->was_computed(), true);
    EXPECT_EQ(all[1]->was_computed(), false);
}

// Goal: where only what lies ready for a worker is taken back, what waits behind it goes on.
TEST(Press, goes_on_with_the_queue_when_what_lay_ready_is_taken_back) {
    for (int round = 0; round < 20; ++round) {
        std::atomic<int> computed{0}, given_up{0};
        std::atomic<bool> hold{true};
        std::vector<std::unique_ptr<Counted>> all;  // the lane may be at one until it ends
        Lane lane;
        Press press({1, false});
        give_held(press, 4, lane, computed, given_up, hold, all);
        // The second is the one that lies ready, or is about to.
        ASSERT_EQ(press.take_back([&](Work& work) { return &work == all[1].get(); }), all[1].get());
        hold = false;
        while (!all[3]->begun) std::this_thread::yield();
        press.stop();
        EXPECT_FALSE(all[1]->begun);
    }
}

// Goal: who wants to bring more is asked whenever a worker could take it, and not after he has
// left.
TEST(Press, asks_for_more_when_a_worker_is_free) {
    std::atomic<int> asked{0};
    Press press({1, false});
    press.when_free([&] {
        ++asked;
        return base::Event::k_forever_s;
    });
    while (asked == 0) std::this_thread::yield();
    const int before = asked;
    press.look_again();
    while (asked == before) std::this_thread::yield();
    press.when_free({});
    const int last = asked;
    press.look_again();
    press.stop();
    EXPECT_EQ(asked, last);
}

// Goal: what waits of a client that is forgotten is given up; others' work is computed, and so is
// what comes of it later.
TEST(Press, gives_up_what_waits_of_a_forgotten_client_alone) {
    std::atomic<int> computed{0}, given_up{0};
    std::atomic<bool> hold{true};
    std::vector<std::unique_ptr<Counted>> all;
    {
        Lane lane;
        Press press({1, true});
        const auto add = [&](std::uint64_t client) {
            all.push_back(std::make_unique<Counted>(lane, computed, given_up));
            all.back()->hold = &hold;
            press.give(client, 1.0, 1.0, *all.back());
        };
        for (int i = 0; i < 10; ++i) add(1);
        for (int i = 0; i < 10; ++i) add(2);
        press.forget(1);
        while (given_up < 8) std::this_thread::yield();  // one is computed, one in its slot
        hold = false;
        while (press.waiting() > 0) std::this_thread::yield();
        add(1);
        while (press.waiting() > 0) std::this_thread::yield();
    }
    EXPECT_GE(given_up, 8);
    EXPECT_LE(given_up, 10);
    EXPECT_EQ(computed + given_up, 21);
}

// Goal: what waits too long is computed although workers get no time: here the only one is held.
TEST(Press, computes_at_normal_priority_what_has_waited_too_long) {
    std::atomic<int> computed{0}, given_up{0};
    std::atomic<bool> hold{true};
    std::vector<std::unique_ptr<Counted>> all;
    Lane lane;
    Press press({1, true, 0.5});
    const auto add = [&](std::uint64_t client) {
        all.push_back(std::make_unique<Counted>(lane, computed, given_up));
        press.give(client, 1.0, 1.0, *all.back());
    };
    all.push_back(std::make_unique<Counted>(lane, computed, given_up));
    all.back()->hold = &hold;
    all.back()->only_idle = true;
    press.give(1, 1.0, 1.0, *all.back());
    for (int i = 0; i < 20; ++i) add(static_cast<std::uint64_t>(i % 3));
    while (computed < 20) std::this_thread::yield();  // one of them from the worker's slot
    hold = false;
    while (computed < 21) std::this_thread::yield();
    EXPECT_EQ(given_up, 0);
}

// Goal: what is due is computed in time, long before it has waited too long: the only worker is
// held.
TEST(Press, computes_at_normal_priority_what_is_due) {
    std::atomic<int> computed{0}, given_up{0};
    std::atomic<bool> hold{true};
    std::vector<std::unique_ptr<Counted>> all;
    Lane lane;
    Press press({1, true, 1e6});
    const auto add = [&](double done_s) {
        all.push_back(std::make_unique<Counted>(lane, computed, given_up));
        press.give(1, 1.0, 0.01, *all.back(), done_s);
    };
    all.push_back(std::make_unique<Counted>(lane, computed, given_up));
    all.back()->hold = &hold;
    all.back()->only_idle = true;
    press.give(1, 1.0, 1.0, *all.back());
    const double due_s = base::Clock::steady().now_s() + 0.2;
    for (int i = 0; i < 10; ++i) add(due_s);
    while (computed < 10) std::this_thread::yield();
    hold = false;
    while (computed < 11) std::this_thread::yield();
    EXPECT_EQ(given_up, 0);
}

// Goal: nothing is left hanging by a Press that has stopped.
TEST(Press, gives_up_what_comes_after_it_has_stopped) {
    std::atomic<int> computed{0}, given_up{0};
    Lane lane;
    Press press({1, true});
    press.stop();
    Counted late(lane, computed, given_up);
    press.give(1, 1.0, 1.0, late);
    while (given_up + computed < 1) std::this_thread::yield();
    EXPECT_EQ(given_up, 1);
}

}  // namespace
}  // namespace caesura::transit
