#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "predict/times.hpp"

namespace caesura::predict {
namespace {

constexpr unsigned k_compress_model_seed = 20221116;
constexpr std::uint64_t k_raw_bytes = 1u << 23;
constexpr const char* k_codecs[] = {"none",   "sz3",          "zfp",    "zstd",
                                    "blosc2", "filter:32015", "caesura"};

// Goal: S1-Eq1: slower with more bits, between the curve's ends, in proportion to the data.
TEST(CompressModel, time_follows_the_clamped_curve) {
    for (const char* codec : k_codecs) {
        const CompressModel model(codec, float32);
        double before_s = 0.0;
        for (const double bits : {0.0, 0.01, 0.5, 1.0, 3.0, 8.0, 16.0, 32.0, 1e6}) {
            const double now_s = model.predict_s(k_raw_bytes, bits);
            ASSERT_TRUE(std::isfinite(now_s) && now_s > 0.0) << codec << " " << bits;
            ASSERT_GE(now_s, before_s) << codec << " " << bits;
            before_s = now_s;
        }
        EXPECT_NEAR(model.predict_s(2 * k_raw_bytes, 6.0), 2.0 * model.predict_s(k_raw_bytes, 6.0),
                    1e-9)
            << codec;
    }
    // The clamp, on SZ3's own curve: 8.39 MB at 170 MB/s at the fastest, 80 MB/s at the slowest.
    const CompressModel sz3("sz3", float32);
    EXPECT_NEAR(sz3.predict_s(k_raw_bytes, 0.1), 8.388608 / 170.0, 1e-9);
    EXPECT_GT(sz3.predict_s(k_raw_bytes, 32.0), 0.95 * 8.388608 / 80.0);
    EXPECT_LE(sz3.predict_s(k_raw_bytes, 32.0), 8.388608 / 80.0);
    EXPECT_LT(CompressModel("none", float32).predict_s(k_raw_bytes, 32.0), 0.01);
}

TEST(CompressModel, of_our_codec_expects_gigabytes_a_second_in_every_mode) {
    for (const Mode mode : {Mode::automatic, Mode::fast, Mode::strong, Mode::planes}) {
        const double s = CompressModel("caesura", float32).predict_s(k_raw_bytes, 2.0, mode);
        EXPECT_GT(static_cast<double>(k_raw_bytes) / s, 2e9) << static_cast<int>(mode);
        EXPECT_LT(static_cast<double>(k_raw_bytes) / s, 7e9) << static_cast<int>(mode);
    }
}

// Goal: blocks that are coded adaptively are known to take many times as long, before and after the
// first of them, beside others of the same field.
TEST(CompressModel, expects_adaptive_blocks_to_take_longer) {
    CompressModel model("caesura", float32);
    const auto slower = [&](double bits) {
        return model.predict_s(k_raw_bytes, bits, Mode::strong, true) /
               model.predict_s(k_raw_bytes, bits, Mode::strong);
    };
    EXPECT_GT(slower(0.1), 5.0);
    EXPECT_GT(slower(1.0), 20.0);
    for (int block = 0; block < 4; ++block) {
        model.learn(k_raw_bytes, 1.0, 0.004, Mode::strong);
        model.learn(k_raw_bytes, 1.0, 0.120, Mode::strong, true);
    }
    EXPECT_NEAR(model.predict_s(k_raw_bytes, 1.0, Mode::strong), 0.004, 0.002);
    EXPECT_NEAR(model.predict_s(k_raw_bytes, 1.0, Mode::strong, true), 0.120, 0.04);
}

// Goal: a machine five times slower or faster is known after a few blocks.
TEST(CompressModel, learns_the_machines_speed) {
    RecordProperty("seed", static_cast<int>(k_compress_model_seed));
    std::mt19937 random(k_compress_model_seed);
    std::normal_distribution<double> noise(0.0, 0.05);
    for (const double slow_down : {0.2, 1.0, 5.0}) {
        CompressModel model("sz3", float32);
        const CompressModel fresh("sz3", float32);
        for (int i = 0; i < 20; ++i) {
            const double bits = 2.0 + static_cast<double>(random() % 5);
            model.learn(k_raw_bytes, bits,
                        slow_down * fresh.predict_s(k_raw_bytes, bits) * std::exp(noise(random)));
        }
        EXPECT_NEAR(
            model.predict_s(k_raw_bytes, 4.0) / (slow_down * fresh.predict_s(k_raw_bytes, 4.0)),
            1.0, 0.1);
    }
}

// Goal: what blocks of few bits teach moves predictions for many bits too (the machine is slower),
// and blocks of different bits together correct the curve's shape.
TEST(CompressModel, learns_across_blocks_of_different_bits) {
    const CompressModel fresh("sz3", float32);
    const auto truth = [&](double bits) {  // twice as slow for few bits, three times for many
        return fresh.predict_s(k_raw_bytes, bits) * (2.0 + std::min(1.0, bits / 16.0));
    };
    CompressModel model("sz3", float32);
    for (int i = 0; i < 20; ++i) model.learn(k_raw_bytes, 1.0, truth(1.0));
    EXPECT_NEAR(model.predict_s(k_raw_bytes, 16.0) / fresh.predict_s(k_raw_bytes, 16.0), 2.06,
                0.15);
    for (int i = 0; i < 100; ++i)
        for (const double bits : {0.5, 2.0, 6.0, 16.0}) model.learn(k_raw_bytes, bits, truth(bits));
    for (const double bits : {0.5, 2.0, 6.0, 16.0})
        EXPECT_NEAR(model.predict_s(k_raw_bytes, bits) / truth(bits), 1.0, 0.06) << bits;
}

// Goal: one finished block does not outweigh a calibration, but sets the scale where there is none.
TEST(CompressModel, trusts_a_calibration_more_than_one_block) {
    Profile profile;
    profile.compress = {{"sz3", "", float32, CompressCurve{}, 0.05, 30}};
    CompressModel calibrated("sz3", float32, &profile), built_in("sz3", float32);
    const double slow_s = 3.0 * calibrated.predict_s(k_raw_bytes, 2.0);
    calibrated.learn(k_raw_bytes, 2.0, slow_s);
    built_in.learn(k_raw_bytes, 2.0, slow_s);
    EXPECT_LT(calibrated.predict_s(k_raw_bytes, 2.0), 0.85 * slow_s);
    EXPECT_NEAR(built_in.predict_s(k_raw_bytes, 2.0), slow_s, 0.03 * slow_s);
}

// Goal: nothing that is learned makes a prediction that is negative, zero or infinite.
TEST(CompressModel, stays_sane_whatever_it_is_told) {
    RecordProperty("seed", static_cast<int>(k_compress_model_seed));
    std::mt19937 random(k_compress_model_seed + 1);
    const double inf = std::numeric_limits<double>::infinity();
    const double strange_s[] = {0.0, -1.0, std::nan(""), inf, 1e-300, 1e300, 0.1};
    const double strange_bits[] = {0.0, 1e-12, 0.1, 5.0, 32.0, 64.0, 1e300, -1.0};
    for (const char* codec : k_codecs) {
        CompressModel model(codec, float64);
        for (int i = 0; i < 2000; ++i) {
            model.learn(random() % 4 == 0 ? random() % 3 : k_raw_bytes, strange_bits[random() % 8],
                        strange_s[random() % 7]);
            const double time_s = model.predict_s(k_raw_bytes, strange_bits[random() % 8]);
            ASSERT_TRUE(std::isfinite(time_s) && time_s > 0.0) << codec << " " << i;
        }
        EXPECT_EQ(model.predict_s(0, 1.0), 0.0);
    }
}

}  // namespace
}  // namespace caesura::predict
