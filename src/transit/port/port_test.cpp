// Goal: two ports meet, messages of all sizes arrive as they were sent and in order, and whoever
// goes is noticed with the right reason.
#include <sys/socket.h>
#include <sys/un.h>

#include "transit/port/test_ports.hpp"

namespace caesura::transit {
namespace {

constexpr auto k_local = Address::Kind::local;
constexpr auto k_tcp = Address::Kind::tcp;

using Ports = PairTest;
INSTANTIATE_TEST_SUITE_P(Transit, Ports, ::testing::Values(k_local, k_tcp), name_of_kind);

TEST_P(Ports, say_who_the_others_are) {
    Pair pair;
    PortOptions client = options();
    client.identity = "application \x01 7";
    connect(pair, options(), client);
    const Who& at_service = pair.service_heard.connected[pair.at_service];
    const Who& at_client = pair.client_heard.connected[pair.at_client];
    EXPECT_EQ(at_service.identity, "application ? 7");
    EXPECT_EQ(at_client.identity, "test");
    EXPECT_TRUE(at_service.asked);
    EXPECT_FALSE(at_client.asked);
    EXPECT_EQ(at_service.kind, GetParam());
    if (GetParam() == k_local) {
        EXPECT_EQ(at_service.process, ::getpid());
        EXPECT_EQ(at_service.user, ::geteuid());
        EXPECT_EQ(at_client.process, ::getpid());
    } else {
        EXPECT_TRUE(at_service.address.starts_with("tcp:127.0.0.1:")) << at_service.address;
    }
}

TEST_P(Ports, carry_messages_of_any_size_back_and_forth) {
    Pair pair;
    connect(pair);
    std::vector<std::size_t> sizes = {0, 1, 7, 100, 4096, 8191, 8192, 8193, 65536, 1000003};
    for (const std::size_t big : {4u << 20, (4u << 20) + 1, 64u << 20}) sizes.push_back(big);
    for (const std::size_t size : sizes) {
        const auto data = bytes_of_seed(size, size + 1);
        const std::span<const std::byte> piece = data;
        int done = 0;
        const auto on_done = [&](const Status& status) {
            EXPECT_TRUE(status.ok()) << status.message();
            ++done;
        };
        const std::string header = "size " + std::to_string(size);
        ASSERT_TRUE(
            pair.client->send(pair.at_client, as_header(header), {&piece, 1}, on_done).ok());
        ASSERT_TRUE(run({pair.service.get(), pair.client.get()}, [&] {
            return !pair.service_heard.messages.empty() && done == 1;
        })) << size;
        const auto there = std::move(pair.service_heard.messages.front());
        pair.service_heard.messages.pop_front();
        EXPECT_EQ(there.header, header);
        ASSERT_TRUE(there.payload == data) << size;
        const std::span<const std::byte> back = there.payload;
        ASSERT_TRUE(
            pair.service->send(pair.at_service, as_header("back"), {&back, 1}, on_done).ok());
        ASSERT_TRUE(run({pair.service.get(), pair.client.get()},
                        [&] { return !pair.client_heard.messages.empty() && done == 2; }));
        EXPECT_TRUE(pair.client_heard.messages.front().payload == data) << size;
        pair.client_heard.messages.pop_front();
    }
    EXPECT_TRUE(pair.service_heard.rooms[pair.at_service].empty());
}

}  // namespace
}  // namespace caesura::transit
