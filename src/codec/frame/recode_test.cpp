// Goal: types that are coded as others come back: bool and lossless values of 16 bits bit for bit,
// all else within the bound in the type's own values, whatever the bound, mode, shape and data;
// conversions are exact and round to the nearest; readers that do not know the types refuse them by
// version.
#include "codec/frame/recode.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "base/little_endian.hpp"
#include "base/short_float.hpp"
#include "codec/bundle/bundle.hpp"
#include "codec/frame/frame.hpp"
#include "codec/frame/verify.hpp"
#include "codec/kernels/checksum.hpp"

namespace caesura::codec {
namespace {

using Bytes = std::vector<std::byte>;
constexpr DType k_short[] = {DType::float16, DType::bfloat16};

double value_of(std::uint16_t bits, DType dtype) {
    return dtype == DType::float16 ? base::to_float(Float16{bits}) : base::to_float(Bfloat16{bits});
}
std::uint16_t rounded(float value, DType dtype) {
    return dtype == DType::float16 ? base::to_short<Float16>(value).bits
                                   : base::to_short<Bfloat16>(value).bits;
}
std::vector<std::uint16_t> words_of(const Bytes& bytes) {
    std::vector<std::uint16_t> words(bytes.size() / 2);
    std::memcpy(words.data(), bytes.data(), bytes.size());
    return words;
}
Bytes bytes_of(const std::vector<std::uint16_t>& words) {
    Bytes bytes(words.size() * 2);
    std::memcpy(bytes.data(), words.data(), bytes.size());
    return bytes;
}

TEST(ShortFloat, every_value_survives_float32_bit_for_bit) {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        const auto word = static_cast<std::uint16_t>(bits);
        EXPECT_EQ(base::narrow_bits<Float16>(base::widen_bits(Float16{word})).bits, word);
        EXPECT_EQ(base::narrow_bits<Bfloat16>(base::widen_bits(Bfloat16{word})).bits, word);
    }
    EXPECT_EQ(base::to_float(Float16{0x3c00}), 1.0F);
    EXPECT_EQ(base::to_float(Float16{0x0001}), 0x1p-24F);
    EXPECT_EQ(base::to_float(Float16{0xfbff}), -65504.0F);
    EXPECT_EQ(base::to_float(Bfloat16{0xbf80}), -1.0F);
}

TEST(ShortFloat, a_number_becomes_the_nearest_with_ties_to_even_and_never_infinite) {
    std::mt19937_64 random(1);
    for (const DType dtype : k_short) {
        for (int i = 0; i < 200000; ++i) {
            const float x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
            if (!std::isfinite(x)) continue;
            const std::uint16_t found = rounded(x, dtype);
            const double y = value_of(found, dtype);
            ASSERT_TRUE(std::isfinite(y)) << x;
            ASSERT_EQ(std::signbit(x), (found & 0x8000) != 0) << x;
            const double error = std::abs(y - static_cast<double>(x));
            for (const int step : {-1, 1}) {
                const int other = (found & 0x7fff) + step;
                if (other < 0) continue;
                const double z =
                    value_of(static_cast<std::uint16_t>((found & 0x8000) | other), dtype);
                if (!std::isfinite(z)) continue;
                const double away = std::abs(z - static_cast<double>(x));
                const bool beyond = std::abs(x) > base::format_of(dtype).largest;
                ASSERT_TRUE(error < away || (error == away && (beyond || found % 2 == 0))) << x;
            }
        }
        EXPECT_EQ(value_of(rounded(3e38F, dtype), dtype),
                  dtype == DType::float16 ? 65504.0 : value_of(0x7f62, dtype));
        EXPECT_EQ(rounded(std::numeric_limits<float>::max(), dtype),
                  dtype == DType::float16 ? 0x7bff : 0x7f7f);
    }
}

/// Waves of some size with noise, over all scales, or of any bits.
std::vector<std::uint16_t> make(unsigned seed, std::size_t n, DType dtype) {
    std::mt19937 random(seed);
    std::vector<std::uint16_t> words(n);
    const double scale = std::ldexp(1.0, static_cast<int>(random() % 24) - 12);
    const double noise = std::ldexp(1.0, -static_cast<int>(random() % 12));
    const double offset = seed % 4 == 1 ? 100.0 * scale : 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        const double part = static_cast<double>(random() % 1024) / 1024.0;
        double x = offset + scale * (std::sin(0.03 * static_cast<double>(i)) + noise * part);
        if (seed % 4 == 2) x *= std::exp(10 * std::sin(0.01 * static_cast<double>(i)));
        words[i] = seed % 8 == 7 ? static_cast<std::uint16_t>(random())
                                 : rounded(static_cast<float>(x), dtype);
    }
    if (seed % 3 == 0)
        for (std::size_t i = 3; i < n; i += 41) {
            const std::uint16_t infinite = dtype == DType::float16 ? 0x7c00 : 0x7f80;
            const auto quiet = static_cast<std::uint16_t>(infinite | 0x55);
            const std::uint16_t specials[] = {
                infinite, static_cast<std::uint16_t>(infinite | 0x8000), quiet, 0x8000,
                0x0001,   static_cast<std::uint16_t>(infinite - 1)};
            words[i] = specials[i % 6];
        }
    return words;
}

