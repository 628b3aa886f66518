// Ranks of a node that write for each other, through the whole writer: every byte is read back by
// stock HDF5, and nobody helps who should not.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <random>

#include "base/file.hpp"
#include "base/thread_communicator.hpp"
#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "limited_file_system.hpp"
#include "slow_file_system.hpp"
#include "stock_reader.hpp"

namespace caesura {
namespace {

constexpr unsigned k_writer_balance_seed = 20240423;
const Shape k_part{16, 16, 64};  // of one rank, in each of the fields
constexpr int k_fields = 4;      // a block each
constexpr double k_disk_bytes_per_s = 2e7;

struct Scenario {
    int ranks = 2, ranks_per_node = 2;
    unsigned dumps = 3;
    Reserve reserve = Reserve::regions;
    double reserve_factor = 1.0;
    bool durable = false;
    /// Values of a rank in a dump: 2 noise, 3 constant, see make_field.
    std::function<int(int rank, unsigned dump)> kind = [](int rank, unsigned) {
        return rank == 0 ? 2 : 3;
    };
    std::function<void(int rank, WriterOptions&)> options = [](int, WriterOptions&) {};
    std::function<std::unique_ptr<Communicator>(std::unique_ptr<Communicator>)> wrap =
        [](std::unique_ptr<Communicator> comm) { return comm; };
};

struct Outcome {
    std::vector<WriterReport> reports;
    std::vector<std::string> errors, messages;
    std::uint64_t helped(int rank) const {
        return reports[static_cast<std::size_t>(rank)].helped_blocks;
    }
    std::uint64_t all_helped() const {
        std::uint64_t sum = 0;
        for (const auto& report : reports) sum += report.helped_blocks;
        return sum;
    }
};

std::vector<float> values_of(const Scenario& scenario, int rank, unsigned dump, int field) {
    const unsigned seed = 100 * dump + 10 * static_cast<unsigned>(rank);
    return testing::make_field<float>(k_part,
                                      k_writer_balance_seed + seed + static_cast<unsigned>(field),
                                      scenario.kind(rank, dump));
}

std::string name_of(int field) { return "f" + std::to_string(field); }

Outcome run(const std::string& path, const Scenario& scenario) {
    const std::string profile = path + ".json";
    std::ofstream(profile) << testing::slow_profile(path, k_disk_bytes_per_s);
    Outcome outcome;
    outcome.reports.resize(static_cast<std::size_t>(scenario.ranks));
    std::mutex mutex;
    testing::SlowFileSystem slow(k_disk_bytes_per_s);
    Shape shape = k_part;
    shape[0] *= static_cast<std::uint64_t>(scenario.ranks);
    const auto body = [&](std::unique_ptr<Communicator> comm) {
        const int rank = comm->rank();
        const auto note = [&](const Status& status) {
            const std::lock_guard lock(mutex);
            if (!status.ok()) outcome.errors.push_back(status.message());
            return status.ok();
        };
        WriterOptions options;
        options.codec.name = "caesura";
        options.chunk_bytes = 64u << 10;
        options.calibration_path = profile;
        options.durable = scenario.durable;
        options.file_system = &slow;
        options.reserve = scenario.reserve;
        options.reserve_factor = scenario.reserve_factor;
        options.on_message = [&](std::string_view text) {
            const std::lock_guard lock(mutex);
            // Not what it says about the cores of this machine.
            if (text.find("balance_writes") != std::string_view::npos)
                outcome.messages.emplace_back(text);
        };
        scenario.options(rank, options);
        auto writer = Writer::create(path, scenario.wrap(std::move(comm)), options);
        if (!note(writer.status())) return;
        std::vector<Field> fields;
        for (int f = 0; f < k_fields; ++f)
            fields.push_back(*(*writer)->define_field(name_of(f), float32, shape));
        for (unsigned n = 0; n < scenario.dumps; ++n) {
            auto iteration = (*writer)->begin_iteration(n);
            auto dump = iteration.begin_dump(0.0);
            const Box box{{static_cast<std::uint64_t>(rank) * k_part[0], 0, 0}, k_part};
            for (int f = 0; f < k_fields; ++f)
                note(dump.put(fields[static_cast<std::size_t>(f)], box,
                              values_of(scenario, rank, n, f).data()));
            if (!note(iteration.end())) break;
        }
        note((*writer)->close());
        const std::lock_guard lock(mutex);
        outcome.reports[static_cast<std::size_t>(rank)] = (*writer)->report();
    };
    base::run_ranks(scenario.ranks, body, scenario.ranks_per_node);
    std::filesystem::remove(profile);
    return outcome;
}

class WriterBalance : public ::testing::Test {
  protected:
    ~WriterBalance() override { std::filesystem::remove(path_); }

