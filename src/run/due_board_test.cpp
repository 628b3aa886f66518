// Goal: what executors tell each other of their work is whole and new, without anybody waiting.
#include "run/due_board.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace caesura::run {
namespace {

using Works = std::vector<plan::DueWork>;

Works others_of(const DuePlace& place) {
    Works all;
    place.add_others(all);
    return all;
}

TEST(DueBoard, each_sees_what_the_others_have) {
    DuePlace &a = DuePlace::take(), &b = DuePlace::take();
    EXPECT_TRUE(a.publish(Works{{10.0, 1.0, true}, {12.0, 2.0, false}}));
    EXPECT_TRUE(others_of(a).empty());
    const Works seen = others_of(b);
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_EQ(seen[0].by_s, 10.0);
    EXPECT_EQ(seen[1].left_s, 2.0);
    EXPECT_TRUE(seen[0].open);
    EXPECT_FALSE(seen[1].open);
    EXPECT_EQ(seen[0].whose, a.number());
    a.leave();
    EXPECT_TRUE(others_of(b).empty());
    b.leave();
}

TEST(DueBoard, others_look_again_when_there_is_more_or_their_turn_may_have_come) {
    DuePlace& a = DuePlace::take();
    EXPECT_TRUE(a.publish(Works{{10.0, 1.0, true}, {12.0, 2.0, true}})) << "more";
    EXPECT_FALSE(a.publish(Works{{10.0, 1.0, true}, {12.0, 2.0, true}})) << "the same";
    EXPECT_FALSE(a.publish(Works{{10.0, 0.5, true}, {12.0, 2.0, true}})) << "less";
    EXPECT_TRUE(a.publish(Works{{10.0, 0.25, false}, {12.0, 2.0, true}})) << "one is compressed";
    EXPECT_TRUE(a.publish(Works{}));
    a.leave();
}

TEST(DueBoard, what_is_more_than_a_place_holds_is_due_with_the_last) {
    DuePlace &a = DuePlace::take(), &b = DuePlace::take();
    Works works;
    for (int i = 0; i < 20; ++i) works.push_back({10.0 + i, 1.0, i == 15});
    EXPECT_TRUE(a.publish(works));
    const Works seen = others_of(b);
    ASSERT_EQ(seen.size(), DuePlace::k_most);
    EXPECT_EQ(seen.back().by_s, 17.0);
    EXPECT_EQ(seen.back().left_s, 13.0);
    EXPECT_TRUE(seen.back().open);
    a.leave();
    b.leave();
}

TEST(DueBoard, places_that_were_left_are_taken_again) {
    DuePlace& first = DuePlace::take();
    const std::uint32_t number = first.number();
    first.leave();
    std::vector<DuePlace*> taken;
    bool again = false;
    for (int i = 0; i < 20; ++i) {
        taken.push_back(&DuePlace::take());
        again |= taken.back()->number() == number;
    }
    EXPECT_TRUE(again);
    for (DuePlace* place : taken) place->leave();
}

// Goal: a reader never sees one half of one publication and one half of another.
TEST(DueBoard, what_is_read_was_said_at_one_time) {
    DuePlace &writer = DuePlace::take(), &reader = DuePlace::take();
    constexpr int k_rounds = 4000000;
    std::atomic<int> said{0};
    std::thread thread([&] {
        for (int round = 0; round < k_rounds; ++round) {
            Works works(static_cast<std::size_t>(round) % DuePlace::k_most,
                        {1.0 * round, 2.0 * round, round % 2 == 1});
            (void)writer.publish(works);
            said.store(round + 1, std::memory_order_release);
        }
    });
    Works seen;
    while (said.load(std::memory_order_acquire) < k_rounds) {
        seen.clear();
        reader.add_others(seen);
        for (const plan::DueWork& work : seen) {
            EXPECT_EQ(work.by_s, seen[0].by_s);
            EXPECT_EQ(work.left_s, 2.0 * work.by_s);
            EXPECT_EQ(static_cast<int>(work.by_s) % static_cast<int>(DuePlace::k_most),
                      static_cast<int>(seen.size()));
        }
    }
    thread.join();
    writer.leave();
    reader.leave();
}

}  // namespace
}  // namespace caesura::run
