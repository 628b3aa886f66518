#include "survey.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace wave {
namespace {

/// Seconds of processor time in all.
Options small_survey() {
    Options options;
    options.nz = 40;
    options.ny = 36;
    options.nx = 48;
    options.sponge = 8;
    options.record_s = 0.25;
    options.shots = 2;
    options.every = 7;  // does not divide the steps
    options.threads = 2;
    options.cache_bytes = 12'000'000;  // ten checkpoints: so the plan has choices
    return options;
}

TEST(Survey, image_has_the_bits_of_one_without_checkpoints) {
    const Options options = small_survey();
    const Surveyed kept = run_survey(options, true);
    const Surveyed exact = run_survey(options, false);
    ASSERT_EQ(kept.shots.size(), 2u);
    EXPECT_NE(kept.first.steps % options.every, 0);
    EXPECT_EQ(kept.image, exact.image);
    EXPECT_EQ(kept.source_power, exact.source_power);
    EXPECT_EQ(kept.receiver_power, exact.receiver_power);
    EXPECT_GT(compare(kept, exact, options).largest_of_image, 0.0);
    for (const ShotReport& shot : kept.shots) {
        const auto made = static_cast<std::size_t>(checkpoints(kept.first.steps, options.every));
        EXPECT_EQ(shot.checkpoints.word.size(), made);
        EXPECT_EQ(shot.checkpoints.restores, made);
        EXPECT_GE(shot.checkpoints.prefetched, made - 2);  // backwards is foreseen
        EXPECT_LE(shot.checkpoints.peak_cache_bytes, options.cache_bytes);
    }
}

TEST(Survey, with_a_bound_the_image_differs_by_no_more_than_that_explains) {
    Options options = small_survey();
    const Surveyed exact = run_survey(options, false);
    double before = 0.0;
    for (const double bound : {1e-7, 1e-5}) {
        options.bound = bound;
        const Surveyed kept = run_survey(options, true);
        const Difference found = compare(kept, exact, options);
        EXPECT_LE(found.of_explained, 1.0) << bound;
        EXPECT_GT(found.largest, before) << "a bound that changes nothing proves nothing";
        EXPECT_LT(kept.shots.back().checkpoints.link_bytes,
                  kept.shots.back().checkpoints.raw_bytes);
        before = found.largest;
    }
}

TEST(Survey, first_shot_is_the_others_profile_and_may_be_kept) {
    Options options = small_survey();
    options.shots = 3;
    options.cells_per_s = 3e11;  // faster than the link carries raw
    const auto path = std::filesystem::temp_directory_path() / "caesura_wave_profile.json";
    std::filesystem::remove(path);
    options.profile = path.string();
    const Surveyed surveyed = run_survey(options, true);
    const auto& shots = surveyed.shots;
    EXPECT_LE(shots[1].checkpoints.checkpoint_s, shots[0].checkpoints.checkpoint_s);
    EXPECT_LE(shots[2].checkpoints.checkpoint_s, shots[0].checkpoints.checkpoint_s);
    EXPECT_NE(shots[1].checkpoints.word, shots[0].checkpoints.word);

    options.shots = 1;
    const Surveyed again = run_survey(options, true);
    EXPECT_LE(again.shots[0].checkpoints.checkpoint_s, shots[0].checkpoints.checkpoint_s);
    options.cache_bytes *= 2;
    EXPECT_THROW(run_survey(options, true), std::runtime_error);
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace wave
