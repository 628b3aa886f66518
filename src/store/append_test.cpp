// Goal: a file that a run goes on with has its dumps but those that were to go; a run that dies
// while they go leaves all of them or none; files of others are refused and not changed.
#include "store/append.hpp"

#include <fmt/format.h>

#include <random>

#include "base/whole_file.hpp"
#include "store/commit_parts.hpp"
#include "store/hdf5_handle.hpp"
#include "store/journal.hpp"
#include "store/recording_file_system.hpp"
#include "store/store_fixture.hpp"

namespace caesura::store {
namespace {

using base::get_file, base::put_file;

constexpr unsigned k_append_seed = 20261125;
constexpr std::uint64_t k_append_dumps = 5, k_append_kept = 3;

class Append : public ::testing::Test {
  protected:
    void SetUp() override {
        for (std::uint64_t n = 0; n < k_append_dumps; ++n) dumps_.emplace_back(n);
        SmallRun run(files_, path_.str(), 2, make_run_id());
        ASSERT_TRUE(run.opened().ok()) << run.opened().message();
        for (const SmallDump& dump : dumps_) ASSERT_TRUE(run.dump_and_commit(dump).ok());
        ASSERT_TRUE(run.commit(true).ok());
    }

    std::string difference(std::size_t n) const {
        std::vector<const SmallDump*> some;
        for (std::size_t i = 0; i < n; ++i) some.push_back(&dumps_[i]);
        return stock_difference(path_.str(), some);
    }
    /// How many of the dumps stock HDF5 finds.
    std::size_t found() const {
        const QuietErrors quiet;
        const Handle file(H5Fopen(path_.str().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
        std::size_t n = 0;
        for (const SmallDump& dump : dumps_)
            n += H5Lexists(file.get(), fmt::format("/data/{}", dump.manifest.iteration).c_str(),
                           H5P_DEFAULT) > 0
                     ? 1
                     : 0;
        return n;
    }
    Result<AppendedTo> open(std::optional<std::uint64_t> after = {}) {
        return open_to_append(files_, path_.str(), {after});
    }

    TemporaryPath path_{"append"};
    RecordingFileSystem files_{base::FileSystem::posix()};  // does not forward syncs
    std::vector<SmallDump> dumps_;
};

TEST_F(Append, leaves_a_file_that_was_closed_as_it_is) {
    const auto before = get_file(path_.str());
    const auto opened = open();
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_TRUE(opened->recovered.was_clean);
    EXPECT_EQ(opened->kept, (std::vector<std::uint64_t>{3, 13, 23, 33, 43}));
    EXPECT_TRUE(opened->dropped.empty());
    EXPECT_EQ(opened->next_dump, k_append_dumps);
    EXPECT_EQ(opened->file_end, align_up(before.size()));
    EXPECT_EQ(opened->last_path, "/data/43");
    ASSERT_EQ(opened->last.size(), 2u);
    EXPECT_EQ(opened->last[0].path, "/data/43/meshes/rho");
    EXPECT_TRUE(get_file(path_.str()) == before);
}

TEST_F(Append, drops_what_lies_behind_and_gives_no_number_again) {
    auto opened = open(23);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_EQ(opened->kept, (std::vector<std::uint64_t>{3, 13, 23}));
    EXPECT_EQ(opened->dropped, (std::vector<std::uint64_t>{33, 43}));
    EXPECT_EQ(opened->next_dump, k_append_dumps);
    std::uint64_t bytes = 0;
    for (std::size_t d = k_append_kept; d < k_append_dumps; ++d)
        for (const BlockView& block : dumps_[d].blocks(0, 1)) bytes += block.bytes.size();
    EXPECT_EQ(opened->dropped_bytes, bytes);
    EXPECT_EQ(found(), k_append_kept);
    EXPECT_EQ(difference(k_append_kept), "");
    const auto before = read_before(opened->file);
    ASSERT_TRUE(before.ok());
    EXPECT_EQ(before->record.count(), k_append_kept);
    EXPECT_EQ(before->record.end(), k_append_dumps);
    opened->file = SharedFile();  // and its lock
    // What lies there of the dropped ones is found by nobody.
    const auto report = recover(files_, path_.str());
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(report->was_clean);
    EXPECT_EQ(report->committed_dumps, k_append_kept);
    const auto info = read_info(files_, path_.str());
    ASSERT_TRUE(info.ok());
    EXPECT_FALSE(info->needs_recover);
    EXPECT_EQ(info->datasets.size(), 2 * k_append_kept);
    EXPECT_GE(info->unused_bytes, bytes);
}

/// Each time the last dump goes, and another one comes in its place.
TEST_F(Append, can_be_done_more_often_than_a_commit_record_has_gaps) {
    for (int time = 0; time < 200; ++time) {
        auto opened = open(33);
        ASSERT_TRUE(opened.ok()) << time << ": " << opened.status().message();
        ASSERT_EQ(opened->next_dump, k_append_dumps + static_cast<std::uint64_t>(time));
        SmallDump again = dumps_[4];
        again.manifest.dump = opened->next_dump;
        const auto blocks = again.blocks(0, 1);
        std::uint64_t bytes = region_overhead_bytes(blocks.size(), 4096);
        for (const BlockView& block : blocks) bytes += block.bytes.size();
        std::vector<ChunkRecord> records;
        RegionWriter region(opened->file,
                            {0, again.manifest.dump, opened->file_end, align_up(bytes), 0},
                            encode_manifest(again.manifest));
        ASSERT_TRUE(region.write(blocks, records).ok());
        Committer committer(opened->file);
        auto image = committer.build({&again.manifest, 1}, records,
                                     opened->file_end + align_up(bytes), true);
        ASSERT_TRUE(image.ok()) << image.status().message();
        ASSERT_TRUE(image->flush(opened->file).ok());
    }
    EXPECT_EQ(difference(k_append_dumps), "");
    const auto report = recover(files_, path_.str());
    ASSERT_TRUE(report.ok());
    EXPECT_TRUE(report->was_clean);
    EXPECT_EQ(report->committed_dumps, k_append_dumps);
}

/// Every state in which a dying machine may leave the file while two dumps go.
class AppendCrash : public Append {
  protected:
    void SetUp() override {
        Append::SetUp();
        before_ = get_file(path_.str());
        RecordingFileSystem recorder(base::FileSystem::posix());
        ASSERT_TRUE(open_to_append(recorder, path_.str(), {23}).ok());
        operations_ = recorder.operations();
        ASSERT_GT(operations_.size(), 6u);
    }

    void check(std::span<const std::byte> state, const std::string& what) {
        SCOPED_TRACE(what);
        ASSERT_TRUE(put_file(path_.str(), state));
        const auto dry = recover(files_, path_.str(), true);
        ASSERT_TRUE(dry.ok()) << dry.status().message();
        if (!dry->journal_replayed) {
            const std::size_t n = found();
            ASSERT_TRUE(n == k_append_kept || n == k_append_dumps) << n;
            ASSERT_EQ(difference(n), "");
        }
        const auto report = recover(files_, path_.str());
        ASSERT_TRUE(report.ok()) << report.status().message();
        ASSERT_EQ(found(), report->committed_dumps);
        ASSERT_TRUE(found() == k_append_kept || found() == k_append_dumps) << found();
        ASSERT_TRUE(report->dropped.empty());
        ASSERT_EQ(difference(found()), "");
        (found() == k_append_kept ? n_new_ : n_old_) += 1;
        // And the run that is started again gets what it wanted.
        ASSERT_TRUE(put_file(path_.str(), state));
        const auto again = open(23);
        ASSERT_TRUE(again.ok()) << again.status().message();
        ASSERT_EQ(again->kept, (std::vector<std::uint64_t>{3, 13, 23}));
        ASSERT_EQ(again->next_dump, k_append_dumps);
        ASSERT_EQ(found(), k_append_kept);
        ASSERT_EQ(difference(k_append_kept), "");
    }

    /// The operations with the file as it was as the first of them.
    std::vector<Operation> all() const {
        std::vector<Operation> all = {{Operation::Kind::write, 0, before_}, {}};
        all.insert(all.end(), operations_.begin(), operations_.end());
        return all;
    }

    std::vector<std::byte> before_;
    std::vector<Operation> operations_;
    std::size_t n_old_ = 0, n_new_ = 0;
};

TEST_F(AppendCrash, between_and_inside_operations_leaves_all_dumps_or_those_that_are_kept) {
    for (std::size_t n = 0; n <= operations_.size(); ++n) {
        ASSERT_NO_FATAL_FAILURE(
            check(state_after(operations_, n, 0, before_), fmt::format("{} operations", n)));
        if (n == operations_.size() || operations_[n].kind != Operation::Kind::write) continue;
        const std::size_t bytes = operations_[n].bytes.size();
        std::vector<std::size_t> cuts = {1, bytes / 2, bytes - 1};
        for (std::size_t at = 512 - operations_[n].offset % 512; at < bytes; at += 512)
            cuts.push_back(at);
        std::erase_if(cuts, [&](std::size_t cut) { return cut == 0 || cut >= bytes; });
        for (const std::size_t cut : cuts)
            ASSERT_NO_FATAL_FAILURE(check(state_after(operations_, n, cut, before_),
                                          fmt::format("{} operations, {} bytes", n, cut)));
    }
    EXPECT_GT(n_old_, 3u);
    EXPECT_GT(n_new_, 3u);
}

TEST_F(AppendCrash, that_loses_unsynced_writes_leaves_all_dumps_or_those_that_are_kept) {
    std::mt19937 random(k_append_seed);
    RecordProperty("seed", k_append_seed);
    const auto operations = all();
    for (std::size_t n = 2; n <= operations.size(); ++n) {
        const std::size_t loose = unsynced(operations, n);
        for (int trial = 0; trial < 8 && loose > 0; ++trial) {
            std::vector<bool> keep(loose, false);
            for (std::size_t i = 0; i < loose && trial > 0; ++i) keep[i] = random() % 2 == 0;
            ASSERT_NO_FATAL_FAILURE(check(state_with_losses(operations, n, keep),
                                          fmt::format("{} operations, trial {}", n, trial)));
        }
    }
}

// ------------------------------------------------------------------------- refusals

TEST_F(Append, names_the_nearest_of_an_iteration_that_is_not_there) {
    const auto before = get_file(path_.str());
    for (const auto& [wanted, nearest] :
         {std::pair<std::uint64_t, std::string>{24, "3, 13, 23, 33, 43"},
          {0, "3, 13, 23"},
          {900, "23, 33, 43"}}) {
        const auto opened = open(wanted);
        ASSERT_EQ(opened.status().code(), StatusCode::invalid_argument);
        EXPECT_NE(opened.status().message().find(fmt::format("iteration {} is not", wanted)),
                  std::string::npos)
            << opened.status().message();
        EXPECT_TRUE(opened.status().message().ends_with(nearest)) << opened.status().message();
    }
    EXPECT_TRUE(get_file(path_.str()) == before);
}

TEST_F(Append, refuses_what_is_of_others_and_leaves_it_as_it_is) {
    const auto refused = [&](StatusCode code, const char* word) {
        const auto before = get_file(path_.str());
        const auto opened = open();
        EXPECT_EQ(opened.status().code(), code) << opened.status().message();
        EXPECT_NE(opened.status().message().find(word), std::string::npos)
            << opened.status().message();
        EXPECT_TRUE(get_file(path_.str()) == before);
    };
    {
        SmallRun writes(files_, path_.str(), 1, make_run_id());
        refused(StatusCode::io, "in use");
    }
    {  // an application's dump, on its way
        SmallRun run(files_, path_.str(), 1, make_run_id());
        SmallDump dump(0);
        dump.manifest.tree = TreeOwner::application;
        ASSERT_TRUE(run.write_regions(dump).ok());
    }
    refused(StatusCode::unsupported, "an application's own");
    {
        SmallRun run(files_, path_.str(), 1, make_run_id());
        SmallDump dump(0);
        dump.manifest.root.push_back({"caesura_checkpoints", std::uint64_t{1}});
        ASSERT_TRUE(run.dump_and_commit(dump).ok());
    }
    refused(StatusCode::unsupported, "checkpoints");
    ASSERT_TRUE(put_file(path_.str(), std::vector<std::byte>(100000, std::byte{7})));
    refused(StatusCode::corrupt, "not a Caesura file");
    ASSERT_TRUE(put_file(path_.str(), {}));
    refused(StatusCode::corrupt, "not a Caesura file");
    std::filesystem::remove(path_.str());
    EXPECT_EQ(open().status().code(), StatusCode::io);
    EXPECT_FALSE(std::filesystem::exists(path_.str()));
}

TEST_F(Append, goes_on_with_a_file_whose_run_made_no_dump) {
    { SmallRun run(files_, path_.str(), 1, make_run_id()); }
    const auto opened = open();
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_TRUE(opened->kept.empty());
    EXPECT_EQ(opened->next_dump, 0u);
    EXPECT_EQ(opened->file_end, first_region_address());
    EXPECT_EQ(open(7).status().code(), StatusCode::io);  // which is open
}

}  // namespace
}  // namespace caesura::store
