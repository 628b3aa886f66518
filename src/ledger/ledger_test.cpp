// Goal: on a real file, with real metadata, ranks that go the ledger's way commit what all of them
// have written, whoever is late and whatever fails on the way, and stock HDF5 reads it.
#include "ledger/ledger.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "base/all_ranks.hpp"
#include "base/thread_communicator.hpp"
#include "store/manifest.hpp"
#include "store/region_writer.hpp"
#include "store/store_fixture.hpp"

namespace caesura::ledger {
namespace {

using store::SmallDump;

constexpr unsigned k_ledger_seed = 20261122;
const store::RunId k_run{std::byte{9}, std::byte{4}};

/// One rank of a run. Its dumps are written when it is told to.
class Rank {
  public:
    Rank(store::SharedFile file, Communicator& comm)
        : comm_(comm),
          file_(std::move(file)),
          tree_(file_, comm.rank()),
          ledger_({file_, tree_, comm, true}, 0, store::first_region_address()) {}

    Ledger& ledger() { return ledger_; }

    void begin(const SmallDump& dump) {
        const auto blocks = dump.blocks(comm_.rank(), comm_.size());
        manifest_ = comm_.rank() == 0 ? store::encode_manifest(dump.manifest) : std::string();
        std::uint64_t bytes = store::region_overhead_bytes(blocks.size(), manifest_.size());
        for (const store::BlockView& block : blocks) bytes += block.bytes.size();
        const auto all = base::from_all(comm_, store::align_up(bytes));
        ASSERT_TRUE(all.ok());
        const auto mine = ledger_.reserve(*all);
        ASSERT_TRUE(mine.ok()) << mine.status().message();
        for (const auto& place : ledger_.begin(dump.manifest, {&*mine, 1}))
            waiting_.push_back({&dump, place, manifest_});
    }
    void write_oldest() {
        if (waiting_.empty()) return;
        const Waiting waiting = std::move(waiting_.front());
        waiting_.pop_front();
        store::RegionWriter region(file_, waiting.place, waiting.manifest);
        std::vector<store::ChunkRecord> records;
        const auto blocks = waiting.dump->blocks(comm_.rank(), comm_.size());
        ASSERT_TRUE(region.write(blocks, records).ok());
        const auto [address, bytes] = region.tail();
        const Extent tail{address, bytes};
        const Status wrote =
            ledger_.wrote(waiting.place.dump, {records, {&tail, 1}, address, Overflow()});
        ASSERT_TRUE(wrote.ok()) << wrote.message();
    }
    /// One exchange, and what it allows; `next` is begun. @return  are all dumps committed?
    bool round(bool flushes, const SmallDump* next = nullptr) {
        const auto all = base::from_all(comm_, ledger_.statement());
        Status of_tree;
        EXPECT_TRUE(all.ok() && ledger_.hear(*all, true, of_tree).ok() && of_tree.ok());
        Book& book = ledger_.book();
        EXPECT_TRUE(ledger_.gather(book.heard().durable_dumps).ok());
        if (next != nullptr) begin(*next);
        if (book.may_build(false)) {
            const Status built = ledger_.build(false);
            EXPECT_TRUE(built.ok()) << built.message();
        }
        if (flushes && ledger_.flush_due()) {
            const Status flushed = ledger_.flush();
            EXPECT_TRUE(flushed.ok()) << flushed.message();
        }
        return book.committed() == book.next_dump();
    }

  private:
    struct Waiting {
        const SmallDump* dump;
        Book::Place place;
        std::string manifest;
    };
    Communicator& comm_;
    store::SharedFile file_;
    CommitterTree tree_;
    Ledger ledger_;
    std::string manifest_;
    std::deque<Waiting> waiting_;
};

Result<store::SharedFile> open_together(const std::string& path, Communicator& comm) {
    auto& files = base::FileSystem::posix();
    Result<store::SharedFile> file = Status{StatusCode::internal, "not opened"};
    if (comm.rank() == 0) file = store::SharedFile::create(files, path, k_run);
    EXPECT_TRUE(comm.barrier().ok());
    if (comm.rank() != 0) file = store::SharedFile::open(files, path, k_run);
    return file;
}

TEST(Ledger, late_ranks_and_late_flushes_lose_no_dump) {
    RecordProperty("seed", static_cast<int>(k_ledger_seed));
    const store::TemporaryPath path("ledger");
    constexpr std::uint64_t k_dumps = 12;
    std::deque<SmallDump> dumps;
    for (std::uint64_t n = 0; n < k_dumps; ++n) dumps.emplace_back(n);
    base::run_ranks(3, [&](std::unique_ptr<Communicator> comm) {
        auto file = open_together(path.str(), *comm);
        ASSERT_TRUE(file.ok()) << file.status().message();
        Rank rank(std::move(*file), *comm);
        std::mt19937 random(k_ledger_seed + static_cast<unsigned>(comm->rank()));
        for (const SmallDump& dump : dumps) {
            if (random() % 2 == 0) rank.write_oldest();
            rank.round(random() % 2 == 0, &dump);
        }
        for (std::uint64_t n = 0; n < k_dumps; ++n) rank.write_oldest();
        int rounds = 0;
        while (!rank.round(true) && rounds < 10) ++rounds;
        EXPECT_LT(rounds, 10);
    });
    std::vector<const SmallDump*> all;
    for (const SmallDump& dump : dumps) all.push_back(&dump);
    EXPECT_EQ(store::stock_difference(path.str(), all), "");
}

// Goal: of the four steps none can be left out, taken twice, or taken too early.
TEST(Ledger, steps_out_of_order_are_refused) {
    const store::TemporaryPath path("order");
    const SmallDump dump(0);
    auto self = Communicator::self();
    auto file = store::SharedFile::create(base::FileSystem::posix(), path.str(), k_run);
    ASSERT_TRUE(file.ok());
    Rank rank(std::move(*file), *self);
    Ledger& ledger = rank.ledger();
    rank.begin(dump);
    EXPECT_FALSE(ledger.gather(1).ok());
    EXPECT_FALSE(ledger.flush().ok());
    EXPECT_FALSE(ledger.settle().ok());
    rank.write_oldest();
    ASSERT_TRUE(ledger.gather(1).ok());
    EXPECT_FALSE(ledger.wrote(0, {}).ok());
    EXPECT_FALSE(ledger.abandon(0).ok());
    EXPECT_FALSE(ledger.settle().ok());
    ASSERT_TRUE(ledger.build(false).ok());
    EXPECT_FALSE(ledger.build(false).ok());
    EXPECT_FALSE(ledger.settle().ok());
    EXPECT_FALSE(store::stock_opens(path.str()));
    ASSERT_TRUE(ledger.flush().ok());
    EXPECT_FALSE(ledger.flush().ok());
    EXPECT_EQ(ledger.book().committed(), 0u);
    ASSERT_TRUE(ledger.settle().ok());
    EXPECT_FALSE(ledger.settle().ok());
    EXPECT_EQ(ledger.book().committed(), 1u);
    const SmallDump* const all[] = {&dump};
    EXPECT_EQ(store::stock_difference(path.str(), all), "");
}

}  // namespace
}  // namespace caesura::ledger
