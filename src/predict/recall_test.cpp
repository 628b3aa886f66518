// Sizes without looking: when the last dump is enough, when it no longer is, and that nothing else
// is learned from it.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "predict/fields.hpp"

namespace caesura::predict {
namespace {

constexpr unsigned k_recall_seed = 20261122;
constexpr std::uint64_t k_values = 1u << 21;
constexpr double k_activity = 0.5;

/// What a look would say of a block.
Features looked(std::uint64_t block, double bits, double activity = k_activity) {
    Features features;
    features.bits_per_value = features.smooth_bits_per_value = bits;
    features.values = k_values;
    features.estimated = true;
    features.mode = Mode::strong;
    features.block = block;
    features.activity = activity;
    return features;
}

/// A field of one block whose sizes were these.
SizeModel after(std::initializer_list<std::uint64_t> sizes) {
    SizeModel model("caesura", float32);
    for (const std::uint64_t bytes : sizes)
        model.learn(looked(7, 8.0 * static_cast<double>(bytes) / k_values), bytes);
    return model;
}

TEST(Recall, needs_a_past_and_one_step_of_it) {
    EXPECT_FALSE(after({}).recall(7, k_values, k_activity));
    EXPECT_FALSE(after({60'000}).recall(7, k_values, k_activity));
    const SizeModel model = after({60'000, 60'500});
    EXPECT_TRUE(model.recall(7, k_values, k_activity));
    EXPECT_FALSE(model.recall(8, k_values, k_activity)) << "another block";
    EXPECT_FALSE(model.recall(k_no_block, k_values, k_activity));
    EXPECT_FALSE(model.recall(7, k_values / 2, k_activity)) << "another shape";
    EXPECT_FALSE(model.recall(7, k_values, -1.0)) << "no glance";
    EXPECT_FALSE(model.recall(7, k_values, std::nan("")));
}

TEST(Recall, says_what_the_dump_before_came_to) {
    const SizeModel model = after({60'000, 60'500});
    const auto features = model.recall(7, k_values, k_activity + 0.001);
    ASSERT_TRUE(features);
    EXPECT_TRUE(features->recalled);
    EXPECT_EQ(features->block, 7u);
    EXPECT_EQ(features->values, k_values);
    EXPECT_EQ(features->mode, Mode::strong);
    EXPECT_EQ(features->activity, k_activity + 0.001);
    const Bytes bytes = model.predict(*features);
    EXPECT_NEAR(bytes.mean, 60'500.0, 0.002 * 60'500);
    EXPECT_GT(bytes.shared_sigma, 0.01 * bytes.mean) << "sizes move with the field";
    EXPECT_LT(bytes.shared_sigma, 4096.0);
    EXPECT_DOUBLE_EQ(bytes.sigma, std::hypot(bytes.shared_sigma, 4096.0)) << "and a page";
}

// Goal: a large block is looked at until its sizes have been seen to move by less than a hundredth;
// if they move by more, always.
TEST(Recall, of_large_blocks_waits_until_sizes_are_known_to_hardly_move) {
    std::mt19937 random(k_recall_seed);
    for (const double step : {0.002, 0.03}) {
        SizeModel model("caesura", float32);
        std::normal_distribution<double> normal(0.0, step);
        double bytes = 2e6;
        int first = -1;
        for (int n = 0; n < 80; ++n) {
            if (first < 0 && model.recall(7, k_values, k_activity)) first = n;
            bytes *= std::exp(normal(random));
            model.learn(looked(7, 8.0 * bytes / k_values), static_cast<std::uint64_t>(bytes));
        }
        if (step < 0.01) {
            EXPECT_GT(first, 10);
        } else {
            EXPECT_EQ(first, -1);
        }
    }
}

// Goal: a glance that sees more, or less, go on sends the writer to look; for a block of a few
// kilobytes only what could make it much larger counts.
TEST(Recall, is_refused_where_the_glance_has_changed) {
    const SizeModel model = after({60'000, 60'500});
    EXPECT_TRUE(model.recall(7, k_values, 1.04 * k_activity));
    EXPECT_FALSE(model.recall(7, k_values, 1.10 * k_activity));
    EXPECT_FALSE(model.recall(7, k_values, 0.90 * k_activity));
    EXPECT_FALSE(model.recall(7, k_values, 0.0));
    const SizeModel tiny = after({3'000, 3'300});
    EXPECT_TRUE(tiny.recall(7, k_values, 1.5 * k_activity));
    EXPECT_FALSE(tiny.recall(7, k_values, 3.0 * k_activity));
}

// Goal: a jump that no glance has seen is met by looking at the field again, until it has settled.
TEST(Recall, ends_with_a_jump_and_comes_back) {
    SizeModel model = after({60'000, 60'500, 60'200, 60'300});
    const auto features = model.recall(7, k_values, k_activity);
    ASSERT_TRUE(features);
    model.learn(*features, 100'000);
    EXPECT_FALSE(model.recall(7, k_values, k_activity));
    int looks = 0;
    while (!model.recall(7, k_values, k_activity)) {
        model.learn(looked(7, 8.0 * 100'000 / k_values), 100'000);
        ASSERT_LT(++looks, 100);
    }
    EXPECT_GT(looks, 3);
}

// Goal: however many dumps are recalled, and whatever they come to, predictions of blocks that are
// looked at stay what they were.
TEST(Recall, teaches_nothing_about_guesses) {
    SizeModel model = after({60'000, 60'500, 61'000});
    const Bytes of_block = model.predict(looked(7, 0.25)), of_other = model.predict(looked(9, 0.2));
    for (const std::uint64_t bytes : {61'200u, 61'000u, 250'000u, 1u}) {
        Features features = looked(7, 0.0);
        features.recalled = true;
        model.learn(features, bytes);
    }
    for (const auto& [before, now] : {std::pair(of_block, model.predict(looked(7, 0.25))),
                                      std::pair(of_other, model.predict(looked(9, 0.2)))}) {
        EXPECT_EQ(before.mean, now.mean);
        EXPECT_EQ(before.sigma, now.sigma);
        EXPECT_EQ(before.shared_sigma, now.shared_sigma);
    }
}

// Goal: sizes that are recalled exceed mean and two deviations no more often than a normal
// distribution's would, give or take, however the field moves: evenly, by chance, or with jumps.
TEST(Recall, claims_a_spread_that_holds) {
    std::mt19937 random(k_recall_seed);
    for (const double drift : {0.0, 0.01})
        for (const double noise : {0.003, 0.02})
            for (const double jumps : {0.0, 0.01}) {
                SizeModel model("caesura", float32);
                std::normal_distribution<double> normal(drift, noise);
                std::bernoulli_distribution jump(jumps);
                std::vector<double> sizes(4, 50'000.0);
                int recalled = 0, beyond = 0;
                for (int n = 0; n < 2000; ++n) {
                    const double back = n % 100 < 50 ? 1.0 : -1.0;  // stay of the same order
                    for (std::uint64_t block = 0; block < sizes.size(); ++block) {
                        double& bytes = sizes[block];
                        const auto memory = model.recall(block, k_values, k_activity);
                        bytes *= std::exp(back * normal(random) + (jump(random) ? back * 0.5 : 0));
                        const auto stored = static_cast<std::uint64_t>(bytes);
                        if (memory) {
                            const Bytes expected = model.predict(*memory);
                            ++recalled;
                            beyond += bytes > expected.mean + 2.0 * expected.sigma;
                        }
                        model.learn(memory ? *memory : looked(block, 8.0 * bytes / k_values),
                                    stored);
                    }
                }
                SCOPED_TRACE(::testing::Message()
                             << "drift " << drift << " noise " << noise << " jumps " << jumps);
                EXPECT_GT(recalled, jumps > 0.0 ? 200 : 6000);
                EXPECT_LT(beyond, (0.035 + jumps) * recalled);
            }
}

// Goal: settings of the dump before make the estimate that choosing the same would make; they are
// chosen anew after some dumps, and as soon as something else goes on in the block.
TEST(Settings, are_assumed_for_some_dumps_and_change_no_estimate) {
    const Box box{{0, 0, 0}, {64, 64, 64}};
    const auto values = noise_field<float>(box.extent, k_recall_seed);
    const auto* data = reinterpret_cast<const std::byte*>(values.data());
    SizeModel model("caesura", float32);
    int chosen = 0, assumed = 0;
    for (int n = 0; n < 19; ++n) {
        const auto settings = model.settings(7, values.size(), k_activity);
        Features features = estimate_block(data, float32, box, box, absolute(0.05), Mode::automatic,
                                           TableSet(), settings);
        EXPECT_EQ(features.assumed, settings.has_value());
        ASSERT_TRUE(features.settings);
        const Features anew =
            estimate_block(data, float32, box, box, absolute(0.05), Mode::automatic, TableSet());
        EXPECT_EQ(features.bits_per_value, anew.bits_per_value);
        EXPECT_EQ(features.mode, anew.mode);
        ++(settings ? assumed : chosen);
        features.block = 7;
        features.activity = k_activity;
        model.learn(features, values.size());
    }
    EXPECT_EQ(chosen, 3) << "at first, soon (it is block 7's turn), and eight looks later";
    EXPECT_EQ(assumed, 16);
    EXPECT_TRUE(model.settings(7, values.size(), 1.1 * k_activity));
    EXPECT_FALSE(model.settings(7, values.size(), 1.2 * k_activity)) << "more goes on";
    EXPECT_FALSE(model.settings(7, values.size(), 0.8 * k_activity)) << "less goes on";
    EXPECT_FALSE(model.settings(7, values.size(), -1.0)) << "no glance";
    EXPECT_FALSE(model.settings(7, values.size() / 2, k_activity)) << "another shape";
    EXPECT_FALSE(model.settings(6, values.size(), k_activity)) << "another block";
}

// Goal: where nothing is chosen there is nothing to assume.
TEST(Settings, are_none_of_blocks_that_have_none) {
    const Box box{{0, 0, 0}, {32, 32, 32}};
    const std::vector<float> zeros(box.extent.count(), 0.0f);
    const auto noise = noise_field<float>(box.extent, k_recall_seed);
    for (const auto& [values, bound] :
         {std::pair(&zeros, absolute(0.1)), std::pair(&noise, lossless())}) {
        const auto* data = reinterpret_cast<const std::byte*>(values->data());
        const Features features = estimate_block(data, float32, box, box, bound, Mode::automatic,
                                                 TableSet(), codec::Choice());
        EXPECT_FALSE(features.settings);
    }
}

// Goal: what a look itself is off by, nobody looks for: sizes that move as much are recalled. A
// field whose looks are exact is looked at.
TEST(Recall, is_enough_where_looks_are_no_better) {
    for (const double look_error : {0.0, 0.02}) {
        std::mt19937 random(k_recall_seed);
        std::normal_distribution<double> step(0.0, 0.015), off(0.0, look_error);
        SizeModel model("caesura", float32);
        double bytes = 6e5;
        int recalled = 0;
        for (int n = 0; n < 60; ++n) {
            recalled += model.recall(7, k_values, k_activity).has_value() ? 1 : 0;
            bytes *= std::exp(step(random));
            const double said = bytes * std::exp(look_error > 0.0 ? off(random) : 0.0);
            model.learn(looked(7, 8.0 * said / k_values), static_cast<std::uint64_t>(bytes));
        }
        if (look_error > 0.0) {
            EXPECT_GT(recalled, 30);
        } else {
            EXPECT_EQ(recalled, 0);
        }
    }
}

// Goal: of blocks of which nothing is known one says what the codec chooses for those that are like
// it, once a dump.
TEST(Looks, ask_once_for_blocks_of_a_first_dump_that_are_alike) {
    const Box box{{0, 0, 0}, {64, 64, 64}};
    const auto one = smooth_field<float>(box.extent, 6, k_recall_seed);
    auto like = one, rough = one;
    for (float& value : like) value = -value;
    const auto noise = noise_field<float>(box.extent, k_recall_seed + 1);
    for (std::size_t i = 0; i < rough.size(); ++i) rough[i] += 0.1f * noise[i];
    SizeModel model("caesura", float32);
    const auto assumed = [&](Looks& looks, std::uint64_t block, const std::vector<float>& values) {
        const auto* data = reinterpret_cast<const std::byte*>(values.data());
        const Features features =
            looks.look(block, values.size(), data, float32, box, box, absolute(0.01),
                       [&](const auto& settings) {
                           return estimate_block(data, float32, box, box, absolute(0.01),
                                                 Mode::automatic, TableSet(), settings);
                       });
        EXPECT_TRUE(features.settings);
        EXPECT_GT(features.bits_per_value, 0.0);
        return features.assumed;
    };
    Looks first(model);
    EXPECT_FALSE(assumed(first, 0, one));
    EXPECT_TRUE(assumed(first, 1, like));
    EXPECT_FALSE(assumed(first, 2, rough)) << "more goes on";
    EXPECT_TRUE(assumed(first, 3, one));
    Looks another(model);
    EXPECT_FALSE(assumed(another, 1, like)) << "of another dump";
    EXPECT_TRUE(assumed(another, 3, one));
}

// Goal: a writer's way: closely twice, then only glances; as soon as the field is another, closely.
TEST(Look, goes_closer_only_where_the_field_is_not_what_it_was) {
    const Box box{{0, 0, 0}, {64, 64, 64}};
    const auto smooth = smooth_field<float>(box.extent, 6, k_recall_seed);
    auto rough = smooth;
    const auto noise = noise_field<float>(box.extent, k_recall_seed + 1);
    for (std::size_t i = 0; i < rough.size(); ++i) rough[i] += 0.1f * noise[i];
    auto broken = smooth;
    std::fill(broken.begin(), broken.begin() + 64 * 64 * 16, std::nanf(""));
    const ErrorBound bound = absolute(0.01);
    SizeModel model("caesura", float32);
    int looks = 0;
    const auto dump = [&](const std::vector<float>& values, const ErrorBound& limit) {
        const auto* data = reinterpret_cast<const std::byte*>(values.data());
        const Features features = Looks(model).look(
            0, values.size(), data, float32, box, box, limit, [&](const auto& settings) {
                ++looks;
                return estimate_block(data, float32, box, box, limit, Mode::automatic, TableSet(),
                                      settings);
            });
        EXPECT_EQ(features.block, 0u);
        EXPECT_EQ(features.values, values.size());
        const auto frame = compress(std::as_bytes(std::span(values)), float32, box.extent, limit);
        ASSERT_TRUE(frame.ok());
        model.learn(features, frame->size());
    };
    dump(smooth, bound);
    dump(smooth, bound);
    EXPECT_EQ(looks, 2);
    for (int n = 0; n < 5; ++n) dump(smooth, bound);
    EXPECT_EQ(looks, 2);
    dump(rough, bound);
    EXPECT_EQ(looks, 3) << "more goes on";
    dump(broken, bound);
    EXPECT_EQ(looks, 4) << "NaN";
    dump(smooth, lossless());
    EXPECT_EQ(looks, 5) << "a glance needs an absolute bound";
}

}  // namespace
}  // namespace caesura::predict
