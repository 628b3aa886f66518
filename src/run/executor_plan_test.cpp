// Goal: dumps are planned by a worker, planned again when reality departs, and written exactly
// whatever becomes of the plans; and compressions that nothing suspends keep out of obstacles.
#include <thread>

#include "run/executor_fixture.hpp"

namespace caesura::run {
namespace {

using Lane = Observer::Lane;

void finish(Fixture& fixture, const MemorySink& sink) {
    fixture.executor.set_draining(true);
    fixture.executor.help([&] { return sink.finished.load(); });
    fixture.executor.stop();
    ASSERT_TRUE(fixture.executor.error().ok()) << fixture.executor.error().message();
}

TEST(ExecutorPlan, the_caller_makes_the_first_plan_and_a_worker_a_better_one) {
    base::VirtualClock clock;
    Fixture fixture({.algorithm = plan::Algorithm::search, .search_steps = 2000}, clock);
    fixture.codec.on_encode = [&] { clock.set(clock.now_s() + 1.0); };
    // Nothing is written before all is compressed: a write during which a worker sets the clock
    // would have taken a second.
    fixture.executor.observer().enter(Lane::write, 0.0);
    MemorySink* sink = fixture.submit(0, 10, 1.0);
    wait_until([&] { return fixture.last->all_compressed(); });
    finish(fixture, *sink);
    fixture.expect_exact(*sink, 0, 10);
    auto dumps = fixture.executor.reclaim();
    ASSERT_EQ(dumps.size(), 1u);
    EXPECT_EQ(dumps[0]->plans.count(), 2u) << "everything took as long as expected";
    EXPECT_EQ(fixture.executor.counters().replans, 0u);
    EXPECT_DOUBLE_EQ(dumps[0]->plans[1].end_s, 10.01);
}

TEST(ExecutorPlan, a_dump_that_cannot_be_planned_is_written_all_the_same) {
    Fixture fixture({.algorithm = plan::Algorithm::search});
    MemorySink* sink = fixture.submit(0, 5, -1.0);
    EXPECT_EQ(fixture.planned.code(), StatusCode::invalid_argument);
    finish(fixture, *sink);
    fixture.expect_exact(*sink, 0, 5);
}

// Goal: a mark may outlive the workers whose time it asks for.
TEST(ExecutorPlan, an_obstacle_can_be_left_after_the_lanes_have_stopped) {
    Fixture fixture({.algorithm = plan::Algorithm::search});
    MemorySink* sink = fixture.submit(0, 3, 1e-3);
    fixture.executor.observer().begin_iteration(0.0);
    fixture.executor.enter(Lane::compress);
    finish(fixture, *sink);
    fixture.executor.leave(Lane::compress);
    EXPECT_GE(fixture.executor.counters().compress_interference_s, 0.0);
}

TEST(ExecutorPlan, compressions_that_take_longer_are_planned_again_a_bounded_number_of_times) {
    base::VirtualClock clock;
    Fixture fixture({.algorithm = plan::Algorithm::search, .search_steps = 2000}, clock);
    double took_s = 1.0;
    fixture.codec.on_encode = [&] { clock.set(clock.now_s() + (took_s *= 1.5)); };
    MemorySink* sink = fixture.submit(0, 30, 1.0);
    wait_until([&] { return fixture.last->all_compressed(); });
    finish(fixture, *sink);
    fixture.expect_exact(*sink, 0, 30);
    auto dumps = fixture.executor.reclaim();
    EXPECT_EQ(dumps[0]->plans.count(), Plans::k_plans);
    EXPECT_EQ(fixture.executor.counters().replans, Plans::k_plans - 2);
}

TEST(ExecutorPlan, an_iteration_of_another_kind_is_planned_again) {
    base::VirtualClock clock;
    Fixture fixture({.algorithm = plan::Algorithm::search, .search_steps = 2000}, clock);
    Observer& observer = fixture.executor.observer();
    for (int i = 0; i < 4; ++i) {
        observer.begin_iteration(10.0 * i, i % 2 ? "b" : "a");
        observer.end_iteration(10.0 * i + 10.0);
    }
    clock.set(40.0);
    std::atomic<bool> go{false};
    fixture.codec.on_encode = [&] {
        wait_until([&] { return go.load(); });
        clock.set(clock.now_s() + 1.0);
    };
    MemorySink* sink = fixture.submit(0, 3, 1.0);
    wait_until([&] { return fixture.last->n_begun.load() == 1; });
    observer.begin_iteration(40.0, "b");  // "a" was due
    go = true;
    wait_until([&] { return fixture.last->all_compressed(); });
    finish(fixture, *sink);
    EXPECT_EQ(fixture.executor.counters().replans, 1u);
}

TEST(ExecutorPlan, plans_change_under_many_workers_and_every_block_is_written_once) {
    for (int round = 0; round < 20; ++round) {
        Fixture fixture(
            {.compress_threads = 3, .algorithm = plan::Algorithm::search, .search_steps = 500});
        std::vector<MemorySink*> sinks;
        for (std::size_t dump = 0; dump < 3; ++dump) {
            sinks.push_back(fixture.submit(dump, 40, 1e-6));  // expected much too short
            fixture.last->plans.want();
        }
        finish(fixture, *sinks.back());
        for (std::size_t dump = 0; dump < 3; ++dump) {
            EXPECT_EQ(sinks[dump]->order.size(), 40u);
            fixture.expect_exact(*sinks[dump], dump, 40);
        }
        EXPECT_EQ(fixture.budget.held_bytes(), 0u);
    }
}

// Iterations of 10 s whose second half is marked; compressions of 2 s.
TEST(ExecutorPlan, workers_at_normal_priority_begin_only_what_ends_before_an_obstacle) {
    base::VirtualClock clock;
    Fixture fixture(
        {.idle_priority = false, .algorithm = plan::Algorithm::search, .search_steps = 2000},
        clock);
    Executor& executor = fixture.executor;
    const auto at = [&](double now_s, auto what) {
        clock.set(now_s);
        what();
    };
    executor.observer().begin_iteration(0.0);
    at(5.0, [&] { executor.enter(Lane::compress); });
    at(10.0, [&] { executor.leave(Lane::compress); });
    executor.observer().end_iteration(10.0);
    executor.observer().begin_iteration(10.0);
    fixture.codec.on_encode = [&] { clock.set(clock.now_s() + 2.0); };
    MemorySink* sink = fixture.submit(0, 4, 2.0);
    wait_until([&] { return fixture.last->n_compressed.load() == 2; });
    at(15.0, [&] { executor.enter(Lane::compress); });
    at(20.0, [&] { executor.leave(Lane::compress); });
    wait_until([&] { return fixture.last->n_compressed.load() == 4; });
    std::vector<double> begun_s;
    for (int i = 0; i < 4; ++i) begun_s.push_back(fixture.last->jobs[i].begun_s.load());
    std::sort(begun_s.begin(), begun_s.end());
    EXPECT_EQ(begun_s, (std::vector<double>{10.0, 12.0, 20.0, 22.0}));
    EXPECT_DOUBLE_EQ(fixture.last->plans[1].end_s, 24.02);
    finish(fixture, *sink);
}

TEST(Cooperative, compresses_within_the_time_it_is_given_and_no_longer) {
    base::VirtualClock clock;
    Fixture fixture({.compress_threads = 0}, clock);
    fixture.codec.on_encode = [&] { clock.set(clock.now_s() + 1.0); };
    MemorySink* sink = fixture.submit(0, 6, 1.0);
    EXPECT_EQ(fixture.executor.compress_until(0.5, {}), 0.0) << "none fits";
    EXPECT_EQ(fixture.executor.compress_until(2.5, {}), 2.0) << "two fit";
    EXPECT_EQ(fixture.last->n_compressed.load(), 2u);
    int asked = 0;
    EXPECT_EQ(fixture.executor.compress_until(1e9, [&] { return ++asked == 3; }), 2.0);
    EXPECT_EQ(fixture.last->n_compressed.load(), 4u);
    EXPECT_EQ(fixture.last->plans.count(), 1u) << "no worker, no better plan";
    finish(fixture, *sink);
    fixture.expect_exact(*sink, 0, 6);
    EXPECT_EQ(fixture.executor.compress_until(1e9, {}), 0.0) << "nothing is left";
}

// Goal: the overrun is bounded by how wrong the prediction of one block is, and learned from.
TEST(Cooperative, overruns_by_one_block_at_most_and_learns) {
    base::VirtualClock clock;
    Fixture fixture({.compress_threads = 0}, clock);
    fixture.codec.on_encode = [&] { clock.set(clock.now_s() + 3.0); };  // three times as long
    MemorySink* sink = fixture.submit(0, 20, 1.0);
    for (int wait = 0; wait < 10; ++wait) {
        const double begin_s = clock.now_s(),
                     spent_s = fixture.executor.compress_until(begin_s + 4.0, {});
        EXPECT_LE(spent_s, 4.0 + 2.0) << "what one block takes longer than expected";
        clock.set(begin_s + 10.0);
    }
    finish(fixture, *sink);
    fixture.expect_exact(*sink, 0, 20);
}

}  // namespace
}  // namespace caesura::run
