// Goal: of two processes that open one file of checkpoints at the same time one gets it, whatever
// the instant; what the one writes before the other opens it is seen and kept by the other.
#include "base/whole_file.hpp"
#include "checkpoint/file/spilled_run.hpp"
#include "store/interleaved_file_system.hpp"
#include "store/shared_file.hpp"
#include "store/store_fixture.hpp"

namespace caesura::checkpoint {
namespace {

using store::InterleavedFileSystem;
using store::TemporaryPath;

const CheckpointFileOptions k_fast = {false, nullptr};

void make_and_save(SpilledRun& run, std::uint64_t id) {
    ASSERT_TRUE(run.make(id).ok());
    ASSERT_TRUE(run->save().ok());
}

void make_file(const std::string& path) {
    SpilledRun run(1, checkpoint::small_machine(128'000));
    ASSERT_TRUE(run.begin(CheckpointFile::create(path, k_fast)).ok());
    make_and_save(run, 7);
}

TEST(TwoOpeners, one_of_them_gets_the_file) {
    std::uint64_t at = 0;
    for (bool reached = true; reached; ++at) {
        SCOPED_TRACE(at);
        const TemporaryPath path("openers");
        make_file(path.str());
        Result<std::shared_ptr<CheckpointFile>> second = Status();
        InterleavedFileSystem system(at,
                                     [&] { second = CheckpointFile::open(path.str(), k_fast); });
        const auto first = CheckpointFile::open(path.str(), {false, &system});
        reached = system.reached();
        if (!reached) second = CheckpointFile::open(path.str(), k_fast);
        EXPECT_NE(first.ok(), second.ok());
        EXPECT_EQ((first.ok() ? second : first).status().code(), StatusCode::io);
    }
    EXPECT_GT(at, 4u);
}

TEST(TwoOpeners, what_one_has_written_before_the_other_gets_the_file_is_kept) {
    bool reached = true;
    for (std::uint64_t at = 0; reached; ++at) {
        SCOPED_TRACE(at);
        const TemporaryPath path("in_between");
        make_file(path.str());
        std::vector<std::uint64_t> ids = {7};
        InterleavedFileSystem system(at, [&] {
            SpilledRun other(1, checkpoint::small_machine(128'000));
            if (!other.begin(CheckpointFile::open(path.str(), k_fast)).ok()) return;
            make_and_save(other, 8);
            ids.push_back(8);
        });
        SpilledRun run(1, checkpoint::small_machine(128'000));
        const Status begun = run.begin(CheckpointFile::open(path.str(), {false, &system}));
        reached = system.reached();
        ASSERT_TRUE(begun.ok()) << begun.message();
        make_and_save(run, 9);
        ids.push_back(9);
        run.end();
        ASSERT_TRUE(run.begin(CheckpointFile::open(path.str(), k_fast)).ok());
        EXPECT_EQ(run->ids(), ids);
        for (const std::uint64_t id : ids) EXPECT_EQ(run.wrong(id), "");
    }
}

TEST(TwoOpeners, a_file_of_other_things_that_comes_in_between_is_left_as_it_was) {
    bool reached = true;
    std::uint64_t replaced = 0;
    for (std::uint64_t at = 0; reached; ++at) {
        SCOPED_TRACE(at);
        const TemporaryPath path("other_in_between");
        make_file(path.str());
        std::vector<std::byte> other;
        InterleavedFileSystem system(at, [&] {
            const store::SmallDump committed(0), written(1);
            store::SmallRun killed(base::FileSystem::posix(), path.str(), 1, store::make_run_id());
            if (!killed.opened().ok()) return;
            ASSERT_TRUE(killed.dump_and_commit(committed).ok());
            ASSERT_TRUE(killed.write_regions(written).ok());
            other = base::get_file(path.str());
        });
        const auto file = CheckpointFile::open(path.str(), {false, &system});
        reached = system.reached();
        if (other.empty()) {
            EXPECT_TRUE(file.ok()) << file.status().message();
            continue;
        }
        ++replaced;
        EXPECT_EQ(file.status().code(), StatusCode::unsupported) << file.status().message();
        EXPECT_EQ(base::get_file(path.str()), other);
    }
    EXPECT_GT(replaced, 1u);
}

}  // namespace
}  // namespace caesura::checkpoint
