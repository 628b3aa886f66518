// Goal: what is found is what was made of the same bytes with the same settings, and the keep stays
// within its bytes.
#include "transit/devices/result_keep.hpp"

#include <gtest/gtest.h>

namespace caesura::transit {
namespace {

TEST(ResultKeep, finds_a_result_only_by_the_same_bytes_and_settings) {
    ResultKeep keep(1000);
    std::vector<std::byte> values(100, std::byte{1});
    const std::vector<std::byte> result(10, std::byte{7});
    keep.add(ResultKeep::key_of(values, "absolute 1"), result);
    const auto found = keep.find(ResultKeep::key_of(values, "absolute 1"));
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, result);
    EXPECT_FALSE(keep.find(ResultKeep::key_of(values, "absolute 2")));
    EXPECT_FALSE(keep.find(ResultKeep::key_of(std::span(values).first(99), "absolute 1")));
    values[50] = std::byte{2};
    EXPECT_FALSE(keep.find(ResultKeep::key_of(values, "absolute 1")));
}

TEST(ResultKeep, keeps_no_more_than_its_bytes) {
    ResultKeep keep(25);
    for (unsigned char i = 0; i < 5; ++i) {
        const std::vector<std::byte> values(8, std::byte{i});
        keep.add(ResultKeep::key_of(values, ""), std::vector(10, std::byte{i}));
    }
    EXPECT_EQ(keep.bytes(), 20u);
    EXPECT_TRUE(keep.find(ResultKeep::key_of(std::vector(8, std::byte{0}), "")));
    EXPECT_FALSE(keep.find(ResultKeep::key_of(std::vector(8, std::byte{4}), "")));
}

}  // namespace
}  // namespace caesura::transit
