// Goal: settings chosen by region make no frame larger than auto's, and frames that are cut keep
// the bound, decode everywhere, and are refused by readers that do not know them.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "caesura/codec.hpp"
#include "codec/frame/frame.hpp"
#include "codec/frame/verify.hpp"
#include "codec/test_arrays.hpp"

namespace caesura::codec {
namespace {

using Bytes = std::vector<std::byte>;

CompressOptions in_mode(Mode mode) {
    CompressOptions options;
    options.mode = mode;
    return options;
}

/// Smooth in one half of an axis, steps in the other: one asks for interpolation, one does not.
template <class T>
std::vector<T> two_kinds(const Shape& shape, int axis) {
    std::vector<T> values = smooth_array<T>(shape, 5);
    std::mt19937 random(7);
    std::uniform_real_distribution<double> number(0, 1);
    std::uint64_t inner = 1;
    for (int a = axis + 1; a < shape.rank(); ++a) inner *= shape[a];
    double level = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i % 13 == 0 && number(random) < 0.3) level = std::floor(8 * number(random));
        if (i / inner % shape[axis] >= shape[axis] / 2) values[i] = static_cast<T>(level);
    }
    return values;
}

template <class T>
Bytes frame_of(const std::vector<T>& values, const Shape& shape, const ErrorBound& bound,
               const CompressOptions& options) {
    const auto frame =
        compress(std::as_bytes(std::span(values)), dtype_of<T>(), shape, bound, options);
    EXPECT_TRUE(frame.ok()) << frame.status().message();
    return frame.ok() ? *frame : Bytes{};
}

template <class T>
void expect_keeps(const Bytes& frame, const std::vector<T>& values,
                  const TableSet* tables = nullptr) {
    const auto found = verify_frame(frame, std::as_bytes(std::span(values)), tables);
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found->violations, 0u) << "first at " << found->first_violation;
}

TEST(RegionEncoder, is_smaller_where_regions_differ_along_any_axis) {
    const Shape shape{64, 64, 64};
    for (int axis = 0; axis < 3; ++axis) {
        SCOPED_TRACE(axis);
        const auto values = two_kinds<float>(shape, axis);
        const Bytes cut = frame_of(values, shape, absolute(1e-3), in_mode(Mode::regions));
        const Bytes whole = frame_of(values, shape, absolute(1e-3), in_mode(Mode::automatic));
        EXPECT_LT(cut.size(), whole.size() * 97 / 100);
        expect_keeps(cut, values);
        const auto info = read_frame_info(cut);
        ASSERT_TRUE(info.ok());
        EXPECT_GE(info->regions, 2u);
        EXPECT_EQ(info->slabs, 1u);
        EXPECT_NE(info->version, k_frame_version);
    }
}

TEST(RegionEncoder, is_never_larger_than_auto) {
    const ErrorBound bounds[] = {absolute(1e-2), absolute(1e-5), relative(1e-3),
                                 pointwise_relative(1e-3), psnr(70)};
    const Shape shapes[] = {Shape{40, 50, 60}, Shape{70000}, Shape{300, 301}, Shape{9, 10, 30, 31}};
    for (const Shape& shape : shapes) {
        for (const ErrorBound& bound : bounds) {
            SCOPED_TRACE(testing::Message() << to_string(shape) << static_cast<int>(bound.kind));
            for (const auto& values :
                 {smooth_array<double>(shape, 1), two_kinds<double>(shape, shape.rank() - 1)}) {
                const Bytes cut = frame_of(values, shape, bound, in_mode(Mode::regions));
                EXPECT_LE(cut.size(),
                          frame_of(values, shape, bound, in_mode(Mode::automatic)).size());
                expect_keeps(cut, values);
            }
        }
    }
}

