// Goal: packed frames keep their bound for every value there is, and nothing that is read breaks.
#include "codec/packed/packed.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <random>

#include "codec/test_arrays.hpp"

namespace caesura::codec::packed {
namespace {

constexpr unsigned k_seed = 77;

std::vector<std::byte> packed(std::span<const std::byte> raw, DType dtype,
                              const ErrorBound& bound) {
    std::vector<std::byte> frame(packed_bytes_at_most(raw.size()), std::byte{0xEE});
    const auto bytes = pack_frame(raw, dtype, bound, frame);
    EXPECT_TRUE(bytes.ok()) << bytes.status().message();
    frame.resize(bytes.ok() ? *bytes : 0);
    return frame;
}

/// |x - y| <= bound, exactly: a difference that is rounded upwards is above it exactly if it is.
bool holds(double x, double y, double bound) {
    const int before = std::fegetround();
    std::fesetround(FE_UPWARD);
    const volatile double one = x, other = y;
    const volatile double up = one - other, down = other - one;
    const bool within = up <= bound && down <= bound;
    std::fesetround(before);
    return within;
}

template <class T>
std::vector<T> unpacked(const std::vector<std::byte>& frame, std::size_t values) {
    std::vector<T> back(values, T{7});
    const Status status = unpack_frame(frame, std::as_writable_bytes(std::span(back)));
    EXPECT_TRUE(status.ok()) << status.message();
    return back;
}

std::string hex(std::span<const std::byte> bytes) {
    std::string out;
    for (const std::byte b : bytes) {
        constexpr const char* k_digits = "0123456789abcdef";
        out += k_digits[std::to_integer<unsigned>(b) >> 4];
        out += k_digits[std::to_integer<unsigned>(b) & 15];
    }
    return out;
}

TEST(Packed, frame_bytes_are_pinned) {
    std::vector<float> values(40);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.25F * static_cast<float>(i * i);
    const auto raw = std::as_bytes(std::span(values));
    EXPECT_EQ(hex(packed(raw, float32, absolute(0.5))),
              "4373725001040000a000000000000000000000000000e03f08000000000000000000000000000000"
              "da588e13207e05d30800000000000000fd0a5f59f942b1160582000000084188310829c59873104a"
              "49a9b5186bcdb9f72222000000000000");
    EXPECT_EQ(hex(packed(raw, float32, lossless())),
              "4373725001040000a000000000000000000000000000000028000000000000000000000000000000"
              "27b5d6b71c101f752800000000000000a572bf8bad5913a3000000000000803e0000803f00001040"
              "000080400000c8400000104100004441000080410000a2410000c8410000f2410000104200002942"
              "000044420000614200008042008090420000a2420080b4420000c8420080dc420000f24200400443"
              "0000104300401c430000294300403643000044430040524300006143004070430000804300208843"
              "00809043002099430000a2430020ab430080b4430020be43");
}

template <class T>
void expect_kept(const std::vector<T>& values, double bound) {
    const auto raw = std::as_bytes(std::span(values));
    const ErrorBound asked = bound > 0.0 ? absolute(bound) : lossless();
    const auto frame = packed(raw, dtype_of<T>(), asked);
    ASSERT_LE(frame.size(), packed_bytes_at_most(raw.size()));
    const std::vector<T> back = unpacked<T>(frame, values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        const bool same = std::memcmp(&values[i], &back[i], sizeof(T)) == 0;
        ASSERT_TRUE(same ||
                    (bound > 0.0 && std::isfinite(values[i]) && holds(values[i], back[i], bound)))
            << "value " << i << " is " << values[i] << ", came back as " << back[i] << ", bound "
            << bound;
    }
}

template <class T>
class Packed : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Packed, Types);

/// Every sign and exponent, with mantissas at their ends and in between, many times.
template <class T>
std::vector<T> every_exponent(std::mt19937_64& random) {
    constexpr int k_mantissa = sizeof(T) == 4 ? 23 : 52, k_all = 8 * sizeof(T);
    std::vector<T> values;
    for (std::uint64_t top = 0; top < std::uint64_t{1} << (k_all - k_mantissa); ++top)
        for (int i = 0; i < (sizeof(T) == 4 ? 400 : 60); ++i) {
            const std::uint64_t all = (std::uint64_t{1} << k_mantissa) - 1;
            const std::uint64_t low = i == 0 ? 0 : i == 1 ? all : i == 2 ? 1 : random() & all;
            values.push_back(
                bits_of<T>(static_cast<typename Packing<T>::Code>(top << k_mantissa | low)));
        }
    return values;
}

TYPED_TEST(Packed, every_kind_of_value_keeps_every_bound) {
    std::mt19937_64 random(k_seed);
    std::vector<TypeParam> values = every_exponent<TypeParam>(random);
    for (const bool mixed : {false, true}) {
        if (mixed) std::shuffle(values.begin(), values.end(), random);
        for (const double bound : {0.0, 5e-324, 1e-310, 1e-45, 1e-30, 1e-3, 0.1, 0.5, 1.0, 3.0, 1e9,
                                   1e30, 1e38, 1e300, 1.7e308})
            expect_kept(values, bound);
    }
}

TYPED_TEST(Packed, values_around_the_edges_of_what_a_code_holds_keep_their_bound) {
    std::mt19937_64 random(k_seed + 1);
    for (const double bound : {0.5, 0.3, 1e-3, 1e7}) {
        std::vector<TypeParam> values;
        const double step = 2 * bound;
        for (int i = 0; i < 20'000; ++i) {
            // Halfway between codes, one ulp beside it, at the limits.
            const double code = i % 3 == 0   ? static_cast<double>(random() % 2000) - 1000.0
                                : i % 3 == 1 ? Packing<TypeParam>::k_limit
                                             : -Packing<TypeParam>::k_limit;
            auto value = static_cast<TypeParam>((code + (random() % 3 - 1.0) * 0.5) * step);
            for (std::uint64_t n = random() % 3; n > 0; --n)
                value = std::nextafter(value, static_cast<TypeParam>(random() % 2 ? 1e30 : -1e30));
            values.push_back(value);
        }
        expect_kept(values, bound);
    }
}

TYPED_TEST(Packed, arrays_of_any_length_and_kind_come_back) {
    std::mt19937_64 random(k_seed + 2);
    for (int round = 0; round < 400; ++round) {
        SCOPED_TRACE("seed " + std::to_string(k_seed + 2) + " round " + std::to_string(round));
        const std::uint64_t n = 1 + random() % (round % 8 == 0 ? 40'000 : 300);
        const auto seed = static_cast<unsigned>(random());
        std::vector<TypeParam> values = round % 5 == 0
                                            ? codec::random_bits_array<TypeParam>(Shape{n}, seed)
                                            : codec::smooth_array<TypeParam>(Shape{n}, seed);
        if (round % 5 == 1) std::fill(values.begin(), values.end(), TypeParam{3});
        if (round % 5 == 2)
            for (auto& value : values)
                if (random() % 3 > 0) value = 0;
        if (round % 5 == 3) values[random() % n] = std::numeric_limits<TypeParam>::quiet_NaN();
        expect_kept(values, round % 2 == 0 ? 0.0 : std::pow(10.0, -static_cast<double>(round % 9)));
    }
}

TYPED_TEST(Packed, an_application_that_flushes_denormals_gets_the_same_bytes) {
    std::mt19937_64 random(k_seed + 3);
    const auto values = every_exponent<TypeParam>(random);
    const auto raw = std::as_bytes(std::span(values));
    for (const ErrorBound& bound : {lossless(), absolute(1e-40), absolute(1e-2)}) {
        const auto frame = packed(raw, dtype_of<TypeParam>(), bound);
        codec::with_flush_to_zero(
            [&] { EXPECT_EQ(packed(raw, dtype_of<TypeParam>(), bound), frame); });
    }
}

TYPED_TEST(Packed, what_is_even_or_empty_takes_hardly_any_room) {
    const std::vector<TypeParam> zeros(100'000), eights(100'000, TypeParam{8});
    std::vector<TypeParam> slope(100'000);
    for (std::size_t i = 0; i < slope.size(); ++i) slope[i] = static_cast<TypeParam>(i) * 4;
    const auto bytes = [](const std::vector<TypeParam>& v, const ErrorBound& bound) {
        return packed(std::as_bytes(std::span(v)), dtype_of<TypeParam>(), bound).size();
    };
    const std::size_t raw = 100'000 * sizeof(TypeParam);
    EXPECT_LT(bytes(zeros, lossless()), raw / (28 * sizeof(TypeParam)));
    EXPECT_LT(bytes(eights, lossless()), raw / (10 * sizeof(TypeParam)));
    EXPECT_LT(bytes(slope, absolute(0.01)), raw / 8);  // the second block of a group on: no bits
}

TEST(PackedFrame, ties_are_decided_exactly) {
    const double tiny = 0x1p-60;
    EXPECT_TRUE(is_within(1.0, 0.5, 0.5));
    EXPECT_TRUE(is_within(0.5, 1.0, 0.5));
    EXPECT_FALSE(is_within(1.0, -tiny, 1.0));  // 1 + 2^-60: rounded it would be 1
    EXPECT_TRUE(is_within(1.0, tiny, 1.0));
    EXPECT_FALSE(is_within(-tiny, 1.0, 1.0));
    EXPECT_TRUE(is_within(tiny, 1.0, 1.0));
    EXPECT_FALSE(is_within(std::nan(""), 1.0, 1e300));
    EXPECT_FALSE(is_within(HUGE_VAL, 1.0, 1e300));
    EXPECT_FALSE(is_within(DBL_MAX, -DBL_MAX, DBL_MAX));
}

TEST(PackedFrame, bytes_that_are_no_whole_values_come_back_and_so_do_unaligned_ones) {
    std::mt19937_64 random(k_seed + 4);
    for (std::size_t n = 1; n < 60; ++n)
        for (const DType dtype : {float32, float64}) {
            std::vector<std::byte> raw(n + 1), back(n);
            for (std::byte& byte : raw) byte = static_cast<std::byte>(random());
            const auto odd = std::span(raw).subspan(1);
            const auto frame = packed(odd, dtype, absolute(1.0));
            ASSERT_TRUE(unpack_frame(frame, back).ok()) << n;
            const std::size_t tail = n % size_of(dtype);
            EXPECT_TRUE(std::equal(back.end() - static_cast<std::ptrdiff_t>(tail), back.end(),
                                   odd.end() - static_cast<std::ptrdiff_t>(tail)));
            ASSERT_TRUE(unpack_frame(packed(odd, dtype, lossless()), back).ok());
            EXPECT_TRUE(std::equal(back.begin(), back.end(), odd.begin()));
        }
}

/// The format is written down: what was made once is read for ever.
TEST(PackedFrame, the_bytes_of_a_known_array_stay_what_they_are) {
    std::vector<float> values(20'000);
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < values.size(); ++i) {
        state = state * 1664525 + 1013904223;
        values[i] = static_cast<float>(i % 1000) * 0.25F + static_cast<float>(state >> 28);
    }
    values[5000] = HUGE_VALF;
    std::string seen;
    for (const ErrorBound& bound : {lossless(), absolute(0.05)}) {
        const auto frame = packed(std::as_bytes(std::span(values)), float32, bound);
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < frame.size(); ++i)
            sum += checksum_part(static_cast<std::uint64_t>(frame[i]), i);
        seen += std::to_string(frame.size()) + " " + std::to_string(sum) + "; ";
    }
    EXPECT_EQ(seen, "56480 12020528336403773626; 73560 17905858334126260557; ");
}

TEST(PackedFrame, cut_off_or_flipped_anywhere_it_is_an_error_or_says_the_same) {
    const auto values = codec::smooth_array<float>(Shape{9000}, k_seed);
    auto frame = packed(std::as_bytes(std::span(values)), float32, absolute(1e-3));
    const auto good = unpacked<float>(frame, values.size());
    std::vector<float> back(values.size());
    const auto raw = std::as_writable_bytes(std::span(back));
    for (std::size_t n = 0; n < frame.size(); ++n)
        EXPECT_FALSE(unpack_frame(std::span(frame).first(n), raw).ok()) << n;
    for (std::size_t n = 0; n < frame.size(); ++n) {
        frame[n] ^= std::byte{0x40};
        const bool ok = unpack_frame(frame, raw).ok();
        EXPECT_TRUE(!ok || back == good) << n;
        frame[n] ^= std::byte{0x40};
    }
}

/// Damage whose checksums are right, as a stranger could make it: anything but a crash.
template <class T>
void forge(unsigned seed) {
    std::mt19937_64 random(seed);
    const auto values = codec::smooth_array<T>(Shape{20'000}, seed);
    const auto made = packed(std::as_bytes(std::span(values)), dtype_of<T>(), absolute(1e-3));
    std::vector<T> back(values.size());
    for (int round = 0; round < 3000; ++round) {
        auto frame = made;
        PackedHeader header;
        for (std::uint64_t n = 1 + random() % 20; n > 0; --n)
            frame[24 + random() % (round % 2 ? frame.size() - 24 : 300)] =
                static_cast<std::byte>(random());
        std::memcpy(&header, frame.data(), sizeof header);
        const std::uint64_t chunks = chunks_of(header.raw_bytes, sizeof(T));
        if (round % 3 > 0) header.body_words = (made.size() - body_begin(chunks)) / 4;
        header.checksum = header_checksum(header);
        std::memcpy(frame.data(), &header, sizeof header);
        std::uint64_t begin = 0;
        for (std::uint64_t c = 0; c < chunks; ++c) {
            PackedChunk line;
            std::memcpy(&line, frame.data() + body_begin(c), sizeof line);
            if (random() % 4 == 0) line.end_words = begin + random() % 9000;
            line.checksum = chunk_checksum_seed(c, begin, line.end_words);
            for (std::uint64_t i = begin; i < line.end_words; ++i) {
                std::uint32_t word = 0;
                if (body_begin(chunks) + 4 * i + 4 > frame.size()) break;
                std::memcpy(&word, frame.data() + body_begin(chunks) + 4 * i, 4);
                line.checksum += checksum_part(word, i - begin);
            }
            std::memcpy(frame.data() + body_begin(c), &line, sizeof line);
            begin = line.end_words;
        }
        (void)unpack_frame(frame, std::as_writable_bytes(std::span(back)));
    }
}

TEST(PackedFrame, forged_frames_are_read_without_harm) {
    forge<float>(k_seed + 5);
    forge<double>(k_seed + 6);
}

TEST(PackedFrame, what_cannot_be_is_refused) {
    const std::vector<std::byte> raw(100);
    std::vector<std::byte> frame(packed_bytes_at_most(100)), back(99);
    EXPECT_EQ(pack_frame(raw, float32, relative(0.1), frame).status().code(),
              StatusCode::unsupported);
    EXPECT_EQ(pack_frame(raw, float32, absolute(-1.0), frame).status().code(),
              StatusCode::invalid_argument);
    EXPECT_EQ(pack_frame({}, float32, lossless(), frame).status().code(),
              StatusCode::invalid_argument);
    EXPECT_EQ(pack_frame(raw, float32, lossless(), std::span(frame).first(50)).status().code(),
              StatusCode::invalid_argument);
    ASSERT_TRUE(pack_frame(raw, float32, lossless(), frame).ok());
    EXPECT_EQ(unpack_frame(frame, back).code(), StatusCode::invalid_argument);
    EXPECT_FALSE(is_packed_frame(raw));
    EXPECT_TRUE(is_packed_frame(frame));
}

}  // namespace
}  // namespace caesura::codec::packed
