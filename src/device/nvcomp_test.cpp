// Goal: nvCOMP is found where it is, and what is missing is said where it is not.
#include "device/nvcomp.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace caesura::device {
namespace {

TEST(NvcompLibrary, what_is_missing_is_named) {
    const auto none = Nvcomp::load("libnvcomp_that_is_not_there.so");
    EXPECT_EQ(none.status().code(), StatusCode::unsupported);
    EXPECT_NE(none.status().message().find("libnvcomp_that_is_not_there.so"), std::string::npos);
    EXPECT_NE(none.status().message().find("CAESURA_NVCOMP"), std::string::npos);
    const auto other = Nvcomp::load("libm.so.6");
    EXPECT_EQ(other.status().code(), StatusCode::unsupported);
    EXPECT_NE(other.status().message().find("nvcompGetProperties"), std::string::npos);
}

TEST(NvcompLibrary, every_compressor_of_the_library_answers) {
    const auto nvcomp = Nvcomp::load();
    if (!nvcomp.ok()) GTEST_SKIP() << nvcomp.status().message();
    EXPECT_EQ((*nvcomp)->version().substr(0, 2), "6.");
    for (const NvcompCoder coder : k_nvcomp_coders) {
        const auto most = (*nvcomp)->most_bytes(coder, 65536);
        ASSERT_TRUE(most.ok()) << to_string(coder) << ": " << most.status().message();
        EXPECT_GE(*most, 65536u) << to_string(coder);
        EXPECT_LT(*most, 3 * 65536u) << to_string(coder);
    }
}

}  // namespace
}  // namespace caesura::device
