// Goal: a map of bounds comes back from a file as it was written, and what is none is none.
#include "vol/bound_map_text.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "codec/bound/bound_map.hpp"

namespace caesura::vol {
namespace {

TEST(BoundMapText, comes_back_as_it_was_written) {
    BoundMap map;
    map.boxes.push_back({{Shape{1, 2, 3, 4}, Shape{5, 6, 7, 8}}, 1e-5});
    map.values.push_back({-std::numeric_limits<double>::infinity(), 0.5, 0.0});
    map.steep.push_back({2.0, 0.25});
    const auto back = bound_map_in(codec::to_json(map, 0.01));
    ASSERT_TRUE(back);
    EXPECT_EQ(codec::to_json(back->first, back->second), codec::to_json(map, 0.01));
}

TEST(BoundMapText, of_more_axes_than_a_dataset_can_have_or_of_no_sense_is_none) {
    const auto map = [](const std::string& offset, const std::string& extent) {
        return bound_map_in(R"({"elsewhere": 0.01, "boxes": [{"offset": )" + offset +
                            R"(, "extent": )" + extent +
                            R"(, "bound": 1e-05}], "values": [], "steep": []})");
    };
    EXPECT_TRUE(map("[0, 0, 0, 0]", "[1, 1, 1, 1]"));
    EXPECT_FALSE(map("[0, 0, 0, 0, 0]", "[1, 1, 1, 1, 1]"));
    EXPECT_FALSE(map("[0, 0]", "[1, 1, 1]"));
    EXPECT_FALSE(map("[]", "[]"));
    EXPECT_FALSE(map("0", "[1]"));
    EXPECT_FALSE(bound_map_in(R"({"elsewhere": 0.01})"));
    EXPECT_FALSE(bound_map_in("no map"));
    EXPECT_FALSE(bound_map_in(""));
}

}  // namespace
}  // namespace caesura::vol
