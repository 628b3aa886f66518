// Goal: whatever instant a run with a live image dies at, the file recovers to the last commit that
// returned or to the next one, whole, and another run can go on with it.
#include <fstream>
#include <random>

#include "store/live_fixture.hpp"
#include "store/recording_file_system.hpp"
#include "store/recover.hpp"

namespace caesura::store {
namespace {

constexpr unsigned k_live_crash_seed = 20260921;
constexpr int k_steps = 4;

RunId live_crash_run() {
    RunId run;
    for (std::size_t i = 0; i < run.size(); ++i) run[i] = static_cast<std::byte>(7 + i * 11);
    return run;
}

/// One step of an application: what it makes anew, what it changes of the steps before.
struct Steps {
    std::vector<PlacedDataset> fields;  // [step]
    std::vector<PlacedDataset> latest;  // [step], the same path every time

    void write(LiveRun& run, int step) {
        const std::string group = fmt::format("/step_{}", step);
        run.group(group);
        for (int i = 0; i < 3 + 4 * step; ++i)
            run.attribute(group, fmt::format("a{}", i), step * 100 + i);
        // In place, in headers and heaps of committed objects.
        for (int s = 0; s <= step; ++s)
            run.attribute(fmt::format("/step_{}", s), fmt::format("seen_{}", step), step);
        run.integers(group + "/raw", step % 2 == 0 ? 0 : 900);
        run.write_integers(group + "/raw", 1000 * step);
        fields.push_back(run.placed(group + "/field", step));
        latest.push_back(run.placed("/latest", 50 + step));
        run.attribute("/", "step", step);
    }

    /// What is wrong with a file that should be as after `step`; empty when nothing is.
    std::string difference(const std::string& path, int step) const try {
        for (int s = 0; s <= step; ++s) {
            const std::string group = fmt::format("/step_{}", s);
            const int n = 3 + 4 * s;
            if (stock_attribute(path, group, fmt::format("a{}", n - 1)) != s * 100 + n - 1)
                return group + " has another attribute";
            if (stock_attribute(path, group, fmt::format("seen_{}", step)) != step)
                return group + " was not changed in the last step";
            const auto raw = stock_integers(path, group + "/raw");
            for (std::size_t i = 0; i < raw.size(); ++i)
                if (raw[i] != 1000 * s + static_cast<int>(i)) return group + "/raw";
            const auto at = static_cast<std::size_t>(s);
            if (stock_read(path, fields[at].path) != fields[at].values) return group + "/field";
        }
        if (stock_read(path, "/latest") != latest[static_cast<std::size_t>(step)].values)
            return "/latest";
        return {};
    } catch (const std::exception& error) {
        return error.what();
    }
};

class LiveCrash : public ::testing::Test {
  protected:
    void SetUp() override {
        RecordingFileSystem recorder(base::FileSystem::posix());
        {
            LiveRun run(recorder, path_.str(), 2, live_crash_run());
            for (int step = 0; step < k_steps; ++step) {
                steps_.write(run, step);
                require(run.commit(step + 1 == k_steps));
                committed_at_.push_back(recorder.size());
            }
        }
        operations_ = recorder.operations();
        ASSERT_EQ(steps_.difference(path_.str(), k_steps - 1), "");
    }

    void put(std::span<const std::byte> bytes) {
        std::ofstream out(path_.str(), std::ios::binary | std::ios::trunc);
        out.write(reinterpret_cast<const char*>(bytes.data()),
                  static_cast<std::streamsize>(bytes.size()));
        ASSERT_TRUE(out.good());
    }

    /// Recover a state after `count` whole operations.
    void check(std::span<const std::byte> state, std::size_t count, const std::string& what) {
        ++states_;
        SCOPED_TRACE(fmt::format("{} of {} operations, {}", count, operations_.size(), what));
        put(state);
        const auto returned =
            static_cast<int>(std::upper_bound(committed_at_.begin(), committed_at_.end(), count) -
                             committed_at_.begin());
        auto report = recover(quiet_, path_.str());
        if (count < 4 && !report.ok()) {  // the file's own header was not there yet
            ASSERT_EQ(report.status().code(), StatusCode::corrupt);
            return;
        }
        ASSERT_TRUE(report.ok()) << report.status().message();
        const auto n = static_cast<int>(report->committed_dumps);
        ASSERT_GE(n, returned);
        ASSERT_LE(n, returned + 1);
        ASSERT_TRUE(report->finished_iterations.empty());
        for (const auto& dropped : report->dropped) {
            ASSERT_EQ(dropped.dump, static_cast<std::uint64_t>(n));
            ASSERT_EQ(dropped.iteration.value_or(dropped.dump), dropped.dump);
        }
        if (n > 0) {
            ASSERT_EQ(steps_.difference(path_.str(), n - 1), "");
        }
        auto again = recover(quiet_, path_.str());
        ASSERT_TRUE(again.ok() && again->was_clean);
        if (n < k_steps && states_ % 5 == 0) {
            ASSERT_NO_FATAL_FAILURE(go_on(n));
        }
    }

