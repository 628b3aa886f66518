// Goal: whatever instant a run dies at, no dump whose flush returned is lost, and the file is
// readable by stock HDF5 as it is: but for what no disk leaves of a sector, and what a power cut
// leaves of writes that were not synced. There a whole journal says what to repair.
#include <fmt/format.h>

#include <filesystem>
#include <random>

#include "base/whole_file.hpp"
#include "store/announced_end.hpp"
#include "store/committer.hpp"
#include "store/faulty_file_system.hpp"
#include "store/hdf5_handle.hpp"
#include "store/journal.hpp"
#include "store/recording_file_system.hpp"
#include "store/recover.hpp"
#include "store/region_writer.hpp"
#include "store/store_fixture.hpp"

namespace caesura::store {
namespace {

using base::get_file, base::put_file;

constexpr unsigned k_crash_seed = 20240607;
constexpr std::uint64_t k_dumps = 5;

RunId crash_run() {
    RunId run;
    for (std::size_t i = 0; i < run.size(); ++i) run[i] = static_cast<std::byte>(200 - i * 3);
    return run;
}

/// Five dumps by two ranks, recorded; then every state a crash could have left is looked at.
class Crash : public ::testing::Test {
  protected:
    static void SetUpTestSuite() {
        for (std::uint64_t n = 0; n < k_dumps; ++n) dumps_.emplace_back(n);
    }
    static void TearDownTestSuite() { dumps_.clear(); }

    void SetUp() override {
        RecordingFileSystem recorder(base::FileSystem::posix());
        SmallRun run(recorder, path_.str(), 2, crash_run(), true);
        ASSERT_TRUE(run.opened().ok()) << run.opened().message();
        for (std::size_t n = 0; n < dumps_.size(); ++n) {
            ASSERT_TRUE(run.write_regions(dumps_[n]).ok());
            written_at_.push_back(recorder.size());
            // As the writer does: the commit's stored end already includes the next regions.
            if (n + 1 < dumps_.size()) run.reserve(dumps_[n + 1]);
            const Status status = run.commit();
            ASSERT_TRUE(status.ok()) << status.message();
            committed_at_.push_back(recorder.size());
        }
        ASSERT_TRUE(run.commit(true).ok());
        operations_ = recorder.operations();
    }

    static std::vector<const SmallDump*> first(std::size_t n) {
        std::vector<const SmallDump*> out;
        for (std::size_t i = 0; i < n; ++i) out.push_back(&dumps_[i]);
        return out;
    }
    static std::size_t up_to(const std::vector<std::size_t>& marks, std::size_t count) {
        return static_cast<std::size_t>(std::upper_bound(marks.begin(), marks.end(), count) -
                                        marks.begin());
    }

    enum class Stock { opens, opens_or_has_journal };

    /// Check one state, after `count` whole operations.
    void check(std::span<const std::byte> state, std::size_t count, const std::string& what,
               Stock stock = Stock::opens) {
        ++states_;
        SCOPED_TRACE(fmt::format("{} of {} operations, {}", count, operations_.size(), what));
        ASSERT_TRUE(put_file(path_.str(), state));
        const std::size_t committed = up_to(committed_at_, count);
        if (committed > 0 && (stock == Stock::opens || !has_valid_journal())) {
            ASSERT_EQ(stock_difference(path_.str(), first(committed)), "");
        }
        auto report = recover(quiet_, path_.str());
        if (!has_header(state)) {
            ASSERT_EQ(report.status().code(), StatusCode::corrupt);
            return;
        }
        ASSERT_TRUE(report.ok()) << report.status().message();
        // A dump whose regions were synced is complete, committed or not.
        const std::size_t n = static_cast<std::size_t>(report->committed_dumps);
        ASSERT_GE(n, up_to(written_at_, count));
        ASSERT_LE(n, dumps_.size());
        if (n > 0) {
            ASSERT_EQ(stock_difference(path_.str(), first(n)), "");
        }
        const auto recovered = get_file(path_.str());
        auto again = recover(quiet_, path_.str());
        ASSERT_TRUE(again.ok()) << again.status().message();
        ASSERT_TRUE(again->was_clean);
        ASSERT_EQ(again->committed_dumps, n);
        ASSERT_TRUE(get_file(path_.str()) == recovered);
    }

