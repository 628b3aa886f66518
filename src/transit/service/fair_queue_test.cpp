#include "transit/service/fair_queue.hpp"

#include <gtest/gtest.h>

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
