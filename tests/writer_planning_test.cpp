// The whole writer under every way of running its lanes: every value arrives whatever is planned,
// and cooperative mode compresses where it is let, in the time it is given.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <numbers>

#include "caesura/writer.hpp"
#include "stock_reader.hpp"

namespace caesura {
namespace {

constexpr std::uint64_t k_dumps = 4;
const Shape k_shape{32, 64, 64};
constexpr double k_bound = 1e-3;

std::vector<float> field_of(std::uint64_t dump) {
    std::vector<float> values(k_shape.count());
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(
            std::sin(1e-3 * std::numbers::pi * static_cast<double>(i * (dump + 1))));
    return values;
}

class WriterPlanning : public ::testing::Test {
  protected:
    std::string path_ = ::testing::TempDir() + fmt::format("caesura_planning_{}.h5", ::getpid());
    void TearDown() override { std::filesystem::remove(path_); }

    static WriterOptions options() {
        WriterOptions options;
        options.chunk_bytes = 64u << 10;
        options.durable = false;
        return options;
    }

    // Dumps of every second iteration, regrids of every third; `wait` is the rest of an iteration.
    template <class Wait>
    WriterReport run(const WriterOptions& options, Wait&& wait) {
        auto writer = Writer::create(path_, nullptr, options);
        EXPECT_TRUE(writer.ok()) << writer.status().message();
        auto rho = (*writer)->define_field("rho", float32, k_shape, absolute(k_bound));
        for (std::uint64_t n = 0; n < 2 * k_dumps; ++n) {
            auto iteration = (*writer)->begin_iteration(n, n % 3 == 2 ? "regrid" : "step");
            {
                auto busy = iteration.busy(Lane::compress);
                auto nested = iteration.busy(Lane::write);
            }
            wait(iteration);
            if (n % 2 == 0) {
                const auto values = field_of(n / 2);
                auto dump = iteration.begin_dump(0.0);
                EXPECT_TRUE(dump.put(*rho, {Shape::filled(3, 0), k_shape}, values.data()).ok());
            }
            EXPECT_TRUE(iteration.end().ok());
        }
        const Status closed = (*writer)->close();
        EXPECT_TRUE(closed.ok()) << closed.message();
        expect_values();
        EXPECT_EQ((*writer)->report().lost_dumps, 0u);
        EXPECT_EQ((*writer)->report().lost_bytes, 0u);
        return (*writer)->report();
    }

