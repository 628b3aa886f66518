#include "transit/service/fair_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace caesura::transit {
namespace {

// Goal: shares of what is served follow the weights, whatever the items cost.
TEST(FairQueue, serves_by_weight_whatever_the_items_cost) {
    const unsigned seed = 20261124;
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    struct Item {
        std::size_t client;
        double cost;
    };
    const std::vector<double> weights = {1.0, 2.0, 4.0};
    std::uniform_real_distribution<double> cost(0.5, 3.0);
    FairQueue<Item> queue;
    for (int i = 0; i < 6000; ++i)
        for (std::size_t c = 0; c < weights.size(); ++c) {
            const double costs = cost(random) * (c == 0 ? 4.0 : 1.0);
            queue.push(c, weights[c], costs, {c, costs});
        }
    std::vector<double> served(weights.size());
    double all = 0.0;
    while (all < 6000.0) {
        const auto item = queue.pop();
        ASSERT_TRUE(item.has_value());
        served[item->client] += item->cost;
        all += item->cost;
    }
    for (std::size_t c = 0; c < weights.size(); ++c)
        EXPECT_NEAR(served[c] / all, weights[c] / 7.0, 0.005) << c;
}

// Goal: a client's own items keep their order, and one that was silent gets no credit for it.
TEST(FairQueue, keeps_each_clients_order_and_gives_nothing_for_silence) {
    FairQueue<int> queue;
    for (int i = 0; i < 100; ++i) queue.push(1, 1.0, 1.0, i);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(queue.pop(), i);
    for (int i = 0; i < 100; ++i) queue.push(2, 1.0, 1.0, 1000 + i);
    int first = 50, second = 1000;
    for (int i = 0; i < 80; ++i) {
        const int item = queue.pop().value();
        EXPECT_EQ(item, item < 1000 ? first : second);
        (item < 1000 ? first : second)++;
    }
    EXPECT_NEAR(first - 50, 40, 1);
}

// Goal: a client's work leaves so early that all of it can be over in time, by what it costs.
TEST(FairQueue, lets_work_leave_early_enough_for_all_that_its_client_has_waiting) {
    FairQueue<int> queue;
    for (int i = 0; i < 3; ++i) queue.push(1, 1.0, 2.0, i, {.done_s = 20.0});
    queue.push(2, 1.0, 2.0, 100);
    double next_s = 0.0;
    EXPECT_FALSE(queue.pop_due(0.0, 1.5, next_s));
    EXPECT_FALSE(queue.pop_due(10.9, 1.5, next_s));
    EXPECT_DOUBLE_EQ(next_s, 20.0 - 1.5 * 6.0);
    EXPECT_EQ(queue.pop_due(11.0, 1.5, next_s), 0);
    EXPECT_FALSE(queue.pop_due(11.0, 1.5, next_s));  // four seconds of work are left
    EXPECT_DOUBLE_EQ(next_s, 14.0);
    EXPECT_EQ(queue.take_back([](int item) { return item == 2; }, 10), 2);
    EXPECT_FALSE(queue.pop_due(16.9, 1.5, next_s));
    EXPECT_EQ(queue.pop_due(17.0, 1.5, next_s), 1);
    EXPECT_FALSE(queue.pop_due(1e9, 1.5, next_s));  // the other promised nothing
    EXPECT_EQ(next_s, Due::k_never_s);
}

// Goal: who is always in a hurry gets ahead of who is not, and not of who is late as well.
TEST(FairQueue, of_clients_that_are_late_takes_the_one_whose_turn_is_next) {
    FairQueue<int> queue;
    double next_s = 0.0;
    for (int i = 0; i < 10; ++i) queue.push(1, 1.0, 1.0, i, {.done_s = 0.0});
    for (int i = 0; i < 10; ++i) queue.push(2, 1.0, 1.0, 100 + i, {.begin_s = 50.0});
    EXPECT_FALSE(queue.pop_due(-50.0, 1.0, next_s));  // since then both have saved
    for (int i = 0; i < 6; ++i) EXPECT_EQ(queue.pop_due(49.0, 1.0, next_s), i);
    EXPECT_EQ(queue.pop(), 100);  // the workers go on by turns
    for (int i = 1; i < 6; ++i) EXPECT_EQ(queue.pop_due(50.0, 1.0, next_s), 100 + i);
    const int seventh = queue.pop_due(50.0, 1.0, next_s).value();
    const int eighth = queue.pop_due(50.0, 1.0, next_s).value();
    EXPECT_EQ(std::min(seventh, eighth), 6);
    EXPECT_EQ(std::max(seventh, eighth), 106);
}

// Goal: a client that claims that everything is due at once gets ahead by no more than its share of
// the time, by weight; what it has saved before is bounded, too.
TEST(FairQueue, bounds_what_a_client_claims_to_be_due_by_its_share) {
    for (const double weight : {1.0, 3.0}) {
        FairQueue<int> queue;
        double next_s = 0.0;
        for (int i = 0; i < 10000; ++i) queue.push(1, weight, 0.1, 1, {.done_s = 0.0});
        for (int i = 0; i < 10000; ++i) queue.push(2, 1.0, 0.1, 2);
        const auto taken_from = [&](double begin_s, double end_s) {
            int taken = 0;
            for (double now_s = begin_s; now_s < end_s; now_s += 0.01)
                while (const auto item = queue.pop_due(now_s, 1.5, next_s)) {
                    EXPECT_EQ(*item, 1);
                    ++taken;
                }
            return taken;
        };
        const double share = weight / (weight + 1.0);
        EXPECT_NEAR(0.1 * taken_from(0.0, 40.0), 40.0 * share, 0.2);
        EXPECT_NEAR(0.1 * taken_from(1000.0, 1040.0), 10.0 + 40.0 * share, 0.2) << "it had saved";
    }
}

// Goal: nobody is kept from what is due when nobody else wants anything.
TEST(FairQueue, gives_a_client_that_is_alone_all_the_time) {
    FairQueue<int> queue;
    double next_s = 0.0;
    for (int i = 0; i < 3; ++i) queue.push(1, 1.0, 2.0, i, {.done_s = 0.0});
    EXPECT_EQ(queue.pop_due(100.0, 1.5, next_s), 0);
    EXPECT_FALSE(queue.pop_due(101.0, 1.5, next_s));
    EXPECT_DOUBLE_EQ(next_s, 102.0);
    EXPECT_EQ(queue.pop_due(102.0, 1.5, next_s), 1);
    EXPECT_FALSE(queue.claim(1, 1.0, 103.0, next_s)) << "what lies ready for a worker counts, too";
    EXPECT_DOUBLE_EQ(next_s, 104.0);
    EXPECT_TRUE(queue.claim(1, 1.0, 104.0, next_s));
    EXPECT_FALSE(queue.pop_due(104.5, 1.5, next_s));
    EXPECT_EQ(queue.pop_due(105.0, 1.5, next_s), 2);
}

// Goal: what a client that is gone has left comes back, once.
TEST(FairQueue, gives_back_the_newest_that_is_wanted_as_if_it_had_never_come) {
    FairQueue<int> queue;
    for (int i = 0; i < 4; ++i) queue.push(1, 1.0, 10.0, i);
    queue.push(2, 1.0, 10.0, 100);
    EXPECT_EQ(queue.take_back([](int item) { return item < 3; }, 10), 2);
    EXPECT_EQ(queue.take_back([](int item) { return item == 3; }, 10), 3);
    EXPECT_FALSE(queue.take_back([](int item) { return item == 0; }, 1)) << "it looks once";
    queue.push(1, 1.0, 10.0, 9);
    std::vector<int> order;
    while (const auto item = queue.pop()) order.push_back(*item);
    EXPECT_EQ(order, (std::vector<int>{0, 100, 1, 9}));
}

TEST(FairQueue, forgets_a_client_and_returns_its_items) {
    FairQueue<int> queue;
    queue.push(1, 1.0, 1.0, 1);
    queue.push(2, 1.0, 1.0, 2);
    queue.push(1, 1.0, 1.0, 3);
    EXPECT_EQ(queue.forget(1), (std::deque<int>{1, 3}));
    EXPECT_TRUE(queue.forget(1).empty());
    EXPECT_EQ(queue.pop(), 2);
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.pop(), std::nullopt);
}

}  // namespace
}  // namespace caesura::transit
