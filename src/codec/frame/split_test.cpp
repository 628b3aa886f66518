// Goal: parts that are cut come apart as they were put together, and nothing else is taken for one.
#include "codec/frame/split.hpp"

#include <gtest/gtest.h>

namespace caesura::codec {
namespace {

using Bytes = std::vector<std::byte>;

Bytes raw_part(std::size_t bytes) { return Bytes(bytes, static_cast<std::byte>(PartKind::raw)); }

Bytes cut(int axis, std::uint64_t extent, const Bytes& first, const Bytes& second) {
    Output out;
    append_split(axis, extent, first, second, out);
    return out.take();
}

TEST(Split, regions_come_in_order_and_tile_the_slab) {
    const Shape shape{10, 20, 30};
    const Bytes low = cut(2, 12, raw_part(3), raw_part(4));
    const Bytes whole = cut(1, 7, low, raw_part(5));
    const auto regions = regions_of(whole, shape);
    ASSERT_TRUE(regions.ok());
    ASSERT_EQ(regions->size(), 3u);
    const Box boxes[] = {{Shape{0, 0, 0}, Shape{10, 7, 12}},
                         {Shape{0, 0, 12}, Shape{10, 7, 18}},
                         {Shape{0, 7, 0}, Shape{10, 13, 30}}};
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ((*regions)[i].box, boxes[i]);
        EXPECT_EQ((*regions)[i].part.size(), i + 3);
    }
}

TEST(Split, a_part_that_is_not_cut_is_its_only_region) {
    const Bytes part = raw_part(9);
    const auto regions = regions_of(part, Shape{4, 4});
    ASSERT_TRUE(regions.ok());
    ASSERT_EQ(regions->size(), 1u);
    EXPECT_EQ((*regions)[0].part.data(), part.data());
    EXPECT_EQ((*regions)[0].box.extent, (Shape{4, 4}));
}

TEST(Split, bytes_are_pinned) {
    const Bytes part = cut(1, 0x0102, raw_part(1), raw_part(2));
    const unsigned expected[] = {5, 1, 2, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    ASSERT_EQ(part.size(), std::size(expected));
    for (std::size_t i = 0; i < part.size(); ++i)
        EXPECT_EQ(std::to_integer<unsigned>(part[i]), expected[i]) << i;
}

void expect_corrupt(const Bytes& part) {
    EXPECT_EQ(regions_of(part, Shape{10, 20}).status().code(), StatusCode::corrupt);
}

TEST(Split, cuts_outside_the_slab_and_empty_halves_are_errors) {
    expect_corrupt(cut(2, 5, raw_part(2), raw_part(2)));
    expect_corrupt(cut(0, 0, raw_part(2), raw_part(2)));
    expect_corrupt(cut(0, 10, raw_part(2), raw_part(2)));
    expect_corrupt(cut(0, 5, {}, raw_part(2)));
    expect_corrupt(cut(0, 5, raw_part(2), {}));
    const Bytes whole = cut(0, 5, raw_part(2), raw_part(2));
    for (std::size_t n = 1; n < k_split_head_bytes + 3; ++n)
        expect_corrupt({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)});
}

TEST(Split, no_part_is_cut_without_end) {
    Bytes part = raw_part(1);
    for (int depth = 0; depth <= k_deepest_split; ++depth) part = cut(1, 1, raw_part(1), part);
    EXPECT_EQ(regions_of(part, Shape{1, 1000}).status().code(), StatusCode::corrupt);
}

}  // namespace
}  // namespace caesura::codec
