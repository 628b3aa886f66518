// Goal: whoever dies is noticed, what was sent to it is given back, and nothing of it stays.
#include <sys/shm.h>

#include "transit/test_ports.hpp"

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
        for (int i = 0; i < 3 + 5 * round; ++i) port->run_once(0.0);
        // The sender may be between two messages here: the next one has begun before it dies.
        ASSERT_TRUE(run({port.get()}, [&] { return !heard.rooms[peer].empty(); }))
            << child.output();
        const auto begin = std::chrono::steady_clock::now();
        child.kill();
        ASSERT_TRUE(run({port.get()}, [&] { return heard.lost.contains(peer); }));
        const std::chrono::duration<double> noticed = std::chrono::steady_clock::now() - begin;
        std::printf("noticed after %.3f s: %s\n", noticed.count(),
                    heard.lost[peer].message().c_str());
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
        std::printf("%d of 8 sent: %s\n", good, heard.lost[peer].message().c_str());
        EXPECT_EQ(good + bad, 8);
        EXPECT_GT(bad, 0);
        EXPECT_EQ(port->peers(), 0u);
        EXPECT_EQ(port->pending_bytes(peer), 0u);
    }
}

// A peer that stands still is not dead, but nobody can tell; here nothing of the system helps.
TEST_P(Deaths, of_a_peer_that_stands_still) {
    const auto data = bytes_of_seed(k_large, 1);  // now: later this process would stand still, too
    PortOptions quick = options();
    quick.heartbeat_s = 0.1;
    quick.silence_s = 1.0;
    Recorder heard;
    const auto port = make(quick, heard);
    const auto place = port->listen(address(GetParam()));
    ASSERT_TRUE(place.ok()) << place.status().message();
    Child child({"connect", place->text(), secret_, "sink", "heartbeat_s=0.1"}, output());
    ASSERT_TRUE(run({port.get()}, [&] { return !heard.connected.empty(); })) << child.output();
    const PeerId peer = heard.connected.begin()->first;
    const auto begin = std::chrono::steady_clock::now();
    const auto passed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    ASSERT_TRUE(run({port.get()}, [&] { return passed() > 2.0; }));
    EXPECT_TRUE(heard.lost.empty()) << "it has given signs of life";
    child.signal(SIGSTOP);
    const std::span<const std::byte> piece = data;
    int bad = 0;
    for (int i = 0; i < 50; ++i)
        ASSERT_TRUE(port->send(peer, {}, {&piece, i % 5 == 0 ? 1u : 0u},
                               [&](const Status& status) { bad += !status.ok(); })
                        .ok());
    ASSERT_TRUE(run({port.get()}, [&] { return heard.lost.contains(peer); }));
    EXPECT_GE(passed(), 3.0 - 2 * quick.heartbeat_s);
    EXPECT_GT(bad, 0);
    EXPECT_EQ(port->peers(), 0u);
    EXPECT_NE(heard.lost[peer].message().find("no sign of life"), std::string::npos)
        << heard.lost[peer].message();
    // It wakes up, and finds itself alone.
    child.signal(SIGCONT);
    ASSERT_TRUE(run({port.get()}, [&] { return child.ended(); }));
    EXPECT_NE(child.output().find("lost"), std::string::npos);
}

// One connection's end, whatever the moment, is nothing to the others.
TEST_P(Deaths, leave_other_peers_alone) {
    Recorder heard;
    heard.keep_payloads = false;
    const auto port = make(options(), heard);
    const auto place = port->listen(address(GetParam()));
    ASSERT_TRUE(place.ok()) << place.status().message();
    Child steady({"connect", place->text(), secret_, "flood", "100000", "identity=steady"},
                 output());
    ASSERT_TRUE(run({port.get()}, [&] { return heard.connected.size() == 1; }));
    const PeerId survivor = heard.connected.begin()->first;
    for (int i = 0; i < 10; ++i) {
        Child victim({"connect", place->text(), secret_, "flood", "3000000"}, output() + "2");
        ASSERT_TRUE(run({port.get()}, [&] { return heard.rooms.size() >= 2; })) << victim.output();
        for (int k = 0; k < 3 * i; ++k) port->run_once(0.0);
        victim.kill();
        ASSERT_TRUE(run({port.get()}, [&] { return port->peers() == 1; }));
        heard.messages.clear();
        ASSERT_TRUE(run({port.get()}, [&] { return heard.messages.size() > 20; })) << i;
        EXPECT_EQ(heard.messages.back().peer, survivor);
    }
    EXPECT_FALSE(heard.lost.contains(survivor));
}

// A server's death is as good as a client's; and nothing is printed by anybody.
TEST_P(Deaths, of_a_service_are_told_to_its_clients_and_printed_by_nobody) {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    {
        Recorder heard;
        const auto port = make(options(), heard);
        Child service({"listen", address(GetParam()).text(), secret_, "echo"}, output());
        ASSERT_TRUE(run({port.get()}, [&] { return service.output().ends_with("\n"); }));
        const auto place = Address::parse(service.output().substr(0, service.output().size() - 1));
        ASSERT_TRUE(place.ok()) << service.output();
        const auto peer = port->connect(*place);
        ASSERT_TRUE(peer.ok()) << peer.status().message();
        const auto data = bytes_of_seed(k_large, 1);
        const std::span<const std::byte> piece = data;
        ASSERT_TRUE(run({port.get()}, [&] { return heard.connected.contains(*peer); }));
        for (int i = 0; i < 3; ++i) ASSERT_TRUE(port->send(*peer, {}, {&piece, 1}).ok());
        ASSERT_TRUE(run({port.get()}, [&] { return !heard.messages.empty(); }));
        EXPECT_TRUE(heard.messages[0].payload == data);
        service.kill();
        ASSERT_TRUE(run({port.get()}, [&] { return heard.lost.contains(*peer); }));
        // And nobody is there any more.
        const auto again = port->connect(*place);
        if (again.ok()) {
            ASSERT_TRUE(run({port.get()}, [&] { return heard.lost.contains(*again); }));
        }
        EXPECT_EQ(service.output(), place->text() + "\nconnected test\n");
    }
    EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// UCX marks shared memory for removal after it has made it: who is killed in between leaves it.
TEST_P(Deaths, while_shared_memory_was_made_leave_none_once_a_port_of_the_node_is_used) {
    if (GetParam() != Address::Kind::local) GTEST_SKIP() << "shared memory is a node's";
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const int made = ::shmget(IPC_PRIVATE, 12288, IPC_CREAT | 0600);
        (void)!::write(ends[1], &made, sizeof(made));
        (void)::raise(SIGKILL);
    }
    int segment = -1;
    ASSERT_EQ(::read(ends[0], &segment, sizeof(segment)), static_cast<ssize_t>(sizeof(segment)));
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    for (const int end : ends) (void)::close(end);
    Pair pair;
    connect(pair);
    shmid_ds about{};
    EXPECT_NE(::shmctl(segment, IPC_STAT, &about), 0);
    (void)::shmctl(segment, IPC_RMID, nullptr);
}

}  // namespace
}  // namespace caesura::transit
