// Goal: strangers and liars get nothing: who does not prove himself in time, who speaks before
// that, who replays or changes what was said, who comes too often or in too great a number.
#include <arpa/inet.h>
#include <netinet/in.h>

#include "transit/port/fabric.hpp"
#include "transit/port/hand_shake.hpp"
#include "transit/port/local_socket.hpp"
#include "transit/test_ports.hpp"

namespace caesura::transit {
namespace {

constexpr auto k_local = Address::Kind::local;
constexpr auto k_tcp = Address::Kind::tcp;

// Speaks to a port with UCX itself, and says what a test wants.
class Liar {
  public:
    Liar(const std::string& secret, const Address& place, Port& port) : port_(port) {
        auto context = Fabric::prepare({Fabric::Reach::network});
        fabric_ = std::move(*Fabric::make(*context));
        sockaddr_storage storage{};
        auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
        v4.sin_family = AF_INET;
        v4.sin_port = htons(place.port);
        v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_TRUE(fabric_->connect(storage, sizeof v4).ok());
        shake_.emplace(HandShake::Role::asks,
                       HandShake::Self{*Secret::read(secret), "liar", false});
    }
    HandShake& shake() { return *shake_; }
    bool broken = false;

    void say(Fabric::Channel channel, std::vector<std::byte> head, std::vector<std::byte> data = {},
             bool large = false) {
        if (broken) return;
        Fabric::Outgoing outgoing;
        outgoing.head = std::move(head);
        outgoing.owned = std::move(data);
        outgoing.data = outgoing.owned;
        outgoing.large = large;
        fabric_->send(channel, std::move(outgoing));
        run(5);
    }
    void run(int times) {
        for (int i = 0; i < times; ++i) {
            port_.run_once(0.0);
            std::vector<Fabric::Event> events;
            fabric_->progress(events);
            for (auto& event : events) {
                broken |= event.kind == Fabric::Event::Kind::failed;
                if (event.kind == Fabric::Event::Kind::arrival &&
                    event.channel == Fabric::Channel::greeting)
                    answers_.push_back(event.arrival.bytes);
            }
        }
    }
    std::vector<std::byte> next_answer() {
        for (int i = 0; i < 100000 && answers_.empty() && !broken; ++i) run(1);
        if (answers_.empty()) return {};
        auto answer = answers_.front();
        answers_.pop_front();
        return answer;
    }
    // Gets through, honestly.
    void prove() {
        say(Fabric::Channel::greeting, shake_->hello());
        auto proof = shake_->answer(next_answer());
        ASSERT_TRUE(proof.ok()) << proof.status().message();
        say(Fabric::Channel::greeting, *proof);
        ASSERT_TRUE(shake_->answer(next_answer()).ok());
        seal_.emplace(shake_->outgoing());
    }
    std::vector<std::byte> packet(std::uint64_t number, std::span<const std::byte> data,
                                  PacketKind kind = PacketKind::whole,
                                  std::uint64_t total = ~0ull) {
        if (total == ~0ull) total = data.size();
        return encode({kind, shake_->other_token(), number, total, data.size()}, {}, data,
                      {&*seal_, true});
    }

  private:
    Port& port_;
    std::unique_ptr<Fabric> fabric_;
    std::optional<HandShake> shake_;
    std::optional<Seal> seal_;
    std::deque<std::vector<std::byte>> answers_;
};

class Strangers : public PortTest {
  protected:
    void SetUp() override {
        PortTest::SetUp();
        PortOptions with_clock = options();
        with_clock.clock = &clock_;
        port_ = make(with_clock, heard_);
        const auto place = port_->listen(address(k_tcp));
        ASSERT_TRUE(place.ok()) << place.status().message();
        place_ = *place;
    }
    void TearDown() override {
        port_.reset();
        PortTest::TearDown();
    }
    // Connect with other options, and see how it ends.
    Status try_to_connect(const PortOptions& other) {
        Recorder client_heard;
        const auto client = make(other, client_heard);
        const auto peer = client->connect(place_);
        if (!peer.ok()) return peer.status();
        const bool over = run({port_.get(), client.get()}, [&] {
            return client_heard.lost.contains(*peer) || client_heard.connected.contains(*peer);
        });
        EXPECT_TRUE(over);
        const bool connected = client_heard.connected.contains(*peer);
        client->drop(*peer, {StatusCode::cancelled, "enough"});
        run({port_.get(), client.get()},
            [&] { return client->peers() == 0 && port_->peers() == 0; });
        return connected ? Status() : client_heard.lost[*peer];
    }
    // The liar's connection has ended, for this reason, and nobody heard a message.
    void expect_lost(Liar& liar, StatusCode code) {
        for (int i = 0; i < 10000 && heard_.lost.empty(); ++i) liar.run(1);
        ASSERT_EQ(heard_.lost.size(), 1u);
        EXPECT_EQ(heard_.lost.begin()->second.code(), code)
            << heard_.lost.begin()->second.message();
        EXPECT_EQ(port_->peers(), 0u);
    }