    void expect_exact(const Scenario& scenario, const Outcome& outcome) const {
        ASSERT_TRUE(outcome.errors.empty()) << outcome.errors[0];
        for (unsigned n = 0; n < scenario.dumps; ++n)
            for (int f = 0; f < k_fields; ++f) {
                std::vector<float> expected;
                for (int rank = 0; rank < scenario.ranks; ++rank) {
                    const auto part = values_of(scenario, rank, n, f);
                    expected.insert(expected.end(), part.begin(), part.end());
                }
                const std::string name = "/data/" + std::to_string(n) + "/meshes/" + name_of(f);
                const auto read = testing::read_dataset(path_, name);
                ASSERT_EQ(testing::broken(expected, read.values, 0.0), "") << name;
            }
        const auto report = store::recover(path_, true);
        ASSERT_TRUE(report.ok()) << report.status().message();
        EXPECT_TRUE(report->was_clean);
        EXPECT_EQ(report->committed_dumps, scenario.dumps);
    }
    Outcome run_exactly(const Scenario& scenario) const {
        Outcome outcome = run(path_, scenario);
        expect_exact(scenario, outcome);
        return outcome;
    }

    std::string path_ = ::testing::TempDir() + "caesura_balance_" + std::to_string(::getpid()) +
                        "_" + ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                        ".h5";
};

std::uint64_t settled(const Outcome& outcome) {
    std::uint64_t sum = 0;
    for (const auto& report : outcome.reports)
        sum += report.helped_blocks + report.taken_back_blocks;
    return sum;
}

}  // namespace

// Which of two ranks writes a given block is a race by design; that all of them are written, and
// the right way, is not.
TEST_F(WriterBalance, a_heavy_rank_gives_blocks_away_and_every_value_is_there) {
    for (const bool durable : {false, true}) {
        Scenario scenario;
        scenario.durable = durable;
        const Outcome outcome = run_exactly(scenario);
        EXPECT_GT(settled(outcome), 0u);
        EXPECT_EQ(outcome.helped(0), 0u);
        EXPECT_EQ(outcome.reports[1].taken_back_blocks, 0u);
        EXPECT_TRUE(outcome.messages.empty()) << outcome.messages[0];
    }
}

TEST_F(WriterBalance, even_ranks_give_nothing) {
    Scenario scenario;
    scenario.ranks = scenario.ranks_per_node = 3;
    scenario.kind = [](int, unsigned) { return 2; };
    scenario.dumps = 1;
    EXPECT_EQ(settled(run_exactly(scenario)), 0u);
}

TEST_F(WriterBalance, nodes_balance_inside_themselves_only) {
    Scenario scenario;
    scenario.ranks = 4;
    scenario.ranks_per_node = 2;
    // One node is all noise, the other all constant: between them nothing moves.
    scenario.kind = [](int rank, unsigned) { return rank < 2 ? 2 : 3; };
    scenario.dumps = 1;  // later ones know the disk, and a rank's may be the slower
    EXPECT_EQ(settled(run_exactly(scenario)), 0u);
    scenario.dumps = 3;
    // Noise on one rank of each.
    scenario.kind = [](int rank, unsigned) { return rank % 2 ? 3 : 2; };
    const Outcome outcome = run_exactly(scenario);
    EXPECT_GT(settled(outcome), 0u);
    EXPECT_EQ(outcome.helped(0) + outcome.helped(2), 0u);
}

TEST_F(WriterBalance, one_rank_that_does_not_want_it_switches_its_node_off) {
    Scenario scenario;
    scenario.options = [](int rank, WriterOptions& options) { options.balance_writes = rank != 1; };
    EXPECT_EQ(settled(run_exactly(scenario)), 0u);
    scenario.options = [](int, WriterOptions& options) { options.planning = false; };
    EXPECT_EQ(settled(run_exactly(scenario)), 0u);
}

TEST_F(WriterBalance, a_communicator_that_knows_no_nodes_switches_it_off_and_says_so) {
    Scenario scenario;
    scenario.ranks_per_node = 0;
    const Outcome outcome = run_exactly(scenario);
    EXPECT_EQ(settled(outcome), 0u);
    ASSERT_FALSE(outcome.messages.empty());
    EXPECT_NE(outcome.messages[0].find("balance_writes"), std::string::npos);
}

TEST_F(WriterBalance, slots_and_overflow_go_together_with_it) {
    Scenario scenario;
    scenario.reserve = Reserve::slots;
    EXPECT_GT(settled(run_exactly(scenario)), 0u);
    // Next to no room: given blocks overflow like any others.
    for (const Reserve reserve : {Reserve::slots, Reserve::regions}) {
        scenario.reserve = reserve;
        scenario.reserve_factor = 0.1;
        const Outcome outcome = run_exactly(scenario);
        EXPECT_GT(outcome.reports[0].overflow_blocks, 0u);
    }
}

TEST_F(WriterBalance, a_helper_with_a_full_disk_costs_no_block) {
    Scenario scenario;
    // Rank 1 can write its own few bytes and no block of rank 0.
    testing::LimitedFileSystem small(30000);
    scenario.options = [&](int rank, WriterOptions& options) {
        if (rank == 1) options.file_system = &small;
    };
    const Outcome outcome = run_exactly(scenario);
    EXPECT_EQ(outcome.all_helped(), 0u);
    EXPECT_GT(outcome.reports[0].taken_back_blocks, 0u);
}

// Whatever call fails on whatever rank, inside the node or outside, all ranks come back.
TEST_F(WriterBalance, no_rank_waits_for_one_whose_communicator_fails) {
    for (int fail_at = 0; fail_at < 40; ++fail_at) {
        Scenario scenario;
        scenario.ranks = 4;
        scenario.dumps = 2;
        scenario.kind = [](int rank, unsigned) { return rank % 2 ? 3 : 2; };
        scenario.wrap = [&](std::unique_ptr<Communicator> comm) {
            if (comm->rank() != 3) return comm;
            return base::make_failing_communicator(std::move(comm), fail_at);
        };
        const Outcome outcome = run(path_, scenario);
        if (outcome.errors.empty()) {
            EXPECT_GT(fail_at, 10) << "the failure was not noticed";
            expect_exact(scenario, outcome);
        }
    }
}

TEST_F(WriterBalance, random_loads_on_random_nodes_keep_every_byte) {
    std::mt19937 random(k_writer_balance_seed);
    std::uint64_t moved = 0;
    for (int trial = 0; trial < 6; ++trial) {
        Scenario scenario;
        scenario.ranks = 2 + static_cast<int>(random() % 5);
        scenario.ranks_per_node = 1 + static_cast<int>(random() % 4);
        scenario.dumps = 2 + random() % 4;
        scenario.durable = random() % 2;
        scenario.reserve = random() % 2 ? Reserve::regions : Reserve::slots;
        const unsigned seed = random();
        scenario.kind = [seed](int rank, unsigned dump) {
            std::mt19937 mine(seed + 31 * dump + static_cast<unsigned>(rank));
            return static_cast<int>(mine() % 4);
        };
        SCOPED_TRACE("seed " + std::to_string(k_writer_balance_seed) + " trial " +
                     std::to_string(trial));
        moved += settled(run_exactly(scenario));
    }
    EXPECT_GT(moved, 0u);
}

}  // namespace caesura
