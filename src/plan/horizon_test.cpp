#include "plan/horizon.hpp"

#include <gtest/gtest.h>

#include "plan/together_reference.hpp"

namespace caesura::plan {
namespace {

constexpr unsigned k_horizon_seed = 77;

CheckpointProfile machine_of(CheckpointProfile profile) {
    profile.intervals_s.clear();
    profile.compressed_bytes.clear();
    return profile;
}

CheckpointProfile varied(std::mt19937_64& random, CheckpointProfile profile) {
    std::uniform_real_distribution<double> varies(0.9, 1.1);
    for (double& interval_s : profile.intervals_s) interval_s *= varies(random);
    for (std::uint64_t& bytes : profile.compressed_bytes)
        bytes = static_cast<std::uint64_t>(static_cast<double>(bytes) * varies(random));
    return profile;
}

TEST(Horizon, without_a_profile_is_at_most_two_percent_behind_the_better_simple_way) {
    // Runs like those of S2; what k_ends in one_step.cpp was chosen by is the bench's.
    std::mt19937_64 random(k_horizon_seed);
    for (const double rate : {17e9, 40e9, 60e9, 100e9, 200e9, 400e9})
        for (const double cache : {64e6, 128e6, 256e6})
            for (const double share : {0.04, 0.1, 0.25}) {
                CheckpointProfile run = paper_like(100, rate);
                run.cache_bytes = static_cast<std::uint64_t>(cache);
                run.compressed_bytes.assign(100, static_cast<std::uint64_t>(2e6 * share));
                run = varied(random, run);
                auto planner = HorizonPlanner::create(machine_of(run));
                ASSERT_TRUE(planner.ok());
                const auto made = play_planner(run, *planner);
                ASSERT_TRUE(made.ok()) << made.status().message();
                EXPECT_LE(made->flush_end_s, 1.02 * std::min(send_all_raw(run)->flush_end_s,
                                                             compress_each(run)->flush_end_s))
                    << "seed " << k_horizon_seed << ", " << rate << " B/s, cache " << cache
                    << ", share " << share << ": " << made->word;
            }
}

TEST(Horizon, never_says_what_cannot_be_done_whatever_a_run_is_like) {
    std::mt19937_64 random(k_horizon_seed + 1);
    for (int round = 0; round < 300; ++round) {
        const CheckpointProfile run = random_profile(random, 1 + random() % 40);
        CheckpointProfile expected = machine_of(run);
        if (round % 2 == 0) {  // another run on the same machine, of another length
            expected.intervals_s = random_profile(random, 20).intervals_s;
            expected.compressed_bytes = random_profile(random, 20).compressed_bytes;
        }
        auto planner = HorizonPlanner::create(expected, round % 3 == 0 ? random() % 50 : 0);
        ASSERT_TRUE(planner.ok()) << planner.status().message();
        const auto made = play_planner(run, *planner);
        ASSERT_TRUE(made.ok()) << made.status().message() << " seed " << k_horizon_seed + 1
                               << " round " << round;
        ASSERT_EQ(made->word.size(), run.intervals_s.size());
        double held = 0.0;
        for (std::size_t i = 0; i < made->word.size(); ++i) {
            const char letter = made->word[i];
            EXPECT_TRUE(held == 0.0 || letter == 'A' || letter == 'X') << made->word;
            held += 1000.0;
            if (letter != 'U') {
                EXPECT_LE(2.0 * held + static_cast<double>(run.header_bytes),
                          static_cast<double>(run.cache_bytes))
                    << made->word << " at " << i;
            }
            if (letter != 'A') held = 0.0;
        }
    }
}

TEST(Horizon, a_run_exactly_like_the_ensembles_first_is_planned_once_and_as_together_does) {
    std::mt19937_64 random(k_horizon_seed + 2);
    for (const double rate : {40e9, 100e9, 400e9}) {
        const CheckpointProfile run = varied(random, paper_like(66, rate));
        auto planner = HorizonPlanner::create(run);
        ASSERT_TRUE(planner.ok());
        const auto made = play_planner(run, *planner);
        ASSERT_TRUE(made.ok()) << made.status().message();
        EXPECT_EQ(made->word, together(run)->word);
        EXPECT_EQ(planner->plans(), 1u);
        EXPECT_NEAR(made->flush_end_s, together(run)->flush_end_s, 1e-3 * made->flush_end_s);
    }
}

TEST(Horizon, another_member_of_the_ensemble_is_nearly_as_good_as_knowing_the_run) {
    std::mt19937_64 random(k_horizon_seed + 3);
    for (const double rate : {40e9, 100e9, 400e9})
        for (int shot = 0; shot < 20; ++shot) {  // differ by up to 10 %, as S2's do
            const CheckpointProfile first = varied(random, paper_like(66, rate));
            const CheckpointProfile run = varied(random, paper_like(66, rate));
            auto planner = HorizonPlanner::create(first);
            const auto made = play_planner(run, *planner);
            ASSERT_TRUE(made.ok());
            EXPECT_LE(made->flush_end_s, 1.05 * together(run)->flush_end_s)
                << "seed " << k_horizon_seed + 3 << " rate " << rate << " " << made->word;
        }
}

TEST(Horizon, plans_again_where_the_run_is_not_as_the_ensembles_first) {
    const CheckpointProfile first = paper_like(66, 400e9);
    CheckpointProfile run = paper_like(66, 17e9);  // the link keeps up with it
    auto planner = HorizonPlanner::create(first);
    const auto made = play_planner(run, *planner);
    ASSERT_TRUE(made.ok());
    EXPECT_GT(planner->plans(), 1u);
    EXPECT_LE(made->flush_end_s, 1.02 * send_all_raw(run)->flush_end_s) << made->word;
}

TEST(Horizon, how_many_there_will_be_is_nearly_as_good_as_knowing_the_run) {
    std::mt19937_64 random(k_horizon_seed + 4);
    double all = 0.0, with_the_end = 0.0;
    for (const double rate : {30e9, 40e9, 100e9, 400e9})
        for (const double cache : {64e6, 128e6, 256e6})
            for (const double share : {0.04, 0.1, 0.25}) {
                CheckpointProfile run = paper_like(66, rate);
                run.cache_bytes = static_cast<std::uint64_t>(cache);
                run.compressed_bytes.assign(66, static_cast<std::uint64_t>(2e6 * share));
                run = varied(random, run);
                auto planner = HorizonPlanner::create(machine_of(run), 66);
                ASSERT_TRUE(planner.ok());
                const double made_s = play_planner(run, *planner)->flush_end_s;
                const double known_s = together(run)->flush_end_s;
                // Compressing the first one alone, to learn its size, is a sixth of the shortest.
                EXPECT_LE(made_s, 1.25 * known_s) << "seed " << k_horizon_seed + 4 << ", " << rate
                                                  << " B/s, cache " << cache << ", share " << share;
                auto blind = HorizonPlanner::create(machine_of(run));
                all += play_planner(run, *blind)->flush_end_s / known_s;
                with_the_end += made_s / known_s;
            }
    EXPECT_LT(with_the_end - 36.0, 0.7 * (all - 36.0)) << with_the_end << ", " << all;
}

TEST(Horizon, the_time_that_a_plan_takes_is_no_reason_to_plan_again) {
    // As long as the whole run, which an application on a real clock stands still for.
    for (const double rate : {40e9, 100e9, 400e9})
        for (const bool known : {true, false}) {
            const CheckpointProfile run = paper_like(100, rate);
            auto planner = HorizonPlanner::create(known ? run : machine_of(run), 100);
            auto quick = HorizonPlanner::create(known ? run : machine_of(run), 100);
            ASSERT_TRUE(play_planner(run, *planner, 3.4e-3).ok());
            ASSERT_TRUE(play_planner(run, *quick).ok());
            EXPECT_LE(planner->plans(), quick->plans() + 2) << rate << (known ? " known" : "");
        }
}

TEST(Horizon, a_wrong_number_of_checkpoints_is_no_error) {
    const CheckpointProfile run = paper_like(100, 100e9);
    const double each_s = compress_each(run)->flush_end_s, raw_s = send_all_raw(run)->flush_end_s;
    for (const std::size_t said :
         {std::size_t{1}, std::size_t{30}, std::size_t{99}, std::size_t{120}, std::size_t{5000},
          std::numeric_limits<std::size_t>::max()}) {
        auto planner = HorizonPlanner::create(machine_of(run), said);
        ASSERT_TRUE(planner.ok());
        const auto made = play_planner(run, *planner);
        ASSERT_TRUE(made.ok()) << made.status().message();
        EXPECT_LE(made->flush_end_s, std::min(each_s, raw_s)) << said << ": " << made->word;
        // A profile that ends before the run does.
        CheckpointProfile first = paper_like(40, 100e9);
        auto known = HorizonPlanner::create(first, said);
        EXPECT_TRUE(play_planner(run, *known).ok()) << said;
    }
}

TEST(Horizon, sends_raw_where_the_link_keeps_up_and_where_nothing_fits) {
    CheckpointProfile run = paper_like(50, 17e9);
    auto planner = HorizonPlanner::create(machine_of(run));
    EXPECT_EQ(play_planner(run, *planner)->word, std::string(50, 'U'));
    run = paper_like(50, 400e9);
    run.cache_bytes = 3'000'000;
    auto tight = HorizonPlanner::create(machine_of(run));
    EXPECT_EQ(play_planner(run, *tight)->word, std::string(50, 'U'));
}

TEST(Horizon, numbers_that_cannot_be_are_named) {
    auto planner = HorizonPlanner::create(machine_of(paper_like(0, 1e9)));
    const auto backwards = planner->next({0.0, -1.0, 0, {}});
    ASSERT_FALSE(backwards.ok());
    EXPECT_NE(backwards.status().message().find("interval of -1"), std::string::npos);
    const auto full = planner->next({0.0, 1.0, 64'000'000, {}});
    ASSERT_FALSE(full.ok());
    EXPECT_NE(full.status().message().find("64000000 bytes are held"), std::string::npos);
}

}  // namespace
}  // namespace caesura::plan