TEST(RegionEncoder, keeps_every_bit_that_no_bound_covers) {
    const Shape shape{48, 48, 48};
    auto values = two_kinds<float>(shape, 1);
    sprinkle_specials(values, 3);
    const Bytes cut = frame_of(values, shape, absolute(1e-3), in_mode(Mode::regions));
    expect_keeps(cut, values);
    const auto noise = random_bits_array<float>(shape, 9);
    expect_keeps(frame_of(noise, shape, absolute(1e-3), in_mode(Mode::regions)), noise);
}

TEST(RegionEncoder, slabs_are_cut_each_by_itself_whatever_the_threads) {
    const Shape shape{130, 200, 200};  // two slabs
    const auto values = two_kinds<float>(shape, 2);
    CompressOptions options = in_mode(Mode::regions);
    const Bytes one = frame_of(values, shape, absolute(1e-2), options);
    options.threads = 3;
    EXPECT_EQ(frame_of(values, shape, absolute(1e-2), options), one);
    expect_keeps(one, values);
    const auto info = read_frame_info(one);
    ASSERT_TRUE(info.ok());
    EXPECT_EQ(info->slabs, 2u);
    EXPECT_GE(info->regions, 4u);
}

TEST(RegionEncoder, shares_tables_and_counts_what_it_kept) {
    const Shape shape{64, 64, 64};
    auto values = two_kinds<float>(shape, 2);
    std::mt19937 random(11);  // noise, so that no region is worth coding adaptively
    for (float& value : values) value += 1e-8F * static_cast<float>(random() % 1000000);
    TableStatistics counts;
    CompressOptions options = in_mode(Mode::regions);
    options.statistics = &counts;
    frame_of(values, shape, absolute(1e-3), options);
    EXPECT_FALSE(counts.empty());
    const TableSet tables = counts.train();
    options.tables = &tables;
    options.statistics = nullptr;
    expect_keeps(frame_of(values, shape, absolute(1e-3), options), values, &tables);
}

TEST(RegionEncoder, cut_frames_with_any_byte_missing_or_changed_do_no_harm) {
    const Shape shape{64, 64, 64};
    const auto values = two_kinds<float>(shape, 2);
    Bytes frame = frame_of(values, shape, absolute(1e-1), in_mode(Mode::regions));
    ASSERT_GE(read_frame_info(frame)->regions, 2u);
    std::vector<float> decoded(values.size());
    const auto target = std::as_writable_bytes(std::span(decoded));
    std::mt19937 random(1);
    for (std::size_t at = 0; at < frame.size(); at += 1 + at / 200) {
        const auto mask = static_cast<std::byte>(1 + random() % 255);
        frame[at] ^= mask;
        EXPECT_FALSE(decompress(frame, target).ok()) << at;
        frame[at] ^= mask;
        EXPECT_FALSE(decompress(std::span(frame).first(at), target).ok()) << at;
    }
    CompressOptions bare = in_mode(Mode::regions);
    bare.checksum = false;
    frame = frame_of(values, shape, absolute(1e-1), bare);
    for (std::size_t at = 0; at < frame.size(); at += 1 + at / 200) {
        const auto mask = static_cast<std::byte>(1 + random() % 255);
        frame[at] ^= mask;
        EXPECT_NE(decompress(frame, target).code(), StatusCode::internal) << at;
        frame[at] ^= mask;
    }
    frame[4] = std::byte{1};  // a version that has no such parts
    EXPECT_EQ(decompress(frame, target).code(), StatusCode::corrupt);
}

TEST(RegionEncoder, predicts_no_less_than_auto_would_take) {
    const Shape shape{64, 64, 64};
    const auto values = smooth_array<float>(shape, 2);
    const auto bytes = std::as_bytes(std::span(values));
    const auto regions = estimate(bytes, float32, shape, absolute(1e-3), in_mode(Mode::regions));
    const auto automatic =
        estimate(bytes, float32, shape, absolute(1e-3), in_mode(Mode::automatic));
    ASSERT_TRUE(regions.ok() && automatic.ok());
    EXPECT_EQ(regions->bytes, automatic->bytes);
    EXPECT_EQ(regions->mode, automatic->mode);
}

}  // namespace
}  // namespace caesura::codec
