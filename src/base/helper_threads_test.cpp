// Goal: helpers make what they are given, in order, whoever waits for it, and at normal priority
// for who has none.
#include "base/helper_threads.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <new>
#include <vector>

namespace caesura::base {
namespace {

TEST(HelperThreads, one_makes_calls_in_the_order_in_which_they_were_given) {
    struct Noting final : HelperCall {
        void make() override { seen->push_back(number); }
        std::vector<int>* seen = nullptr;
        int number = 0;
    };
    std::vector<int> seen;
    std::vector<Noting> calls(100);
    {
        HelperThreads helpers;
        for (int i = 0; i < 100; ++i) {
            calls[static_cast<std::size_t>(i)].seen = &seen;
            calls[static_cast<std::size_t>(i)].number = i;
            helpers.give(calls[static_cast<std::size_t>(i)]);
        }
    }  // what was given is made before they end
    ASSERT_EQ(seen.size(), 100u);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
}

TEST(HelperThreads, several_work_at_the_same_time) {
    HelperThreads helpers(2);
    std::atomic<int> there{0};
    const auto meet = [&]() -> Status {  // with one helper nobody would ever meet
        ++there;
        while (there < 2) std::this_thread::yield();
        return {};
    };
    std::thread other([&] { EXPECT_TRUE(helpers.wait_for(meet).ok()); });
    EXPECT_TRUE(helpers.wait_for(meet).ok());
    other.join();
}

TEST(HelperThreads, who_waits_hears_what_came_of_it) {
    HelperThreads helpers;
    EXPECT_TRUE(helpers.wait_for([] { return Status{}; }).ok());
    EXPECT_EQ(helpers.wait_for([] { return Status{StatusCode::io, "gone"}; }).message(), "gone");
    const Status status = helpers.wait_for([]() -> Status { throw std::bad_alloc(); });
    EXPECT_EQ(status.code(), StatusCode::no_space);
}

TEST(HelperThreads, do_what_is_asked_at_idle_priority_and_nothing_else) {
    HelperThreads helpers;
    const auto me = std::this_thread::get_id();
    std::thread::id normal, idle;
    bool was_idle_there = true;
    EXPECT_FALSE(is_at_idle_priority());
    ASSERT_TRUE(helpers
                    .at_normal_priority([&]() -> Status {
                        normal = std::this_thread::get_id();
                        return {};
                    })
                    .ok());
    EXPECT_EQ(normal, me);
    std::thread([&] {
        const sched_param parameter{};
        ASSERT_EQ(::pthread_setschedparam(::pthread_self(), SCHED_IDLE, &parameter), 0);
        EXPECT_TRUE(is_at_idle_priority());
        idle = std::this_thread::get_id();
        (void)helpers.at_normal_priority([&]() -> Status {
            was_idle_there = is_at_idle_priority() || std::this_thread::get_id() == idle;
            return {};
        });
    }).join();
    EXPECT_FALSE(was_idle_there);
}

}  // namespace
}  // namespace caesura::base
