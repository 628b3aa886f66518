// Goal: a worker is never put where the caller that waits for it could not get it back from, and
// is always put below the application.
#include "run/priority.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace caesura::run {
namespace {

struct Lowered {
    bool idle = false;
    int nice = 0;
    bool restored = false;
};

Lowered lower_a_thread() {
    Lowered result;
    std::thread thread([&] {
        lower_priority_of_this_thread();
        result.idle = ::sched_getscheduler(0) == SCHED_IDLE;
        result.nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)));
        result.restored = restore_priority(::pthread_self());
    });
    thread.join();
    return result;
}

TEST(Priority, a_lowered_thread_is_below_the_application_and_idle_only_if_it_can_come_back) {
    const Lowered lowered = lower_a_thread();
    EXPECT_TRUE(lowered.idle || lowered.nice == 19);
    if (lowered.idle) {
        EXPECT_TRUE(lowered.restored);
    }
}

TEST(Priority, without_privileges_a_thread_gets_nice_19_and_not_idle) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const rlimit none{0, 0};
        constexpr uid_t k_nobody = 65534;
        if (::setrlimit(RLIMIT_NICE, &none) != 0) std::_Exit(2);
        if (::geteuid() == 0 && ::setuid(k_nobody) != 0) std::_Exit(3);
        const Lowered lowered = lower_a_thread();
        std::_Exit(lowered.idle ? 4 : lowered.nice != 19 ? 5 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << "2, 3: set-up; 4: idle; 5: not nice 19";
}

}  // namespace
}  // namespace caesura::run