double width_of(const std::vector<std::uint16_t>& words, DType dtype) {
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (const std::uint16_t word : words) {
        const double x = value_of(word, dtype);
        if (!std::isfinite(x)) continue;
        low = std::min(low, x);
        high = std::max(high, x);
    }
    return high - low;
}

/// The first value that broke its bound, in words; empty: none.
std::string broken(const std::vector<std::uint16_t>& before,
                   const std::vector<std::uint16_t>& after, DType dtype, const ErrorBound& bound) {
    using Kind = ErrorBound::Kind;
    const double width = width_of(before, dtype);
    double squares = 0, count = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
        const double x = value_of(before[i], dtype), y = value_of(after[i], dtype);
        const double error = std::abs(x - y);
        const double limit = bound.kind == Kind::absolute             ? bound.value
                             : bound.kind == Kind::relative           ? bound.value * width
                             : bound.kind == Kind::pointwise_relative ? bound.value * std::abs(x)
                             : bound.kind == Kind::psnr               ? HUGE_VAL
                                                                      : 0.0;
        const bool exact = !std::isfinite(x) || bound.kind == Kind::lossless;
        if (exact ? before[i] != after[i] : !(error <= limit))
            return "value " + std::to_string(i) + ": " + std::to_string(x) + " became " +
                   std::to_string(y);
        if (std::isfinite(x)) squares += error * error, ++count;
    }
    if (bound.kind == Kind::psnr && squares > 0 &&
        20 * std::log10(width / std::sqrt(squares / count)) < bound.value)
        return "PSNR " + std::to_string(20 * std::log10(width / std::sqrt(squares / count)));
    return {};
}

