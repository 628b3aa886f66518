// Goal: an application that marks nothing has its communication and its computing recorded; one
// that has no writer, or no layer, is left alone.
//
// Times are compared with what the application itself measured around the same calls, so that a
// loaded machine changes both sides.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Layer : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "pmpi_test_XXXXXX").string();
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        out_ = pattern;
    }
    void TearDown() override { fs::remove_all(out_); }

    // mpirun's exit status. The layer is loaded into the ranks, not into mpirun.
    int run(int ranks, std::vector<std::string> program, bool layered = true) const {
        std::vector<std::string> words = {PMPI_EXEC, "-n", std::to_string(ranks), "env",
                                          "PMPI_PROBE_OUT=" + out_.string()};
        if (layered) words.push_back(std::string("LD_PRELOAD=") + PMPI_LIBRARY);
        words.insert(words.end(), program.begin(), program.end());
        const pid_t pid = fork();
        if (pid == 0) {
            const std::map<std::string, std::string> environment = {
                {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                {"OMPI_MCA_mpi_yield_when_idle", "1"},
                {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"}};
            for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
            std::vector<char*> arguments;
            for (auto& word : words) arguments.push_back(word.data());
            arguments.push_back(nullptr);
            execvp(arguments[0], arguments.data());
            _exit(126);
        }
        int status = 0;
        waitpid(pid, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

    json told_by(int rank) const {
        std::ifstream in(out_ / (std::to_string(rank) + ".json"));
        EXPECT_TRUE(in.good()) << "rank " << rank << " has told nothing";
        return json::parse(in);
    }

    // Obstacles of a lane in the trace, by iteration.
    std::multiset<int> obstacles(int rank, const std::string& lane) const {
        std::ifstream in(out_ / ("trace-" + std::to_string(rank) + ".json"));
        const json trace = json::parse(in);
        std::multiset<int> iterations;
        for (const json& event : trace.at("traceEvents"))
            if (event.value("cat", "") == "obstacle" && event.value("name", "") == lane)
                iterations.insert(event.at("args").at("iteration").get<int>());
        return iterations;
    }

    // What the ranks of a "waiting" run saw of themselves. The application's own clock is read
    // around what the layer sees, so a stall of the machine may only make its numbers larger; by
    // less than half, or nothing could be measured here.
    void expect_waits_were_seen(int ranks) const {
        for (int rank = 0; rank < ranks; ++rank) {
            SCOPED_TRACE("rank " + std::to_string(rank));
            const json told = told_by(rank);
            const double seen_s = told.at("seen_communicating_s");
            const double computing_s = told.at("seen_computing_s");
            constexpr double k_gaps_s = 2e-3;  // short calls are joined over the gaps between them
            EXPECT_LE(seen_s, told.at("called_s").get<double>() + k_gaps_s);
            EXPECT_LE(seen_s + computing_s, told.at("inside_s").get<double>() + 1e-6);
            EXPECT_GE(computing_s, 0.5 * told.at("computed_s").get<double>());
            if (rank > 0) {
                // A rank that the machine held up for longer than rank 0 computes waits for nobody.
                EXPECT_GE(told.at("long_calls"), 1) << "nobody waited for rank 0";
                EXPECT_GE(obstacles(rank, "write").size(), told.at("long_calls"));
                EXPECT_GE(seen_s, 0.5 * told.at("called_s").get<double>());
            }
        }
    }

    fs::path out_;
};

TEST_F(Layer, sees_waits_and_computing_on_1_to_4_ranks) {
    for (int ranks = 1; ranks <= 4; ++ranks) {
        SCOPED_TRACE(std::to_string(ranks) + " ranks");
        ASSERT_EQ(run(ranks, {PMPI_PROBE, "waiting"}), 0);
        expect_waits_were_seen(ranks);
    }
}

TEST_F(Layer, sees_the_same_under_funneled_threads) {
    ASSERT_EQ(run(2, {PMPI_PROBE, "waiting", "funneled"}), 0);
    expect_waits_were_seen(2);
}

TEST_F(Layer, hears_only_the_thread_that_initialised_mpi) {
    ASSERT_EQ(run(2, {PMPI_PROBE, "threads"}), 0);
    for (int rank = 0; rank < 2; ++rank) {
        const json told = told_by(rank);
        EXPECT_EQ(told.at("seen_communicating_s"), 0.0);
        EXPECT_EQ(told.at("seen_intervals"), 4);  // the computing of each iteration, whole
    }
}

TEST_F(Layer, a_thousand_short_calls_leave_computing_whole) {
    ASSERT_EQ(run(1, {PMPI_PROBE, "bursts"}), 0);
    const json told = told_by(0);
    // Four of computing; more only where the machine stalls inside a call.
    EXPECT_LE(told.at("seen_intervals"), 400);
    EXPECT_GE(told.at("seen_computing_s"), 0.1 * told.at("computed_s").get<double>());
}

TEST_F(Layer, counts_what_mpi_io_calls_inside_itself_once) {
    ASSERT_EQ(run(2, {PMPI_PROBE, "files"}), 0);
    for (int rank = 0; rank < 2; ++rank) {
        const json told = told_by(rank);
        const double seen_s = told.at("seen_communicating_s");
        EXPECT_LE(seen_s, told.at("called_s").get<double>() + 2e-3);
        EXPECT_GE(seen_s, 0.5 * told.at("called_s").get<double>());
        // Open, write and close follow each other at once: one stretch an iteration, and whatever
        // the machine's stalls cut it into.
        const auto writes = obstacles(rank, "write");
        EXPECT_GE(writes.size(), 4u);
        EXPECT_LE(writes.size(), 4u * 6u);
    }
}

TEST_F(Layer, leaves_a_program_without_a_writer_alone) {
    EXPECT_EQ(run(3, {PMPI_PROBE, "alone"}), 0);
    EXPECT_EQ(run(1, {"true"}), 0);  // not even MPI
}

TEST_F(Layer, without_it_nothing_is_seen) {
    ASSERT_EQ(run(2, {PMPI_PROBE, "waiting"}, false), 0);
    for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(told_by(rank).at("seen_intervals"), 0);
}

TEST_F(Layer, a_rank_without_a_core_for_its_workers_says_so_once) {
    // All ranks on one core: half a core each.
    ASSERT_EQ(run(2, {"taskset", "-c", "0", PMPI_PROBE, "waiting"}), 0);
    const json first = told_by(0), second = told_by(1);
    EXPECT_DOUBLE_EQ(first.at("cores"), 0.5);
    EXPECT_DOUBLE_EQ(second.at("cores"), 0.5);
    ASSERT_EQ(first.at("messages").size(), 1u);
    EXPECT_NE(first.at("messages")[0].get<std::string>().find("2 ranks of this node share core 0"),
              std::string::npos)
        << first.at("messages")[0];
    EXPECT_TRUE(second.at("messages").empty());
}

TEST_F(Layer, sees_calls_from_fortran) {
#ifdef PMPI_FORTRAN_PROBE
    ASSERT_EQ(run(2, {PMPI_FORTRAN_PROBE}), 0);
    expect_waits_were_seen(2);
    // `use mpi` in even iterations, `use mpi_f08` in odd ones: both were heard.
    const std::multiset<int> writes = obstacles(1, "write");
    EXPECT_GE(writes.count(0) + writes.count(2), 1u);
    EXPECT_GE(writes.count(1) + writes.count(3), 1u);
#else
    GTEST_SKIP() << "no Fortran compiler with MPI's modules";
#endif
}

}  // namespace