    bool has_valid_journal() {
        auto file = base::FileSystem::posix().open(path_.str(), base::FileSystem::Mode::read);
        auto journal = read_journal(**file, crash_run());
        return journal.ok() && journal->state == Journal::State::valid;
    }
    static bool has_header(std::span<const std::byte> state) {
        return state.size() >= 4096 + 128 && state[4096 + 127] != std::byte{0};
    }

    static inline std::vector<SmallDump> dumps_;
    TemporaryPath path_{"crash"};
    RecordingFileSystem quiet_{base::FileSystem::posix()};  // does not forward syncs
    std::vector<Operation> operations_;
    std::vector<std::size_t> written_at_, committed_at_;  // operations done by then
    std::size_t states_ = 0;
};

TEST_F(Crash, between_any_two_operations_loses_no_dump) {
    for (std::size_t n = 0; n <= operations_.size(); ++n)
        ASSERT_NO_FATAL_FAILURE(check(state_after(operations_, n), n, "whole"));
    RecordProperty("states", static_cast<int>(states_));
}

/// A new file is gone with its name, whatever of its bytes was synced.
TEST_F(Crash, before_the_directory_was_synced_loses_no_dump) {
    std::size_t nameless = 0;
    for (std::size_t n = 0; n <= operations_.size(); ++n) {
        if (has_name(operations_, n)) continue;
        ++nameless;
        ASSERT_EQ(up_to(written_at_, n), 0u) << "written to a file that has no name yet";
    }
    EXPECT_GT(nameless, 3u);
    ASSERT_TRUE(has_name(operations_, operations_.size()));
}

TEST_F(Crash, inside_any_write_loses_no_dump) {
    std::mt19937 random(k_crash_seed);
    RecordProperty("seed", k_crash_seed);
    constexpr std::size_t k_sector = 512;
    for (std::size_t n = 0; n < operations_.size(); ++n) {
        const std::size_t bytes = operations_[n].bytes.size();
        if (operations_[n].kind != Operation::Kind::write || bytes < 2) continue;
        const std::size_t offset = operations_[n].offset;
        const std::size_t to_sector = k_sector - offset % k_sector;
        std::vector<std::size_t> cuts = {1, bytes - 1};
        if (to_sector < bytes) {
            const std::size_t n_sectors = (bytes - to_sector - 1) / k_sector + 1;
            cuts.push_back(to_sector);
            cuts.push_back(to_sector + (n_sectors - 1) * k_sector);
            cuts.push_back(to_sector + random() % n_sectors * k_sector);
        }
        for (const std::size_t cut : cuts)
            ASSERT_NO_FATAL_FAILURE(check(
                state_after(operations_, n, cut), n, fmt::format("{} of {} bytes", cut, bytes),
                (offset + cut) % k_sector == 0 ? Stock::opens : Stock::opens_or_has_journal));
    }
    RecordProperty("states", static_cast<int>(states_));
}

/// What a program that knows nothing of us sees: every object, from the root on.
bool stock_visits_all(const std::string& path) {
    const QuietErrors quiet;
    const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    const auto visit = [](hid_t, const char*, const H5L_info_t*, void*) -> herr_t { return 0; };
    return file.ok() && H5Lvisit(file.get(), H5_INDEX_NAME, H5_ITER_NATIVE, visit, nullptr) >= 0;
}

/// More dumps than HDF5 keeps links of in one piece, and more than it keeps out of a heap.
TEST(CrashOfManyCommits, leaves_at_every_instant_a_file_that_stock_hdf5_reads) {
    constexpr std::uint64_t k_many = 20, k_kept = 4;
    constexpr std::size_t k_sector = 512;
    const TemporaryPath path("crash_many");
    std::vector<SmallDump> dumps;
    for (std::uint64_t n = 0; n < k_many; ++n) dumps.emplace_back(n);
    RecordingFileSystem recorder(base::FileSystem::posix());
    std::vector<std::size_t> committed_at;
    std::size_t taken_at = 0;  // the dumps after the kept ones
    {
        SmallRun run(recorder, path.str(), 1, crash_run(), true);
        ASSERT_TRUE(run.opened().ok());
        for (const SmallDump& dump : dumps) {
            ASSERT_TRUE(run.dump_and_commit(dump).ok());
            committed_at.push_back(recorder.size());
        }
        ASSERT_TRUE(run.commit(true).ok());
        taken_at = recorder.size();
        std::vector<std::string> last;
        for (std::uint64_t n = k_kept; n < k_many; ++n)
            last.push_back(dumps[n].manifest.groups.front().path);
        auto image = run.committer().take_out(last);
        ASSERT_TRUE(image.ok()) << image.status().message();
        ASSERT_TRUE(image->flush(run.file()).ok());
    }
    const auto& operations = recorder.operations();
    std::size_t committed = 0;
    for (std::size_t n = committed_at[0]; n <= operations.size(); ++n) {
        while (committed < k_many && committed_at[committed] <= n) ++committed;
        std::vector<const SmallDump*> expected;
        for (std::size_t i = 0; i < (n <= taken_at ? committed : k_kept); ++i)
            expected.push_back(&dumps[i]);
        // Nothing of the next write, or its first sectors.
        std::vector<std::size_t> cuts = {0};
        if (n < operations.size() && operations[n].kind == Operation::Kind::write)
            for (std::size_t cut = k_sector - operations[n].offset % k_sector;
                 cut < operations[n].bytes.size(); cut += k_sector)
                cuts.push_back(cut);
        for (const std::size_t cut : cuts) {
            ASSERT_TRUE(put_file(path.str(), state_after(operations, n, cut)));
            ASSERT_EQ(stock_difference(path.str(), expected), "") << n << " + " << cut;
            ASSERT_TRUE(stock_visits_all(path.str())) << n << " + " << cut;
        }
    }
}

/// Three dumps of a run that was killed. @return  where what it has used ends.
std::uint64_t killed_run(const std::string& path, std::span<const SmallDump> dumps) {
    SmallRun run(base::FileSystem::posix(), path, 1, crash_run(), true);
    for (const SmallDump& dump : dumps) EXPECT_TRUE(run.dump_and_commit(dump).ok());
    return run.end();
}

TEST(CrashOfManyCommits, recovery_takes_back_the_end_that_ran_ahead) {
    const TemporaryPath path("crash_ahead");
    const std::vector<SmallDump> dumps = {SmallDump(0), SmallDump(1), SmallDump(2)};
    const std::uint64_t end = killed_run(path.str(), dumps);
    ASSERT_GT(std::filesystem::file_size(path.str()), end);
    ASSERT_TRUE(recover(base::FileSystem::posix(), path.str()).ok());
    EXPECT_EQ(std::filesystem::file_size(path.str()), end);
    EXPECT_EQ(stock_difference(path.str(), {{&dumps[0], &dumps[1], &dumps[2]}}), "");
    auto again = recover(base::FileSystem::posix(), path.str());
    ASSERT_TRUE(again.ok());
    EXPECT_TRUE(again->was_clean);
}

TEST(CrashOfManyCommits, recovery_leaves_what_another_program_has_added_since) {
    const TemporaryPath path("crash_added");
    const std::vector<SmallDump> dumps = {SmallDump(0), SmallDump(1), SmallDump(2)};
    killed_run(path.str(), dumps);
    const std::vector<float> added(1000, 7.0f);
    {
        const Handle file(H5Fopen(path.str().c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
        ASSERT_TRUE(file.ok());
        const hsize_t count = added.size();
        const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
        const Handle data(H5Dcreate2(file.get(), "/added", H5T_NATIVE_FLOAT, space.get(),
                                     H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                          H5Dclose);
        ASSERT_GE(
            H5Dwrite(data.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, added.data()), 0);
    }
    ASSERT_TRUE(recover(base::FileSystem::posix(), path.str()).ok());
    EXPECT_EQ(stock_read(path.str(), "/added"), added);
    EXPECT_EQ(stock_difference(path.str(), {{&dumps[0], &dumps[1], &dumps[2]}}), "");
}

/// A reader knows the file's length of one moment, and the superblock's end of a later one.
TEST(CrashOfManyCommits, no_commit_says_more_than_a_reader_has_seen_unless_it_grows_by_leaps) {
    std::mt19937_64 random(k_crash_seed + 4);
    RecordProperty("seed", k_crash_seed + 4);
    constexpr std::uint64_t k_most_growth = 1 << 20;
    AnnouncedEnd last = announce_end(100000 + random() % k_most_growth, {});
    last.growth = k_most_growth;
    last.file = std::max(last.file, last.superblock + k_most_growth);
    for (int commit = 0; commit < 1000; ++commit) {
        const std::uint64_t used = last.used + random() % k_most_growth;
        const AnnouncedEnd next = announce_end(used, last);
        ASSERT_LE(used, last.superblock) << commit;  // nothing lies beyond what was said before
        ASSERT_LE(next.superblock, last.file) << commit;
        ASSERT_LE(next.superblock, next.file);
        ASSERT_GE(next.superblock, last.superblock);
        ASSERT_LE(next.file, used + 10 * k_most_growth);  // and what is ahead stays bounded
        last = next;
    }
}

TEST_F(Crash, that_loses_unsynced_writes_loses_no_dump) {
    std::mt19937 random(k_crash_seed + 1);
    RecordProperty("seed", k_crash_seed + 1);
    for (std::size_t n = 0; n <= operations_.size(); ++n) {
        const std::size_t loose = unsynced(operations_, n);
        if (loose == 0) continue;
        for (int trial = 0; trial < 4; ++trial) {
            std::vector<bool> keep(loose, false);  // the first trial loses all of them
            for (std::size_t i = 0; i < loose && trial > 0; ++i) keep[i] = random() % 2 == 0;
            // Commits returned after a sync; what the flush left unsynced is only the clearing.
            ASSERT_NO_FATAL_FAILURE(check(state_with_losses(operations_, n, keep), n,
                                          fmt::format("{} unsynced, trial {}", loose, trial),
                                          Stock::opens_or_has_journal));
        }
    }
    RecordProperty("states", static_cast<int>(states_));
}

TEST_F(Crash, of_recovery_itself_loses_no_dump) {
    // Die in the middle of dump 3's flush (second half), recover, and die in the recovery.
    const std::size_t middle = (written_at_[3] + committed_at_[3]) / 2;
    for (const std::size_t start : {middle, written_at_[3], written_at_[0], written_at_[3] - 1}) {
        const auto state = state_after(operations_, start);
        ASSERT_TRUE(put_file(path_.str(), state));
        RecordingFileSystem recorder(base::FileSystem::posix());
        ASSERT_TRUE(recover(recorder, path_.str()).ok());
        const auto repairs = recorder.operations();
        std::vector<Operation> all = {{Operation::Kind::write, 0, state}};
        all.insert(all.end(), repairs.begin(), repairs.end());
        for (std::size_t n = 1; n <= all.size(); ++n) {
            ASSERT_TRUE(put_file(path_.str(), state_after(all, n)));
            auto report = recover(quiet_, path_.str());
            ASSERT_TRUE(report.ok()) << report.status().message();
            const std::size_t expected = up_to(written_at_, start);
            ASSERT_GE(report->committed_dumps, expected);
            ASSERT_EQ(stock_difference(path_.str(), first(expected)), "") << start << " " << n;
        }
    }
}

/// Damage: recovery may refuse or report, but what was committed and not damaged stays exact.
TEST_F(Crash, with_damaged_bytes_never_corrupts_committed_dumps) {
    std::mt19937 random(k_crash_seed + 2);
    RecordProperty("seed", k_crash_seed + 2);
    // Regions of dump 3 written, not committed.
    const std::size_t n = written_at_[3];
    const auto state = state_after(operations_, n);
    std::size_t begin_3 = state.size(), end_3 = 0;
    for (std::size_t i = committed_at_[2]; i < n; ++i) {
        if (operations_[i].kind != Operation::Kind::write) continue;
        begin_3 = std::min<std::size_t>(begin_3, operations_[i].offset);
        end_3 = std::max<std::size_t>(end_3, operations_[i].offset + operations_[i].bytes.size());
    }
    ASSERT_LT(begin_3, end_3);
    for (int trial = 0; trial < 150; ++trial) {
        auto damaged = state;
        const bool in_journal = trial % 3 == 0;
        const std::size_t begin = in_journal ? k_journal_address : begin_3;
        const std::size_t end = in_journal ? k_journal_address + 256 : end_3;
        for (unsigned i = 0; i < 1 + random() % 4; ++i)
            damaged[begin + random() % (end - begin)] ^= static_cast<std::byte>(1 + random() % 255);
        ASSERT_TRUE(put_file(path_.str(), damaged));
        auto report = recover(quiet_, path_.str());
        ASSERT_TRUE(report.ok()) << report.status().message();
        ASSERT_GE(report->committed_dumps, 3u);
        ASSERT_EQ(stock_difference(path_.str(), first(report->committed_dumps)), "") << trial;
        ASSERT_EQ(report->committed_dumps + report->dropped.size(), 4u);
    }
}

TEST_F(Crash, with_a_damaged_journal_falls_back_to_the_commit_before) {
    std::mt19937 random(k_crash_seed + 3);
    RecordProperty("seed", k_crash_seed + 3);
    // Find the moment when dump 2's journal is whole and nothing is overwritten yet.
    std::size_t n = written_at_[2];
    const auto is_journal = [](const Operation& o) {
        return o.kind == Operation::Kind::write && o.offset == k_journal_address;
    };
    while (!is_journal(operations_[n])) ++n;
    const std::size_t length = operations_[n].bytes.size();
    const auto state = state_after(operations_, n + 1);
    for (int trial = 0; trial < 100; ++trial) {
        auto damaged = state;
        damaged[k_journal_address + random() % length] ^=
            static_cast<std::byte>(1 + random() % 255);
        ASSERT_TRUE(put_file(path_.str(), damaged));
        ASSERT_EQ(stock_difference(path_.str(), first(2)), "");
        auto report = recover(quiet_, path_.str());
        ASSERT_TRUE(report.ok()) << report.status().message();
        ASSERT_TRUE(report->journal_dropped);
        ASSERT_EQ(report->committed_dumps, 3u);  // dump 2 is finished from its regions
        ASSERT_EQ(stock_difference(path_.str(), first(3)), "");
    }
}

TEST_F(Crash, is_reported_without_changing_anything_by_a_dry_run) {
    for (const std::size_t n :
         {written_at_[1] - 1, written_at_[1], (written_at_[2] + committed_at_[2]) / 2}) {
        const auto state = state_after(operations_, n);
        ASSERT_TRUE(put_file(path_.str(), state));
        auto dry = recover(quiet_, path_.str(), true);
        ASSERT_TRUE(dry.ok()) << dry.status().message();
        EXPECT_TRUE(get_file(path_.str()) == state);
        auto wet = recover(quiet_, path_.str());
        ASSERT_TRUE(wet.ok());
        EXPECT_FALSE(dry->was_clean);
        EXPECT_EQ(dry->committed_dumps, wet->committed_dumps);
        EXPECT_EQ(dry->finished_iterations, wet->finished_iterations);
        EXPECT_EQ(dry->dropped.size(), wet->dropped.size());
        EXPECT_EQ(dry->journal_replayed, wet->journal_replayed);
    }
}

TEST_F(Crash, names_the_dropped_iteration_and_counts_its_blocks) {
    // All of dump 2 but the second rank's second write.
    std::size_t n = written_at_[2];
    while (operations_[n - 1].kind != Operation::Kind::write) --n;
    ASSERT_TRUE(put_file(path_.str(), state_after(operations_, n - 1)));
    auto report = recover(quiet_, path_.str());
    ASSERT_TRUE(report.ok());
    ASSERT_EQ(report->dropped.size(), 1u);
    EXPECT_EQ(report->dropped[0].dump, 2u);
    EXPECT_EQ(report->dropped[0].iteration, 23u);
    EXPECT_EQ(report->dropped[0].blocks_expected, 6u);
    EXPECT_EQ(report->dropped[0].blocks_found, 4u);
    EXPECT_EQ(report->committed_dumps, 2u);
}

// Rank 0 had written nothing of dump 2, so that its manifest, which has the iteration, is missing.
TEST_F(Crash, names_a_dump_without_manifest_by_its_number) {
    const auto is_write = [](const Operation& o) { return o.kind == Operation::Kind::write; };
    operations_.resize(written_at_[2]);
    operations_.erase(std::find_if(operations_.begin() + static_cast<long>(committed_at_[1]),
                                   operations_.end(), is_write));
    ASSERT_TRUE(put_file(path_.str(), state_after(operations_, operations_.size())));
    auto report = recover(quiet_, path_.str());
    ASSERT_TRUE(report.ok());
    ASSERT_EQ(report->dropped.size(), 1u);
    EXPECT_EQ(report->dropped[0].dump, 2u);
    EXPECT_FALSE(report->dropped[0].iteration.has_value());
    EXPECT_EQ(report->dropped[0].blocks_expected, 0u);
    EXPECT_GT(report->dropped[0].blocks_found, 0u);
    EXPECT_EQ(report->committed_dumps, 2u);
}

TEST_F(Crash, leaves_the_file_to_a_living_writer) {
    SmallRun run(quiet_, path_.str(), 1, crash_run());
    ASSERT_TRUE(run.dump_and_commit(dumps_[0]).ok());
    auto report = recover(quiet_, path_.str());
    EXPECT_EQ(report.status().code(), StatusCode::io);
    EXPECT_NE(report.status().message().find("in use"), std::string::npos);
}

TEST_F(Crash, recovery_refuses_what_is_not_ours_and_what_was_cut_off) {
    ASSERT_TRUE(put_file(path_.str(), std::vector<std::byte>(100000, std::byte{7})));
    EXPECT_EQ(recover(quiet_, path_.str()).status().code(), StatusCode::corrupt);
    EXPECT_EQ(recover(quiet_, path_.str() + ".none").status().code(), StatusCode::io);
    auto state = state_after(operations_, operations_.size());
    state.resize(state.size() - 5000);
    ASSERT_TRUE(put_file(path_.str(), state));
    auto report = recover(quiet_, path_.str());
    EXPECT_EQ(report.status().code(), StatusCode::corrupt);
    EXPECT_NE(report.status().message().find("cut off"), std::string::npos);
    EXPECT_TRUE(get_file(path_.str()) == state);
}

/// 600 groups, then a child for each: the second commit overwrites far more than the slot holds.
TEST_F(Crash, inside_a_commit_whose_journal_lies_outside_its_slot_is_repaired) {
    DumpManifest parents, children;
    children.dump = 1;
    for (int i = 0; i < 600; ++i) {
        parents.groups.push_back({fmt::format("/g{}", i), {{"i", std::int64_t{i}}}});
        children.groups.push_back({fmt::format("/g{}/child", i), {{"i", std::int64_t{i}}}});
    }
    RecordingFileSystem recorder(base::FileSystem::posix());
    std::size_t first_commit = 0;
    {
        auto shared = SharedFile::create(recorder, path_.str(), crash_run());
        ASSERT_TRUE(shared.ok());
        Committer committer(*shared);
        auto one = committer.build({&parents, 1}, {}, first_region_address());
        ASSERT_TRUE(one.ok() && one->flush(*shared).ok());
        first_commit = recorder.size();
        auto two = committer.build({&children, 1}, {}, one->file_end());
        ASSERT_TRUE(two.ok()) << two.status().message();
        ASSERT_TRUE(two->flush(*shared).ok());
        // The next regions start behind the payload, which is still needed while they are written.
        ASSERT_GT(two->file_end(), *shared->file().size() - 4096);
    }
    const auto& operations = recorder.operations();
    for (std::size_t n = first_commit; n <= operations.size();
         n += 1 + (n - first_commit) / 8 % 20) {
        const auto state = state_after(operations, n);
        ASSERT_TRUE(put_file(path_.str(), state));
        auto report = recover(quiet_, path_.str());
        ASSERT_TRUE(report.ok()) << n << ": " << report.status().message();
        ASSERT_TRUE(stock_opens(path_.str())) << n;
        auto again = recover(quiet_, path_.str());
        ASSERT_TRUE(again.ok() && again->was_clean) << n;
        const QuietErrors quiet;
        const Handle file(H5Fopen(path_.str().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
        std::size_t found = 0;
        for (const GroupSpec& group : children.groups)
            found += H5Lexists(file.get(), group.path.c_str(), H5P_DEFAULT) > 0 ? 1 : 0;
        ASSERT_EQ(found, report->committed_dumps == 2 ? 600u : 0u) << n;
    }
    const auto outside = std::count_if(operations.begin(), operations.end(), [](const auto& o) {
        return o.kind == Operation::Kind::write && o.offset == k_journal_address &&
               o.bytes.size() == k_journal_header_bytes;
    });
    EXPECT_GE(outside, 3);  // a journal without payload in the slot, and two clearings
}

// ------------------------------------------------------------------------- full disk

TEST_F(Crash, a_full_disk_at_any_operation_is_no_space_and_loses_no_dump) {
    using After = FaultyFileSystem::After;
    for (const After after : {After::fails_for_ever, After::works_again}) {
        for (std::uint64_t k = 0;; ++k) {
            SCOPED_TRACE(fmt::format("operation {}", k));
            FaultyFileSystem faulty(base::FileSystem::posix(), k, after);
            std::size_t committed = 0;
            {
                SmallRun run(faulty, path_.str(), 2, crash_run());
                Status status = run.opened();
                for (std::size_t d = 0; status.ok() && d < 3; ++d) {
                    status = run.write_regions(dumps_[d]);
                    if (status.ok()) status = run.commit();
                    if (status.ok()) committed = d + 1;
                }
                if (!faulty.reached()) break;  // every operation has had its turn
                ASSERT_EQ(status.code(), StatusCode::no_space) << status.message();
            }
            auto report = recover(quiet_, path_.str());
            if (!report.ok()) {  // only when not even the header could be written
                ASSERT_EQ(report.status().code(), StatusCode::corrupt);
                ASSERT_LT(k, 2u) << report.status().message();
                continue;
            }
            ASSERT_GE(report->committed_dumps, committed);
            if (committed > 0) {
                ASSERT_EQ(stock_difference(path_.str(), first(committed)), "");
            }
        }
    }
}

TEST_F(Crash, after_a_full_disk_has_room_again_the_commit_can_be_repeated) {
    for (std::uint64_t k = 0; k < 60; ++k) {
        SCOPED_TRACE(fmt::format("operation {}", k));
        FaultyFileSystem faulty(base::FileSystem::posix(), k, FaultyFileSystem::After::works_again);
        SmallRun run(faulty, path_.str(), 1, crash_run());
        if (!run.opened().ok()) continue;
        bool regions_ok = true;
        for (std::size_t d = 0; regions_ok && d < 3; ++d) {
            regions_ok = run.write_regions(dumps_[d]).ok();
            if (!regions_ok) break;
            Status status = run.commit();
            if (!status.ok()) {
                EXPECT_EQ(status.code(), StatusCode::no_space);
                status = run.commit();
            }
            ASSERT_TRUE(status.ok()) << status.message();
        }
        if (regions_ok) {
            ASSERT_EQ(stock_difference(path_.str(), first(3)), "");
        }
    }
}

}  // namespace
}  // namespace caesura::store
