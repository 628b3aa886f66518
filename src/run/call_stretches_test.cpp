// Goal: what a thread did is told from its calls, bursts of short calls are no flood of intervals,
// and time that nobody used is not called computing.
#include "run/call_stretches.hpp"

#include <gtest/gtest.h>

namespace caesura::run {
namespace {

using plan::Interval;

// A thread as a test tells it: time goes on, and CPU time with it or not.
Usage g_usage;
Usage usage() { return g_usage; }

class Thread {
  public:
    Thread() : stretches_(usage) { stretches_.begin(now_s_); }
    void compute(double seconds) { pass(seconds, 1.0); }
    void sleep(double seconds) {
        ++g_usage.sleeps;
        pass(seconds, 0.0);
    }
    void be_preempted(double seconds) { pass(seconds, 0.0); }
    void call(double seconds, Doing doing = Doing::communicates, double cpu_share = 1.0) {
        stretches_.enter(doing, now_s_);
        if (cpu_share < 1.0) ++g_usage.sleeps;
        pass(seconds, cpu_share);
        stretches_.leave(now_s_);
    }
    const Seen& finish() { return stretches_.finish(now_s_); }
    CallStretches& activity() { return stretches_; }
    double now_s() const { return now_s_; }

  private:
    void pass(double seconds, double cpu_share) {
        now_s_ += seconds;
        g_usage.cpu_s += cpu_share * seconds;
    }
    double now_s_ = 1000.0;
    CallStretches stretches_;
};

void expect_intervals(const Intervals& seen, const Intervals& expected) {
    ASSERT_EQ(seen.size(), expected.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
        EXPECT_NEAR(seen[i].begin_s, expected[i].begin_s, 1e-9) << i;
        EXPECT_NEAR(seen[i].end_s, expected[i].end_s, 1e-9) << i;
    }
}

TEST(CallStretches, calls_are_communication_and_the_time_between_is_computing) {
    Thread thread;
    thread.compute(0.1);
    thread.call(0.05);
    thread.compute(0.2);
    thread.call(0.03);
    thread.compute(0.02);
    const Seen& seen = thread.finish();
    expect_intervals(seen.communicating, {{0.1, 0.15}, {0.35, 0.38}});
    expect_intervals(seen.computing, {{0.0, 0.1}, {0.15, 0.35}, {0.38, 0.4}});
    EXPECT_TRUE(seen.waiting.empty());
}

TEST(CallStretches, an_iteration_without_a_call_is_computing) {
    Thread thread;
    thread.compute(0.5);
    expect_intervals(thread.finish().computing, {{0.0, 0.5}});
}

TEST(CallStretches, ten_thousand_short_calls_one_after_the_other_are_one_stretch) {
    Thread thread;
    thread.compute(0.1);
    for (int i = 0; i < 10'000; ++i) {
        thread.call(3e-6);
        thread.compute(1e-6);
    }
    thread.compute(0.1);
    const Seen& seen = thread.finish();
    ASSERT_EQ(seen.communicating.size(), 1u);
    EXPECT_NEAR(length_s(seen.communicating), 0.04, 1e-5);
    EXPECT_EQ(seen.computing.size(), 2u);
    EXPECT_NEAR(length_s(seen.computing), 0.2, 1e-5);
}

TEST(CallStretches, ten_thousand_short_calls_strewn_over_computing_leave_it_whole) {
    Thread thread;
    for (int i = 0; i < 10'000; ++i) {
        thread.compute(i % 100 == 0 ? 300e-6 : 20e-6);  // some gaps longer than what is merged
        thread.call(1e-6);
    }
    const Seen& seen = thread.finish();
    EXPECT_TRUE(seen.communicating.empty());
    expect_intervals(seen.computing, {{0.0, thread.now_s() - 1000.0}});
}

TEST(CallStretches, the_outermost_of_nested_calls_counts_once) {
    Thread thread;
    thread.compute(0.1);
    thread.activity().enter(Doing::communicates, thread.now_s());
    thread.compute(0.01);
    thread.call(0.02);
    thread.compute(0.01);
    thread.call(0.02, Doing::waits);
    thread.activity().leave(thread.now_s());
    expect_intervals(thread.finish().communicating, {{0.1, 0.16}});
}

TEST(CallStretches, a_wait_is_neither_computing_nor_communication) {
    Thread thread;
    thread.compute(0.1);
    thread.call(0.3, Doing::waits, 0.0);
    thread.compute(0.1);
    const Seen& seen = thread.finish();
    expect_intervals(seen.waiting, {{0.1, 0.4}});
    expect_intervals(seen.computing, {{0.0, 0.1}, {0.4, 0.5}});
    EXPECT_TRUE(seen.communicating.empty());
}

TEST(CallStretches, time_in_which_the_core_lay_idle_is_not_computing) {
    Thread thread;
    thread.compute(0.01);
    thread.sleep(0.1);  // nobody said that this is a wait, but the clock of the CPU stood still
    thread.call(0.05);
    thread.compute(0.1);
    expect_intervals(thread.finish().computing, {{0.16, 0.26}});
}

TEST(CallStretches, who_never_slept_computed_even_if_others_had_the_core) {
    Thread thread;
    thread.compute(0.01);
    thread.be_preempted(0.1);
    expect_intervals(thread.finish().computing, {{0.0, 0.11}});
}

TEST(CallStretches, communication_that_keeps_the_core_busy_spins) {
    Thread thread;
    thread.call(0.05, Doing::communicates, 0.9);
    thread.compute(0.1);
    thread.call(0.05, Doing::communicates, 0.1);
    thread.compute(0.1);
    thread.activity().enter(Doing::communicates, thread.now_s());
    thread.be_preempted(0.06);  // yielding: never asleep, but others had the core
    thread.activity().leave(thread.now_s());
    const Seen& seen = thread.finish();
    EXPECT_EQ(seen.communicating.size(), 3u);
    expect_intervals(seen.spinning, {{0.0, 0.05}});
}

TEST(CallStretches, a_call_that_outlives_the_iteration_ends_with_it) {
    Thread thread;
    thread.compute(0.1);
    thread.activity().enter(Doing::communicates, thread.now_s());
    thread.compute(0.1);
    expect_intervals(thread.finish().communicating, {{0.1, 0.2}});
    thread.activity().begin(thread.now_s());
    thread.activity().leave(thread.now_s());  // of the call from before: nothing to leave
    thread.compute(0.1);
    const Seen& seen = thread.finish();
    EXPECT_TRUE(seen.communicating.empty());
    expect_intervals(seen.computing, {{0.0, 0.1}});
}

TEST(Intervals, are_united_and_cut_out_of_each_other) {
    const Intervals a = {{0, 2}, {4, 6}, {8, 9}}, b = {{1, 3}, {5, 5.5}, {7, 10}};
    EXPECT_EQ(unite(a, b), (Intervals{{0, 3}, {4, 6}, {7, 10}}));
    EXPECT_EQ(without(a, b), (Intervals{{0, 1}, {4, 5}, {5.5, 6}}));
    EXPECT_EQ(without(b, a), (Intervals{{2, 3}, {7, 8}, {9, 10}}));
    EXPECT_EQ(without(a, {}), a);
    EXPECT_EQ(unite({}, a), a);
    EXPECT_TRUE(without({}, a).empty());
}

}  // namespace
}  // namespace caesura::run
