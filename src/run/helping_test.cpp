// Ranks of a node that write for each other: nothing is lost and nothing is written wrongly,
// whatever a helper does.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <random>

#include "run/executor.hpp"

namespace caesura::run {
namespace {

constexpr unsigned k_helping_seed = 20240422;
constexpr std::size_t k_block_values = 4096, k_block_bytes = k_block_values * sizeof(float);

// Every byte xor 0x5a, so that what arrives can be checked exactly.
class XorCodec final : public BlockCodec {
  public:
    std::span<const FilterSpec> pipeline() const override { return pipeline_; }
    bool reentrant() const override { return true; }
    Result<EncodedBlock> encode(std::span<const std::byte> chunk, const Shape&) const override {
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

  private:
    std::vector<FilterSpec> pipeline_{{4711, true, {}, "xor"}};
};

/// The one file of all ranks, in memory.
struct Disk {
    std::mutex mutex;
    std::vector<std::byte> bytes;
};

/// One rank's way to it. `before` may wait, or return an error instead of the write.
class RankFile final : public base::File {
  public:
    explicit RankFile(Disk& disk) : disk_(disk) {}
    std::function<Status()> before;
    std::atomic<int> syncs{0};

    Status write_at(std::uint64_t offset, std::span<const std::byte> data) override {
        if (before)
            if (Status status = before(); !status.ok()) return status;
        const std::lock_guard lock(disk_.mutex);
        if (disk_.bytes.size() < offset + data.size()) disk_.bytes.resize(offset + data.size());
        std::memcpy(disk_.bytes.data() + offset, data.data(), data.size());
        return {};
    }
    Status write_at(std::uint64_t, std::span<const std::span<const std::byte>>) override {
        return {StatusCode::unsupported, "not needed here"};
    }
    Status read_at(std::uint64_t, std::span<std::byte>) override {
        return {StatusCode::unsupported, "not needed here"};
    }
    Status sync() override {
        ++syncs;
        return {};
    }
    Status truncate(std::uint64_t) override { return {}; }
    Result<std::uint64_t> size() override { return std::uint64_t{0}; }
    Status lock(bool) override { return {}; }
    void unlock() override {}

  private:
    Disk& disk_;
};

// Blocks behind each other, each with a front of 8 bytes and a back of 3.
class PlacingSink final : public Sink {
  public:
    PlacingSink(base::File& file, std::uint64_t begin, std::uint64_t end)
        : file_(file), next_(begin), end_(end) {}

    Status write(std::span<Job* const> jobs) override {
        for (Job* job : jobs) {
            std::byte front[16], back[8];
            const auto placed = place(*job, front, back);
            if (!*placed) {
                job->state.store(JobState::overflowed, std::memory_order_release);
                continue;
            }
            const auto bytes = job->stored.bytes();
            std::vector<std::byte> all(8 + bytes.size() + 3);
            std::memcpy(all.data(), front + 8, 8);
            std::memcpy(all.data() + 8, bytes.data(), bytes.size());
            std::memcpy(all.data() + 8 + bytes.size(), back, 3);
            if (Status s = file_.write_at((*placed)->address, all); !s.ok()) return s;
            job->state.store(JobState::written, std::memory_order_release);
        }
        return {};
    }
    Result<std::optional<Placement>> place(const Job& job, std::span<std::byte> front,
                                           std::span<std::byte> back) override {
        const std::uint64_t bytes = 8 + job.stored.size() + 3;
        if (next_ + bytes > end_) return std::optional<Placement>();
        std::memset(front.data() + front.size() - 8, 0xaa, 8);
        std::memset(back.data(), 0xbb, 3);
        places[job.chunk] = next_;
        next_ += bytes;
        return std::optional<Placement>({places[job.chunk], 8, 3});
    }
    Status finish() override {
        finished = true;
        return {};
    }
    std::map<std::uint64_t, std::uint64_t> places;
    std::atomic<bool> finished{false};

  private:
    base::File& file_;
    std::uint64_t next_, end_;
};

struct Node {
    explicit Node(int size, std::uint64_t arena = 1u << 20)
        : arenas(static_cast<std::size_t>(size), arena),
          memory(std::move(*base::SharedMemory::create(NodeShare::bytes_needed(arenas)))) {}
    Disk disk;
    std::vector<std::uint64_t> arenas;
    std::shared_ptr<base::SharedMemory> memory;
};

/// Not to be closed by whom it is given to.
std::shared_ptr<base::File> lent(base::File& file) {
    return {std::shared_ptr<base::File>(), &file};
}

/// One rank: its file, its share, its lanes.
class Rank {
  public:
    Rank(Node& node, int rank, double timeout_s = 30.0, bool durable = false)
        : file(node.disk),
          share(
              std::move(*NodeShare::make(node.memory, settings(node, rank, timeout_s, durable)))) {
        share->add_file(0, lent(file));
    }
    ~Rank() { stop(); }

