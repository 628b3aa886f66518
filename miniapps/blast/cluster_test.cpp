// Goal: boxes have every tagged cell exactly once, are as full as asked for and no larger, and
// follow the tags' shape.

#include "cluster.hpp"

#include <gtest/gtest.h>

#include <set>

namespace blast {
namespace {

void expect_each_tag_once(const Tags& tags, const std::vector<Box>& boxes) {
    Tags seen(tags.box);
    for (const Box& box : boxes) for_each(box, [&](int i, int j, int k) { ++seen.at(i, j, k); });
    for_each(tags.box, [&](int i, int j, int k) {
        EXPECT_LE(seen.at(i, j, k), 1);
        EXPECT_GE(seen.at(i, j, k), tags.at(i, j, k));
    });
}

TEST(Cluster, nothing_tagged_is_no_box) {
    EXPECT_TRUE(cluster(Tags({{0, 0, 0}, {4, 4, 4}}), 0.7, 4).empty());
}

TEST(Cluster, two_tagged_places_become_a_box_each) {
    Tags tags({{0, 0, 0}, {8, 8, 8}});
    const Box a{{0, 1, 1}, {2, 3, 4}}, b{{5, 5, 5}, {8, 8, 7}};
    for (const Box& box : {a, b}) for_each(box, [&](int i, int j, int k) { tags.at(i, j, k) = 1; });
    EXPECT_EQ(cluster(tags, 0.7, 8), (std::vector<Box>{a, b}));
}

TEST(Cluster, shell_becomes_boxes_of_several_sizes_that_are_full_enough) {
    Tags tags({{0, 0, 0}, {16, 16, 16}});
    for_each(tags.box, [&](int i, int j, int k) {
        const int r2 = (i - 8) * (i - 8) + (j - 8) * (j - 8) + (k - 8) * (k - 8);
        tags.at(i, j, k) = r2 > 16 && r2 < 42;
    });
    const auto boxes = cluster(tags, 0.7, 5);
    expect_each_tag_once(tags, boxes);
    std::set<std::int64_t> sizes;
    for (const Box& box : boxes) {
        std::int64_t tagged = 0;
        for_each(box, [&](int i, int j, int k) { tagged += tags.at(i, j, k); });
        EXPECT_GE(static_cast<double>(tagged), 0.7 * static_cast<double>(box.cells()));
        for (int axis = 0; axis < 3; ++axis) EXPECT_LE(box.extent(axis), 5);
        sizes.insert(box.cells());
    }
    EXPECT_GE(sizes.size(), 3u);
}

}  // namespace
}  // namespace blast
