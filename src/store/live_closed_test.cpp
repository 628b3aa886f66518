// Goal: a file that its application had closed when the run died becomes what the application would
// have committed, from the file alone, if all blocks lie in it; else it stays as of the last
// commit.
#include <filesystem>
#include <fstream>
#include <random>

#include "store/closed_tree.hpp"
#include "store/faulty_file_system.hpp"
#include "store/live_fixture.hpp"
#include "store/recording_file_system.hpp"
#include "store/recover.hpp"
#include "store/shared_file_access.hpp"

namespace caesura::store {
namespace {

constexpr unsigned k_closed_seed = 20261123;
constexpr std::uint64_t k_hole_bytes = 4u << 20;

RunId closed_run() {
    RunId run;
    for (std::size_t i = 0; i < run.size(); ++i) run[i] = static_cast<std::byte>(3 + i * 5);
    return run;
}

class LiveClosed : public ::testing::Test {
  protected:
    /// A file whose first `committed` datasets were committed, with two dumps since, closed.
    void make(bool committed, hsize_t blocks_of_last = 4) {
        LiveRun run(recorder_, path_.str(), 2, closed_run());
        run.group("/old");
        run.attribute("/old", "n", 1);
        if (committed) {
            values_before_ = run.placed("/old/field", 1).values;
            require(run.commit());
        }
        committed_at_ = recorder_.size();
        const std::uint64_t first = first_ = run.next_dump();
        run.group("/new");
        run.attribute("/new", "n", 2);
        run.attribute("/old", "n", 3);
        run.integers("/new/raw", 0);
        run.write_integers("/new/raw", 7);
        closed_.push_back(run.unplaced("/new/field", 2));
        // A later dump wins over an earlier one, and over what was committed.
        (void)run.unplaced("/new/twice", 3);
        closed_.push_back(run.unplaced("/new/twice", 4));
        if (committed) closed_.push_back(run.unplaced("/old/field", 5));
        run.leave_hole(k_hole_bytes);
        closed_.push_back(run.unplaced("/new/last", 6, blocks_of_last));
        run.close_before_commit(first);
    }
    void put(std::span<const std::byte> bytes) {
        std::ofstream out(path_.str(), std::ios::binary | std::ios::trunc);
        out.write(reinterpret_cast<const char*>(bytes.data()),
                  static_cast<std::streamsize>(bytes.size()));
        ASSERT_TRUE(out.good());
    }
    std::vector<std::byte> left() const {
        std::ifstream in(path_.str(), std::ios::binary);
        const std::vector<char> chars{std::istreambuf_iterator<char>(in), {}};
        const auto bytes = std::as_bytes(std::span(chars));
        return {bytes.begin(), bytes.end()};
    }
    /// As the run that has closed the file opens it.
    SharedFile opened_by_its_run(base::FileSystem& files) const {
        auto file = files.open(path_.str(), base::FileSystem::Mode::read_write);
        require(file.status());
        return SharedFileAccess::make(path_.str(), closed_run(), std::move(*file));
    }
    void expect_closed_state() {
        EXPECT_EQ(stock_attribute(path_.str(), "/old", "n"), 3);
        EXPECT_EQ(stock_attribute(path_.str(), "/new", "n"), 2);
        // What a dump says of its datasets; the later one wins.
        EXPECT_EQ(stock_attribute(path_.str(), "/new/twice", "dump"), first_ + 2);
        const auto raw = stock_integers(path_.str(), "/new/raw");
        for (std::size_t i = 0; i < raw.size(); ++i) ASSERT_EQ(raw[i], 7 + static_cast<int>(i));
        for (const PlacedDataset& one : closed_)
            EXPECT_EQ(stock_read(path_.str(), one.path), one.values) << one.path;
        EXPECT_LT(std::filesystem::file_size(path_.str()), k_hole_bytes) << "the hole is in it";
    }
    void expect_clean() {
        const auto again = recover(quiet_, path_.str());
        ASSERT_TRUE(again.ok()) << again.status().message();
        EXPECT_TRUE(again->was_clean);
    }

