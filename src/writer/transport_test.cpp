// Goal: what a Writer's transport says is understood or named; a program without the client of the
// service, as this one, says what to install.
#include "writer/transport.hpp"

#include <gtest/gtest.h>

namespace caesura::writer {
namespace {

TEST(WriterTransport, a_build_without_the_client_says_what_is_missing) {
    const auto made = make_transport("service:unix:/run/caesura.sock", {"test", 0, 1, 0});
    ASSERT_EQ(made.status().code(), StatusCode::unsupported);
    for (const char* const word : {"libucx-dev", "libsodium-dev", "/run/caesura.sock"})
        EXPECT_NE(made.status().message().find(word), std::string::npos) << made.status().message();
}

TEST(WriterTransport, another_word_than_service_is_refused) {
    for (const char* const text : {"", "service", "file:/run/x", "servic:unix:/run/x"}) {
        const auto made = make_transport(text, {"test", 0, 1, 0});
        EXPECT_EQ(made.status().code(), StatusCode::invalid_argument) << text;
        EXPECT_NE(made.status().message().find("service:ADDRESS"), std::string::npos);
    }
}

}  // namespace
}  // namespace caesura::writer
