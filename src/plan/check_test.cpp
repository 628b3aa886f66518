#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "plan/instances.hpp"

namespace caesura::plan {
namespace {

constexpr Algorithm k_all[] = {Algorithm::ext_johnson_backfill, Algorithm::generation_list_backfill,
                               Algorithm::insertion_backfill};

void expect_refused(const Schedule& plan, const Instance& in, const char* kind,
                    std::initializer_list<const char*> words) {
    const Status status = check(plan, in.jobs, in.obstacles);
    ASSERT_FALSE(status.ok()) << kind << " was accepted";
    EXPECT_EQ(status.code(), StatusCode::invalid_argument) << kind;
    for (const char* word : words)
        EXPECT_NE(status.message().find(word), std::string::npos)
            << kind << ": '" << word << "' is missing in: " << status.message();
}

// A schedule of compressions that nothing suspends.
Schedule schedule_of(const Instance& in, std::vector<double> compress_begin_s,
                     std::vector<double> write_begin_s, double end_s) {
    std::vector<double> compress_end_s;
    for (std::size_t j = 0; j < compress_begin_s.size(); ++j)
        compress_end_s.push_back(compress_begin_s[j] + in.jobs[j].compress_s);
    return {std::move(compress_begin_s), std::move(compress_end_s), std::move(write_begin_s),
            end_s};
}

double just_below(double x) { return std::nextafter(x, -std::numeric_limits<double>::infinity()); }
double above(double x) { return std::nextafter(x, std::numeric_limits<double>::infinity()); }

// Goal: however a legal schedule is spoilt, and by however little, check() notices. The smallest
// step of double is the smallest way to break an exact rule.
TEST(Check, catches_every_kind_of_mutation) {
    const unsigned seed = 20240423;
    RecordProperty("seed", static_cast<int>(seed));
    InstanceMaker maker(seed, 0.125);
    for (std::size_t round = 0; round < 200; ++round) {
        const Instance in = maker.make(3 + maker.below(12), 2 + maker.below(6), 0.0);
        const auto made = schedule(k_all[round % std::size(k_all)], in.jobs, in.obstacles);
        ASSERT_TRUE(made.ok());
        const Schedule& good = *made;
        ASSERT_TRUE(check(good, in.jobs, in.obstacles).ok());
        const std::size_t a = maker.below(in.jobs.size());
        const std::size_t b = (a + 1) % in.jobs.size();
        const std::size_t o = maker.below(in.obstacles.write.size());
        const auto mutate = [&](const char* kind, std::initializer_list<const char*> words,
                                const std::function<void(Schedule&)>& spoil) {
            Schedule bad = good;
            spoil(bad);
            expect_refused(bad, in, kind, words);
        };
        mutate("write before its compression ends", {}, [&](Schedule& s) {
            s.write_begin_s[a] = just_below(s.compress_begin_s[a] + in.jobs[a].compress_s);
        });
        mutate("two compressions at once", {"compress lane", "overlaps"},
               [&](Schedule& s) { s.compress_begin_s[a] = s.compress_begin_s[b]; });
        mutate("two writes at once", {"write lane", "overlaps"},
               [&](Schedule& s) { s.write_begin_s[a] = s.write_begin_s[b]; });
        mutate("a compression begins a step too early for its neighbour", {"compress lane"},
               [&](Schedule& s) {
                   s.compress_begin_s[b] =
                       just_below(s.compress_begin_s[a] + in.jobs[a].compress_s);
               });
        mutate("a write runs a step into its neighbour", {"write lane"}, [&](Schedule& s) {
            s.write_begin_s[b] = just_below(s.write_begin_s[a] + in.jobs[a].write_s);
        });
        const Interval& wall = in.obstacles.compress.back();
        if (wall.end_s > 0.0)
            mutate("a compression inside an obstacle", {"compress lane"},
                   [&](Schedule& s) { s.compress_begin_s[a] = std::max(0.0, wall.begin_s); });
        mutate("a write that starts before an obstacle ends", {"write lane"},
               [&](Schedule& s) { s.write_begin_s[a] = just_below(in.obstacles.write[o].end_s); });
        mutate("a begin before the iteration", {"finite and >= 0"},
               [&](Schedule& s) { s.compress_begin_s[a] = -1e-300; });
        mutate("a write at no time", {"nan", "write lane"},
               [&](Schedule& s) { s.write_begin_s[a] = std::numeric_limits<double>::quiet_NaN(); });
        mutate("a write that never begins", {"inf"},
               [&](Schedule& s) { s.write_begin_s[a] = std::numeric_limits<double>::infinity(); });
        mutate("an end too early", {"ends at"},
               [&](Schedule& s) { s.end_s = just_below(s.end_s); });
        mutate("an end too late", {"ends at"}, [&](Schedule& s) { s.end_s = above(s.end_s); });
        mutate("a compression that ends when it does not", {"compression of job", "ends at"},
               [&](Schedule& s) { s.compress_end_s[a] = above(s.compress_end_s[a]); });
        mutate("a missing compression", {"compressions"},
               [&](Schedule& s) { s.compress_begin_s.pop_back(); });
        mutate("a write too many", {"writes"},
               [&](Schedule& s) { s.write_begin_s.push_back(1e3); });
    }
}

// Goal: the message names both parties and their times.
TEST(Check, names_the_two_parties) {
    const Instance in{{{1, 1}, {1, 1}}, {{{5, 6}}, {}}};
    expect_refused(schedule_of(in, {0, 0.5}, {1, 2}, 3), in, "overlap",
                   {"compress lane", "job 1 [0.5, 1.5)", "job 0 [0, 1)"});
    expect_refused(schedule_of(in, {0, 4.5}, {1, 6}, 7), in, "obstacle",
                   {"obstacle 0 [5, 6)", "job 1 [4.5, 5.5)"});
    expect_refused(schedule_of(in, {0, 1}, {0.5, 2}, 3), in, "precedence",
                   {"job 0", "0.5 s", "1 s"});
}

// Goal: check() judges by the definition, not by who made the schedule: any waiting is legal.
TEST(Check, accepts_a_legal_schedule_of_any_origin) {
    const Instance in{{{1, 1}, {1, 1}, {0, 0}}, {{{1, 2}}, {{4, 6}}}};
    EXPECT_TRUE(check(schedule_of(in, {2, 0, 1}, {7, 6, 7}, 8), in.jobs, in.obstacles).ok());
    // On the boundary of two touching parties a task of no length is legal, inside it is not.
    EXPECT_TRUE(check(schedule_of(in, {2, 0, 2}, {3, 6, 6}, 7), in.jobs, in.obstacles).ok());
    expect_refused(schedule_of(in, {2, 0, 1.5}, {3, 6, 7}, 7), in, "a point inside an obstacle",
                   {"overlaps"});
    expect_refused(schedule_of(in, {2, 0, 0.5}, {3, 6, 7}, 7), in, "a point inside a task",
                   {"overlaps"});
}

}  // namespace
}  // namespace caesura::plan
