#include "run/observer.hpp"

#include <gtest/gtest.h>

namespace caesura::run {
namespace {

using Lane = Observer::Lane;

void one_iteration(Observer& observer, double begin_s, double shift_s) {
    observer.begin_iteration(begin_s);
    observer.enter(Lane::write, begin_s + 1.0 + shift_s);
    observer.leave(Lane::write, begin_s + 2.0 + shift_s);
    observer.enter(Lane::compress, begin_s + 3.0);
    observer.leave(Lane::compress, begin_s + 4.0);
    observer.end_iteration(begin_s + 5.0);
}

TEST(Observer, predicts_the_marks_of_the_last_iteration) {
    Observer observer;
    EXPECT_TRUE(observer.predicted().write.empty());
    one_iteration(observer, 100.0, 0.0);
    EXPECT_EQ(observer.predicted().write, (std::vector<plan::Interval>{{1.0, 2.0}}));
    EXPECT_EQ(observer.predicted().compress, (std::vector<plan::Interval>{{3.0, 4.0}}));
    EXPECT_DOUBLE_EQ(observer.last_iteration_s(), 5.0);
}

TEST(Observer, moves_the_prediction_by_how_late_the_application_is) {
    Observer observer;
    observer.begin_iteration(0.0);
    for (const double at : {1.0, 3.0}) {
        observer.enter(Lane::write, at);
        observer.leave(Lane::write, at + 0.5);
    }
    observer.end_iteration(5.0);
    observer.begin_iteration(10.0);
    EXPECT_EQ(observer.write_obstacles(), (std::vector<plan::Interval>{{1.0, 1.5}, {3.0, 3.5}}));
    observer.enter(Lane::write, 11.25);  // a quarter of a second late
    EXPECT_EQ(observer.write_obstacles(),
              (std::vector<plan::Interval>{{1.25, 1.75}, {3.25, 3.75}}));
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
    EXPECT_EQ(observer.predicted().write, (std::vector<plan::Interval>{{1.0, 4.0}}));
}

TEST(Observer, between_iterations_nothing_is_predicted) {
    Observer observer;
    one_iteration(observer, 0.0, 0.0);
    EXPECT_TRUE(observer.write_obstacles().empty());
}

}  // namespace
}  // namespace caesura::run
