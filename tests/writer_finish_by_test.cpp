// finish_by on two ranks, of which one gets no CPU time: all ranks come to one answer, what there
// is no time for stays as it is, and nothing is lost.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <mutex>

#include "base/thread_communicator.hpp"
#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "held_worker.hpp"
#include "stock_reader.hpp"

namespace caesura {
namespace {

constexpr std::uint64_t k_rows = 20, k_columns = 1000;
constexpr double k_long_s = 1e9;

std::vector<float> part_of(std::uint64_t dump, int rank) {
    return testing::make_field<float>({k_rows, k_columns}, 2 * unsigned(dump) + unsigned(rank), 2);
}

class WriterFinishBy : public ::testing::Test {
  protected:
    std::string path_ = ::testing::TempDir() + fmt::format("caesura_finish_by_{}.h5", ::getpid());
    void TearDown() override { std::filesystem::remove(path_); }

    // Rank 1's worker is the one at idle priority. Nothing else takes over what it has begun.
    static WriterOptions options_of(int rank) {
        WriterOptions options;
        options.durable = options.planning = options.balance_writes = false;
        options.max_delay_s = std::numeric_limits<double>::infinity();
        options.calibration_path = "none";
        options.chunk_bytes = 64u << 10;  // so that each rank has blocks of its own
        options.idle_priority = rank == 1;
        return options;
    }

    static void dump(Writer& writer, Field field, std::uint64_t number, int rank) {
        const auto values = part_of(number, rank);
        auto iteration = writer.begin_iteration(number);
        const std::uint64_t row = rank == 0 ? 0 : k_rows;
        EXPECT_TRUE(iteration.begin_dump(0.0)
                        .put(field, {{row, 0}, {k_rows, k_columns}}, values.data())
                        .ok());
        EXPECT_TRUE(iteration.end().ok());
    }

    std::string broken(std::uint64_t dump) const {
        auto expected = part_of(dump, 0);
        const auto other = part_of(dump, 1);
        expected.insert(expected.end(), other.begin(), other.end());
        return testing::broken(
            expected, testing::read_dataset(path_, fmt::format("/data/{}/meshes/rho", dump)).values,
            0.0);
    }
};

// Goal: rank 1 has a block that a starved worker has begun, and no time: the call returns ok on
// both ranks, neither says that the dump is committed, and it is not. With time, rank 1 does the
// work of its starved worker itself, and both say so.
TEST_F(WriterFinishBy, a_starved_rank_keeps_all_ranks_from_a_commit_that_lacks_its_blocks) {
    testing::HeldWorker worker;
    std::mutex mutex;
    int finished = 0;
    base::run_ranks(2, [&](std::unique_ptr<Communicator> comm) {
        const int rank = comm->rank();
        auto writer = Writer::create(path_, std::move(comm), options_of(rank));
        ASSERT_TRUE(writer.ok()) << writer.status().message();
        const auto rho = (*writer)->define_field("rho", float32, {2 * k_rows, k_columns});
        ASSERT_TRUE(rho.ok());
        dump(**writer, *rho, 0, rank);
        if (rank == 1) worker.wait_until_held();

        const Status early = (*writer)->finish_by(rank == 0 ? k_long_s : 0.0);
        EXPECT_TRUE(early.ok()) << rank << ": " << early.message();
        EXPECT_EQ((*writer)->committed(), std::nullopt) << rank;
        EXPECT_EQ((*writer)->report().lost_dumps, 0u) << "it goes on";

        const Status late = (*writer)->finish_by(k_long_s);
        EXPECT_TRUE(late.ok()) << rank << ": " << late.message();
        EXPECT_EQ((*writer)->committed(), std::optional<std::uint64_t>(0)) << rank;
        if (rank == 0) {
            EXPECT_EQ(broken(0), "") << "readers see it while the run goes on";
        }

        dump(**writer, *rho, 1, rank);
        if (rank == 1) worker.let_go();
        const Status closed = (*writer)->close();
        EXPECT_TRUE(closed.ok()) << rank << ": " << closed.message();
        const std::lock_guard lock(mutex);
        ++finished;
    });
    EXPECT_EQ(finished, 2);
    for (const std::uint64_t dump : {0u, 1u}) EXPECT_EQ(broken(dump), "") << dump;
}

}  // namespace
}  // namespace caesura
