#include "plan/together.hpp"

#include <gtest/gtest.h>

#include "plan/together_reference.hpp"

namespace caesura::plan {
namespace {

constexpr unsigned k_together_seed = 20231;

double best_of_all_words(const CheckpointProfile& profile, const TogetherStart& start = {},
                         Goal goal = Goal::at_host) {
    SlowPlayer player(profile);
    double best_s = std::numeric_limits<double>::infinity();
    all_words(profile.intervals_s.size(), false, start.held_bytes > 0,
              [&](const std::string& word) {
                  if (const auto played = player.play(word, start))
                      best_s = std::min(best_s, goal == Goal::at_host ? played->flush_end_s
                                                                      : played->application_end_s);
              });
    return best_s;
}

TEST(Together, finds_the_best_of_all_legal_words) {
    std::mt19937_64 random(k_together_seed);
    for (int round = 0; round < 300; ++round) {
        const CheckpointProfile profile = random_profile(random, 1 + random() % 8);
        const auto plan = together(profile);
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        EXPECT_TRUE(plan->exact);
        EXPECT_DOUBLE_EQ(plan->flush_end_s, best_of_all_words(profile))
            << "seed " << k_together_seed << ", round " << round << ", " << plan->word;
    }
}

TEST(Together, finds_the_best_of_all_legal_words_of_ten_letters) {
    std::mt19937_64 random(k_together_seed + 1);
    for (int round = 0; round < 6; ++round) {
        const CheckpointProfile profile = random_profile(random, 10);
        const auto plan = together(profile);
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        EXPECT_DOUBLE_EQ(plan->flush_end_s, best_of_all_words(profile))
            << "seed " << k_together_seed + 1 << ", round " << round << ", " << plan->word;
    }
}

TEST(Together, finds_the_word_with_which_the_application_goes_on_soonest) {
    std::mt19937_64 random(k_together_seed + 4);
    int sooner = 0;
    for (int round = 0; round < 300; ++round) {
        const CheckpointProfile profile = random_profile(random, 1 + random() % 8);
        const auto plan = together(profile, {}, 4096, Goal::application_done);
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        EXPECT_TRUE(plan->exact);
        EXPECT_DOUBLE_EQ(plan->application_end_s,
                         best_of_all_words(profile, {}, Goal::application_done))
            << "seed " << k_together_seed + 4 << ", round " << round << ", " << plan->word;
        sooner += plan->application_end_s < together(profile)->application_end_s;
    }
    EXPECT_GT(sooner, 100);
}

TEST(Together, goes_on_from_what_is_held_and_queued) {
    std::mt19937_64 random(k_together_seed + 2);
    int held = 0;
    for (int round = 0; round < 300; ++round) {
        CheckpointProfile profile = random_profile(random, 1 + random() % 6);
        TogetherStart start;
        start.queued = {{0.2, 300.0}, {0.9, 500.0}};
        profile.cache_bytes += 1000;
        if (round % 2 == 0) start.held_bytes = 2000, start.held_compressed_bytes = 700;
        const double best_s = best_of_all_words(profile, start);
        const auto plan = together(profile, start);
        ASSERT_EQ(plan.ok(), std::isfinite(best_s))
            << "seed " << k_together_seed + 2 << " round " << round;
        if (!plan.ok()) continue;
        held += start.held_bytes > 0;
        EXPECT_DOUBLE_EQ(plan->flush_end_s, best_s)
            << "seed " << k_together_seed + 2 << ", round " << round << ", " << plan->word;
        const auto again = play(profile, plan->word, start);
        ASSERT_TRUE(again.ok()) << again.status().message();
        EXPECT_DOUBLE_EQ(again->flush_end_s, plan->flush_end_s);
    }
    EXPECT_GT(held, 50);
}

TEST(Together, playing_a_word_is_what_the_slow_model_says) {
    std::mt19937_64 random(k_together_seed + 3);
    int legal = 0;
    for (int round = 0; round < 100; ++round) {
        const CheckpointProfile profile = random_profile(random, 6);
        SlowPlayer player(profile);
        all_words(6, false, false, [&](const std::string& word) {
            const auto slow = player.play(word);
            const auto played = play(profile, word);
            ASSERT_EQ(played.ok(), slow.has_value()) << word;
            if (!slow) return;
            ++legal;
            EXPECT_DOUBLE_EQ(played->flush_end_s, slow->flush_end_s) << word;
            EXPECT_DOUBLE_EQ(played->application_end_s, slow->application_end_s) << word;
        });
    }
    EXPECT_GT(legal, 1000) << "seed " << k_together_seed + 3;
}

TEST(Together, a_long_plan_is_what_its_word_comes_to_and_beats_both_simple_ones) {
    for (const double rate : {17e9, 40e9, 100e9, 400e9}) {
        const CheckpointProfile profile = paper_like(1000, rate);
        const auto plan = together(profile);
        ASSERT_TRUE(plan.ok());
        const auto played = play(profile, plan->word);
        ASSERT_TRUE(played.ok()) << played.status().message();
        EXPECT_DOUBLE_EQ(played->flush_end_s, plan->flush_end_s);
        EXPECT_LE(plan->flush_end_s, send_all_raw(profile)->flush_end_s) << rate;
        EXPECT_LE(plan->flush_end_s, compress_each(profile)->flush_end_s) << rate;
    }
}

TEST(Together, no_simple_word_is_better_in_what_is_asked_for_however_little_is_looked_at) {
    std::mt19937_64 random(k_together_seed + 5);
    for (int round = 0; round < 300; ++round) {
        const CheckpointProfile profile = random_profile(random, 30 + random() % 60);
        for (const Goal goal : {Goal::at_host, Goal::application_done}) {
            SCOPED_TRACE("seed " + std::to_string(k_together_seed + 5) + " round " +
                         std::to_string(round));
            const auto plan = together(profile, {}, 1 + random() % 4, goal);
            ASSERT_TRUE(plan.ok());
            for (const auto& simple : {send_all_raw(profile), compress_each(profile)}) {
                if (goal == Goal::at_host)
                    EXPECT_LE(plan->flush_end_s, simple->flush_end_s);
                else
                    EXPECT_LE(plan->application_end_s, simple->application_end_s);
            }
        }
    }
}

TEST(Together, sends_raw_where_the_link_keeps_up) {
    // As at 17 GB/s in S2: whatever compressing saves, the last checkpoint could be sent at once.
    CheckpointProfile profile = paper_like(66, 17e9);
    profile.compress_curve = {{1e6, 1e-3}};
    EXPECT_EQ(together(profile)->word, std::string(66, 'U'));
}

TEST(Together, a_cache_with_room_for_one_checkpoint_leaves_only_raw) {
    CheckpointProfile profile = paper_like(5, 100e9);
    profile.cache_bytes = 3'000'000;
    EXPECT_EQ(together(profile)->word, "UUUUU");
    EXPECT_EQ(compress_each(profile)->word, "UUUUU");
}

TEST(Together, compressing_that_costs_and_wins_nothing_leaves_the_time_of_sending_raw) {
    CheckpointProfile profile = paper_like(60, 100e9);
    profile.compress_curve = {{1e6, 0.0}};
    profile.compressed_bytes.assign(60, profile.checkpoint_bytes);
    EXPECT_NEAR(together(profile)->flush_end_s, send_all_raw(profile)->flush_end_s, 1e-12);
}

TEST(Together, nothing_to_do_takes_no_time) {
    const auto plan = together(paper_like(0, 1e9));
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->word, "");
    EXPECT_EQ(plan->flush_end_s, 0.0);
}

TEST(Together, numbers_that_cannot_be_are_named) {
    const auto says = [](auto&& spoil, std::string_view what) {
        CheckpointProfile profile = paper_like(3, 1e9);
        spoil(profile);
        const auto plan = together(profile);
        ASSERT_FALSE(plan.ok()) << what;
        EXPECT_EQ(plan.status().code(), StatusCode::invalid_argument);
        EXPECT_NE(plan.status().message().find(what), std::string::npos) << plan.status().message();
    };
    says([](auto& p) { p.checkpoint_bytes = 0; }, "checkpoint_bytes");
    says([](auto& p) { p.intervals_s[1] = -1.0; }, "intervals_s[1] is -1");
    says([](auto& p) { p.intervals_s.pop_back(); }, "2 intervals_s, but 3 compressed_bytes");
    says([](auto& p) { p.compress_curve.clear(); }, "compress_curve is empty");
    says([](auto& p) { std::swap(p.compress_curve[0], p.compress_curve[1]); }, "compress_curve[1]");
    says([](auto& p) { p.link_bytes_per_s = 0.0; }, "link_bytes_per_s is 0");
    says([](auto& p) { p.copy_bytes_per_s = -1.0; }, "copy_bytes_per_s is -1");
    says([](auto& p) { p.cache_bytes = 1; }, "a cache of 1 bytes");
}

TEST(Together, illegal_words_are_refused_at_their_letter) {
    const CheckpointProfile profile = paper_like(3, 1e9);
    for (const auto& [word, what] : {std::pair{"UU", "2 letters"},
                                     {"UQU", "letter 1"},
                                     {"AUX", "letter 1"},
                                     {"ACX", "letter 1"},
                                     {"UUA", "letter 2"}}) {
        const auto played = play(profile, word);
        ASSERT_FALSE(played.ok()) << word;
        EXPECT_NE(played.status().message().find(what), std::string::npos)
            << played.status().message();
    }
}

}  // namespace
}  // namespace caesura::plan
