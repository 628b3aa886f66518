// Goal: a later run goes on with a series of files, behind its last dump or a named one, also after
// the run before was destroyed at work; files that only have dropped dumps are gone.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "base/thread_communicator.hpp"
#include "caesura/reader.hpp"
#include "caesura/writer.hpp"

namespace caesura {
namespace {

const Shape k_series_extents{16, 50};

std::vector<double> density(std::uint64_t iteration, std::uint64_t run) {
    std::vector<double> values(k_series_extents.count());
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = 1000.0 * static_cast<double>(iteration) + 0.25 * static_cast<double>(i) +
                    1e6 * static_cast<double>(run);
    return values;
}

class WriterSeriesOpen : public ::testing::Test {
  protected:
    void SetUp() override {
        place_ = std::filesystem::path(::testing::TempDir()) /
                 fmt::format("caesura_series_open_{}_{}", ::getpid(),
                             ::testing::UnitTest::GetInstance()->current_test_info()->name());
        std::filesystem::remove_all(place_);
        std::filesystem::create_directories(place_);
    }
    void TearDown() override { std::filesystem::remove_all(place_); }

    std::string pattern() const { return (place_ / "run_%03T.h5").string(); }
    std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(place_))
            names.push_back(entry.path().filename().string());
        std::sort(names.begin(), names.end());
        return names;
    }

    struct Run {
        int ranks = 1;
        std::uint64_t number = 0;  ///< its values say it
        std::vector<std::uint64_t> iterations;
        std::uint64_t each = 1;
        bool opens = false, closes = true;
        std::optional<std::uint64_t> after = {};
    };
    /// What went wrong, and what committed() said at the begin and at the end.
    struct Done {
        std::vector<std::string> errors, messages;
        std::optional<std::uint64_t> before, committed;
    };
    Done go(const Run& run) const {
        Done done;
        std::mutex mutex;
        base::run_ranks(run.ranks, [&](std::unique_ptr<Communicator> comm) {
            const auto rank = static_cast<std::uint64_t>(comm->rank());
            const auto ranks = static_cast<std::uint64_t>(comm->size());
            const auto note = [&](const Status& status) {
                const std::lock_guard lock(mutex);
                if (!status.ok()) done.errors.push_back(status.message());
            };
            WriterOptions options;
            options.durable = false;
            options.calibration_path = "none";
            options.dumps_per_file = run.each;
            options.on_message = [&](std::string_view text) {
                const std::lock_guard lock(mutex);
                done.messages.emplace_back(text);
            };
            auto writer = run.opens ? Writer::open(pattern(), std::move(comm), options, {run.after})
                                    : Writer::create(pattern(), std::move(comm), options);
            note(writer.status());
            if (!writer.ok()) return;
            if (rank == 0) done.before = (*writer)->committed();
            auto rho = (*writer)->define_field("rho", float64, k_series_extents, lossless());
            const std::uint64_t begin = 16 * rank / ranks, end = 16 * (rank + 1) / ranks;
            for (const std::uint64_t n : run.iterations) {
                auto iteration = (*writer)->begin_iteration(n);
                auto dump = iteration.begin_dump(0.0);
                const auto values = density(n, run.number);
                note(dump.put(*rho, {{begin, 0}, {end - begin, 50}}, values.data() + 50 * begin));
                note(iteration.end());
            }
            if (run.closes) note((*writer)->close());
            if (rank == 0) done.committed = (*writer)->committed();
        });
        return done;
    }
    /// Exactly these dumps, each of the run that is said?
    void expect(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& dumps) const {
        auto reader = Reader::open(pattern());
        ASSERT_TRUE(reader.ok()) << reader.status().message();
        ASSERT_EQ((*reader)->dumps().size(), dumps.size());
        for (const auto& [iteration, run] : dumps) {
            const auto field = (*reader)->find("rho", iteration);
            ASSERT_TRUE(field.ok()) << field.status().message();
            std::vector<double> values(k_series_extents.count());
            ASSERT_TRUE((*reader)
                            ->read(*field, {{0, 0}, k_series_extents},
                                   std::as_writable_bytes(std::span(values)))
                            .ok());
            EXPECT_EQ(values, density(iteration, run)) << iteration;
        }
    }

    std::filesystem::path place_;
};

