// Goal: what is said of a thread reaches the writers of that thread and no others, marks and
// observation do not count twice, and a write lane is woken when it has been refused, only then.
#include "run/thread_calls.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "run/executor.hpp"

namespace caesura::run {
namespace {

using Lane = Observer::Lane;

class Observation : public ::testing::Test {
  protected:
    base::VirtualClock clock_;
    base::MemoryBudget budget_{1u << 20};
    base::BufferPool pool_;
    Executor executor_{{}, budget_, pool_, clock_};
    Observer& observer_ = executor_.observer();

    void TearDown() override { executor_.stop(); }
    void call(double seconds) {
        observation::enter(Doing::communicates);
        clock_.set(clock_.now_s() + seconds);
        observation::leave(Doing::communicates);
    }
};

TEST_F(Observation, reaches_the_writer_whose_iteration_this_thread_runs) {
    Listener listener;
    observer_.begin_iteration(0.0);
    call(1.0);  // nobody listens yet
    listener.begin(executor_);
    call(2.0);
    clock_.set(4.0);
    std::thread([&] { call(10.0); }).join();  // another thread's calls are not ours
    {
        const Unobserved ours;
        call(1.0);
    }
    call(1.0);
    listener.end();
    call(1.0);
    observer_.settle(clock_.now_s(), true, true);
    EXPECT_EQ(observer_.recorded().write, (Intervals{{1.0, 3.0}, {15.0, 16.0}}));
    EXPECT_FALSE(observer_.application_writes());
}

TEST_F(Observation, follows_a_writer_to_another_thread) {
    Listener listener;
    observer_.begin_iteration(0.0);
    listener.begin(executor_);
    std::thread([&] {
        call(1.0);
        listener.moved_here();
        call(1.0);
    }).join();
    call(1.0);
    listener.end();
    observer_.settle(clock_.now_s(), true, true);
    EXPECT_EQ(observer_.recorded().write, (Intervals{{1.0, 2.0}}));
}

TEST_F(Observation, marks_and_calls_count_a_moment_once) {
    Listener listener;
    observer_.begin_iteration(0.0);
    listener.begin(executor_);
    observer_.enter(Lane::write, 0.0);
    call(1.0);
    observer_.leave(Lane::write, 1.5);
    clock_.set(2.0);
    call(1.0);
    listener.end();
    observer_.settle(4.0, true, true);
    EXPECT_EQ(observer_.recorded().write, (Intervals{{0.0, 1.5}, {2.0, 3.0}}));
    EXPECT_EQ(observer_.seen().communicating, (Intervals{{2.0, 3.0}}));
}

TEST_F(Observation, who_marks_its_computing_knows_better_but_not_while_it_waits) {
    Listener listener;
    observer_.begin_iteration(0.0);
    listener.begin(executor_);
    observer_.enter(Lane::compress, 0.0);
    clock_.set(1.0);
    observation::enter(Doing::waits);
    clock_.set(2.0);
    observation::leave(Doing::waits);
    observer_.leave(Lane::compress, 3.0);
    listener.end();
    observer_.settle(10.0, true, true);
    EXPECT_EQ(observer_.recorded().compress, (Intervals{{0.0, 1.0}, {2.0, 3.0}}));
    EXPECT_TRUE(observer_.recorded().write.empty());
}

TEST_F(Observation, unwatched_time_is_unknown) {
    observer_.begin_iteration(0.0);
    observer_.settle(1.0, false, true);
    EXPECT_TRUE(observer_.recorded().compress.empty());
}

TEST_F(Observation, wakes_the_write_lane_only_if_it_was_refused) {
    observer_.begin_iteration(0.0);
    observer_.observe_enter(Doing::communicates, 0.1);
    EXPECT_FALSE(observer_.observe_leave(Doing::communicates, 0.2));
    observer_.observe_enter(Doing::communicates, 0.3);
    EXPECT_TRUE(observer_.application_writes());
    EXPECT_TRUE(observer_.observe_leave(Doing::communicates, 0.4));
    EXPECT_FALSE(observer_.application_writes());
    observer_.observe_enter(Doing::communicates, 0.5);
    EXPECT_FALSE(observer_.observe_leave(Doing::communicates, 0.6));
}

TEST_F(Observation, a_call_left_after_its_iteration_leaves_no_trace) {
    Listener listener;
    observer_.begin_iteration(0.0);
    listener.begin(executor_);
    observation::enter(Doing::communicates);
    listener.end();
    observer_.settle(1.0, true, true);
    EXPECT_FALSE(observer_.application_writes());
    observation::leave(Doing::communicates);
    observer_.end_iteration(1.0);
    observer_.begin_iteration(1.0);
    EXPECT_FALSE(observer_.application_writes());
}

// Under the thread sanitizer this is the proof that a writer may move and end while others call.
TEST_F(Observation, writers_come_and_go_while_threads_call) {
    std::atomic<bool> stop{false};
    std::thread caller([&] {
        while (!stop.load()) call(0.0);
    });
    Listener listener;
    for (int i = 0; i < 2000; ++i) {
        observer_.begin_iteration(0.0);
        listener.begin(executor_);
        call(0.001);
        std::thread mover;
        if (i % 100 == 0) mover = std::thread([&] { listener.moved_here(); });
        if (mover.joinable()) mover.join();
        listener.end();
        observer_.settle(clock_.now_s(), true, true);
        observer_.end_iteration(clock_.now_s());
    }
    stop.store(true);
    caller.join();
    EXPECT_FALSE(observer_.application_writes());
}

}  // namespace
}  // namespace caesura::run
