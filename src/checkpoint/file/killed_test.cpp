// Goal: a process that is killed at any moment loses no checkpoint that it had saved, and what the
// next process finds in the file is exact.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <iostream>

#include "checkpoint/file/spilled_run.hpp"
#include "store/store_fixture.hpp"

namespace caesura::checkpoint {
namespace {

using store::TemporaryPath;

constexpr unsigned k_killed_seed = 4711;

/// What the child says after each call: how many checkpoints it has made, and saved.
struct Progress {
    std::uint64_t made = 0, saved = 0;
};

/// Makes checkpoints for ever, saves now and then, says so. Never returns.
[[noreturn]] void be_killed(const std::string& path, unsigned seed, bool opens, int said) {
    SpilledRun run(seed, machine());
    CheckpointerOptions options;
    options.host_bytes = 3 * machine().cache_bytes;
    options.write_all = seed % 2 == 0;
    options.commit_every_s = 0.0;
    const Status begun =
        run.begin(opens ? CheckpointFile::open(path) : CheckpointFile::create(path), options);
    Progress progress;
    if (begun.ok()) progress.made = progress.saved = run->ids().size();
    while (begun.ok()) {
        if (::write(said, &progress, sizeof progress) != sizeof progress) break;
        if (!run.make(progress.made++).ok()) break;
        if (progress.made % (5 + seed % 7) == 0) {
            if (!run->save().ok()) break;
            progress.saved = progress.made;
        }
    }
    ::_exit(1);
}

/// Kills a child when it has said so many things. @return the last of them.
Progress killed_run(const std::string& path, unsigned seed, bool opens, std::uint64_t words) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        be_killed(path, seed, opens, ends[1]);
    }
    ::close(ends[1]);
    Progress progress, next;
    for (std::uint64_t i = 0; i < words; ++i) {
        if (::read(ends[0], &next, sizeof next) != sizeof next) break;
        progress = next;
    }
    EXPECT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "it ended by itself";
    while (::read(ends[0], &next, sizeof next) == sizeof next) progress = next;
    ::close(ends[0]);
    return progress;
}

TEST(Killed, what_was_saved_is_restored_by_the_next_process_bit_for_bit) {
    std::mt19937_64 random(k_killed_seed);
    std::uint64_t saved = 0, found = 0;
    for (unsigned round = 0; round < 20; ++round) {
        const TemporaryPath path("killed");
        std::uint64_t at_least = 0;
        // The next process is killed as well, while it goes on with the file.
        for (unsigned life = 0; life < 3; ++life) {
            const std::uint64_t words = 1 + random() % 60;
            SCOPED_TRACE("seed " + std::to_string(k_killed_seed) + " round " +
                         std::to_string(round) + " life " + std::to_string(life) + " words " +
                         std::to_string(words));
            const Progress progress = killed_run(path.str(), round, life > 0, words);
            ASSERT_GE(progress.saved, at_least);
            SpilledRun run(round, machine());
            auto file = CheckpointFile::open(path.str());
            ASSERT_TRUE(file.ok()) << file.status().message();
            ASSERT_TRUE(run.begin(file).ok());
            const std::vector<std::uint64_t> ids = run->ids();
            ASSERT_GE(ids.size(), progress.saved);
            for (std::size_t i = ids.size(); i-- > 0;) {
                ASSERT_EQ(ids[i], i);
                ASSERT_EQ(run.wrong(i), "");
            }
            at_least = ids.size();
            saved += progress.saved;
            found += ids.size();
        }
    }
    std::cout << "seed " << k_killed_seed << ": 60 kills, " << saved << " checkpoints were saved, "
              << found << " restored\n";
}

}  // namespace
}  // namespace caesura::checkpoint
