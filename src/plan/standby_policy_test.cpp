// Goal: work at normal priority begins early enough for what is left at half a core, and no
// earlier.
#include "plan/standby_policy.hpp"

#include <gtest/gtest.h>

namespace caesura::plan {
namespace {

TEST(StandbyPolicy, keeps_a_fifth_of_the_promise_and_counts_on_half_a_core) {
    EXPECT_DOUBLE_EQ(begin_by_s({110.0, 10.0, 0.0, 0.0}), 108.0);
    EXPECT_DOUBLE_EQ(begin_by_s({110.0, 10.0, 1.5, 0.5}), 104.0);
}

TEST(StandbyPolicy, more_work_begins_earlier_and_too_much_at_once) {
    double last_s = 1e9;
    for (double left_s = 0.0; left_s < 100.0; left_s += 0.5) {
        const double begin_s = begin_by_s({60.0, 10.0, left_s, 0.0});
        EXPECT_LT(begin_s, last_s);
        last_s = begin_s;
    }
    EXPECT_LT(last_s, 50.0) << "before the hand-over: now";
}

}  // namespace
}  // namespace caesura::plan