TEST_F(WriterSeriesOpen, goes_on_with_new_files_on_other_ranks) {
    ASSERT_TRUE(go({2, 0, {0, 1, 2}}).errors.empty());
    const Done done = go({.ranks = 3, .number = 1, .iterations = {3, 4}, .opens = true});
    ASSERT_TRUE(done.errors.empty()) << done.errors[0];
    EXPECT_EQ(done.before, 2u);
    EXPECT_EQ(done.committed, 4u);
    expect({{0, 0}, {1, 0}, {2, 0}, {3, 1}, {4, 1}});
    // A dump that is there already is refused, and the next one is not.
    const Done again = go({.number = 2, .iterations = {4, 5}, .opens = true});
    ASSERT_EQ(again.errors.size(), 1u);
    EXPECT_NE(again.errors[0].find("iteration 4"), std::string::npos) << again.errors[0];
    expect({{0, 0}, {1, 0}, {2, 0}, {3, 1}, {4, 1}, {5, 2}});
}

TEST_F(WriterSeriesOpen, drops_what_lies_behind_a_dump) {
    for (const std::uint64_t each : {1u, 3u}) {
        std::filesystem::remove_all(place_);
        std::filesystem::create_directories(place_);
        ASSERT_TRUE(go({1, 0, {0, 10, 20, 30, 40, 50, 60}, each}).errors.empty());
        const Done done = go({2, 1, {35, 40}, each, true, true, std::optional<std::uint64_t>(30)});
        ASSERT_TRUE(done.errors.empty()) << done.errors[0];
        EXPECT_EQ(done.before, 30u);
        expect({{0, 0}, {10, 0}, {20, 0}, {30, 0}, {35, 1}, {40, 1}});
        EXPECT_EQ(files(),
                  each == 1 ? (std::vector<std::string>{"run_000.h5", "run_010.h5", "run_020.h5",
                                                        "run_030.h5", "run_035.h5", "run_040.h5"})
                            : (std::vector<std::string>{"run_000.h5", "run_030.h5", "run_035.h5"}));
        const bool said = std::any_of(done.messages.begin(), done.messages.end(), [](auto& text) {
            return text.find("40, 50, 60") != std::string::npos;
        });
        EXPECT_TRUE(said);
    }
}

TEST_F(WriterSeriesOpen, finishes_what_a_destroyed_run_has_left) {
    const Done first = go({2, 0, {0, 1, 2, 3, 4}, 1, false, false});
    ASSERT_TRUE(first.errors.empty()) << first.errors[0];
    const Done second = go({.ranks = 1, .number = 1, .iterations = {}, .opens = true});
    ASSERT_TRUE(second.errors.empty()) << second.errors[0];
    if (first.committed) {
        ASSERT_TRUE(second.before);
        EXPECT_GE(*second.before, *first.committed);
    }
    std::vector<std::pair<std::uint64_t, std::uint64_t>> dumps;
    for (std::uint64_t n = 0; second.before && n <= *second.before; ++n) dumps.emplace_back(n, 0);
    const std::uint64_t next = second.before ? *second.before + 1 : 0;
    ASSERT_TRUE(go({2, 1, {next}, 1, true}).errors.empty());
    dumps.emplace_back(next, 1);
    expect(dumps);
}

TEST_F(WriterSeriesOpen, refuses_what_is_not_there) {
    EXPECT_NE(go({.iterations = {}, .opens = true}).errors.at(0).find("no file of this series"),
              std::string::npos);
    ASSERT_TRUE(go({1, 0, {0, 5}}).errors.empty());
    const Done done = go({2, 1, {}, 1, true, true, std::optional<std::uint64_t>(3)});
    ASSERT_EQ(done.errors.size(), 2u);
    EXPECT_NE(done.errors[0].find("iteration 3"), std::string::npos) << done.errors[0];
    EXPECT_NE(done.errors[0].find("0, 5"), std::string::npos) << done.errors[0];
    expect({{0, 0}, {5, 0}});
    // One that is none of ours stays, and is an error where dumps come behind it.
    std::ofstream(place_ / "run_009.h5") << std::string(9000, 'x');
    EXPECT_TRUE(go({1, 1, {6}, 1, true}).errors.empty());
    EXPECT_TRUE(std::filesystem::exists(place_ / "run_009.h5"));
}

}  // namespace
}  // namespace caesura