    /// @param busy  the application writes, until free().
    void start(bool busy = false) {
        ExecutorOptions options;
        options.share = share.get();
        executor = std::make_unique<Executor>(options, budget, pool);
        if (busy)
            executor->observer().enter(Observer::Lane::write, 0.0);
        else
            executor->set_draining(true);
    }
    void free() {
        executor->observer().leave(Observer::Lane::write, 0.0);
        executor->set_draining(true);
    }
    void stop() {
        if (executor) executor->stop();
    }

    /// @param helpers  by block; < 0: none.
    PlacingSink* submit(const std::vector<int>& helpers, std::uint64_t begin, unsigned seed,
                        std::uint64_t room = ~std::uint64_t{0} >> 1) {
        const std::size_t n = helpers.size();
        auto dump = std::make_unique<DumpTask>(n);
        dump->dump = next_dump++;
        Snapshot& snapshot = dump->snapshots.emplace_back();
        snapshot.buffer = std::move(*pool.take(n * k_block_bytes));
        std::mt19937 random(seed);
        for (std::byte& b : snapshot.buffer.bytes()) b = static_cast<std::byte>(random());
        for (std::size_t i = 0; i < n; ++i) {
            Job& job = dump->jobs[i];
            job.chunk = i;
            job.chunk_box = {{i * k_block_values}, {k_block_values}};
            job.valid = {k_block_values};
            job.pieces = {
                {job.chunk_box, {{0}, {n * k_block_values}}, snapshot.buffer.data(), &snapshot}};
            job.codec = &codec;
            if (helpers[i] >= 0) given += share->allot(job.share, helpers[i], k_block_bytes);
            dump->compress_order.push_back(static_cast<std::uint32_t>(i));
            dump->write_order.push_back(static_cast<std::uint32_t>(i));
        }
        auto sink = std::make_unique<PlacingSink>(file, begin, begin + room);
        PlacingSink* raw = sink.get();
        dump->sink = std::move(sink);
        EXPECT_TRUE(executor->submit(std::move(dump)).ok());
        return raw;
    }
    void finish(const PlacingSink& sink) {
        executor->help([&] { return sink.finished.load(); });
    }

    // Workers look at a dump a moment longer than it takes.
    void reclaim() {
        while (reclaimed.size() < next_dump) {
            for (auto& dump : executor->reclaim()) reclaimed.push_back(std::move(dump));
            std::this_thread::yield();
        }
    }

    RankFile file;
    std::unique_ptr<NodeShare> share;
    XorCodec codec;
    base::MemoryBudget budget{std::uint64_t{1} << 40};
    base::BufferPool pool;
    std::unique_ptr<Executor> executor;
    std::uint64_t next_dump = 0;
    std::vector<std::unique_ptr<DumpTask>> reclaimed;
    int given = 0;

