// Goal: a Result has its value or says why not; asked for what it does not have it ends no program.
#include <gtest/gtest.h>

#include "caesura/base.hpp"

namespace caesura {
namespace {

Result<std::unique_ptr<int>> made(bool well) {
    if (well) return std::make_unique<int>(7);
    return Status(StatusCode::io, "field 'rho': the disk is full");
}

TEST(Result, has_its_value) {
    auto result = made(true);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(*result.value(), 7);
    const std::unique_ptr<int> moved = made(true).value();
    EXPECT_EQ(*moved, 7);
}

TEST(Result, without_a_value_it_throws_the_status) {
    const auto result = made(false);
    EXPECT_FALSE(result.ok());
    try {
        (void)result.value();
        FAIL() << "there was a value";
    } catch (const NoValue& error) {
        EXPECT_STREQ(error.what(), "field 'rho': the disk is full");
        EXPECT_EQ(error.status().code(), StatusCode::io);
    }
    EXPECT_THROW((void)made(false).value(), std::runtime_error);
}

}  // namespace
}  // namespace caesura
