// Goal: whoever dies is noticed, what was sent to it is given back, and nothing of it stays.
#include "transit/port/test_ports.hpp"

namespace caesura::transit {
namespace {

class Deaths : public PairTest {
  protected:
    std::string output() const { return directory_ + "/output"; }
};
INSTANTIATE_TEST_SUITE_P(Transit, Deaths,
                         ::testing::Values(Address::Kind::local, Address::Kind::tcp), name_of_kind);

constexpr std::size_t k_large = 64 << 20;

// SIGKILL in the middle of a large message that comes in.
TEST_P(Deaths, of_a_sender_in_the_middle_of_a_message) {
    Recorder heard;
    heard.keep_payloads = false;
    const auto port = make(options(), heard);
    const auto place = port->listen(address(GetParam()));
    ASSERT_TRUE(place.ok()) << place.status().message();
    for (int round = 0; round < 5; ++round) {
        heard.connected.clear();
        heard.lost.clear();
        heard.messages.clear();
        Child child({"connect", place->text(), secret_, "flood", std::to_string(k_large)},
                    output());
        ASSERT_TRUE(run({port.get()}, [&] { return heard.messages.size() >= 1; }))
            << child.output();
        const PeerId peer = heard.connected.begin()->first;
        const std::size_t messages = heard.messages.size();
        for (int i = 0; i < 3 + 5 * round; ++i) port->run_once(0.0);
        ASSERT_FALSE(heard.rooms[peer].empty()) << "not in the middle";
        const auto begin = std::chrono::steady_clock::now();
        child.kill();
        ASSERT_TRUE(run({port.get()}, [&] { return heard.lost.contains(peer); }));
        const std::chrono::duration<double> noticed = std::chrono::steady_clock::now() - begin;
        RecordProperty("noticed_s", std::to_string(noticed.count()));
        printf("round %d noticed after %.3f s, %zu messages, %s\n", round, noticed.count(),
               messages, heard.lost[peer].message().c_str());
        EXPECT_FALSE(heard.lost[peer].ok());
        EXPECT_EQ(port->peers(), 0u);
    }
}

// SIGKILL of who is being sent to: every `done` is called.
TEST_P(Deaths, of_a_receiver_in_the_middle_of_a_message) {
    Recorder heard;
    const auto port = make(options(), heard);
    const auto place = port->listen(address(GetParam()));
    ASSERT_TRUE(place.ok()) << place.status().message();
    const auto data = bytes_of_seed(k_large, 1);
    const std::span<const std::byte> piece = data;
    for (int round = 0; round < 5; ++round) {
        heard.connected.clear();
        heard.lost.clear();
        Child child({"connect", place->text(), secret_, "sink"}, output());
        ASSERT_TRUE(run({port.get()}, [&] { return !heard.connected.empty(); })) << child.output();
        const PeerId peer = heard.connected.begin()->first;
        int good = 0, bad = 0;
        const auto done = [&](const Status& status) { ++(status.ok() ? good : bad); };
        for (int i = 0; i < 8; ++i)
            ASSERT_TRUE(
                port->send(peer, as_header("x"), {&piece, i % 2 == 0 ? 1u : 0u}, done).ok());
        ASSERT_TRUE(run({port.get()}, [&] { return good >= 1; }));
        for (int i = 0; i < 3 + 5 * round; ++i) port->run_once(0.0);
        child.kill();
        ASSERT_TRUE(run({port.get()}, [&] { return heard.lost.contains(peer); }));
        printf("round %d good %d bad %d, %s\n", round, good, bad,
               heard.lost[peer].message().c_str());
        EXPECT_EQ(good + bad, 8);
        EXPECT_GT(bad, 0);
        EXPECT_EQ(port->peers(), 0u);
        EXPECT_EQ(port->pending_bytes(peer), 0u);
    }
}

}  // namespace
}  // namespace caesura::transit
