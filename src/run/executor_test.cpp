#include "run/executor_fixture.hpp"

namespace caesura::run {
namespace {

TEST(Executor, compresses_and_writes_every_block_of_every_dump_exactly_once) {
    Fixture fixture({.compress_threads = 3});
    std::vector<MemorySink*> sinks;
    for (std::size_t dump = 0; dump < 5; ++dump) sinks.push_back(fixture.submit(dump, 40));
    fixture.executor.set_draining(true);
    fixture.executor.help([&] { return sinks.back()->finished.load(); });
    fixture.executor.stop();
    ASSERT_TRUE(fixture.executor.error().ok()) << fixture.executor.error().message();
    for (std::size_t dump = 0; dump < 5; ++dump) fixture.expect_exact(*sinks[dump], dump, 40);
    EXPECT_EQ(fixture.budget.held_bytes(), 0u) << "snapshots and blocks are given back";
    EXPECT_EQ(fixture.executor.reclaim().size(), 5u);
}

// Goal: the caller finishes the work even if no worker ever gets the CPU; here the caller helps
// while workers race with it, so that jobs are computed twice. Nothing may be lost or doubled.
TEST(Executor, help_computes_what_workers_have_begun_without_doubling_it) {
    for (int round = 0; round < 50; ++round) {
        Fixture fixture({.compress_threads = 2});
        MemorySink* sink = fixture.submit(0, 6);
        fixture.executor.set_draining(true);
        fixture.executor.help([&] { return sink->finished.load(); });
        EXPECT_TRUE(sink->finished.load());
        fixture.executor.stop();
        EXPECT_EQ(sink->order.size(), 6u);
        fixture.expect_exact(*sink, 0, 6);
        EXPECT_EQ(fixture.budget.held_bytes(), 0u);
    }
}

// Goal: what was lent is not free while a worker reads it, even if somebody else has computed the
// block meanwhile and the dump is written.
TEST(Executor, a_written_dump_is_read_as_long_as_a_worker_without_cpu_time_is_at_it) {
    Fixture fixture({.compress_threads = 1});
    const auto caller = std::this_thread::get_id();
    std::atomic<bool> is_held{false}, let_go{false};
    fixture.codec.on_encode = [&] {
        if (std::this_thread::get_id() == caller) return;
        is_held = true;
        is_held.notify_all();
        let_go.wait(false);
    };
    MemorySink* sink = fixture.submit(0, 1);
    is_held.wait(false);
    fixture.executor.set_draining(true);
    fixture.executor.help([&] { return sink->finished.load(); });
    EXPECT_TRUE(sink->finished.load());
    EXPECT_TRUE(fixture.executor.reads(0));
    let_go = true;
    let_go.notify_all();
    while (fixture.executor.reads(0)) std::this_thread::yield();
    fixture.executor.stop();
    fixture.expect_exact(*sink, 0, 1);
}

TEST(Executor, an_encoding_error_is_kept_and_names_the_block) {
    Fixture fixture;
    fixture.codec.fail_from = 3;
    MemorySink* sink = fixture.submit(0, 8);
    fixture.executor.set_draining(true);
    fixture.executor.help([&] { return sink->finished.load(); });
    EXPECT_FALSE(sink->finished.load());
    EXPECT_EQ(fixture.executor.error().code(), StatusCode::internal);
    EXPECT_NE(fixture.executor.error().message().find("injected codec failure"), std::string::npos);
    fixture.executor.stop();
}

TEST(Executor, a_full_disk_stops_the_lane_and_is_reported) {
    Fixture fixture;
    fixture.full_disk = true;
    MemorySink* sink = fixture.submit(0, 8);
    fixture.executor.set_draining(true);
    fixture.executor.help([&] { return sink->finished.load(); });
    fixture.executor.stop();
    EXPECT_EQ(fixture.executor.error().code(), StatusCode::no_space);
}

TEST(Executor, a_flush_runs_once_on_the_write_lane_and_its_error_is_kept) {
    Fixture fixture;
    std::atomic<int> runs{0};
    ASSERT_TRUE(fixture.executor
                    .submit_flush([&]() -> Status {
                        ++runs;
                        return {StatusCode::io, "injected flush failure"};
                    })
                    .ok());
    fixture.executor.help([&] { return !fixture.executor.flush_running(); });
    fixture.executor.stop();
    EXPECT_EQ(runs.load(), 1);
    EXPECT_EQ(fixture.executor.error().code(), StatusCode::io);
}

TEST(Executor, destroyed_in_the_middle_it_neither_hangs_nor_leaks) {
    Fixture fixture({.compress_threads = 2});
    fixture.submit(0, 200);
}

}  // namespace
}  // namespace caesura::run