  private:
    static NodeShare::Settings settings(const Node& node, int rank, double timeout_s,
                                        bool durable) {
        NodeShare::Settings settings;
        settings.rank = rank;
        for (std::size_t r = 0; r < node.arenas.size(); ++r)
            settings.names.push_back(static_cast<int>(r));
        settings.arena_bytes = node.arenas;
        settings.durable = durable;
        settings.claim_timeout_s = timeout_s;
        return settings;
    }
};

void expect_exact(Disk& disk, const PlacingSink& sink, std::size_t n, unsigned seed) {
    const std::lock_guard lock(disk.mutex);
    ASSERT_EQ(sink.places.size(), n);
    std::mt19937 random(seed);
    std::vector<std::byte> source((sink.places.rbegin()->first + 1) * k_block_bytes);
    for (std::byte& b : source) b = static_cast<std::byte>(random());
    for (const auto& [chunk, place] : sink.places) {
        ASSERT_LE(place + 8 + k_block_bytes + 3, disk.bytes.size());
        for (int i = 0; i < 8; ++i) ASSERT_EQ(disk.bytes[place + i], std::byte{0xaa});
        for (int i = 0; i < 3; ++i)
            ASSERT_EQ(disk.bytes[place + 8 + k_block_bytes + i], std::byte{0xbb});
        for (std::size_t i = 0; i < k_block_bytes; ++i)
            ASSERT_EQ(disk.bytes[place + 8 + i],
                      source[chunk * k_block_bytes + i] ^ std::byte{0x5a})
                << "block " << chunk << " byte " << i << " seed " << seed;
    }
}

/// A gate: waits until it is opened.
class Gate {
  public:
    void open() {
        const std::lock_guard lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }
    void wait() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return open_; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;
};

const std::vector<int> k_half_to_1 = {-1, -1, -1, -1, 1, 1, 1, 1};

}  // namespace

TEST(Helping, an_idle_rank_writes_what_it_is_given_and_syncs_it_first) {
    Node node(2);
    Gate helped;
    Rank owner(node, 0, 30.0, true), helper(node, 1, 30.0, true);
    helper.file.before = [&] { return helped.open(), Status{}; };
    owner.start(true);  // it writes nothing before the helper has begun
    helper.start();
    PlacingSink* sink = owner.submit(k_half_to_1, 1000, k_helping_seed);
    helped.wait();
    owner.free();
    owner.finish(*sink);
    owner.stop();
    helper.stop();
    expect_exact(node.disk, *sink, 8, k_helping_seed);
    EXPECT_EQ(owner.given, 4);
    const auto mine = owner.executor->counters(), theirs = helper.executor->counters();
    EXPECT_GE(theirs.helped_blocks, 1u);
    EXPECT_EQ(theirs.helped_blocks + mine.taken_back_blocks, 4u);
    EXPECT_EQ(theirs.helped_bytes, theirs.helped_blocks * (8 + k_block_bytes + 3));
    EXPECT_GE(helper.file.syncs.load(), 1);
    owner.reclaim();
    EXPECT_EQ(owner.budget.held_bytes(), 0u);
}

// Each task says which file it belongs to, and a file that is gone is an error, not another file.
TEST(NodeShare, keeps_files_apart) {
    Node node(2);
    Disk other_disk;
    Rank owner(node, 0), helper(node, 1);
    RankFile other(other_disk), gone(other_disk);
    helper.share->add_file(7, lent(other));
    helper.share->add_file(8, lent(gone));
    const std::vector<std::byte> block(100, std::byte{42});
    std::vector<Share> shares(3);
    const std::uint32_t files[] = {0, 7, 8};
    for (std::size_t i = 0; i < 3; ++i) {
        ASSERT_TRUE(owner.share->allot(shares[i], 1, block.size(), files[i]));
        ASSERT_TRUE(owner.share->keep(shares[i], block));
        owner.share->offer(shares[i], block.size(), 1000 * (i + 1), 0, 0, 0.0);
    }
    const auto claimed = helper.share->claim(helper.share->offers());
    ASSERT_EQ(claimed.size(), 3u);
    helper.share->drop_file(8);
    EXPECT_TRUE(helper.share->write(claimed[0]).ok());
    EXPECT_TRUE(helper.share->write(claimed[1]).ok());
    EXPECT_EQ(helper.share->write(claimed[2]).code(), StatusCode::cancelled);
    EXPECT_EQ(node.disk.bytes.size(), 1100u);
    EXPECT_EQ(other_disk.bytes.size(), 2100u);
    EXPECT_TRUE(helper.share->sync(std::span(claimed).first(2)).ok());
    EXPECT_EQ(helper.file.syncs.load() + other.syncs.load(), 0) << "they are not to be durable";
    helper.share->complete(std::span(claimed).first(2), true);
    helper.share->complete(std::span(claimed).subspan(2), false);
    for (Share& share : shares) owner.share->recycle(share);
}

TEST(Helping, without_a_helper_the_owner_writes_everything) {
    Node node(2);
    Rank owner(node, 0), absent(node, 1);
    owner.start();
    PlacingSink* sink = owner.submit(k_half_to_1, 0, k_helping_seed);
    owner.finish(*sink);
    expect_exact(node.disk, *sink, 8, k_helping_seed);
    EXPECT_EQ(owner.executor->counters().taken_back_blocks, 4u);
}

// The helper claims and then does nothing. The owner finishes; the helper's memory is left alone;
// and when its write comes after all, it changes nothing.
TEST(Helping, a_helper_that_stalls_costs_time_and_no_block) {
    Node node(2, 4 * 24576);  // room for four blocks of 4 KiB pages
    Gate claimed, released;
    Rank owner(node, 0, 0.02), helper(node, 1);
    helper.file.before = [&] { return claimed.open(), released.wait(), Status{}; };
    owner.start(true);
    helper.start();
    PlacingSink* first = owner.submit(k_half_to_1, 0, k_helping_seed);
    claimed.wait();
    owner.free();
    owner.finish(*first);
    EXPECT_TRUE(first->finished.load());
    expect_exact(node.disk, *first, 8, k_helping_seed);
    owner.reclaim();
    // What is still claimed is not given out again, however many dumps come.
    const auto stuck = owner.executor->counters().taken_back_blocks;
    EXPECT_EQ(stuck, 4u);
    std::vector<PlacingSink*> sinks;
    for (unsigned n = 1; n <= 3; ++n) {
        owner.given = 0;
        sinks.push_back(owner.submit(k_half_to_1, n * 1000000, k_helping_seed + n));
        EXPECT_LT(owner.given, 4);
        owner.finish(*sinks.back());
        owner.reclaim();
    }
    released.open();
    helper.stop();
    expect_exact(node.disk, *first, 8, k_helping_seed);
    for (unsigned n = 1; n <= 3; ++n) expect_exact(node.disk, *sinks[n - 1], 8, k_helping_seed + n);
    // All its memory is there again.
    owner.given = 0;
    owner.finish(*owner.submit(k_half_to_1, 9000000, k_helping_seed));
    EXPECT_EQ(owner.given, 4);
}

TEST(Helping, a_helper_whose_disk_is_full_leaves_the_block_to_its_owner) {
    Node node(2);
    Gate tried;
    std::atomic<int> attempts{0};
    Rank owner(node, 0), helper(node, 1);
    helper.file.before = [&] {
        ++attempts;
        tried.open();
        return Status{StatusCode::no_space, "injected full disk"};
    };
    owner.start(true);
    helper.start();
    PlacingSink* sink = owner.submit(k_half_to_1, 0, k_helping_seed);
    tried.wait();
    owner.free();
    owner.finish(*sink);
    expect_exact(node.disk, *sink, 8, k_helping_seed);
    EXPECT_EQ(owner.executor->counters().taken_back_blocks, 4u);
    EXPECT_TRUE(owner.executor->error().ok());
    helper.stop();
    EXPECT_TRUE(helper.executor->error().ok()) << "it was not the helper's block";
    EXPECT_EQ(attempts.load(), 1) << "it does not try again";
}

TEST(Helping, the_owner_meets_the_error_that_is_its_own) {
    Node node(2);
    Rank owner(node, 0), helper(node, 1);
    const auto broken = [] { return Status{StatusCode::io, "injected broken disk"}; };
    owner.file.before = broken;
    helper.file.before = broken;
    owner.start();
    helper.start();
    PlacingSink* sink = owner.submit({1, 1, 1, 1}, 0, k_helping_seed);
    owner.finish(*sink);
    EXPECT_FALSE(sink->finished.load());
    EXPECT_EQ(owner.executor->error().code(), StatusCode::io);
    EXPECT_TRUE(helper.executor->error().ok());
}

// Another process claims a block and is killed before it writes a byte.
TEST(Helping, a_helper_that_is_killed_between_claim_and_write_loses_nothing) {
    Node node(2);
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        Rank helper(node, 1);
        (void)!::write(ready[1], "r", 1);
        for (;;) {
            const std::uint32_t seen = helper.share->event().count();
            if (!helper.share->claim(helper.share->offers()).empty()) ::raise(SIGKILL);
            helper.share->event().wait(seen, 10.0);
        }
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    Rank owner(node, 0, 0.02);
    owner.start(true);
    PlacingSink* sink = owner.submit(k_half_to_1, 0, k_helping_seed);
    int how = 0;
    EXPECT_EQ(::waitpid(child, &how, 0), child);
    EXPECT_TRUE(WIFSIGNALED(how));
    owner.free();
    owner.finish(*sink);
    expect_exact(node.disk, *sink, 8, k_helping_seed);
    EXPECT_GE(owner.executor->counters().taken_back_blocks, 1u);
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST(Helping, a_block_without_room_in_the_file_comes_back_in_memory_of_its_own) {
    Node node(2);
    Rank owner(node, 0), helper(node, 1);
    owner.start();
    helper.start();
    PlacingSink* sink = owner.submit({1, 1, 1, 1}, 0, k_helping_seed, 2 * (k_block_bytes + 11));
    owner.finish(*sink);
    owner.reclaim();
    std::size_t overflowed = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        Job& job = owner.reclaimed[0]->jobs[i];
        if (job.state.load() != JobState::overflowed) continue;
        ++overflowed;
        ASSERT_EQ(job.stored.size(), k_block_bytes);
        // Slots are used again; the block is not touched by that.
        EXPECT_EQ(sink->places.count(i), 0u);
    }
    EXPECT_EQ(overflowed, 2);
    expect_exact(node.disk, *sink, 2, k_helping_seed);
}

TEST(Helping, a_task_is_claimed_or_taken_back_and_never_both) {
    constexpr int k_rounds = 500;
    Node node(2);
    Rank owner(node, 0), helper(node, 1);
    std::atomic<int> claimed{0};
    std::atomic<bool> over{false};
    std::thread thief([&] {
        while (!over.load()) {
            const auto mine = helper.share->claim(helper.share->offers());
            claimed += static_cast<int>(mine.size());
            helper.share->complete(mine, true);
        }
    });
    int taken = 0;
    for (int round = 0; round < k_rounds; ++round) {
        Share share;
        ASSERT_TRUE(owner.share->allot(share, 1, 100));
        const std::byte block[100] = {};
        ASSERT_TRUE(owner.share->keep(share, block));
        owner.share->offer(share, 100, 0, 0, 0, 0.0);
        if (round % 3) std::this_thread::yield();
        if (owner.share->take_back(share))
            ++taken;
        else
            while (owner.share->phase(share) != NodeShare::Phase::done) std::this_thread::yield();
        owner.share->recycle(share);
    }
    over = true;
    thief.join();
    EXPECT_EQ(taken + claimed.load(), k_rounds);
    EXPECT_TRUE(helper.share->offers().empty());
}

// Every rank gives to every other at random, all at once.
TEST(Helping, random_ranks_that_help_each_other_write_every_byte) {
    constexpr int k_ranks = 3, k_dumps = 12;
    Node node(k_ranks, 1u << 18);
    std::vector<std::unique_ptr<Rank>> ranks;
    for (int r = 0; r < k_ranks; ++r) ranks.push_back(std::make_unique<Rank>(node, r));
    for (auto& rank : ranks) rank->start();
    std::vector<std::vector<PlacingSink*>> sinks(k_ranks);
    std::vector<std::vector<std::size_t>> counts(k_ranks);
    std::vector<std::thread> applications;
    for (int r = 0; r < k_ranks; ++r)
        applications.emplace_back([&, r] {
            auto& rank = *ranks[static_cast<std::size_t>(r)];
            std::mt19937 random(k_helping_seed + static_cast<unsigned>(r));
            for (unsigned d = 0; d < k_dumps; ++d) {
                std::vector<int> helpers(1 + random() % 12);
                for (int& helper : helpers) {
                    helper = static_cast<int>(random() % (k_ranks + 1)) - 1;
                    if (helper == r) helper = -1;
                }
                const auto at = static_cast<std::uint64_t>(r * k_dumps + static_cast<int>(d));
                auto* sink = rank.submit(helpers, at * 400000, static_cast<unsigned>(at));
                sinks[static_cast<std::size_t>(r)].push_back(sink);
                counts[static_cast<std::size_t>(r)].push_back(helpers.size());
                if (random() % 2) rank.finish(*sink);
                if (random() % 4 == 0 && d > 2 && r == 0) rank.executor->obstacles_changed();
            }
            rank.finish(*sinks[static_cast<std::size_t>(r)].back());
        });
    for (std::thread& application : applications) application.join();
    for (auto& rank : ranks) rank->stop();
    std::uint64_t given = 0, done = 0;
    for (int r = 0; r < k_ranks; ++r) {
        const auto& rank = *ranks[static_cast<std::size_t>(r)];
        ASSERT_TRUE(rank.executor->error().ok()) << rank.executor->error().message();
        given += static_cast<std::uint64_t>(rank.given);
        done +=
            rank.executor->counters().helped_blocks + rank.executor->counters().taken_back_blocks;
        for (unsigned d = 0; d < k_dumps; ++d)
            expect_exact(node.disk, *sinks[static_cast<std::size_t>(r)][d],
                         counts[static_cast<std::size_t>(r)][d],
                         static_cast<unsigned>(r * k_dumps) + d);
        EXPECT_EQ(rank.budget.held_bytes(), 0u);
    }
    EXPECT_GT(given, 0u);
    EXPECT_EQ(done, given);
}

}  // namespace caesura::run