TEST(Recode, short_floats_keep_every_kind_of_bound_in_their_own_values) {
    const ErrorBound bounds[] = {lossless(),
                                 absolute(1e-1),
                                 absolute(1e-3),
                                 absolute(1e-8),
                                 relative(1e-1),
                                 relative(1e-2),
                                 relative(1e-3),
                                 relative(1e-5),
                                 pointwise_relative(0.3),
                                 pointwise_relative(1e-2),
                                 pointwise_relative(1e-3),
                                 pointwise_relative(1e-4),
                                 psnr(30),
                                 psnr(70),
                                 absolute(5e-324)};
    const Shape shapes[] = {{3000}, {50, 60}, {10, 15, 20}, {5, 6, 10, 10}, {1}, {2, 1}};
    for (unsigned seed = 1; seed <= 60; ++seed) {
        const Shape& shape = shapes[seed % std::size(shapes)];
        for (const DType dtype : k_short) {
            const auto words = make(seed, shape.count(), dtype);
            for (const ErrorBound& bound : bounds) {
                SCOPED_TRACE("seed " + std::to_string(seed) + " bound " +
                             std::to_string(static_cast<int>(bound.kind)) + " " +
                             std::to_string(bound.value));
                CompressOptions options;
                options.mode = static_cast<Mode>(seed % 5);
                const auto frame = compress(bytes_of(words), dtype, shape, bound, options);
                ASSERT_TRUE(frame.ok()) << frame.status().message();
                EXPECT_LE(frame->size(), words.size() * 2 + k_frame_overhead_bytes);
                const auto info = read_frame_info(*frame);
                ASSERT_TRUE(info.ok()) << info.status().message();
                EXPECT_EQ(info->dtype, dtype);
                // Values that repeat far outside the rest count as missing.
                EXPECT_TRUE(info->version == 4 || info->version == 6) << int{info->version};
                EXPECT_EQ(info->bound, bound);
                EXPECT_EQ(info->raw_bytes, words.size() * 2);
                Bytes back(words.size() * 2);
                const Status status = decompress(*frame, back);
                ASSERT_TRUE(status.ok()) << status.message();
                ASSERT_EQ(broken(words, words_of(back), dtype, bound), "");
                const auto verified = verify_frame(*frame, bytes_of(words));
                ASSERT_TRUE(verified.ok());
                EXPECT_EQ(verified->violations, 0U);
            }
        }
    }
}

/// Values around 0, each of them a zero of either sign every few times.
std::vector<std::uint16_t> around_zero(unsigned seed, std::size_t n, DType dtype) {
    std::mt19937 random(seed);
    auto words = make(seed % 4 == 1 ? seed + 1 : seed, n, dtype);
    for (std::size_t i = 0; i < n; ++i)
        if (const auto draw = random() % 8; draw < 3) words[i] = draw == 2 ? 0x8000 : 0x0000;
    return words;
}

// A +0 that the bound lets become a little less than 0 is rounded to 0 again.
TEST(Recode, neither_zero_of_a_short_float_becomes_the_other) {
    const ErrorBound bounds[] = {lossless(),     absolute(1e-1),          absolute(1e-4),
                                 absolute(1e-7), relative(1e-2),          relative(1e-4),
                                 psnr(40),       pointwise_relative(1e-2)};
    for (unsigned seed = 1; seed <= 40; ++seed)
        for (const DType dtype : k_short) {
            const auto words = around_zero(seed, 4000, dtype);
            for (const ErrorBound& bound : bounds) {
                CompressOptions options;
                options.mode = static_cast<Mode>(seed % 5);
                const Shape shape = seed % 2 == 0 ? Shape{4000} : Shape{10, 20, 20};
                const auto frame = compress(bytes_of(words), dtype, shape, bound, options);
                ASSERT_TRUE(frame.ok()) << frame.status().message();
                Bytes back(words.size() * 2);
                ASSERT_TRUE(decompress(*frame, back).ok());
                const auto after = words_of(back);
                for (std::size_t i = 0; i < words.size(); ++i) {
                    const int opposite = words[i] ^ 0x8000;
                    const bool is_zero = (words[i] & 0x7fff) == 0;
                    ASSERT_FALSE(is_zero && after[i] == opposite)
                        << "seed " << seed << " bound " << static_cast<int>(bound.kind) << " "
                        << bound.value << " value " << i;
                    ASSERT_FALSE(words[i] == 0x8000 && after[i] != words[i]) << "value " << i;
                }
            }
        }
}

TEST(Recode, short_floats_use_the_room_that_rounding_leaves) {
    // Where values lie denser than the bound, some of them differ by more than half of it.
    for (const DType dtype : k_short) {
        std::mt19937 random(7);
        std::vector<std::uint16_t> words(20000);
        for (std::size_t i = 0; i < words.size(); ++i)
            words[i] = rounded(std::sin(0.001F * static_cast<float>(i)) +
                                   0.1F * static_cast<float>(random() % 1000) / 1000.0F,
                               dtype);
        const double bound = dtype == DType::float16 ? 0.01 : 0.05;
        const auto frame = compress(bytes_of(words), dtype, {words.size()}, absolute(bound));
        ASSERT_TRUE(frame.ok());
        const auto found = verify_frame(*frame, bytes_of(words));
        ASSERT_TRUE(found.ok());
        EXPECT_EQ(found->violations, 0U);
        EXPECT_GT(found->max_share, 0.8);
    }
}