    base::VirtualClock clock_;
    Recorder heard_;
    std::unique_ptr<Port> port_;
    Address place_;
};

TEST_F(Strangers, who_do_not_know_the_secret_are_refused_and_told_so) {
    PortOptions other = options();
    other.secret_path = write_secret("other", std::string(64, 'x'));
    const Status status = try_to_connect(other);
    EXPECT_EQ(status.code(), StatusCode::io);
    EXPECT_NE(status.message().find("another secret"), std::string::npos) << status.message();
    EXPECT_TRUE(heard_.connected.empty() && heard_.lost.empty());
    EXPECT_EQ(port_->counts().unproved, 1u);
    EXPECT_TRUE(try_to_connect(options()).ok()) << "honest ones still can";
}

TEST_F(Strangers, who_trust_the_network_alone_are_refused_and_told_so) {
    PortOptions other = options();
    other.trusted_network = true;
    const Status status = try_to_connect(other);
    EXPECT_NE(status.message().find("trusted_network"), std::string::npos) << status.message();
    EXPECT_TRUE(heard_.connected.empty());
}

TEST_F(Strangers, without_a_secret_cannot_even_try) {
    PortOptions other = options();
    other.secret_path = "";
    EXPECT_EQ(try_to_connect(other).code(), StatusCode::invalid_argument);
    Recorder heard;
    const auto port = make(other, heard);
    const auto place = port->listen(address(k_tcp));
    EXPECT_EQ(place.status().code(), StatusCode::invalid_argument);
    EXPECT_NE(place.status().message().find("secret=FILE"), std::string::npos);
}

TEST_F(Strangers, who_say_nothing_are_dropped_after_a_while) {
    Liar liar(secret_, place_, *port_);
    for (int i = 0; i < 100000 && port_->peers() == 0; ++i) liar.run(1);
    ASSERT_EQ(port_->peers(), 1u);
    clock_.set(4.9);
    liar.run(100);
    EXPECT_EQ(port_->peers(), 1u);
    clock_.set(5.1);
    for (int i = 0; i < 10000 && port_->peers() > 0; ++i) liar.run(1);
    EXPECT_EQ(port_->peers(), 0u);
    EXPECT_EQ(port_->counts().unproved, 1u);
    EXPECT_TRUE(heard_.lost.empty());
}

TEST_F(Strangers, who_speak_before_they_have_proved_themselves_are_dropped) {
    Liar liar(secret_, place_, *port_);
    liar.say(Fabric::Channel::greeting, liar.shake().hello());
    ASSERT_TRUE(liar.shake().answer(liar.next_answer()).ok());
    ASSERT_EQ(port_->peers(), 1u);
    liar.say(Fabric::Channel::packet,
             encode({PacketKind::whole, liar.shake().other_token(), 0, 0, 0}, {}, {}, {}));
    for (int i = 0; i < 10000 && port_->peers() > 0; ++i) liar.run(1);
    EXPECT_EQ(port_->peers(), 0u);
    EXPECT_EQ(port_->counts().unproved, 1u);
    EXPECT_TRUE(heard_.messages.empty() && heard_.connected.empty());
}

TEST_F(Strangers, with_a_token_of_nobody_are_not_heard) {
    Liar liar(secret_, place_, *port_);
    liar.prove();
    const std::vector<std::byte> head =
        encode({PacketKind::whole, Token{std::byte{1}}, 0, 0, 0}, {}, {}, {});
    liar.say(Fabric::Channel::packet, head);
    liar.say(Fabric::Channel::packet, std::vector<std::byte>(3), bytes_of_seed(100000, 1), true);
    for (int i = 0; i < 10000 && port_->counts().strays < 2; ++i) liar.run(1);
    EXPECT_EQ(port_->counts().strays, 2u);
    EXPECT_EQ(port_->peers(), 1u);
}

TEST_F(Strangers, who_replay_a_message_end_their_connection) {
    Liar liar(secret_, place_, *port_);
    liar.prove();
    const auto data = bytes_of_seed(100, 1);
    liar.say(Fabric::Channel::packet, liar.packet(0, data), data);
    for (int i = 0; i < 10000 && heard_.messages.empty(); ++i) liar.run(1);
    ASSERT_EQ(heard_.messages.size(), 1u);
    liar.say(Fabric::Channel::packet, liar.packet(0, data), data);
    expect_lost(liar, StatusCode::corrupt);
    EXPECT_EQ(heard_.messages.size(), 1u);
}

TEST_F(Strangers, who_change_a_small_message_end_the_connection) {
    Liar liar(secret_, place_, *port_);
    liar.prove();
    auto data = bytes_of_seed(100, 1);
    const auto head = liar.packet(0, data);
    data[57] ^= std::byte{4};
    liar.say(Fabric::Channel::packet, head, data);
    expect_lost(liar, StatusCode::corrupt);
    EXPECT_TRUE(heard_.messages.empty());
}

TEST_F(Strangers, who_change_a_large_message_end_the_connection) {
    Liar liar(secret_, place_, *port_);
    liar.prove();
    auto data = bytes_of_seed(1 << 20, 1);
    const auto head = liar.packet(0, data, PacketKind::begin);
    data[1 << 19] ^= std::byte{4};
    liar.say(Fabric::Channel::packet, head, data, true);
    expect_lost(liar, StatusCode::corrupt);
    EXPECT_TRUE(heard_.messages.empty());
}

TEST_F(Strangers, who_announce_too_much_are_refused_before_anything_is_asked_for) {
    Liar liar(secret_, place_, *port_);
    liar.prove();
    const auto data = bytes_of_seed(1 << 20, 1);
    liar.say(Fabric::Channel::packet, liar.packet(0, data, PacketKind::begin, 1ull << 40), data,
             true);
    expect_lost(liar, StatusCode::no_space);
    EXPECT_TRUE(heard_.rooms.empty());
}

// --------------------------------------------------------------------------- too many

class Crowds : public PairTest {};
INSTANTIATE_TEST_SUITE_P(Transit, Crowds, ::testing::Values(k_local, k_tcp), name_of_kind);

TEST_P(Crowds, find_no_more_room_than_there_is) {
    PortOptions few = options();
    few.connections = 3;
    Recorder heard, client_heard;
    const auto port = make(few, heard);
    const auto place = port->listen(address(GetParam()));
    const auto client = make(options(), client_heard);
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(client->connect(*place).ok());
        ASSERT_TRUE(run({port.get(), client.get()}, [&] {
            return client_heard.connected.size() + client_heard.lost.size() ==
                   static_cast<std::size_t>(i) + 1;
        }));
    }
    EXPECT_EQ(client_heard.connected.size(), 3u);
    EXPECT_EQ(client_heard.lost.size(), 2u);
    EXPECT_EQ(port->counts().turned_away, 2u);
    if (GetParam() == k_local) {
        const Status& why = client_heard.lost.begin()->second;
        EXPECT_NE(why.message().find("3 connections already"), std::string::npos) << why.message();
    }
    EXPECT_EQ(port->connect(*place).status().code(), StatusCode::no_space);
}

// Sixty who wait in the hand-shake leave room for nobody, but only until their time is over.
TEST_P(Crowds, of_half_open_connections_are_bounded) {
    base::VirtualClock clock;
    PortOptions few = options();
    few.half_open = 2;
    few.clock = &clock;
    Recorder heard;
    const auto port = make(few, heard);
    const auto place = port->listen(address(GetParam()));
    ASSERT_TRUE(place.ok());
    std::vector<Descriptor> sockets;
    std::vector<std::unique_ptr<Liar>> liars;
    for (int i = 0; i < 5; ++i) {
        if (GetParam() == k_local)
            sockets.push_back(std::move(*connect_local(place->path)));
        else
            liars.push_back(std::make_unique<Liar>(secret_, *place, *port));
        const auto settled = [&] {
            for (auto& liar : liars) liar->run(1);
            EXPECT_LE(port->peers(), 2u);
            const auto n = static_cast<std::size_t>(i) + 1;
            return port->peers() == std::min<std::size_t>(n, 2) &&
                   (GetParam() == k_local || port->counts().turned_away + 2 >= n);
        };
        ASSERT_TRUE(run({port.get()}, settled)) << i;
    }
    EXPECT_EQ(port->peers(), 2u);
    sockets.clear();
    liars.clear();
    clock.set(6.0);
    Recorder client_heard;
    const auto client = make(options(), client_heard);
    ASSERT_TRUE(run({port.get(), client.get()}, [&] { return port->peers() == 0; }));
    ASSERT_TRUE(client->connect(*place).ok());
    ASSERT_TRUE(run({port.get(), client.get()}, [&] { return !client_heard.connected.empty(); }));
}

TEST_P(Crowds, that_come_faster_than_allowed_wait_or_are_refused) {
    base::VirtualClock clock;
    PortOptions slow = options();
    slow.connects_per_s = 2.0;
    slow.clock = &clock;
    Recorder heard, client_heard;
    const auto port = make(slow, heard);
    const auto place = port->listen(address(GetParam()));
    const auto client = make(options(), client_heard);
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(client->connect(*place).ok());
    ASSERT_TRUE(run({port.get(), client.get()}, [&] {
        return client_heard.connected.size() == 2 &&
               (GetParam() == k_local || port->counts().turned_away == 4);
    }));
    if (GetParam() == k_tcp) return;
    for (int k = 0; k < 500; ++k) {
        client->run_once(0.0);
        port->run_once(0.0);
    }
    EXPECT_EQ(client_heard.connected.size(), 2u);
    for (double now = 1.0; now < 4.0; now += 1.0) {
        clock.set(now);
        for (int k = 0; k < 500; ++k) {
            client->run_once(0.0);
            port->run_once(0.0);
        }
        EXPECT_EQ(client_heard.connected.size(), std::min(6.0, 2.0 + 2.0 * now));
    }
}

// --------------------------------------------------------------------------- of this node

using LocalStrangers = PortTest;

TEST_F(LocalStrangers, who_say_nothing_or_nonsense_are_dropped) {
    base::VirtualClock clock;
    PortOptions with_clock = options();
    with_clock.clock = &clock;
    Recorder heard;
    const auto port = make(with_clock, heard);
    ASSERT_TRUE(port->listen(address(k_local)).ok());
    const auto silent = connect_local(directory_ + "/socket");
    const auto babbler = connect_local(directory_ + "/socket");
    const auto giant = connect_local(directory_ + "/socket");
    const auto gone = connect_local(directory_ + "/socket");
    ASSERT_TRUE(send_packet(*babbler, bytes_of_seed(50, 1)).ok());
    ASSERT_TRUE(send_packet(*giant, bytes_of_seed(Greeting::k_max_bytes + 1, 1)).ok());
    for (int i = 0; i < 20; ++i) port->run_once(0.0);
    EXPECT_EQ(port->peers(), 2u) << "two wait";
    clock.set(5.1);
    for (int i = 0; i < 20; ++i) port->run_once(0.0);
    EXPECT_EQ(port->peers(), 0u);
    EXPECT_EQ(port->counts().unproved, 4u);
    EXPECT_TRUE(heard.lost.empty() && heard.connected.empty());
}

TEST_F(LocalStrangers, of_other_users_are_turned_away) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
    for (const bool others : {false, true}) {
        PortOptions open = options();
        open.socket_mode = 0666;
        open.other_users = others;
        Recorder heard;
        const auto port = make(open, heard);
        ASSERT_TRUE(port->listen(address(k_local)).ok());
        ASSERT_EQ(::chmod(directory_.c_str(), 0755), 0);
        Child child({"--reuid=12345", "--regid=12345", "--clear-groups", CAESURA_TRANSIT_PEER,
                     "connect", address(k_local).text(), "-", "sink"},
                    directory_ + "/output", {"setpriv"}, "");
        ASSERT_TRUE(run({port.get()}, [&] {
            return child.output().find(others ? "connected" : "lost") != std::string::npos ||
                   child.ended();
        })) << child.output();
        EXPECT_EQ(heard.connected.size(), others ? 1u : 0u) << child.output();
        if (others) {
            EXPECT_EQ(heard.connected.begin()->second.user, 12345u);
        } else {
            EXPECT_EQ(port->counts().turned_away, 1u);
            EXPECT_NE(child.output().find("serves user 0 only"), std::string::npos)
                << child.output();
        }
    }
}

TEST_F(LocalStrangers, options_that_cannot_be_are_named) {
    Recorder heard;
    const auto expect_named = [&](const char* name, auto change) {
        PortOptions wrong = options();
        change(wrong);
        const auto port = Port::make(wrong, heard);
        ASSERT_FALSE(port.ok()) << name;
        EXPECT_EQ(port.status().code(), StatusCode::invalid_argument);
        EXPECT_NE(port.status().message().find(name), std::string::npos) << port.status().message();
    };
    expect_named("heartbeat_s", [](PortOptions& o) { o.heartbeat_s = 0.0; });
    expect_named("silence_s", [](PortOptions& o) { o.silence_s = o.heartbeat_s; });
    expect_named("hand_shake_s", [](PortOptions& o) { o.hand_shake_s = -1.0; });
    expect_named("eager_bytes", [](PortOptions& o) { o.eager_bytes = 1 << 20; });
    expect_named("trusted_network", [](PortOptions& o) { o.remote_memory = true; });
    PortOptions huge = options();
    huge.header_bytes = 1 << 20;
    const auto port = make(huge, heard);
    EXPECT_EQ(port->listen(address(k_tcp)).status().code(), StatusCode::invalid_argument);
}

}  // namespace
}  // namespace caesura::transit
