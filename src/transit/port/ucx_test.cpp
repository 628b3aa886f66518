// Goal: UCX is found when it is wanted, whole or not at all, and a message says what to install.
#include "transit/port/ucx.hpp"

#include <gtest/gtest.h>

namespace caesura::transit {
namespace {

TEST(Ucx, is_found_whole) {
    ASSERT_TRUE(load_ucx_once().ok()) << load_ucx_once().message();
    EXPECT_STREQ(ucx().status_string(UCS_OK), "Success");
}

TEST(Ucx, that_is_not_there_is_told_with_what_to_install) {
    const Result<Ucx> none = load_ucx("libno_such_ucp.so.0");
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.status().code(), StatusCode::unsupported);
    EXPECT_NE(none.status().message().find("libno_such_ucp.so.0"), std::string::npos);
    EXPECT_NE(none.status().message().find("libucx0"), std::string::npos);
}

TEST(Ucx, that_lacks_a_function_is_refused_by_its_name) {
    const Result<Ucx> other = load_ucx("libm.so.6");
    ASSERT_FALSE(other.ok());
    EXPECT_EQ(other.status().code(), StatusCode::unsupported);
    EXPECT_NE(other.status().message().find("ucp_config_read"), std::string::npos);
}

}  // namespace
}  // namespace caesura::transit
