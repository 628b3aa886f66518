// Goal: a service that stays away is looked for ever more rarely, and one that is back at once.
#include "transit/client/absence.hpp"

#include <gtest/gtest.h>

namespace caesura::transit {
namespace {

const Status k_why{StatusCode::io, "killed"};

std::vector<double> looks(Absence& absence, double begin_s, double end_s) {
    std::vector<double> out;
    for (double now_s = begin_s; now_s < end_s; now_s += 0.5)
        if (absence.may_look(now_s)) out.push_back(now_s - begin_s);
    return out;
}

TEST(Absence, is_looked_into_at_once_and_then_after_twice_as_long_each_time) {
    Absence absence;
    EXPECT_FALSE(absence.is_known());
    absence.lost(k_why, 100.0);
    EXPECT_TRUE(absence.is_known());
    EXPECT_EQ(absence.why().message(), "killed");
    const auto at = looks(absence, 100.0, 400.0);
    EXPECT_EQ(at, (std::vector<double>{0, 1, 3, 7, 15, 31, 63, 123, 183, 243}));
}

TEST(Absence, that_is_said_by_several_is_one) {
    Absence absence;
    absence.lost(k_why, 0.0);
    EXPECT_TRUE(absence.may_look(0.0));
    absence.lost({StatusCode::io, "another"}, 0.5);
    EXPECT_FALSE(absence.may_look(0.5)) << "it is not looked for anew";
    EXPECT_EQ(absence.why().message(), "killed");
}

TEST(Absence, soon_after_it_was_found_goes_on_where_the_last_one_was) {
    Absence absence;
    absence.lost(k_why, 0.0);
    EXPECT_EQ(looks(absence, 0.0, 4.0).size(), 3u);
    absence.found(4.0);
    EXPECT_FALSE(absence.is_known());
    EXPECT_TRUE(absence.may_look(5.0)) << "another one has found it";
    absence.lost(k_why, 6.0);
    EXPECT_EQ(looks(absence, 6.0, 30.0), (std::vector<double>{8}));
    absence.found(30.0);
    absence.lost(k_why, 100.0);
    EXPECT_EQ(looks(absence, 100.0, 104.0), (std::vector<double>{0, 1, 3}));
}

}  // namespace
}  // namespace caesura::transit
