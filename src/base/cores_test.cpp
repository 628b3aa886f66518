#include "base/cores.hpp"

#include <gtest/gtest.h>

namespace caesura::base {
namespace {

constexpr std::string_view k_stat =
    "cpu  900 90 90 9000 900 0 0 0 0 0\n"
    "cpu0 100 1 2 300 40 0 0 0 0 0\n"
    "cpu2 100 1 2 1000 7 0 0 0 0 0\n"
    "cpu11 5 5 5 20 1 0 0 0 0 0\n"
    "intr 12345 6 7\n";

CoreMask mask(std::initializer_list<std::size_t> cores) {
    CoreMask made;
    for (const std::size_t core : cores) made.add(core);
    return made;
}

TEST(Cores, time_idle_is_that_of_the_cores_asked_for_and_of_waits_for_a_disk) {
    EXPECT_EQ(idle_s(k_stat, mask({0}), 100.0), 3.4);
    EXPECT_EQ(idle_s(k_stat, mask({2, 11}), 100.0), 10.28);
    EXPECT_EQ(mask({2, 11}).count(), 2u);
}

TEST(Cores, what_the_kernel_does_not_say_of_every_core_is_not_known) {
    EXPECT_FALSE(idle_s(k_stat, mask({0, 1}), 100.0));
    EXPECT_FALSE(idle_s(k_stat, mask({}), 100.0));
    EXPECT_FALSE(idle_s("", mask({0}), 100.0));
    EXPECT_FALSE(idle_s("cpu0 1 2 x", mask({0}), 100.0));
}

TEST(Cores, this_machine_says_it_of_the_cores_of_a_thread) {
    const CoreMask mine = cores_of_this_thread();
    ASSERT_GT(mine.count(), 0u);
    const auto before = idle_s(mine);
    if (!before) GTEST_SKIP() << "/proc/stat does not name the cores";
    EXPECT_GE(idle_s(mine).value(), *before);
}

}  // namespace
}  // namespace caesura::base
