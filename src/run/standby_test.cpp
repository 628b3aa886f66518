// Goal: what was handed over is written by the time that was promised, though no worker gets a core
// and the application is in an obstacle; and not a moment earlier than that takes.
#include "run/executor_fixture.hpp"

namespace caesura::run {
namespace {

// A block is counted after others may have seen it written.
void counted(Fixture& fixture, std::uint64_t blocks) {
    wait_until([&] { return fixture.executor.counters().taken_over_blocks >= blocks; });
    EXPECT_EQ(fixture.executor.counters().taken_over_blocks, blocks);
}

TEST(Standby, writes_in_time_what_no_worker_ever_begins) {
    base::VirtualClock clock;
    Fixture fixture({.compress_threads = 0, .standby = true}, clock);
    // Each block takes twice as long as expected: half a core.
    fixture.codec.on_encode = [&] { clock.set(clock.now_s() + 0.2); };
    fixture.max_delay_s = 10.0;
    MemorySink* sink = fixture.submit(0, 10, 0.1);
    const double begin_s = 10.0 - 2.0 - 2.0 * (10 * 0.1 + 10 * 0.001);
    clock.set(begin_s - 0.01);
    fixture.executor.clock_was_set();
    clock.set(begin_s + 0.01);
    fixture.executor.clock_was_set();
    wait_until([&] { return sink->finished.load(); });
    for (std::size_t i = 0; i < 10; ++i)
        EXPECT_GE(fixture.last->jobs[i].begun_s.load(), begin_s) << "block " << i;
    wait_until([&] { return fixture.last->phase.load() == DumpPhase::finished; });
    EXPECT_LE(fixture.last->finished_s.load(), 10.0);
    counted(fixture, 10);
    EXPECT_GT(fixture.executor.counters().taken_over_s, 1.0);
    fixture.executor.stop();
    fixture.expect_exact(*sink, 0, 10);
}

TEST(Standby, computes_what_a_worker_without_cpu_time_is_at) {
    base::VirtualClock clock;
    Fixture fixture({.compress_threads = 1, .standby = true}, clock);
    std::atomic<int> entered{0};
    std::atomic<bool> let_go{false};
    fixture.codec.on_encode = [&] {
        if (entered++ == 0) let_go.wait(false);  // the worker: nobody else begins at 0 s
    };
    fixture.max_delay_s = 10.0;
    MemorySink* sink = fixture.submit(0, 4);
    wait_until([&] { return entered.load() == 1; });
    clock.set(9.0);
    fixture.executor.clock_was_set();
    wait_until([&] { return sink->finished.load(); });
    counted(fixture, 4);
    EXPECT_TRUE(fixture.executor.reads(0)) << "the worker still is at it";
    let_go = true;
    let_go.notify_all();
    fixture.executor.stop();
    fixture.expect_exact(*sink, 0, 4);
    EXPECT_EQ(fixture.budget.held_bytes(), 0u);
}

TEST(Standby, has_due_blocks_written_inside_an_obstacle) {
    base::VirtualClock clock;
    Fixture fixture({.compress_threads = 1, .standby = true}, clock);
    fixture.executor.observer().enter(Observer::Lane::write, 0.0);
    fixture.max_delay_s = 10.0;
    MemorySink* sink = fixture.submit(0, 6);
    wait_until([&] { return fixture.last->all_compressed(); });
    clock.set(7.9);
    fixture.executor.clock_was_set();
    EXPECT_TRUE(sink->order.empty()) << "the write lane keeps out of the obstacle until then";
    clock.set(8.1);
    fixture.executor.clock_was_set();
    wait_until([&] { return sink->finished.load(); });
    EXPECT_EQ(fixture.executor.counters().taken_over_blocks, 0u);
    fixture.executor.stop();
    fixture.expect_exact(*sink, 0, 6);
}

TEST(Standby, in_a_hurry_everything_is_due_whatever_was_promised) {
    base::VirtualClock clock;
    Fixture fixture({.compress_threads = 0, .standby = true}, clock);
    fixture.executor.observer().enter(Observer::Lane::write, 0.0);
    fixture.submit(0, 5);
    MemorySink* second = fixture.submit(1, 5);
    fixture.executor.hurry();
    wait_until([&] { return second->finished.load(); });
    counted(fixture, 10);
    fixture.executor.stop();
}

// Goal: what no pause will do is compressed at normal priority at once, and is not called due.
TEST(StandbyPrompt, begins_at_once_where_there_are_no_pauses) {
    base::VirtualClock clock;
    Fixture fixture({.compress_threads = 0, .standby = true}, clock);
    fixture.max_delay_s = 1000.0;
    fixture.promptness = {0.0, 10.0, 0.0};
    MemorySink* sink = fixture.submit(0, 10, 0.1);
    wait_until([&] { return sink->finished.load(); });
    counted(fixture, 10);
    EXPECT_EQ(fixture.executor.counters().due_blocks, 0u);
    fixture.executor.stop();
    fixture.expect_exact(*sink, 0, 10);
}

TEST(StandbyPrompt, takes_no_more_over_than_pauses_are_too_short_for) {
    base::VirtualClock clock;
    Fixture fixture({.compress_threads = 0, .standby = true}, clock);
    fixture.max_delay_s = 1000.0;
    fixture.promptness = {0.0, 10.0, 0.5};
    fixture.codec.on_encode = [&] { clock.set(clock.now_s() + 0.1); };  // as expected
    // A write during which the clock is set would have taken that long.
    fixture.executor.observer().enter(Observer::Lane::write, 0.0);
    MemorySink* sink = fixture.submit(0, 10, 0.1);
    // Each of ten blocks needs 0.1 s and at most 0.001 s for its write.
    for (int taken = 0; taken < 10; ++taken) {
        const double begin_s = 10.0 - (10 - taken) * 0.1 / 0.5;
        clock.set(begin_s - 0.03);
        fixture.executor.clock_was_set();
        EXPECT_EQ(fixture.executor.counters().taken_over_blocks, static_cast<unsigned>(taken));
        clock.set(begin_s + 0.01);
        fixture.executor.clock_was_set();
        counted(fixture, static_cast<unsigned>(taken) + 1);
    }
    fixture.executor.observer().leave(Observer::Lane::write, clock.now_s());
    fixture.executor.obstacles_changed();
    wait_until([&] { return sink->finished.load(); });
    fixture.executor.stop();
    fixture.expect_exact(*sink, 0, 10);
}

// Goal: a worker that gets a core on full cores, too, does not work in vain.
TEST(StandbyPrompt, computes_what_a_worker_is_at_only_when_that_is_late) {
    base::VirtualClock clock;
    Fixture fixture({.compress_threads = 1, .standby = true}, clock);
    std::atomic<int> entered{0};
    std::atomic<bool> let_go{false};
    fixture.codec.on_encode = [&] {
        if (entered++ == 0) let_go.wait(false);  // the worker or the standby thread: one of them
    };
    fixture.max_delay_s = 1000.0;
    fixture.promptness = {1.0, 1.0, 0.0};
    MemorySink* sink = fixture.submit(0, 1, 0.5);
    wait_until([&] { return entered.load() == 1; });
    clock.set(1.2);
    fixture.executor.clock_was_set();
    EXPECT_EQ(fixture.executor.counters().taken_over_blocks, 0u);
    clock.set(1.6);
    fixture.executor.clock_was_set();
    wait_until([&] { return sink->finished.load(); });
    counted(fixture, 1);
    let_go = true;
    let_go.notify_all();
    fixture.executor.stop();
    fixture.expect_exact(*sink, 0, 1);
}

// Goal: what a starved worker does not do is planned for the standby thread, in time.
TEST(StandbyPlan, plans_what_a_starved_worker_leaves_in_time_and_says_when) {
    base::VirtualClock clock;
    Fixture fixture({.compress_threads = 1, .standby = true}, clock);
    std::atomic<bool> let_go{false};
    std::atomic<int> entered{0};
    fixture.codec.on_encode = [&] {
        if (entered++ == 0)
            let_go.wait(false);  // the worker, from here on without a core
        else
            clock.set(clock.now_s() + 0.2);  // the standby thread at half a core
    };
    fixture.max_delay_s = 10.0;
    MemorySink* sink = fixture.submit(0, 10, 0.1);
    wait_until([&] { return entered.load() == 1; });
    DumpTask* const first = fixture.last;
    EXPECT_LT(first->plans[0].end_s, 1.1) << "nothing says that the worker gets no time";
    clock.set(5.99);
    fixture.executor.clock_was_set();
    wait_until([&] { return sink->finished.load(); });
    EXPECT_GT(first->plans.count(), 1u) << "nobody planned again";
    for (std::size_t i = 1; i < first->plans.count(); ++i) {
        EXPECT_TRUE(first->plans[i].again);
        EXPECT_LE(first->plans[i].end_s, 10.0) << "plan " << i;
        EXPECT_GT(first->plans[i].end_s, 6.0) << "plan " << i;
    }
    EXPECT_EQ(&first->plans.first_whole(), &first->plans[0]) << "what reality is compared with";
    EXPECT_GE(fixture.executor.counters().replans, 1u);

    // The next dump's first plan knows.
    const double begin_s = clock.now_s();
    sink = fixture.submit(1, 10, 0.1);
    const double planned_end_s = fixture.last->plans[0].end_s;
    EXPECT_LE(planned_end_s, begin_s + 10.0);
    const double standby_s = begin_s + 10.0 - 2.0 - 2.0 * (10 * 0.1 + 10 * 0.001);
    EXPECT_GT(planned_end_s, standby_s);
    DumpTask* const second = fixture.last;
    clock.set(standby_s + 0.01);
    fixture.executor.clock_was_set();
    wait_until([&] { return second->phase.load() == DumpPhase::finished; });
    EXPECT_NEAR(second->finished_s.load(), planned_end_s, 0.2) << "as planned, to a block";
    let_go = true;
    let_go.notify_all();
    fixture.executor.stop();
    fixture.expect_exact(*sink, 1, 10);
}

// Goal: a worker that lost its core while it was planning holds nobody up.
TEST(StandbyPlan, a_worker_stuck_in_a_plan_is_not_waited_for) {
    base::VirtualClock clock;
    Fixture fixture({.compress_threads = 0, .standby = true}, clock);
    fixture.max_delay_s = 10.0;
    MemorySink* sink = fixture.submit(0, 5, 0.1);
    fixture.last->plans.want();
    ASSERT_NE(fixture.last->plans.begin(), nullptr);  // neither published nor abandoned
    clock.set(9.0);
    fixture.executor.clock_was_set();
    wait_until([&] { return sink->finished.load(); });
    EXPECT_EQ(fixture.last->plans.count(), 1u);
    fixture.executor.stop();
    fixture.expect_exact(*sink, 0, 5);
}

// Goal: dumps come and go while the standby thread looks at them.
TEST(Standby, neither_touches_a_reclaimed_dump_nor_doubles_a_block) {
    Fixture fixture({.compress_threads = 2, .standby = true});
    fixture.max_delay_s = 1e-4;
    std::vector<std::unique_ptr<DumpTask>> kept;  // the sinks are theirs
    std::vector<MemorySink*> sinks;
    for (std::size_t dump = 0; dump < 300; ++dump) {
        sinks.push_back(fixture.submit(dump, 3));
        // Gone for good but for the sinks.
        for (auto& done : fixture.executor.reclaim()) {
            auto rest = std::make_unique<DumpTask>(0);
            rest->sink = std::move(done->sink);
            kept.push_back(std::move(rest));
        }
    }
    fixture.executor.set_draining(true);
    fixture.executor.help([&] { return sinks.back()->finished.load(); });
    fixture.executor.stop();
    ASSERT_TRUE(fixture.executor.error().ok()) << fixture.executor.error().message();
    for (std::size_t dump = 0; dump < sinks.size(); ++dump) {
        EXPECT_EQ(sinks[dump]->order.size(), 3u);
        fixture.expect_exact(*sinks[dump], dump, 3);
    }
    EXPECT_EQ(fixture.budget.held_bytes(), 0u);
}

}  // namespace
}  // namespace caesura::run
