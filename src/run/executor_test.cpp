#include "run/executor.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

namespace caesura::run {
namespace {

// A real, if simple, codec: every byte xor 0x5a, so that what arrives can be checked exactly.
class XorCodec final : public BlockCodec {
  public:
    std::span<const FilterSpec> pipeline() const override { return pipeline_; }
    bool reentrant() const override { return true; }
    Result<EncodedBlock> encode(std::span<const std::byte> chunk, const Shape&) const override {
        if (calls_++ == fail_at) return Status{StatusCode::internal, "injected codec failure"};
        EncodedBlock block;
        block.bytes.assign(chunk.begin(), chunk.end());
        for (std::byte& b : block.bytes) b ^= std::byte{0x5a};
        return block;
    }
    Status decode(std::span<const std::byte>, std::uint32_t, std::span<std::byte>) const override {
        return {StatusCode::unsupported, "not needed here"};
    }
    int fail_at = -1;

  private:
    std::vector<FilterSpec> pipeline_{{4711, true, {}, "xor"}};
    mutable std::atomic<int> calls_{0};
};

// Keeps what was written; overflows every n-th block if told so.
class MemorySink final : public Sink {
  public:
    Status write(std::span<Job* const> jobs) override {
        for (Job* job : jobs) {
            if (fail) return {StatusCode::no_space, "injected full disk"};
            written[job->chunk].assign(job->stored.bytes().begin(), job->stored.bytes().end());
            order.push_back(job->chunk);
            job->state.store(JobState::written, std::memory_order_release);
        }
        return {};
    }
    Status finish() override {
        finished = true;
        return {};
    }
    bool fail = false;
    std::atomic<bool> finished{false};
    std::map<std::uint64_t, std::vector<std::byte>> written;
    std::vector<std::uint64_t> order;
};

constexpr std::size_t k_values = 4096;

struct Fixture {
    explicit Fixture(ExecutorOptions options = {}) : executor(options, budget, pool) {}

    // A dump of n one-piece jobs over one snapshot of random values.
    MemorySink* submit(std::uint64_t number, std::size_t n) {
        auto dump = std::make_unique<DumpTask>(n);
        dump->dump = number;
        Snapshot& snapshot = dump->snapshots.emplace_back();
        const std::size_t bytes = n * k_values * sizeof(float);
        snapshot.buffer = std::move(*pool.take(bytes));
        snapshot.budget = &budget;
        snapshot.charged_bytes = bytes;
        budget.charge(bytes);
        for (std::byte& b : snapshot.buffer.bytes()) b = static_cast<std::byte>(random());
        sources.emplace_back(snapshot.buffer.bytes().begin(), snapshot.buffer.bytes().end());
        const Box whole{{0}, {n * k_values}};
        for (std::size_t i = 0; i < n; ++i) {
            Job& job = dump->jobs[i];
            job.chunk = i;
            job.chunk_box = {{i * k_values}, {k_values}};
            job.valid = {k_values};
            job.pieces = {{job.chunk_box, whole, snapshot.buffer.data(), &snapshot}};
            job.codec = &codec;
            dump->compress_order.push_back(static_cast<std::uint32_t>(n - 1 - i));
            dump->write_order.push_back(static_cast<std::uint32_t>(i));
        }
        auto sink = std::make_unique<MemorySink>();
        MemorySink* raw = sink.get();
        dump->sink = std::move(sink);
        EXPECT_TRUE(executor.submit(std::move(dump)).ok());
        return raw;
    }

    void expect_exact(const MemorySink& sink, std::size_t dump, std::size_t n) {
        ASSERT_EQ(sink.written.size(), n);
        for (const auto& [chunk, bytes] : sink.written)
            for (std::size_t i = 0; i < bytes.size(); ++i)
                ASSERT_EQ(bytes[i] ^ std::byte{0x5a},
                          sources[dump][chunk * k_values * sizeof(float) + i]);
    }

    std::mt19937 random{42};
    XorCodec codec;
    base::MemoryBudget budget{std::uint64_t{1} << 40};
    base::BufferPool pool;
    std::vector<std::vector<std::byte>> sources;
    Executor executor;
};

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

TEST(Executor, an_encoding_error_is_kept_and_names_the_block) {
    Fixture fixture;
    fixture.codec.fail_at = 3;
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
    MemorySink* sink = fixture.submit(0, 8);
    sink->fail = true;
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
