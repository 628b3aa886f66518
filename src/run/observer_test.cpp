// Goal: what the lanes are told is what the application will do, as far as its past says it; and
// whatever it does instead, they are told something sane.
#include "run/observer.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace caesura::run {
namespace {

using Lane = Observer::Lane;
using Intervals = std::vector<plan::Interval>;

void mark(Observer& observer, Lane lane, double begin_s, double end_s) {
    observer.enter(lane, begin_s);
    observer.leave(lane, end_s);
}

// Writes at 1 to 2, computes at 3 to 4, ends at 5, shifted.
void one_iteration(Observer& observer, double begin_s, double shift_s = 0.0,
                   std::string_view label = {}) {
    observer.begin_iteration(begin_s, label);
    mark(observer, Lane::write, begin_s + 1.0 + shift_s, begin_s + 2.0 + shift_s);
    mark(observer, Lane::compress, begin_s + 3.0 + shift_s, begin_s + 4.0 + shift_s);
    observer.end_iteration(begin_s + 5.0 + shift_s);
}

// Those of the running iteration only.
Intervals of_this_iteration(const Observer& observer, double length_s = 5.0) {
    Intervals all = observer.write_obstacles();
    std::erase_if(all, [&](const plan::Interval& o) { return o.begin_s >= length_s; });
    return all;
}

TEST(Observer, without_history_nothing_is_expected) {
    Observer observer;
    observer.begin_iteration(0.0);
    EXPECT_TRUE(observer.expected().obstacles.write.empty());
    EXPECT_EQ(observer.expected().length_s, 0.0);
}

TEST(Observer, expects_the_marks_of_the_last_iterations_and_of_those_to_come) {
    Observer observer;
    one_iteration(observer, 100.0);
    EXPECT_DOUBLE_EQ(observer.last_iteration_s(), 5.0);
    observer.begin_iteration(105.0);
    const Expectation expected = observer.expected();
    EXPECT_DOUBLE_EQ(expected.length_s, 5.0);
    EXPECT_EQ(expected.obstacles.write,
              (Intervals{{106.0, 107.0}, {111.0, 112.0}, {116.0, 117.0}, {121.0, 122.0}}));
    EXPECT_EQ(expected.obstacles.compress,
              (Intervals{{108.0, 109.0}, {113.0, 114.0}, {118.0, 119.0}, {123.0, 124.0}}));
}

TEST(Observer, between_iterations_the_next_is_expected_to_begin_at_once) {
    Observer observer;
    one_iteration(observer, 0.0);
    EXPECT_DOUBLE_EQ(observer.expected().begin_s, 5.0);
    EXPECT_EQ(of_this_iteration(observer), (Intervals{{1.0, 2.0}}));
}

TEST(Observer, moves_what_is_expected_by_how_late_the_application_is) {
    Observer observer;
    observer.begin_iteration(0.0);
    mark(observer, Lane::write, 1.0, 1.5);
    mark(observer, Lane::write, 3.0, 3.5);
    observer.end_iteration(5.0);
    observer.begin_iteration(10.0);
    EXPECT_EQ(of_this_iteration(observer), (Intervals{{1.0, 1.5}, {3.0, 3.5}}));
    observer.enter(Lane::write, 11.25);  // a quarter of a second late
    EXPECT_EQ(of_this_iteration(observer), (Intervals{{1.25, 1.75}, {3.25, 3.75}}));
    observer.leave(Lane::write, 12.0);  // and half a second late at its end
    EXPECT_EQ(of_this_iteration(observer), (Intervals{{3.5, 4.0}})) << "the first is over";
    EXPECT_DOUBLE_EQ(observer.expected().late_s, 0.5);
}

TEST(Observer, an_obstacle_that_ends_early_is_over) {
    Observer observer;
    one_iteration(observer, 0.0);
    observer.begin_iteration(10.0);
    mark(observer, Lane::write, 11.0, 11.25);
    EXPECT_TRUE(of_this_iteration(observer).empty());
}

TEST(Observer, late_compute_moves_the_writes_that_follow) {
    Observer observer;
    observer.begin_iteration(0.0);
    mark(observer, Lane::compress, 0.0, 1.0);
    mark(observer, Lane::write, 2.0, 3.0);
    observer.end_iteration(4.0);
    observer.begin_iteration(10.0);
    mark(observer, Lane::compress, 10.0, 11.5);
    EXPECT_EQ(of_this_iteration(observer), (Intervals{{2.5, 3.5}}));
}

TEST(Observer, a_missing_mark_does_not_move_the_rest) {
    Observer observer;
    observer.begin_iteration(0.0);
    for (const double at : {1.0, 2.0, 3.0, 4.0}) mark(observer, Lane::write, at, at + 0.25);
    observer.end_iteration(5.0);
    observer.begin_iteration(10.0);
    mark(observer, Lane::write, 11.0, 11.25);
    mark(observer, Lane::write, 13.0, 13.25);  // not at 12
    EXPECT_EQ(of_this_iteration(observer), (Intervals{{4.0, 4.25}}));
}

TEST(Observer, a_mark_nobody_expected_is_forgotten_at_the_next_that_was) {
    Observer observer;
    observer.begin_iteration(0.0);
    for (const double at : {1.0, 3.0, 4.0}) mark(observer, Lane::write, at, at + 0.25);
    observer.end_iteration(5.0);
    observer.begin_iteration(10.0);
    for (const double at : {10.5, 11.0}) mark(observer, Lane::write, at, at + 0.25);
    EXPECT_EQ(of_this_iteration(observer), (Intervals{{3.0, 3.25}, {4.0, 4.25}}));
    for (const double at : {13.0, 14.0, 14.5, 14.75}) mark(observer, Lane::write, at, at + 0.1);
    EXPECT_TRUE(of_this_iteration(observer).empty());
    observer.end_iteration(15.0);
    EXPECT_EQ(of_this_iteration(observer).size(), 6u) << "as many as there were last";
}

TEST(Observer, iterations_of_varying_length_stay_sorted_and_finite) {
    Observer observer;
    double now_s = 0.0;
    for (int i = 0; i < 50; ++i) {
        const double scale = 0.2 + 0.13 * (i * 7 % 11);
        observer.begin_iteration(now_s);
        for (int k = 0; k < 3 + i % 4; ++k)
            mark(observer, k % 2 ? Lane::write : Lane::compress, now_s + scale * (k + 0.2),
                 now_s + scale * (k + 0.9));
        const Expectation expected = observer.expected();
        for (const Intervals& lane : {expected.obstacles.compress, expected.obstacles.write})
            for (std::size_t k = 0; k < lane.size(); ++k) {
                EXPECT_LT(lane[k].begin_s, lane[k].end_s);
                EXPECT_LE(k > 0 ? lane[k - 1].end_s : 0.0, lane[k].begin_s);
            }
        now_s += scale * 8.0;
        observer.end_iteration(now_s);
    }
}

TEST(Observer, alternating_kinds_are_told_apart_by_label_and_foreseen) {
    Observer observer;
    double now_s = 0.0;
    // a a regrid, a a regrid, ...: a regrid's communication comes 2 s later.
    for (int i = 0; i < 12; ++i) {
        const bool regrid = i % 3 == 2;
        const double shift_s = regrid ? 2.0 : 0.0;
        if (i >= 6) {  // from the third round on, before the iteration has said what it is
            EXPECT_EQ(of_this_iteration(observer), (Intervals{{1.0 + shift_s, 2.0 + shift_s}}))
                << i;
        }
        one_iteration(observer, now_s, shift_s, regrid ? "regrid" : "a");
        now_s += 5.0 + shift_s;
    }
}

TEST(Observer, a_label_that_was_not_foreseen_is_another_kind) {
    Observer observer;
    one_iteration(observer, 0.0, 0.0, "a");
    one_iteration(observer, 5.0, 2.0, "b");
    one_iteration(observer, 12.0, 0.0, "a");
    const std::uint64_t foreseen = observer.expected().kind;
    EXPECT_EQ(of_this_iteration(observer), (Intervals{{3.0, 4.0}})) << "b comes after a";
    observer.begin_iteration(17.0, "a");
    EXPECT_NE(observer.expected().kind, foreseen);
    EXPECT_EQ(of_this_iteration(observer), (Intervals{{1.0, 2.0}}));
    observer.end_iteration(18.0);
    observer.begin_iteration(18.0, "never seen");
    EXPECT_EQ(of_this_iteration(observer), (Intervals{{1.0, 2.0}})) << "as the last one";
}

TEST(Observer, an_iteration_after_a_dump_is_of_another_kind_by_itself) {
    Observer observer;
    double now_s = 0.0;
    for (int i = 0; i < 8; ++i) {  // every second one dumps; the one after it takes 1 s longer
        const double shift_s = i % 2 == 1 ? 1.0 : 0.0;
        observer.begin_iteration(now_s);
        if (i >= 4) {
            EXPECT_EQ(of_this_iteration(observer, 6.0),
                      (Intervals{{1.0 + shift_s, 2.0 + shift_s}}));
        }
        mark(observer, Lane::write, now_s + 1.0 + shift_s, now_s + 2.0 + shift_s);
        now_s += 6.0 + shift_s;
        observer.expect_next(now_s - 0.5, i % 2 == 0);
        observer.end_iteration(now_s);
    }
}

TEST(Observer, the_end_that_has_begun_counts_in_what_is_expected) {
    Observer observer;
    observer.begin_iteration(0.0);
    mark(observer, Lane::write, 1.0, 2.0);
    observer.enter(Lane::write, 4.0);  // the collective of the end
    observer.expect_next(4.5, true);
    EXPECT_EQ(observer.expected().obstacles.write.at(0), (plan::Interval{5.5, 6.5}));
    EXPECT_EQ(observer.expected().obstacles.write.at(1), (plan::Interval{8.5, 9.0}));
    observer.leave(Lane::write, 5.0);
    observer.end_iteration(5.0);
    EXPECT_EQ(observer.expected().obstacles.write.at(1), (plan::Interval{9.0, 10.0}));
    EXPECT_EQ(observer.recorded().write, (Intervals{{1.0, 2.0}, {4.0, 5.0}}));
}

TEST(Observer, nested_marks_count_as_the_outermost) {
    Observer observer;
    observer.begin_iteration(0.0);
    observer.enter(Lane::write, 1.0);
    observer.enter(Lane::write, 2.0);
    observer.leave(Lane::write, 3.0);
    EXPECT_TRUE(observer.application_writes());
    observer.leave(Lane::write, 4.0);
    EXPECT_FALSE(observer.application_writes());
    observer.end_iteration(5.0);
    EXPECT_EQ(of_this_iteration(observer), (Intervals{{1.0, 4.0}}));
}

TEST(Observer, a_mark_over_the_boundary_belongs_to_both_iterations) {
    Observer observer;
    observer.begin_iteration(0.0);
    observer.enter(Lane::write, 4.0);
    observer.end_iteration(5.0);
    observer.begin_iteration(5.0);
    observer.leave(Lane::write, 6.0);
    EXPECT_EQ(observer.recorded().write, (Intervals{{0.0, 1.0}}));
    observer.end_iteration(10.0);
    EXPECT_FALSE(observer.application_writes());
}

// Goal: a thread that asks while the application tells gets one state or the other, never a mix.
TEST(Observer, what_is_expected_can_be_asked_from_another_thread) {
    Observer observer;
    std::atomic<bool> stop{false};
    std::thread reader([&] {
        while (!stop.load()) {
            const Expectation expected = observer.expected();
            for (const plan::Interval& o : expected.obstacles.write) {
                if (o.begin_s > expected.begin_s + 0.9 * expected.length_s) break;
                EXPECT_NEAR(o.end_s - o.begin_s, expected.length_s / 10.0, 1e-6);
            }
        }
    });
    double now_s = 0.0;
    for (int i = 0; i < 2000; ++i) {
        const double scale = i % 2 ? 10.0 : 20.0;
        observer.begin_iteration(now_s, i % 2 ? "a" : "b");
        for (int k = 0; k < 9; ++k)
            mark(observer, Lane::write, now_s + 0.1 * k * scale, now_s + 0.1 * (k + 1) * scale);
        observer.end_iteration(now_s + scale);
        now_s += scale;
    }
    stop = true;
    reader.join();
}

}  // namespace
}  // namespace caesura::run