    TemporaryPath path_{"live_closed"};
    RecordingFileSystem recorder_{base::FileSystem::posix()};
    RecordingFileSystem quiet_{base::FileSystem::posix()};
    std::vector<float> values_before_;
    std::vector<PlacedDataset> closed_;
    std::size_t committed_at_ = 0;
    std::uint64_t first_ = 0;
};

TEST_F(LiveClosed, recover_makes_the_commit_that_the_application_would_have_made) {
    for (const bool committed : {false, true}) {
        SCOPED_TRACE(committed);
        closed_.clear();
        make(committed);
        const auto dry = recover(quiet_, path_.str(), true);
        ASSERT_TRUE(dry.ok()) << dry.status().message();
        const auto report = recover(quiet_, path_.str());
        ASSERT_TRUE(report.ok()) << report.status().message();
        EXPECT_TRUE(report->dropped.empty());
        EXPECT_EQ(report->finished_iterations.size(), committed ? 5u : 4u);
        EXPECT_EQ(dry->finished_iterations, report->finished_iterations);
        expect_closed_state();
        expect_clean();
        // And another run goes on with it.
        LiveRun run = LiveRun::reopen(quiet_, path_.str(), 2, closed_run());
        const PlacedDataset more = run.placed("/more", 9);
        require(run.commit());
        EXPECT_EQ(stock_read(path_.str(), "/more"), more.values);
        expect_closed_state();
    }
}

// Goal: a commit that a lane has flushed just before the close, of which the run had not heard, and
// after which the tree was the committed one.
TEST_F(LiveClosed, a_run_that_had_not_heard_of_its_last_commit_is_finished) {
    {
        LiveRun run(recorder_, path_.str(), 2, closed_run());
        run.group("/old");
        (void)run.placed("/old/field", 1);
        require(run.commit());
        closed_.push_back(run.unplaced("/old/field", 5));
        run.close_before_commit(0);
    }
    const auto file = base::FileSystem::posix().open(path_.str(), base::FileSystem::Mode::read);
    const auto tree = read_closed_tree(**file, closed_run());
    ASSERT_TRUE(tree.ok() && tree->has_value());
    EXPECT_TRUE((*tree)->pages.empty());
    const auto report = recover(quiet_, path_.str());
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->finished_iterations.size(), 1u);
    EXPECT_EQ(stock_read(path_.str(), "/old/field"), closed_[0].values);
    expect_clean();
}

TEST_F(LiveClosed, a_dump_that_lacks_blocks_is_dropped_with_the_others_and_the_report_says_which) {
    make(true, 1);
    const auto report = recover(quiet_, path_.str());
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(report->finished_iterations.empty());
    ASSERT_EQ(report->dropped.size(), 5u);
    const auto& last = report->dropped.back();
    EXPECT_EQ(last.blocks_found, 1u);
    EXPECT_EQ(last.blocks_expected, 4u);
    ASSERT_EQ(last.lacking.size(), 1u);
    EXPECT_EQ(last.lacking[0].dataset, "/new/last");
    EXPECT_EQ(last.lacking[0].blocks, 3u);
    EXPECT_EQ(stock_attribute(path_.str(), "/old", "n"), 1);
    const auto open = is_open_or_closed(
        *base::FileSystem::posix().open(path_.str(), base::FileSystem::Mode::read).value());
    ASSERT_TRUE(open.ok());
    EXPECT_FALSE(*open) << "numbers of dumps come again: the tree must not wait for them";
    expect_clean();
}

// Goal: whatever of the last writes is missing or torn, the file is as closed or as committed.
TEST_F(LiveClosed, died_inside_any_write_it_is_as_closed_or_as_committed) {
    make(true);
    const auto operations = recorder_.operations();
    std::mt19937 random(k_closed_seed);
    RecordProperty("seed", k_closed_seed);
    int as_closed = 0;
    for (std::size_t n = committed_at_; n <= operations.size(); ++n) {
        std::vector<std::size_t> cuts{0};
        if (n < operations.size() && operations[n].bytes.size() > 2)
            cuts = {0, 1, 1 + random() % (operations[n].bytes.size() - 1),
                    operations[n].bytes.size() - 1};
        for (const std::size_t cut : cuts) {
            SCOPED_TRACE(fmt::format("{} of {}, {} bytes", n, operations.size(), cut));
            put(state_after(operations, n, cut));
            const auto report = recover(quiet_, path_.str());
            ASSERT_TRUE(report.ok()) << report.status().message();
            if (stock_attribute(path_.str(), "/old", "n") == 3) {
                ++as_closed;
                expect_closed_state();
            } else {
                EXPECT_LT(n, operations.size()) << "everything had been written";
                EXPECT_EQ(stock_read(path_.str(), "/old/field"), values_before_) << "as committed";
            }
            expect_clean();
        }
    }
    EXPECT_GE(as_closed, 1);
}

// Goal: a kill at any write of the commit, by `recover` or by the run itself, loses nothing.
TEST_F(LiveClosed, a_commit_that_is_killed_anywhere_is_finished_by_the_next_recovery) {
    for (const bool by_run : {false, true})
        for (const bool committed : {false, true}) {
            closed_.clear();
            make(committed);
            const auto bytes = left();
            RecordingFileSystem recorder(base::FileSystem::posix());
            require(by_run ? complete_closed(opened_by_its_run(recorder), true)
                           : recover(recorder, path_.str()).status());
            expect_closed_state();
            const auto operations = recorder.operations();
            ASSERT_GT(operations.size(), 4u);
            for (std::size_t n = 0; n <= operations.size(); ++n) {
                const std::size_t half = n < operations.size() ? operations[n].bytes.size() / 2 : 0;
                for (const std::size_t cut : {std::size_t{0}, half}) {
                    SCOPED_TRACE(fmt::format("{} {}: {}, {} bytes", by_run, committed, n, cut));
                    put(state_after(operations, n, cut, bytes));
                    const auto report = recover(quiet_, path_.str());
                    ASSERT_TRUE(report.ok()) << report.status().message();
                    expect_closed_state();
                    expect_clean();
                }
            }
        }
}

// Goal: a disk that refuses any one of its writes has an error, and it may be tried again.
TEST_F(LiveClosed, a_run_whose_disk_was_full_completes_its_file_when_it_is_not) {
    make(true);
    const auto bytes = left();
    for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE(n);
        put(bytes);
        FaultyFileSystem faulty(base::FileSystem::posix(), n, FaultyFileSystem::After::works_again);
        const SharedFile file = opened_by_its_run(faulty);
        const Status status = complete_closed(file, true);
        if (!faulty.reached()) {
            EXPECT_GT(n, 4u);
            break;
        }
        // What is cut off behind the file and cannot be is no loss.
        if (!status.ok()) require(complete_closed(file, true));
        expect_closed_state();
        expect_clean();
    }
}

// Goal: what was committed since makes the record stale.
TEST_F(LiveClosed, a_tree_that_is_committed_is_not_taken_up_again) {
    make(true);
    {
        std::ifstream in(path_.str(), std::ios::binary);
        std::array<char, k_closed_tree_bytes> header{};
        in.seekg(k_closed_tree_address);
        in.read(header.data(), header.size());
        in.close();
        ASSERT_TRUE(recover(quiet_, path_.str()).ok());
        std::fstream out(path_.str(), std::ios::binary | std::ios::in | std::ios::out);
        out.seekp(k_closed_tree_address);
        out.write(header.data(), header.size());
    }
    const auto report = recover(quiet_, path_.str());
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(report->finished_iterations.empty());
    expect_closed_state();
}

}  // namespace
}  // namespace caesura::store