    void expect_values() {
        for (std::uint64_t dump = 0; dump < k_dumps; ++dump) {
            const auto stored =
                testing::read_dataset(path_, fmt::format("/data/{}/meshes/rho", 2 * dump));
            const auto values = field_of(dump);
            ASSERT_EQ(stored.values.size(), values.size()) << "dump " << dump;
            for (std::size_t i = 0; i < values.size(); ++i)
                ASSERT_LE(std::abs(stored.values[i] - values[i]), k_bound) << dump << " " << i;
        }
    }
};

TEST_F(WriterPlanning, every_way_of_running_writes_every_value) {
    for (const bool planning : {true, false})
        for (const bool idle : {true, false})
            for (const int threads : {1, 3}) {
                WriterOptions how = options();
                how.planning = planning;
                how.idle_priority = idle;
                how.compress_threads = threads;
                SCOPED_TRACE(
                    fmt::format("planning {} idle {} threads {}", planning, idle, threads));
                const WriterReport report = run(how, [](Iteration&) {});
                EXPECT_EQ(report.dumps, k_dumps);
                EXPECT_EQ(report.raw_bytes, k_dumps * k_shape.count() * sizeof(float));
                EXPECT_EQ(report.planned_dumps > 0, planning);
            }
}

TEST_F(WriterPlanning, cooperative_mode_compresses_where_it_is_let) {
    WriterOptions how = options();
    how.cooperative = true;
    double spent_s = 0.0;
    const WriterReport report = run(how, [&](Iteration& iteration) {
        while (const double step_s = iteration.compress_for(60.0)) spent_s += step_s;
    });
    EXPECT_GT(spent_s, 0.0);
    EXPECT_GE(spent_s, 0.5 * report.compress_s) << "the time was there";
}

TEST_F(WriterPlanning, cooperative_mode_that_is_never_let_is_done_at_close) {
    WriterOptions how = options();
    how.cooperative = true;
    const WriterReport report = run(how, [](Iteration&) {});
    EXPECT_EQ(report.raw_bytes, k_dumps * k_shape.count() * sizeof(float));
    const WriterReport no_time = run(how, [](Iteration& iteration) {
        EXPECT_EQ(iteration.compress_for(0.0), 0.0);
        EXPECT_EQ(iteration.compress_for(-1.0), 0.0);
    });
    EXPECT_EQ(no_time.raw_bytes, k_dumps * k_shape.count() * sizeof(float));
}

TEST_F(WriterPlanning, a_wait_ends_when_it_is_said_to_and_blocks_are_compressed_meanwhile) {
    WriterOptions how = options();
    how.cooperative = true;
    int asked = 0;
    (void)run(how, [&](Iteration& iteration) {
        asked = 0;
        EXPECT_TRUE(iteration.wait_until([&] { return ++asked == 3; }, 60.0));
        EXPECT_EQ(asked, 3);
        EXPECT_FALSE(iteration.wait_until([] { return false; }, 1e-4));
    });
}

TEST_F(WriterPlanning, what_was_planned_is_held_against_what_happened) {
    WriterOptions how = options();
    how.trace_path = path_ + ".json";
    const WriterReport report = run(how, [](Iteration&) {});
    std::filesystem::remove(how.trace_path);
    EXPECT_GE(report.planned_dumps, k_dumps - 1) << "nothing was known before the first iteration";
    // Since the begins of iterations: below 0 where dumps so small are done before they begin.
    EXPECT_NE(report.planned_end_s, 0.0);
    EXPECT_NE(report.actual_end_s, 0.0);
    EXPECT_GT(report.planned_iteration_s, 0.0);
    EXPECT_GT(report.actual_iteration_s, 0.0);
    EXPECT_GE(report.planned_iteration_s, report.planned_end_s);
    EXPECT_GE(report.actual_iteration_s, report.actual_end_s);
    EXPECT_GE(report.plan_deviation, 0.0);
    EXPECT_GT(report.plan_s, 0.0);
}

// Goal: with blocks that are due as soon as they are handed over, every value arrives as ever.
TEST_F(WriterPlanning, what_is_due_at_once_is_written_whoever_compresses_it) {
    for (const bool idle : {true, false}) {
        WriterOptions how = options();
        how.idle_priority = idle;
        how.max_delay_s = 1e-9;
        const WriterReport report = run(how, [](Iteration&) {});
        EXPECT_EQ(report.dumps, k_dumps);
        EXPECT_LE(report.taken_over_blocks, report.blocks);
        EXPECT_GT(report.longest_to_written_s, 0.0);
        EXPECT_GE(report.longest_to_committed_s, report.longest_to_written_s);
    }
    WriterOptions never = options();
    never.max_delay_s = std::numeric_limits<double>::infinity();
    EXPECT_EQ(run(never, [](Iteration&) {}).taken_over_blocks, 0u);
}

TEST_F(WriterPlanning, a_delay_that_is_none_is_refused) {
    for (const double delay_s : {-1.0, std::nan("")}) {
        WriterOptions how = options();
        how.max_delay_s = delay_s;
        const auto writer = Writer::create(path_, nullptr, how);
        ASSERT_FALSE(writer.ok());
        EXPECT_EQ(writer.status().code(), StatusCode::invalid_argument);
        EXPECT_NE(writer.status().message().find("max_delay_s"), std::string::npos);
    }
}

TEST_F(WriterPlanning, finish_by_commits_what_there_is_time_for_and_goes_on) {
    auto writer = Writer::create(path_, nullptr, options());
    ASSERT_TRUE(writer.ok()) << writer.status().message();
    auto rho = (*writer)->define_field("rho", float32, k_shape, absolute(k_bound));
    for (std::uint64_t dump = 0; dump < k_dumps; ++dump) {
        const auto values = field_of(dump);
        auto iteration = (*writer)->begin_iteration(2 * dump);
        EXPECT_TRUE(iteration.begin_dump(0.0)
                        .put(*rho, {Shape::filled(3, 0), k_shape}, values.data())
                        .ok());
        EXPECT_TRUE(iteration.end().ok());
        const bool enough = dump % 2 == 1;
        const Status status = (*writer)->finish_by(enough ? 1e9 : 0.0);
        ASSERT_TRUE(status.ok()) << status.message();
        if (!enough) continue;
        ASSERT_TRUE((*writer)->committed().has_value());
        EXPECT_EQ(*(*writer)->committed(), 2 * dump);
        const auto stored =
            testing::read_dataset(path_, fmt::format("/data/{}/meshes/rho", 2 * dump));
        EXPECT_EQ(stored.values.size(), values.size()) << "readers see it while the run goes on";
    }
    EXPECT_EQ((*writer)->finish_by(-1.0).code(), StatusCode::invalid_argument);
    ASSERT_TRUE((*writer)->close().ok());
    EXPECT_EQ((*writer)->finish_by(1.0).code(), StatusCode::invalid_argument);
    expect_values();
}

}  // namespace
}  // namespace caesura
