// Arrays through frames and back: the bound holds for every kind of value, shape, mode and bound;
// frames never grow past raw + 64; options and errors are as documented.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "caesura/codec.hpp"
#include "codec/frame/frame.hpp"
#include "codec/frame/golden_cases.hpp"
#include "codec/frame/verify.hpp"
#include "codec/test_arrays.hpp"

namespace caesura::codec {
namespace {

using Bytes = std::vector<std::byte>;

const ErrorBound k_bounds[] = {lossless(),
                               absolute(1e-3),
                               absolute(1e-30),
                               absolute(1e30),
                               absolute(1e300),
                               relative(1e-2),
                               relative(1e-6),
                               pointwise_relative(1e-2),
                               pointwise_relative(1e-5),
                               psnr(40),
                               psnr(90),
                               psnr(300)};
const Mode k_modes[] = {Mode::automatic, Mode::fast, Mode::strong, Mode::planes, Mode::regions};

/// In memory of the caller's, just as much as it must be: the same frame, and nothing written past
/// that memory.
void expect_same_in_place(std::span<const std::byte> values, DType dtype, const Shape& shape,
                          const ErrorBound& bound, const CompressOptions& options,
                          const Bytes& frame) {
    constexpr std::size_t k_guard = 256;
    const std::size_t room = values.size() + k_frame_overhead_bytes;
    Bytes memory(room + k_guard, std::byte{0xa5});
    const auto written =
        compress_into(std::span(memory).first(room), values, dtype, shape, bound, options);
    ASSERT_TRUE(written.ok()) << written.status().message();
    ASSERT_EQ(*written, frame.size());
    EXPECT_TRUE(std::equal(frame.begin(), frame.end(), memory.begin()));
    EXPECT_EQ(Bytes(memory.begin() + static_cast<std::ptrdiff_t>(room), memory.end()),
              Bytes(k_guard, std::byte{0xa5}));
    const auto less = std::span(memory).first(room - 1);
    EXPECT_EQ(compress_into(less, values, dtype, shape, bound, options).status().code(),
              StatusCode::invalid_argument);
}

/// Compress, hold to the bound, hold to the size.
template <class T>
Bytes expect_keeps(const std::vector<T>& values, const Shape& shape, const ErrorBound& bound,
                   const CompressOptions& options = {}) {
    SCOPED_TRACE(testing::Message() << to_string(dtype_of<T>()) << " " << to_string(shape)
                                    << " bound kind " << static_cast<int>(bound.kind) << " "
                                    << bound.value << " mode " << static_cast<int>(options.mode));
    const auto original = std::as_bytes(std::span(values));
    const auto frame = compress(original, dtype_of<T>(), shape, bound, options);
    if (!frame.ok()) {
        ADD_FAILURE() << frame.status().message();
        return {};
    }
    EXPECT_LE(frame->size(), original.size() + k_frame_overhead_bytes);
    expect_same_in_place(original, dtype_of<T>(), shape, bound, options, *frame);
    const auto result = verify_frame(*frame, original, options.tables);
    if (!result.ok()) {
        ADD_FAILURE() << result.status().message();
        return {};
    }
    EXPECT_EQ(result->violations, 0u)
        << "first at " << result->first_violation << ", largest error " << result->max_error
        << ", share " << result->max_share << ", " << result->psnr_decibels << " dB";
    return *frame;
}

template <class T>
void every_bound_and_mode(const std::vector<T>& values, const Shape& shape) {
    for (const Mode mode : k_modes) {
        CompressOptions options;
        options.mode = mode;
        for (const ErrorBound& bound : k_bounds) expect_keeps(values, shape, bound, options);
    }
}

const Shape k_shapes[] = {Shape{1},       Shape{2},          Shape{1000},      Shape{1, 1, 257},
                          Shape{37, 41},  Shape{1025, 1},    Shape{16, 17, 9}, Shape{2, 2, 2, 2},
                          Shape{5, 4, 3}, Shape{7, 5, 6, 11}};

TEST(Compress, smooth_arrays_of_any_shape_keep_any_bound_in_any_mode_float32) {
    for (const Shape& shape : k_shapes) every_bound_and_mode(smooth_array<float>(shape, 1), shape);
}

TEST(Compress, smooth_arrays_of_any_shape_keep_any_bound_in_any_mode_float64) {
    for (const Shape& shape : k_shapes) every_bound_and_mode(smooth_array<double>(shape, 2), shape);
}

TEST(Compress, random_bits_keep_any_bound) {
    for (const Shape& shape : k_shapes) {
        every_bound_and_mode(random_bits_array<float>(shape, 3), shape);
        every_bound_and_mode(random_bits_array<double>(shape, 4), shape);
    }
}

TEST(Compress, specials_in_smooth_arrays_come_back_bit_for_bit) {
    for (const unsigned seed : {5U, 6U}) {
        const Shape shape{20, 24, 28};
        auto singles = smooth_array<float>(shape, seed);
        auto doubles = smooth_array<double>(shape, seed);
        sprinkle_specials(singles, seed);
        sprinkle_specials(doubles, seed);
        every_bound_and_mode(singles, shape);
        every_bound_and_mode(doubles, shape);
    }
}

TEST(Compress, fill_values_and_gaps_cost_little) {
    // Goal: a field of which a third is NaN, or a fill value, compresses like the rest of it.
    const Shape shape{32, 64, 64};
    const auto smooth = smooth_array<float>(shape, 7);
    for (const Mode mode : {Mode::fast, Mode::strong}) {
        CompressOptions options;
        options.mode = mode;
        const std::size_t whole = expect_keeps(smooth, shape, absolute(1e-3), options).size();
        for (const float fill : {std::numeric_limits<float>::quiet_NaN(), 1e20F, -9999.0F}) {
            auto holes = smooth;
            for (std::size_t i = 0; i < holes.size(); ++i)
                if (i % 64 < 21) holes[i] = fill;
            EXPECT_LT(expect_keeps(holes, shape, absolute(1e-3), options).size(), 4 * whole)
                << fill << " in mode " << static_cast<int>(mode);
            expect_keeps(holes, shape, pointwise_relative(1e-3), options);
        }
    }
}

template <class T>
void expect_bursts_coded_adaptively() {
    const Shape shape{32, 32, 32};
    const auto values = golden_burst<T>(shape);
    const auto bytes = std::as_bytes(std::span(values));
    const auto in_mode = [&](Mode mode, const ErrorBound& bound) {
        CompressOptions options;
        options.mode = mode;
        auto frame = compress(bytes, dtype_of<T>(), shape, bound, options);
        EXPECT_TRUE(frame.ok()) << frame.status().message();
        return frame.ok() ? *frame : Bytes{};
    };
    const auto fast = in_mode(Mode::fast, absolute(1e-2));
    EXPECT_EQ(read_frame_info(fast)->version, k_frame_version) << "fast has no time for it";
    for (const ErrorBound& bound : {absolute(1e-2), relative(1e-3), psnr(60)}) {
        auto frame = in_mode(Mode::automatic, bound);
        EXPECT_EQ(read_frame_info(frame)->version, k_adaptive_frame_version);
        const auto found = verify_frame(frame, bytes, nullptr);
        ASSERT_TRUE(found.ok()) << found.status().message();
        EXPECT_EQ(found->violations, 0u);
        if (bound.kind == ErrorBound::Kind::absolute) {
            EXPECT_LT(frame.size(), fast.size());
        }
        // A reader that does not know such parts must not meet them under another version.
        for (const unsigned version : {1U, 2U}) {
            frame[4] = static_cast<std::byte>(version);
            ASSERT_TRUE(seal(frame).ok());
            Bytes decoded(bytes.size());
            EXPECT_EQ(decompress(frame, decoded).code(), StatusCode::corrupt);
        }
    }
}

TEST(Compress, bursts_are_coded_adaptively_and_named_by_the_version_float32) {
    expect_bursts_coded_adaptively<float>();
}

TEST(Compress, bursts_are_coded_adaptively_and_named_by_the_version_float64) {
    expect_bursts_coded_adaptively<double>();
}

TEST(Compress, a_constant_costs_next_to_nothing_under_any_bound) {
    const Shape shape{50, 60, 70};
    for (const float value : {0.0F, -0.0F, 3.25F, std::numeric_limits<float>::quiet_NaN()}) {
        const std::vector<float> values(shape.count(), value);
        for (const ErrorBound& bound : k_bounds)
            EXPECT_LT(expect_keeps(values, shape, bound).size(), 64u);
    }
}

TEST(Compress, lossless_and_impossible_bounds_store_exactly) {
    const Shape shape{30, 31, 32};
    const auto values = smooth_array<float>(shape, 8);
    for (const ErrorBound& bound : {lossless(), absolute(1e-60), psnr(399)}) {
        const auto frame = expect_keeps(values, shape, bound);
        const auto info = read_frame_info(frame);
        ASSERT_TRUE(info.ok());
        EXPECT_TRUE(info->stored_exactly) << static_cast<int>(bound.kind);
        EXPECT_LT(frame.size(), values.size() * sizeof(float));
    }
}

TEST(Compress, several_slabs_in_several_threads_give_the_same_bytes) {
    const Shape shape{9, 800, 1000};  // 28.8 MB: 2 slabs
    const auto values = smooth_array<float>(shape, 9);
    const auto original = std::as_bytes(std::span(values));
    for (const ErrorBound& bound : {relative(1e-3), psnr(60), pointwise_relative(1e-2)}) {
        CompressOptions options;
        options.mode = Mode::fast;
        const auto one = compress(original, float32, shape, bound, options);
        options.threads = 2;
        const auto two = compress(original, float32, shape, bound, options);
        ASSERT_TRUE(one.ok() && two.ok());
        EXPECT_TRUE(*one == *two);
        EXPECT_EQ(read_frame_info(*one)->slabs, 2u);
        const auto result = verify_frame(*two, original, nullptr, 2);
        ASSERT_TRUE(result.ok()) << result.status().message();
        EXPECT_EQ(result->violations, 0u);
    }
}

TEST(Compress, statistics_do_not_depend_on_threads_and_tables_made_of_them_help) {
    const Shape shape{9, 800, 1000};
    const auto values = smooth_array<float>(shape, 17);
    const auto original = std::as_bytes(std::span(values));
    std::vector<std::byte> counts[2];
    for (const int threads : {1, 2}) {
        TableStatistics statistics;
        CompressOptions options;
        options.mode = Mode::fast;
        options.statistics = &statistics;
        options.threads = threads;
        ASSERT_TRUE(compress(original, float32, shape, absolute(1e-4), options).ok());
        EXPECT_FALSE(statistics.empty());
        counts[threads - 1] = statistics.bytes();
    }
    EXPECT_EQ(counts[0], counts[1]);
    const auto statistics = TableStatistics::parse(counts[0]);
    ASSERT_TRUE(statistics.ok());
    const TableSet tables = statistics->train();
    CompressOptions options;
    options.mode = Mode::fast;
    const auto without = compress(original, float32, shape, absolute(1e-4), options);
    options.tables = &tables;
    const auto with = compress(original, float32, shape, absolute(1e-4), options);
    ASSERT_TRUE(without.ok() && with.ok());
    EXPECT_LT(with->size(), without->size());
    EXPECT_EQ(read_frame_info(*with)->table_set_id, tables.id());
    const auto result = verify_frame(*with, original, &tables, 2);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->violations, 0u);
}

TEST(Compress, incompressible_slabs_are_one_raw_frame) {
    const Shape shape{5'000'000};
    const auto values = random_bits_array<float>(shape, 10);
    const auto frame = expect_keeps(values, shape, lossless());
    EXPECT_GE(frame.size(), values.size() * sizeof(float));
    EXPECT_EQ(read_frame_info(frame)->slabs, 1u);
}

TEST(Compress, any_alignment_gives_the_same_frame_and_values) {
    const Shape shape{13, 14, 15};
    const auto values = smooth_array<double>(shape, 11);
    const auto original = std::as_bytes(std::span(values));
    for (const ErrorBound& bound : {absolute(1e-4), pointwise_relative(1e-4), psnr(70)}) {
        const auto aligned = compress(original, float64, shape, bound);
        ASSERT_TRUE(aligned.ok());
        Bytes moved(original.size() + 3);
        std::memcpy(moved.data() + 3, original.data(), original.size());
        const auto odd = compress(std::span(moved).subspan(3), float64, shape, bound);
        ASSERT_TRUE(odd.ok());
        EXPECT_TRUE(*aligned == *odd);
        Bytes there(original.size());
        Bytes here(original.size() + 3);
        EXPECT_TRUE(decompress(*aligned, there).ok());
        EXPECT_TRUE(decompress(*aligned, std::span(here).subspan(3)).ok());
        EXPECT_EQ(0, std::memcmp(there.data(), here.data() + 3, there.size()));
    }
}

TEST(Compress, the_callers_floating_point_environment_does_not_matter) {
    const Shape shape{16, 16, 16};
    auto values = smooth_array<float>(shape, 12);
    for (std::size_t i = 0; i < values.size(); i += 3) values[i] *= 1e-39F;  // denormals
    const auto bound = pointwise_relative(1e-3);
    const auto expected = expect_keeps(values, shape, bound);
    with_flush_to_zero([&] {
        const auto frame =
            compress(std::as_bytes(std::span(values)), float32, shape, bound, CompressOptions{});
        ASSERT_TRUE(frame.ok());
        EXPECT_TRUE(*frame == expected);
    });
}

TEST(Compress, what_a_frame_says_is_what_was_asked) {
    const Shape shape{16, 17, 18};
    const auto values = smooth_array<float>(shape, 13);
    CompressOptions options;
    options.mode = Mode::fast;
    options.checksum = false;
    const auto frame = expect_keeps(values, shape, absolute(0.01), options);
    const auto info = read_frame_info(frame);
    ASSERT_TRUE(info.ok());
    EXPECT_EQ(info->version, 1);
    EXPECT_EQ(info->dtype, float32);
    EXPECT_EQ(info->shape, shape);
    EXPECT_EQ(info->bound, absolute(0.01));
    EXPECT_LE(info->absolute_bound, 0.01);
    EXPECT_GT(info->absolute_bound, 0.00999);
    EXPECT_EQ(info->mode, Mode::fast);
    EXPECT_EQ(info->slabs, 1u);
    EXPECT_EQ(info->raw_bytes, 4 * shape.count());
    EXPECT_EQ(info->value_bytes, 4u);
    EXPECT_FALSE(info->untyped);
    EXPECT_FALSE(info->checksum);
    EXPECT_FALSE(info->stored_exactly);
}

TEST(Compress, wrong_arguments_are_named) {
    const std::vector<float> values(24);
    const auto bytes = std::as_bytes(std::span(values));
    const auto code = [&](const Shape& shape, const ErrorBound& bound, CompressOptions options) {
        return compress(bytes, float32, shape, bound, options).status().code();
    };
    constexpr auto k_wrong = StatusCode::invalid_argument;
    CompressOptions options;
    EXPECT_EQ(code(Shape{2, 3, 4}, absolute(1), options), StatusCode::ok);
    EXPECT_EQ(code(Shape{2, 3, 5}, absolute(1), options), k_wrong);
    EXPECT_EQ(code(Shape{0, 24}, absolute(1), options), k_wrong);
    EXPECT_EQ(code(Shape{}, absolute(1), options), k_wrong);
    EXPECT_EQ(code(Shape{std::uint64_t{1} << 62, 24}, absolute(1), options), k_wrong);
    EXPECT_EQ(code(Shape{24}, absolute(-1), options), k_wrong);
    EXPECT_EQ(code(Shape{24}, psnr(1000), options), k_wrong);
    options.threads = -1;
    EXPECT_EQ(code(Shape{24}, absolute(1), options), k_wrong);
    EXPECT_EQ(compress_bytes(bytes, 0).status().code(), k_wrong);
    EXPECT_EQ(compress_bytes(bytes, 65537).status().code(), k_wrong);
    const auto frame = compress(bytes, float32, Shape{24}, absolute(1));
    std::vector<float> small(23);
    EXPECT_EQ(decompress(*frame, std::as_writable_bytes(std::span(small))).code(), k_wrong);
}

TEST(Compress, without_drift_check_frames_keep_tables_that_do_not_fit) {
    const Shape shape{40, 40, 40};
    const auto values = smooth_array<float>(shape, 7);
    const auto bytes = std::as_bytes(std::span(values));
    TableStatistics statistics;
    CompressOptions options;
    options.mode = Mode::fast;
    options.statistics = &statistics;
    ASSERT_TRUE(compress(bytes, float32, shape, absolute(2e-2), options).ok());
    const TableSet coarse = statistics.train();
    options.statistics = nullptr;
    options.tables = &coarse;
    std::size_t sizes[2];
    for (const bool check : {true, false}) {
        options.drift_check = check;
        const auto frame = compress(bytes, float32, shape, absolute(2e-4), options);
        ASSERT_TRUE(frame.ok()) << frame.status().message();
        const auto info = read_frame_info(*frame);
        ASSERT_TRUE(info.ok());
        EXPECT_EQ(info->inline_tables, check);
        EXPECT_EQ(info->table_set_id, check ? 0 : coarse.id());
        std::vector<float> back(values.size());
        EXPECT_TRUE(decompress(*frame, std::as_writable_bytes(std::span(back)), &coarse).ok());
        sizes[check ? 1 : 0] = frame->size();
    }
    EXPECT_LT(sizes[1], sizes[0]);
}

TEST(Compress, bytes_of_any_type_come_back) {
    std::mt19937 random(14);
    for (const std::size_t value_bytes : {1u, 2u, 12u, 100u, 65536u}) {
        for (const std::size_t n : {0u, 1u, 99u, 100000u}) {
            Bytes bytes(n);
            for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 7);
            for (const bool checksum : {true, false}) {
                const auto frame = compress_bytes(bytes, value_bytes, checksum);
                ASSERT_TRUE(frame.ok());
                EXPECT_LE(frame->size(), n + k_frame_overhead_bytes);
                const auto info = read_frame_info(*frame);
                ASSERT_TRUE(info.ok()) << info.status().message();
                EXPECT_TRUE(info->untyped);
                EXPECT_EQ(info->raw_bytes, n);
                EXPECT_EQ(info->value_bytes, value_bytes);
                const auto result = verify_frame(*frame, bytes);
                ASSERT_TRUE(result.ok()) << result.status().message();
                EXPECT_EQ(result->violations, 0u);
            }
        }
    }
}

