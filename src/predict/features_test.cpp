#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <map>
#include <queue>

#include "predict/fields.hpp"

namespace caesura::predict {
namespace {

constexpr unsigned k_features_seed = 20221117;

Box whole(const Shape& shape) { return {Shape::filled(shape.rank(), 0), shape}; }

template <class T>
Features sample(const std::vector<T>& field, const Shape& shape, const ErrorBound& bound) {
    return sample_block(reinterpret_cast<const std::byte*>(field.data()), dtype_of<T>(),
                        whole(shape), whole(shape), bound);
}

// The exact size: every value's Lorenzo residual, a real Huffman tree, no sampling. Values on the
// block's lower faces, which have no neighbours, are left out here as they are in the sample.
template <class T>
double exact_huffman_bits(const std::vector<T>& field, const Shape& shape, double bound) {
    std::vector<std::int64_t> q(field.size());
    for (std::size_t i = 0; i < field.size(); ++i)
        q[i] = std::llround(static_cast<double>(field[i]) * 0.5 / bound);
    std::vector<bool> on_face(field.size());
    std::uint64_t stride = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        for (std::uint64_t at = field.size(); at-- > 0;) {
            if (at / stride % shape[axis] != 0)
                q[at] -= q[at - stride];
            else
                on_face[at] = true;
        }
        stride *= shape[axis];
    }
    std::map<std::int64_t, std::uint64_t> counts;
    std::uint64_t values = 0;
    for (std::size_t i = 0; i < q.size(); ++i) {
        if (on_face[i]) continue;
        ++counts[q[i]];
        ++values;
    }
    std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> nodes;
    for (const auto& [code, count] : counts) nodes.push(count);
    double bits = 0.0;
    while (nodes.size() > 1) {
        const std::uint64_t a = nodes.top();
        nodes.pop();
        const std::uint64_t b = nodes.top();
        nodes.pop();
        bits += static_cast<double>(a + b);
        nodes.push(a + b);
    }
    return bits / static_cast<double>(values);
}

// Goal: about 1 % of the values tells the exact Huffman size of all within 5 % + 0.05 bits, on
// Gaussian random fields of every rank, type and several bounds. (The last stage, which only
// lowers it, is excluded by bounds at which no code has half of all values.)
template <class T>
void expect_accurate(const Shape& shape) {
    for (const int radius : {1, 3}) {
        const auto field = smooth_field<T>(shape, radius, k_features_seed);
        for (const double bound : {0.03, 0.003, 0.0003}) {
            const double exact = exact_huffman_bits(field, shape, bound);
            const Features features = sample(field, shape, absolute(bound));
            EXPECT_NEAR(features.bits_per_value, exact, 0.05 * exact + 0.05)
                << to_string(shape) << " radius " << radius << " bound " << bound;
            EXPECT_LE(features.smooth_bits_per_value, features.bits_per_value);
            EXPECT_EQ(features.values, shape.count());
        }
    }
}
TEST(SampleBlock, matches_the_exact_huffman_size_of_the_whole_block) {
    RecordProperty("seed", static_cast<int>(k_features_seed));
    expect_accurate<float>({200'000});
    expect_accurate<float>({500, 400});
    expect_accurate<float>({80, 72, 64});
    expect_accurate<double>({64, 72, 60});
    expect_accurate<float>({24, 20, 20, 28});
}

// Goal: a looser bound never costs more (up to what sampling the same places can jitter), all the
// way from fine to a bound above the field's range, where nothing is left.
TEST(SampleBlock, costs_less_with_a_looser_bound) {
    const Shape shape{64, 64, 64};
    const auto field = smooth_field<float>(shape, 4, k_features_seed);
    double before = std::numeric_limits<double>::infinity();
    double smooth_before = before;
    for (double bound = 1e-6; bound < 100.0; bound *= 2.0) {
        const Features features = sample(field, shape, absolute(bound));
        EXPECT_LE(features.bits_per_value, before + 0.05) << bound;
        EXPECT_LE(features.smooth_bits_per_value, smooth_before + 0.05) << bound;
        before = features.bits_per_value;
        smooth_before = features.smooth_bits_per_value;
    }
    EXPECT_EQ(before, 0.0);
    EXPECT_EQ(smooth_before, 0.0);
}

TEST(SampleBlock, a_constant_field_costs_nothing) {
    for (const float value : {0.0f, 3.7f, -1e30f}) {
        const std::vector<float> field(40 * 40 * 40, value);
        for (const ErrorBound& bound : {lossless(), absolute(std::abs(value) / 1e3 + 1e-3)}) {
            const Features features = sample(field, {40, 40, 40}, bound);
            EXPECT_EQ(features.bits_per_value, 0.0) << value;
            EXPECT_EQ(features.zero_share, 1.0) << value;
        }
    }
}

// Goal: what cannot be compressed is seen as such: random bit patterns without a bound, and noise
// under a bound far below its own grain.
TEST(SampleBlock, noise_costs_about_its_raw_size) {
    RecordProperty("seed", static_cast<int>(k_features_seed));
    std::mt19937 random(k_features_seed);
    std::vector<float> patterns(100'000);
    for (float& value : patterns) {
        const std::uint32_t bits = random();
        std::memcpy(&value, &bits, sizeof(bits));
    }
    EXPECT_GT(sample(patterns, {100'000}, lossless()).bits_per_value, 31.5);
    EXPECT_LE(sample(patterns, {100'000}, lossless()).bits_per_value, 32.0);
    const auto noise = noise_field<float>({50, 50, 50}, k_features_seed);
    EXPECT_GT(sample(noise, {50, 50, 50}, absolute(1e-8)).bits_per_value, 31.9);
    EXPECT_GT(sample(noise, {50, 50, 50}, absolute(1e-4)).bits_per_value, 13.0);
    // A Gaussian float: 23 bits of mantissa that are noise, sign and exponent mostly not.
    EXPECT_NEAR(sample(noise, {50, 50, 50}, lossless()).bits_per_value, 28.0, 2.0);
}

// Goal: values without a code (NaN, Inf, far out of range) are paid for at full width, in
// proportion to their share.
TEST(SampleBlock, pays_full_width_for_outliers) {
    RecordProperty("seed", static_cast<int>(k_features_seed));
    const Shape shape{64, 64, 64};
    const auto clean = smooth_field<float>(shape, 4, k_features_seed);
    const double clean_bits = sample(clean, shape, absolute(0.01)).bits_per_value;
    for (const float odd :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e30f}) {
        std::mt19937 random(k_features_seed);
        auto field = clean;
        for (float& value : field)
            if (random() % 10 == 0) value = odd;
        const double bits = sample(field, shape, absolute(0.01)).bits_per_value;
        EXPECT_GT(bits, clean_bits + 0.1 * 28.0) << odd;
        EXPECT_LE(bits, 32.0) << odd;
        const std::vector<float> all(field.size(), odd);
        EXPECT_EQ(sample(all, shape, absolute(0.01)).bits_per_value, 32.0) << odd;
    }
}

// Goal: a part of an array gives the features of the same values alone: strides and offsets right.
TEST(SampleBlock, reads_only_its_part_of_the_array) {
    RecordProperty("seed", static_cast<int>(k_features_seed));
    std::mt19937 random(k_features_seed);
    for (int round = 0; round < 60; ++round) {
        const int rank = 1 + round % 4;
        Box array{Shape::filled(rank, 0), Shape::filled(rank, 0)};
        Box part = array;
        for (int axis = 0; axis < rank; ++axis) {
            array.offset[axis] = random() % 100;
            part.offset[axis] = array.offset[axis] + random() % 4;
            part.extent[axis] = 1 + random() % (rank == 1 ? 3000 : rank == 2 ? 60 : 14);
            array.extent[axis] =
                part.offset[axis] - array.offset[axis] + part.extent[axis] + random() % 4;
        }
        const auto inside = smooth_field<float>(part.extent, 0, k_features_seed + 1);
        // Around the part lies poison: one value of it read would show.
        std::vector<float> outside(array.extent.count(), std::numeric_limits<float>::quiet_NaN());
        copy_box(part, part, reinterpret_cast<const std::byte*>(inside.data()), array,
                 reinterpret_cast<std::byte*>(outside.data()), sizeof(float));
        for (const ErrorBound& bound : {lossless(), absolute(0.01)}) {
            const Features a = sample(inside, part.extent, bound);
            const Features b = sample_block(reinterpret_cast<const std::byte*>(outside.data()),
                                            float32, array, part, bound);
            EXPECT_EQ(a.bits_per_value, b.bits_per_value) << to_string(part);
            EXPECT_EQ(a.smooth_bits_per_value, b.smooth_bits_per_value) << to_string(part);
            EXPECT_EQ(a.zero_share, b.zero_share) << to_string(part);
            EXPECT_EQ(a.values, part.extent.count());
            EXPECT_TRUE(std::isfinite(a.bits_per_value) && a.bits_per_value >= 0.0);
            EXPECT_LE(a.bits_per_value, 32.0);
        }
    }
}

TEST(SampleBlock, a_bound_that_means_nothing_is_lossless) {
    const Shape shape{32, 32, 32};
    const auto field = smooth_field<float>(shape, 2, k_features_seed);
    const double bits = sample(field, shape, lossless()).bits_per_value;
    for (const ErrorBound& bound :
         {relative(0.1), absolute(0.0), absolute(-1.0), absolute(std::nan("")), absolute(1e-320),
          absolute(std::numeric_limits<double>::infinity())})
        EXPECT_EQ(sample(field, shape, bound).bits_per_value, bits) << bound.value;
    EXPECT_EQ(sample_block(nullptr, float32, whole({0, 4}), whole({0, 4}), lossless()).values, 0u);
}

Features sample_for(const char* codec, const std::vector<float>& field, const Shape& shape,
                    double bound) {
    return sample_block(reinterpret_cast<const std::byte*>(field.data()), float32, whole(shape),
                        whole(shape), absolute(bound), codec);
}

// Goal: what will compress a block decides what is looked at: exact bytes for lossless codecs,
// rounded ones for those that round (fewer bits for a looser bound), ZFP's own stream for ZFP.
TEST(SampleBlock, looks_at_what_the_codec_will_see) {
    const Shape shape{48, 48, 48};
    const auto field = smooth_field<float>(shape, 3, k_features_seed);
    const double exact = sample(field, shape, lossless()).bits_per_value;
    for (const char* codec : {"zstd", "blosc2"})
        EXPECT_EQ(sample_for(codec, field, shape, 0.01).bits_per_value, exact) << codec;
    for (const char* codec : {"round+zstd", "round+blosc2"}) {
        const double fine = sample_for(codec, field, shape, 1e-4).bits_per_value;
        const double coarse = sample_for(codec, field, shape, 1e-2).bits_per_value;
        EXPECT_LT(fine, exact - 5.0) << codec;
        EXPECT_LT(coarse, fine - 4.0) << codec;
        EXPECT_EQ(sample_for(codec, field, shape, 1e-30).bits_per_value, exact) << codec;
    }
    const double zfp = sample_for("zfp", field, shape, 1e-3).bits_per_value;
    EXPECT_LT(sample_for("zfp", field, shape, 1e-1).bits_per_value, zfp - 4.0);
    EXPECT_GT(zfp, sample_for("sz3", field, shape, 1e-3).bits_per_value);
    const Features any = sample_for("", field, shape, 1e-3);
    EXPECT_EQ(any.bits_per_value, sample_for("filter:32015", field, shape, 1e-3).bits_per_value);
}

// Goal: on a smooth field interpolation is told to be the better predictor, on noise Lorenzo never
// is far behind; the better one is what smooth_bits_per_value says.
TEST(SampleBlock, tells_both_of_sz3s_ways) {
    const Shape shape{64, 64, 64};
    const Features smooth =
        sample_for("sz3", smooth_field<float>(shape, 4, k_features_seed), shape, 1e-2);
    EXPECT_LT(smooth.interpolated_bits_per_value, smooth.bits_per_value);
    EXPECT_EQ(smooth.smooth_bits_per_value, smooth.interpolated_bits_per_value);
    const Features noise =
        sample_for("sz3", noise_field<float>(shape, k_features_seed), shape, 1e-2);
    EXPECT_EQ(noise.smooth_bits_per_value,
              std::min(noise.bits_per_value, noise.interpolated_bits_per_value));
    EXPECT_GT(noise.symbols, 100.0);
    EXPECT_GT(noise.interpolated_symbols, 100.0);
}

TEST(SampleBlock, says_when_a_codec_cannot_take_the_values) {
    const Shape shape{32, 32, 32};
    auto field = smooth_field<float>(shape, 3, k_features_seed);
    for (const char* codec : {"sz3", "zfp"})
        EXPECT_TRUE(sample_for(codec, field, shape, 0.01).finite);
    for (std::size_t i = 0; i < field.size(); i += 5)
        field[i] = std::numeric_limits<float>::quiet_NaN();
    const double exact = sample(field, shape, lossless()).bits_per_value;
    for (const char* codec : {"sz3", "zfp"}) {
        const Features features = sample_for(codec, field, shape, 0.01);
        EXPECT_FALSE(features.finite) << codec;
        EXPECT_EQ(features.bits_per_value, exact) << codec << " goes lossless";
    }
}

}  // namespace
}  // namespace caesura::predict