TEST(Recode, bool_comes_back_and_masks_take_next_to_nothing) {
    std::mt19937 random(5);
    Bytes mask(60000);
    for (std::size_t i = 0; i < mask.size(); ++i)
        mask[i] = static_cast<std::byte>(i / 700 % 2 == 0 || random() % 997 == 0);
    const auto frame = compress(mask, DType::boolean, {200, 300}, lossless());
    ASSERT_TRUE(frame.ok()) << frame.status().message();
    EXPECT_LT(frame->size(), mask.size() / 20);
    const auto info = read_frame_info(*frame);
    ASSERT_TRUE(info.ok());
    EXPECT_EQ(info->dtype, DType::boolean);
    EXPECT_EQ(info->version, 4);
    Bytes back(mask.size());
    ASSERT_TRUE(decompress(*frame, back).ok());
    EXPECT_EQ(back, mask);
    const auto lossy = compress(mask, DType::boolean, {200, 300}, absolute(0.5));
    EXPECT_EQ(lossy.status().code(), StatusCode::invalid_argument);
    EXPECT_NE(lossy.status().message().find("bool"), std::string::npos);
    EXPECT_FALSE(compress(mask, DType::complex64, {7500}, lossless()).ok());
}

TEST(Recode, an_estimate_is_near_what_compress_gives) {
    for (const DType dtype : k_short) {
        std::vector<std::uint16_t> words(64 * 64 * 64);
        for (std::size_t i = 0; i < words.size(); ++i)
            words[i] = rounded(std::sin(0.05F * static_cast<float>(i % 64)) +
                                   std::cos(0.04F * static_cast<float>(i / 64)),
                               dtype);
        for (const ErrorBound& bound : {lossless(), absolute(1e-2), pointwise_relative(1e-2)}) {
            const Shape shape{64, 64, 64};
            const auto frame = compress(bytes_of(words), dtype, shape, bound);
            const auto foretold = estimate(bytes_of(words), dtype, shape, bound);
            ASSERT_TRUE(frame.ok() && foretold.ok());
            const double ratio =
                static_cast<double>(foretold->bytes) / static_cast<double>(frame->size());
            EXPECT_GT(ratio, 0.6);
            EXPECT_LT(ratio, 1.7);
            const Box all{{0, 0, 0}, shape}, part{{1, 2, 3}, {60, 50, 40}};
            EXPECT_TRUE(estimate_part(bytes_of(words).data(), dtype, all, part, bound).ok());
        }
    }
}

// It is made on the application's thread: what lies outside of the middle is not looked at.
TEST(Recode, an_estimate_of_many_values_looks_at_a_sample) {
    const Shape shape{128, 128, 64};
    for (const DType dtype : k_short) {
        std::mt19937 random(3);
        std::vector<std::uint16_t> words(shape.count());
        for (std::size_t i = 0; i < words.size(); ++i)
            words[i] = rounded(std::sin(0.05F * static_cast<float>(i % 64)) +
                                   std::cos(0.04F * static_cast<float>(i / 64 % 128)) +
                                   0.05F * static_cast<float>(random() % 1000) / 1000.0F,
                               dtype);
        auto changed = words;
        for (std::size_t i = 0; i < 128 * 64 * 8; ++i)
            changed[i] = rounded(static_cast<float>(random() % 1000), dtype);
        for (const ErrorBound& bound : {lossless(), absolute(1e-2), pointwise_relative(1e-2)}) {
            const auto frame = compress(bytes_of(words), dtype, shape, bound);
            const auto foretold = estimate(bytes_of(words), dtype, shape, bound);
            const auto other = estimate(bytes_of(changed), dtype, shape, bound);
            ASSERT_TRUE(frame.ok() && foretold.ok() && other.ok());
            EXPECT_EQ(foretold->bytes, other->bytes);
            const double ratio =
                static_cast<double>(foretold->bytes) / static_cast<double>(frame->size());
            EXPECT_GT(ratio, 0.5);
            EXPECT_LT(ratio, 2.0);
        }
    }
}