TEST(Compress, psnr_is_met_and_not_by_far) {
    const Shape shape{40, 40, 40};
    const auto values = smooth_array<float>(shape, 15);
    for (const double decibels : {20.0, 50.0, 80.0}) {
        for (const Mode mode : {Mode::fast, Mode::strong}) {
            CompressOptions options;
            options.mode = mode;
            const auto frame = expect_keeps(values, shape, psnr(decibels), options);
            const auto result = verify_frame(frame, std::as_bytes(std::span(values)));
            ASSERT_TRUE(result.ok());
            EXPECT_LT(result->psnr_decibels, decibels + 12) << decibels;
        }
    }
}

TEST(Compress, the_estimate_is_of_the_right_size) {
    const Shape shape{64, 64, 64};
    const auto values = smooth_array<float>(shape, 16);
    const auto bytes = std::as_bytes(std::span(values));
    for (const ErrorBound& bound : {absolute(1e-3), pointwise_relative(1e-3), lossless()}) {
        const auto estimated = estimate(bytes, float32, shape, bound);
        const auto frame = compress(bytes, float32, shape, bound);
        ASSERT_TRUE(estimated.ok() && frame.ok());
        const double ratio =
            static_cast<double>(estimated->bytes) / static_cast<double>(frame->size());
        EXPECT_GT(ratio, 0.3) << static_cast<int>(bound.kind);
        EXPECT_LT(ratio, 4.0) << static_cast<int>(bound.kind);
    }
}

// Goal: bursts in silence, of which a sample is more of one kind than the chunks that are coded,
// are estimated as they come out.
TEST(Compress, the_estimate_of_a_small_uneven_array_is_near) {
    const Shape shape{3, 60, 800};
    std::vector<float> values(shape.count());
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto x = static_cast<int>(i % 800);
        const float off = (static_cast<float>(x) - 267.0F) / 30.0F;
        const float burst = std::exp(-off * off) * (x / 8 % 3 == 0 ? 1.0F : 0.02F) *
                            (x < 400 ? std::pow(10.0F, -static_cast<float>(i / 48'000)) : 0.0F);
        values[i] = burst > 1e-6F ? burst * normal(random) : 0.0F;
    }
    const auto bytes = std::as_bytes(std::span(values));
    for (const double bound : {1e-3, 1e-4}) {
        const auto estimated = estimate(bytes, float32, shape, absolute(bound));
        const auto frame = compress(bytes, float32, shape, absolute(bound));
        ASSERT_TRUE(estimated.ok() && frame.ok());
        const auto stored = static_cast<double>(frame->size());
        EXPECT_NEAR(static_cast<double>(estimated->bytes), stored, 0.03 * stored) << bound;
    }
}

}  // namespace
}  // namespace caesura::codec
