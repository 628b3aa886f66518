#include "transit/client/use.hpp"

#include <gtest/gtest.h>

namespace caesura::transit {
namespace {

// Goal: every key is understood, and what is wrong is named.
TEST(ServiceAddress, says_what_it_is_given_and_what_is_wrong) {
    const auto all = parse_service_address(
        "tcp:node17:4711,secret=/etc/caesura/s,on_loss=write,weight=2.5,silence_s=30,trusted=yes,"
        "copies=yes");
    ASSERT_TRUE(all.ok()) << all.status().message();
    EXPECT_EQ(all->address, "tcp:node17:4711");
    EXPECT_EQ(all->port.secret_path, "/etc/caesura/s");
    EXPECT_TRUE(all->port.trusted_network);
    EXPECT_EQ(all->client.on_loss, OnLoss::write_here);
    EXPECT_EQ(all->client.weight, 2.5);
    EXPECT_EQ(all->port.silence_s, 30.0);
    EXPECT_FALSE(all->client.share_memory);
    const auto plain = parse_service_address("unix:/run/caesura.sock");
    ASSERT_TRUE(plain.ok());
    EXPECT_EQ(plain->client.on_loss, OnLoss::fail);
    EXPECT_TRUE(plain->client.share_memory);
    for (const auto& [text, named] :
         std::vector<std::pair<std::string, std::string>>{{"unix:/a,on_loss=wait", "wait"},
                                                          {"unix:/a,weight=-1", "-1"},
                                                          {"unix:/a,weight=2x", "2x"},
                                                          {"unix:/a,silence_s=0", "silence_s"},
                                                          {"unix:/a,weigth=2", "weigth"},
                                                          {"unix:/a,trusted=1", "trusted"},
                                                          {"unix:/a,", "KEY=VALUE"}}) {
        const Status status = parse_service_address(text).status();
        EXPECT_EQ(status.code(), StatusCode::invalid_argument) << text;
        EXPECT_NE(status.message().find(named), std::string::npos) << status.message();
    }
}

// Goal: a Writer whose service is not there says so, and whose address is none, too.
TEST(ServiceAddress, a_service_that_is_not_there_is_an_error_that_names_it) {
    const auto nobody =
        writer::make_transport("service:unix:/nowhere/at/all.sock", {"test", 0, 1, 0});
    ASSERT_FALSE(nobody.ok());
    EXPECT_NE(nobody.status().message().find("/nowhere/at/all.sock"), std::string::npos)
        << nobody.status().message();
    EXPECT_EQ(writer::make_transport("service:carrier-pigeon", {"test", 0, 1, 0}).status().code(),
              StatusCode::invalid_argument);
    EXPECT_EQ(writer::make_transport("pigeon", {"test", 0, 1, 0}).status().code(),
              StatusCode::invalid_argument);
}

}  // namespace
}  // namespace caesura::transit
