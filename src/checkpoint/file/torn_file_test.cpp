// Goal: whatever a run leaves of its file when it dies, torn in the middle of a write or not,
// everything that was saved is restored from it, and nothing in it is wrong.
//
// A run is recorded, operation by operation; then every state that the file may have been left in
// is built, opened and read.
#include <iostream>

#include "base/whole_file.hpp"
#include "checkpoint/file/spilled_run.hpp"
#include "store/recording_file_system.hpp"
#include "store/store_fixture.hpp"

namespace caesura::checkpoint {
namespace {

using base::put_file;
using store::TemporaryPath;

constexpr unsigned k_torn_file_seed = 77;

class TornFile : public ::testing::Test {
  protected:
    struct Mark {
        std::size_t operations = 0;
        std::uint64_t saved = 0;
    };
    void record() {
        store::RecordingFileSystem recorder(base::FileSystem::posix());
        SpilledRun run(k_torn_file_seed, machine());
        CheckpointerOptions options;
        options.write_all = true;
        options.commit_every_s = 0.0;
        ASSERT_TRUE(
            run.begin(CheckpointFile::create(path_.str(), {true, &recorder}), options).ok());
        marks_.push_back({recorder.size(), 0});
        for (std::uint64_t id = 0; id < 24; ++id) {
            ASSERT_TRUE(run.make(id).ok());
            if (id % 6 != 5) continue;
            ASSERT_TRUE(run->save().ok());
            marks_.push_back({recorder.size(), id + 1});
        }
        run.end();
        operations_ = recorder.operations();
    }
    /// After so many whole operations: what is saved is there, and all that is there is right.
    void check(std::span<const std::byte> state, std::size_t count) {
        std::uint64_t saved = 0;
        for (const Mark& mark : marks_)
            if (mark.operations <= count) saved = mark.saved;
        ASSERT_TRUE(put_file(path_.str(), state));
        auto file = CheckpointFile::open(path_.str(), {false, nullptr});
        if (count < marks_.front().operations && !file.ok()) {
            EXPECT_EQ(file.status().code(), StatusCode::corrupt) << file.status().message();
            return;
        }
        ASSERT_TRUE(file.ok()) << file.status().message();
        SpilledRun run(k_torn_file_seed, machine());
        ASSERT_TRUE(run.begin(file).ok());
        const std::vector<std::uint64_t> ids = run->ids();
        ASSERT_GE(ids.size(), saved);
        // A beginning of the run, without gaps.
        for (std::size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(ids[i], i);
        for (std::size_t i = ids.size(); i-- > 0;) ASSERT_EQ(run.wrong(i), "");
        ++states_;
    }

    TemporaryPath path_{"torn"};
    std::vector<store::Operation> operations_;
    std::vector<Mark> marks_;
    std::size_t states_ = 0;
};

TEST_F(TornFile, cut_off_after_or_within_any_operation_it_has_all_that_was_saved) {
    record();
    std::mt19937_64 random(k_torn_file_seed);
    for (std::size_t count = 0; count <= operations_.size(); ++count) {
        SCOPED_TRACE("seed " + std::to_string(k_torn_file_seed) + ", " + std::to_string(count) +
                     " of " + std::to_string(operations_.size()) + " operations");
        check(store::state_after(operations_, count), count);
        if (count == operations_.size() || operations_[count].bytes.empty()) continue;
        const std::size_t torn = random() % operations_[count].bytes.size();
        check(store::state_after(operations_, count, torn), count);
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(states_, 60u);
    std::cout << states_ << " states\n";
}

TEST_F(TornFile, a_damaged_checkpoint_is_named_and_the_others_are_restored) {
    record();
    std::vector<std::byte> state = store::state_after(operations_, operations_.size());
    ASSERT_TRUE(put_file(path_.str(), state));
    const auto info = store::read_info(path_.str());
    ASSERT_TRUE(info.ok()) << info.status().message();
    const store::ChunkRecord& chunk = info->datasets.at(11).chunks.front();
    state[chunk.address + chunk.bytes / 2] ^= std::byte{1};
    ASSERT_TRUE(put_file(path_.str(), state));
    auto file = CheckpointFile::open(path_.str(), {false, nullptr});
    ASSERT_TRUE(file.ok()) << file.status().message();
    SpilledRun run(k_torn_file_seed, machine());
    ASSERT_TRUE(run.begin(file).ok());
    std::size_t wrong = 0;
    for (const std::uint64_t id : run->ids()) {
        const std::string what = run.wrong(id);
        if (what.empty()) continue;
        ++wrong;
        EXPECT_NE(what.find("checkpoint " + std::to_string(id)), std::string::npos) << what;
        EXPECT_NE(what.find("checksum"), std::string::npos) << what;
    }
    EXPECT_EQ(wrong, 1u);
    EXPECT_EQ(run->ids().size(), 24u);
}

}  // namespace
}  // namespace caesura::checkpoint
