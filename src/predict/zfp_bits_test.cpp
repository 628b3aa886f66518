#include "predict/zfp_bits.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "predict/fields.hpp"

namespace caesura::predict {
namespace {

constexpr unsigned k_zfp_bits_seed = 20141204;

Box whole_of(const Shape& shape) { return {Shape::filled(shape.rank(), 0), shape}; }

template <class T>
ZfpSample sample(const std::vector<T>& field, const Shape& shape, double tolerance) {
    return zfp_sample(reinterpret_cast<const std::byte*>(field.data()),
                      sizeof(T) == 4 ? float32 : float64, whole_of(shape), whole_of(shape),
                      tolerance);
}

// The coder as it is published, bit by bit: in each plane the bits of the coefficients that are
// significant already, then for the rest a test "any left?" and a unary walk to the next one.
std::uint32_t bit_by_bit(const std::vector<std::uint64_t>& values, int int_bits, int lowest) {
    std::uint32_t bits = 0;
    const std::size_t size = values.size();
    std::size_t n = 0;
    for (int plane = int_bits - 1; plane >= lowest; --plane) {
        const auto bit = [&](std::size_t i) { return (values[i] >> plane) & 1; };
        bits += static_cast<std::uint32_t>(n);
        while (n < size) {
            bool any = false;
            for (std::size_t i = n; i < size; ++i) any = any || bit(i);
            ++bits;
            if (!any) break;
            while (n < size - 1) {
                ++bits;
                if (bit(n)) break;
                ++n;
            }
            ++n;
        }
    }
    return bits;
}

// Goal: the lengths of the coefficients alone give the size of the embedded code, exactly.
TEST(ZfpBits, counts_what_the_coder_writes) {
    RecordProperty("seed", static_cast<int>(k_zfp_bits_seed));
    std::mt19937_64 random(k_zfp_bits_seed);
    for (int round = 0; round < 4000; ++round) {
        const std::size_t size = std::size_t{4} << (2 * (round % 4));
        const int int_bits = round % 8 < 4 ? 32 : 64;
        std::vector<std::uint64_t> values(size);
        std::vector<std::uint8_t> lengths(size);
        const int longest = static_cast<int>(random() % static_cast<unsigned>(int_bits + 1));
        for (std::size_t i = 0; i < size; ++i) {
            // Mostly falling, as a transform leaves them; sometimes anything.
            const int most = round % 3 == 0
                                 ? longest
                                 : longest * static_cast<int>(size - i) / static_cast<int>(size);
            const int length = static_cast<int>(random() % static_cast<unsigned>(most + 1));
            values[i] = length == 0 ? 0 : (random() >> (64 - length)) | (1ull << (length - 1));
            lengths[i] = static_cast<std::uint8_t>(length);
        }
        const int lowest = static_cast<int>(random() % static_cast<unsigned>(int_bits + 1));
        ASSERT_EQ(zfp_embedded_bits(lengths, int_bits, lowest),
                  bit_by_bit(values, int_bits, lowest))
            << "round " << round;
    }
}

// Goal: what a block needs when there is nothing in it, or nothing above the tolerance: one bit.
TEST(ZfpBits, empty_blocks_take_a_bit) {
    const std::vector<float> zeros(64, 0.0f);
    EXPECT_EQ(zfp_block_bits(zeros.data(), 3, 1e-3), 1u);
    const std::vector<float> small(64, 1e-6f);
    EXPECT_EQ(zfp_block_bits(small.data(), 3, 1e3), 1u);
}

// Goal: a constant block has one coefficient, (c, 0, 0, ...): its exponent, then per plane one bit
// and one for "no more".
TEST(ZfpBits, constant_blocks_take_two_bits_a_plane) {
    const std::vector<float> ones(64, 1.0f);
    // 1 = 0.5 * 2^1, so it is 2^30 / 2 = 2^29; in negabinary 2^29 = 2^30 - 2^29 has 31 bits.
    // Planes kept: exponent 1 - (lowest exponent -10) + 2 * (3 + 1) = 19, of 32.
    const int lowest = 32 - 19;
    const std::uint32_t planes_with_it = 31 - static_cast<std::uint32_t>(lowest);
    EXPECT_EQ(zfp_block_bits(ones.data(), 3, 0x1p-10), 9u + 1u + 1u + 2u * planes_with_it);
}

// Goal: scaling values and tolerance by a power of two changes nothing, down to the smallest there
// are.
TEST(ZfpBits, do_not_depend_on_the_scale) {
    RecordProperty("seed", static_cast<int>(k_zfp_bits_seed));
    const auto field = noise_field<double>({4, 4, 4}, k_zfp_bits_seed);
    std::vector<float> values(field.begin(), field.end());
    const std::uint32_t bits = zfp_block_bits(values.data(), 3, 0x1p-8);
    for (const int e : {-120, -100, -50, 50, 100}) {
        std::vector<float> scaled = values;
        for (float& value : scaled) value = std::ldexp(value, e);
        EXPECT_NEAR(zfp_block_bits(scaled.data(), 3, std::ldexp(0x1p-8, e)), bits,
                    e < -110 ? 20 : 0)
            << e;
    }
    for (const int e : {-1010, -970, 900}) {
        std::vector<double> scaled = field;
        for (double& value : scaled) value = std::ldexp(value, e);
        EXPECT_EQ(zfp_block_bits(scaled.data(), 3, std::ldexp(0x1p-8, e)),
                  zfp_block_bits(field.data(), 3, 0x1p-8))
            << e;
    }
}

// Goal: more accuracy costs more, by about one bit a value for each halving where planes are noise.
TEST(ZfpBits, grow_with_accuracy) {
    RecordProperty("seed", static_cast<int>(k_zfp_bits_seed));
    const Shape shape{24, 24, 24};
    const auto noise = noise_field<double>(shape, k_zfp_bits_seed);
    double before = 0.0;
    for (int e = 0; e < 30; ++e) {
        const double bits = sample(noise, shape, std::ldexp(1.0, -e)).bits_per_value;
        EXPECT_GT(bits, before);
        if (e > 8) {
            EXPECT_NEAR(bits - before, 1.0, 0.01);
        }
        before = bits;
    }
}

// Goal: the sample is an estimate of the whole: within 3 % for fields of every rank, type and shape
// (padding and axes of one value included), against all blocks counted.
template <class T>
void expect_close(const Shape& shape, int radius) {
    const auto field = smooth_field<T>(shape, radius, k_zfp_bits_seed);
    const ZfpSample some = sample(field, shape, 1e-3);
    EXPECT_LE(some.blocks, k_zfp_blocks);
    // Counted whole, in slices thin enough to be looked at block by block.
    double bits = 0.0;
    const std::uint64_t step = 4;
    for (std::uint64_t begin = 0; begin < shape[0]; begin += step) {
        Box part = whole_of(shape);
        part.offset[0] = begin;
        part.extent[0] = std::min(step, shape[0] - begin);
        const ZfpSample slice =
            zfp_sample(reinterpret_cast<const std::byte*>(field.data()),
                       sizeof(T) == 4 ? float32 : float64, whole_of(shape), part, 1e-3);
        EXPECT_EQ(slice.blocks, slice.of_blocks) << "a slice is to be counted whole";
        bits += slice.bits_per_value * static_cast<double>(part.extent.count());
    }
    EXPECT_NEAR(some.bits_per_value * static_cast<double>(shape.count()) / bits, 1.0, 0.03)
        << to_string(shape);
}
TEST(ZfpBits, a_sample_tells_the_whole) {
    RecordProperty("seed", static_cast<int>(k_zfp_bits_seed));
    expect_close<float>({64, 64, 64}, 3);
    expect_close<double>({64, 40, 52}, 3);
    expect_close<float>({66, 63, 37}, 2);
    expect_close<float>({1000, 800}, 3);
    expect_close<float>({32, 20, 16, 24}, 2);
}

TEST(ZfpBits, axes_of_one_value_do_not_count) {
    const auto field = smooth_field<float>({48, 48}, 3, k_zfp_bits_seed);
    const double flat = sample(field, {48, 48}, 1e-3).bits_per_value;
    EXPECT_EQ(sample(field, {1, 48, 48}, 1e-3).bits_per_value, flat);
    EXPECT_EQ(sample(field, {48, 1, 48}, 1e-3).bits_per_value, flat);
    EXPECT_EQ(sample(field, {48, 48, 1}, 1e-3).bits_per_value, flat);
    const std::vector<float> one(1, 1.0f);
    EXPECT_GT(sample(one, {1, 1}, 1e-3).bits_per_value, 10.0);
}

TEST(ZfpBits, values_that_zfp_cannot_take_are_seen) {
    auto field = smooth_field<float>({16, 16, 16}, 2, k_zfp_bits_seed);
    EXPECT_TRUE(sample(field, {16, 16, 16}, 1e-3).finite);
    for (const float odd :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        field[777] = odd;
        const ZfpSample seen = sample(field, {16, 16, 16}, 1e-3);
        EXPECT_FALSE(seen.finite);
        EXPECT_TRUE(std::isfinite(seen.bits_per_value));
    }
}

}  // namespace
}  // namespace caesura::predict
