// Goal: the shares of a budget never exceed it, whoever asks when; a state is measured when it may
// have grown, and not at every step.
#include "transit/objects/state_budget.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace caesura::transit {
namespace {

TEST(StateBudget, refuses_what_exceeds_it_and_names_the_limit) {
    StateBudget budget(10'000'000);
    StateShare one(budget), other(budget);
    const auto large = [] { return std::uint64_t{6'000'000}; };
    EXPECT_TRUE(one.grow(6'000'000, large).ok());
    const Status status = other.grow(6'000'000, large);
    EXPECT_EQ(status.code(), StatusCode::no_space);
    EXPECT_NE(status.message().find("at most 10000000 (states_bytes)"), std::string::npos)
        << status.message();
    EXPECT_EQ(budget.used_bytes(), 6'000'000u);
    one.give_back();
    EXPECT_TRUE(other.grow(0, large).ok());
    {
        const StateShare moved(std::move(other));
        EXPECT_EQ(budget.used_bytes(), 6'000'000u);
    }
    EXPECT_EQ(budget.used_bytes(), 0u);
}

TEST(StateBudget, measures_a_small_state_now_and_then_and_counts_what_it_is) {
    StateBudget budget(3'000'000);
    StateShare share(budget);
    int measured = 0;
    for (int i = 0; i < 1000; ++i)  // 100 MB are seen by a state of 100 bytes
        ASSERT_TRUE(share.grow(100'000, [&] { return ++measured, std::uint64_t{100}; }).ok());
    EXPECT_GT(measured, 50);
    EXPECT_LT(measured, 110);
    EXPECT_LE(budget.used_bytes(), 1'100'000u);
}

// Goal: what moves from one holder to another is counted all along, or another would find its room.
TEST(StateBudget, counts_what_moves_from_share_to_share) {
    StateBudget budget(1'000);
    StateShare dump(budget), kept(budget), other(budget);
    ASSERT_TRUE(dump.set(700).ok());
    ASSERT_TRUE(kept.set(200).ok());
    StateShare part = dump.split(600);
    EXPECT_EQ(budget.used_bytes(), 900u);
    EXPECT_FALSE(other.set(200).ok());
    kept.absorb(std::move(part));
    EXPECT_EQ(budget.used_bytes(), 900u);
    dump.give_back();
    EXPECT_EQ(budget.used_bytes(), 800u);
    ASSERT_TRUE(kept.set(100).ok());
    EXPECT_EQ(budget.used_bytes(), 100u);
    EXPECT_EQ(kept.split(700).set(0).code(), StatusCode::ok);  // no more than there is
    EXPECT_EQ(budget.used_bytes(), 0u);
}

TEST(StateBudget, holds_with_many_threads) {
    constexpr std::uint64_t k_most = 100'000;
    StateBudget budget(k_most);
    std::atomic<bool> exceeded{false};
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] {
                StateShare share(budget);
                for (int k = 0; k < 20'000; ++k) {
                    (void)share.grow(1 + static_cast<std::uint64_t>(k % 1000),
                                     [] { return std::uint64_t{40'000}; });
                    if (budget.used_bytes() > k_most) exceeded = true;
                    if (k % 7 == 0) share = StateShare(budget);
                }
            });
    }
    EXPECT_FALSE(exceeded);
    EXPECT_EQ(budget.used_bytes(), 0u);
}

}  // namespace
}  // namespace caesura::transit
