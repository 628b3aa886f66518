// Goal: what a process leaves that was killed while it made shared memory is removed by the next
// one, and nothing that could be anybody's.
#include "transit/port/dead_segments.hpp"

#include <gtest/gtest.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <vector>

namespace caesura::transit {
namespace {

constexpr std::size_t k_bytes = 12288;

class DeadSegments : public ::testing::Test {
  protected:
    void TearDown() override {
        for (const int id : made_) (void)::shmctl(id, IPC_RMID, nullptr);
    }
    /// By a process that is killed before it has marked it for removal.
    int made_by_the_dead(key_t key, bool writes) {
        int ends[2];
        EXPECT_EQ(::pipe(ends), 0);
        const pid_t child = ::fork();
        if (child == 0) {
            const int id = ::shmget(key, k_bytes, IPC_CREAT | IPC_EXCL | 0600);
            void* const at = ::shmat(id, nullptr, 0);
            if (writes) *static_cast<volatile char*>(at) = 1;
            (void)!::write(ends[1], &id, sizeof(id));
            (void)::raise(SIGKILL);
        }
        int id = -1;
        EXPECT_EQ(::read(ends[0], &id, sizeof(id)), static_cast<ssize_t>(sizeof(id)));
        EXPECT_EQ(::waitpid(child, nullptr, 0), child);
        for (const int end : ends) (void)::close(end);
        made_.push_back(id);
        return id;
    }
    static bool is_there(int id) {
        shmid_ds about{};
        return ::shmctl(id, IPC_STAT, &about) == 0;
    }
    std::vector<int> made_;
};

TEST_F(DeadSegments, that_nobody_has_written_to_are_removed) {
    const int dead = made_by_the_dead(IPC_PRIVATE, false);
    (void)remove_dead_segments();  // or another program's, meanwhile
    EXPECT_FALSE(is_there(dead));
}

TEST_F(DeadSegments, with_values_a_key_or_somebody_who_has_them_stay) {
    (void)made_by_the_dead(IPC_PRIVATE, true);
    (void)made_by_the_dead(static_cast<key_t>(0x0cae50fa), false);
    const int attached = made_by_the_dead(IPC_PRIVATE, false);
    void* const at = ::shmat(attached, nullptr, 0);
    const int of_the_living = ::shmget(IPC_PRIVATE, k_bytes, IPC_CREAT | 0600);
    made_.push_back(of_the_living);
    (void)remove_dead_segments();
    for (const int id : made_) EXPECT_TRUE(is_there(id)) << id;
    EXPECT_EQ(::shmdt(at), 0);
    (void)remove_dead_segments();
    EXPECT_FALSE(is_there(attached));
}

}  // namespace
}  // namespace caesura::transit
