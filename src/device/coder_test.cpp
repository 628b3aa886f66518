// Goal: coders are called by their names, and what one cannot do is said.
#include <gtest/gtest.h>

#include "caesura/device.hpp"

namespace caesura::device {
namespace {

TEST(Coder, names_and_numbers_are_each_others) {
    for (const Coder coder : k_coders) {
        const auto found = coder_of(to_string(coder));
        ASSERT_TRUE(found.ok());
        EXPECT_EQ(*found, coder);
    }
    const auto none = coder_of("zip");
    EXPECT_EQ(none.status().code(), StatusCode::invalid_argument);
    EXPECT_NE(none.status().message().find("nvcomp_bitcomp"), std::string::npos);
}

TEST(Coder, nvcomps_keep_no_bound_and_name_who_does) {
    const Content bounded{float32, Shape{10}, absolute(1e-3)};
    EXPECT_TRUE(validate(bounded, 40, Coder::packed).ok());
    for (const Coder coder : k_coders) {
        if (!is_nvcomp(coder)) continue;
        EXPECT_TRUE(validate({float32, Shape{10}, lossless()}, 40, coder).ok());
        const Status refused = validate(bounded, 40, coder);
        EXPECT_EQ(refused.code(), StatusCode::unsupported);
        for (const std::string_view said : {to_string(coder), std::string_view("packed")})
            EXPECT_NE(refused.message().find(said), std::string::npos) << refused.message();
    }
}

TEST(Coder, an_emulated_device_has_none_of_nvcomps) {
    const auto device = EmulatedDevice::create(
        {1 << 20, 1e9, 1e9, [](double) { return 1e-6; }, {}, Coder::nvcomp_bitcomp});
    EXPECT_EQ(device.status().code(), StatusCode::unsupported);
    EXPECT_NE(device.status().message().find("nvcomp_bitcomp"), std::string::npos);
}

}  // namespace
}  // namespace caesura::device