    /// Another run takes the recovered file and makes the steps that are missing.
    void go_on(int step) {
        Steps steps = steps_;
        steps.fields.resize(static_cast<std::size_t>(step));
        steps.latest.resize(static_cast<std::size_t>(step));
        {
            LiveRun run = LiveRun::reopen(quiet_, path_.str(), 2, live_crash_run());
            ASSERT_EQ(run.next_dump(), static_cast<std::uint64_t>(step));
            for (; step < k_steps; ++step) {
                steps.write(run, step);
                require(run.commit());
            }
        }
        ASSERT_EQ(steps.difference(path_.str(), k_steps - 1), "");
        auto report = recover(quiet_, path_.str());
        ASSERT_TRUE(report.ok()) << report.status().message();
        ASSERT_TRUE(report->dropped.empty());
    }

    Steps steps_;
    TemporaryPath path_{"live_crash"};
    RecordingFileSystem quiet_{base::FileSystem::posix()};  // does not forward syncs
    std::vector<Operation> operations_;
    std::vector<std::size_t> committed_at_;
    int states_ = 0;
};

TEST_F(LiveCrash, between_any_two_operations_is_the_last_commit_or_the_next) {
    for (std::size_t n = 0; n <= operations_.size(); ++n)
        ASSERT_NO_FATAL_FAILURE(check(state_after(operations_, n), n, "whole"));
    RecordProperty("states", states_);
}

TEST_F(LiveCrash, inside_any_write_is_the_last_commit_or_the_next) {
    std::mt19937 random(k_live_crash_seed);
    RecordProperty("seed", k_live_crash_seed);
    for (std::size_t n = 4; n < operations_.size(); ++n) {
        const std::size_t bytes = operations_[n].bytes.size();
        if (operations_[n].kind != Operation::Kind::write || bytes < 2) continue;
        for (const std::size_t cut : {std::size_t{1}, 1 + random() % (bytes - 1), bytes - 1})
            ASSERT_NO_FATAL_FAILURE(check(state_after(operations_, n, cut), n,
                                          fmt::format("{} of {} bytes", cut, bytes)));
    }
    RecordProperty("states", states_);
}

TEST_F(LiveCrash, that_loses_unsynced_writes_is_the_last_commit_or_the_next) {
    std::mt19937 random(k_live_crash_seed + 1);
    RecordProperty("seed", k_live_crash_seed + 1);
    for (std::size_t n = 4; n <= operations_.size(); ++n) {
        const std::size_t loose = unsynced(operations_, n);
        for (int trial = 0; trial < 3 && loose > 0; ++trial) {
            std::vector<bool> keep(loose, false);  // the first trial loses all of them
            for (std::size_t i = 0; i < loose && trial > 0; ++i) keep[i] = random() % 2 == 0;
            ASSERT_NO_FATAL_FAILURE(check(state_with_losses(operations_, n, keep), n,
                                          fmt::format("{} unsynced, trial {}", loose, trial)));
        }
    }
    RecordProperty("states", states_);
}

TEST_F(LiveCrash, drops_an_application_s_dump_even_when_all_its_blocks_are_there) {
    // The last whole state before the second commit's own writes: its regions are complete.
    auto journal = operations_.begin() + static_cast<std::ptrdiff_t>(committed_at_[1]);
    while (!(journal->kind == Operation::Kind::write && journal->offset == 8192 &&
             journal->bytes.size() > 128))
        --journal;
    put(state_after(operations_, static_cast<std::size_t>(journal - operations_.begin())));
    auto dry = recover(quiet_, path_.str(), true);
    ASSERT_TRUE(dry.ok()) << dry.status().message();
    auto report = recover(quiet_, path_.str());
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->committed_dumps, 1u);
    ASSERT_EQ(report->dropped.size(), 1u);
    EXPECT_EQ(dry->dropped.size(), 1u);
    EXPECT_EQ(report->dropped[0].tree, TreeOwner::application);
    EXPECT_EQ(report->dropped[0].blocks_found, 8u);
    EXPECT_EQ(report->dropped[0].blocks_expected, 0u);
    EXPECT_EQ(steps_.difference(path_.str(), 0), "");
}

TEST_F(LiveCrash, a_file_whose_commit_was_cut_off_is_not_opened_before_recovery) {
    std::size_t n = committed_at_[1];
    while (!(operations_[n].kind == Operation::Kind::write && operations_[n].offset == 8192)) ++n;
    put(state_after(operations_, n + 1));
    auto shared = SharedFile::open(quiet_, path_.str(), live_crash_run());
    ASSERT_TRUE(shared.ok());
    auto image = LiveImage::make(*shared);
    EXPECT_EQ(image.status().code(), StatusCode::corrupt);
    EXPECT_NE(image.status().message().find("recover"), std::string::npos);
}

}  // namespace
}  // namespace caesura::store
