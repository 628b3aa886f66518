// For tests of the executor: a real codec, a sink that keeps what is written, and dumps of random
// values.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <thread>

#include "run/executor.hpp"

namespace caesura::run {

// A real, if simple, codec: every byte xor 0x5a, so that what arrives can be checked exactly.
class XorCodec final : public BlockCodec {
  public:
    std::span<const FilterSpec> pipeline() const override { return pipeline_; }
    bool reentrant() const override { return is_reentrant; }
    Result<EncodedBlock> encode(std::span<const std::byte> chunk, const Shape&) const override {
        if (on_encode) on_encode();
        // All from then on: what one thread cannot encode another one may.
        if (calls_++ >= fail_from) return Status{StatusCode::internal, "injected codec failure"};
        EncodedBlock block;
        block.bytes.assign(chunk.begin(), chunk.end());
        for (std::byte& b : block.bytes) b ^= std::byte{0x5a};
        return block;
    }
    Result<EncodedBlock> encode_exactly(std::span<const std::byte> chunk,
                                        const Shape& valid) const override {
        return encode(chunk, valid);
    }
    Status decode(std::span<const std::byte>, std::uint32_t, std::span<std::byte>) const override {
        return {StatusCode::unsupported, "not needed here"};
    }
    int fail_from = std::numeric_limits<int>::max();
    bool is_reentrant = true;
    std::function<void()> on_encode;  // called by whoever compresses

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
    Result<std::optional<Placement>> place(const Job&, std::span<std::byte>,
                                           std::span<std::byte>) override {
        return Status{StatusCode::internal, "nobody helps here"};
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

inline constexpr std::size_t k_values = 4096;

// Until a worker has done so, leaving it the core.
inline void wait_until(const std::function<bool()>& done) {
    while (!done()) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

struct Fixture {
    explicit Fixture(ExecutorOptions options = {}, const base::Clock& clock = base::Clock::steady())
        : executor(options, budget, pool, clock) {}

    // A dump of n one-piece jobs over one snapshot of random values. With expected_s it is planned:
    // so long for each compression, and a hundredth for its write.
    MemorySink* submit(std::uint64_t number, std::size_t n, double expected_s = 0.0) {
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
        raw->fail = full_disk;
        dump->sink = std::move(sink);
        dump->write_cost = {1e-9, 1e15};
        dump->max_delay_s = max_delay_s;
        dump->promptness = promptness;
        if (expected_s != 0.0) {
            for (std::size_t i = 0; i < n; ++i) {
                dump->jobs[i].expected_compress_s = expected_s;
                dump->jobs[i].expected_write_s = 0.01 * expected_s;
            }
            planned = executor.plan(*dump);
        }
        last = dump.get();
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
    // Of what is submitted from now on:
    double max_delay_s = std::numeric_limits<double>::infinity();
    plan::Promptness promptness;
    bool full_disk = false;  // for the sinks of what is submitted from now on
    base::MemoryBudget budget{std::uint64_t{1} << 40};
    base::BufferPool pool;
    std::vector<std::vector<std::byte>> sources;
    Status planned;            // what planning the last one said
    DumpTask* last = nullptr;  // the last that was submitted, until it is reclaimed
    Executor executor;
};

}  // namespace caesura::run