// Twice as large as float32, these values would have a number of bytes that is none.
TEST(Recode, a_frame_of_more_values_than_can_be_coded_is_refused) {
    for (const auto& [extent, ok] : {std::pair((std::uint64_t{1} << 61) - 1, true),
                                     std::pair(std::uint64_t{1} << 61, false)}) {
        FrameHeader header;
        header.version = 4;
        header.checksum = false;
        header.dtype = DType::float16;
        header.widened = true;
        header.shape = {extent};
        header.bound = absolute(0.1);
        Output out;
        write_header(header, out);
        EXPECT_EQ(read_header(out.bytes()).ok(), ok) << extent;
    }
}

TEST(Recode, a_damaged_frame_is_an_error) {
    for (const DType dtype : {DType::float16, DType::bfloat16, DType::boolean}) {
        const auto words = make(4, 300, DType::float16);
        Bytes values = bytes_of(words);
        const bool is_mask = dtype == DType::boolean;
        if (is_mask)
            for (std::byte& value : values) value &= std::byte{1};
        const Shape shape{values.size() / size_of(dtype)};
        const auto whole = compress(values, dtype, shape, is_mask ? lossless() : absolute(0.1));
        ASSERT_TRUE(whole.ok());
        Bytes back(values.size());
        for (std::size_t i = 0; i < whole->size(); ++i) {
            Bytes changed = *whole;
            changed[i] ^= std::byte{0x10};
            EXPECT_FALSE(decompress(changed, back).ok()) << "byte " << i;
            changed.resize(i);
            EXPECT_FALSE(decompress(changed, back).ok()) << "cut at " << i;
        }
    }
}

// ------------------------------------------------------------------------------- versions

TEST(Recode, bundles_of_types_but_float32_and_float64_have_versions_of_their_own) {
    const std::vector<BundlePart> rows = {{{6}}, {{2, 3}}};
    const std::vector<BundlePart> turns = {{{6}, {}, 0, false, true}, {{6}, {}, 1, false, true}};
    for (const DType dtype : {DType::int64, DType::uint8, DType::boolean, DType::float16}) {
        Bytes values(12 * size_of(dtype), std::byte{1});
        for (const auto& [parts, version] : {std::pair(&rows, 4), std::pair(&turns, 5)}) {
            const auto bundle = compress_bundle(values, dtype, *parts);
            ASSERT_TRUE(bundle.ok()) << bundle.status().message();
            EXPECT_EQ(std::to_integer<int>((*bundle)[4]), version);
            Bytes back(values.size());
            ASSERT_TRUE(decompress_bundle(*bundle, back).ok());
            EXPECT_EQ(back, values);
        }
    }
}

TEST(Recode, bundles_of_integers_as_they_were_once_written_are_read) {
    const std::vector<BundlePart> parts = {{{6}}, {{2, 3}}};
    Bytes values(12 * 8);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(i);
    auto bundle = compress_bundle(values, DType::int64, parts);
    ASSERT_TRUE(bundle.ok());
    (*bundle)[4] = std::byte{1};
    const std::size_t table_end = 24 + 2 * 8;
    const std::uint64_t seed = base::get_little(bundle->data(), 8);
    base::put_little(bundle->data() + 8,
                     checksum(std::span(*bundle).subspan(16, table_end - 16), seed), 8);
    Bytes back(values.size());
    const Status status = decompress_bundle(*bundle, back);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(back, values);
}

}  // namespace
}  // namespace caesura::codec
