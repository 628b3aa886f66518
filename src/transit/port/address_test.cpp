// Goal: what parse() takes text() gives back, and an error says what there is.
#include "transit/port/address.hpp"

#include <gtest/gtest.h>

namespace caesura::transit {
namespace {

TEST(Address, comes_back_as_it_was_written) {
    for (const char* text : {"unix:/run/caesura.sock", "tcp:node17:4711", "tcp:10.0.0.1:0",
                             "tcp:[fe80::1]:65535", "unix:/a b:c"}) {
        const auto address = Address::parse(text);
        ASSERT_TRUE(address.ok()) << address.status().message();
        EXPECT_EQ(address->text(), text);
    }
    EXPECT_EQ(Address::parse("tcp:[::1]:7")->host, "::1");
    EXPECT_EQ(Address::parse("tcp:h:7")->port, 7);
}

TEST(Address, says_what_is_wrong_and_what_there_is) {
    const std::string zero("unix:/a\0b", 9);
    for (const std::string& text :
         {std::string(""), std::string("unix:relative"), std::string("unix:"), std::string("tcp:h"),
          std::string("tcp::7"), std::string("tcp:h:65536"), std::string("tcp:h:"),
          std::string("tcp:h:7x"), std::string("tcp:::1:7"), std::string("http://x"),
          "unix:/" + std::string(107, 'x'), zero}) {
        const auto address = Address::parse(text);
        ASSERT_FALSE(address.ok()) << text;
        EXPECT_EQ(address.status().code(), StatusCode::invalid_argument);
        EXPECT_NE(address.status().message().find("tcp:HOST:PORT"), std::string::npos);
        EXPECT_NE(address.status().message().find(text), std::string::npos);
    }
    EXPECT_TRUE(Address::parse("unix:/" + std::string(106, 'x')).ok());
}

}  // namespace
}  // namespace caesura::transit
