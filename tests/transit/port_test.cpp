// Goal: two ports meet, messages of all sizes arrive as they were sent and in order, and whoever
// goes is noticed with the right reason.
#include <sys/time.h>

#include <thread>

#include "transit/test_ports.hpp"

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

// Both ways at once, sizes and pieces at random, large beside small.
TEST_P(Ports, keep_the_order_of_messages_of_random_sizes) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE(seed);
    std::printf("seed %u\n", seed);
    std::mt19937 random(seed);
    Pair pair;
    connect(pair);
    struct Sent {
        std::string header;
        std::vector<std::byte> payload;
    };
    std::deque<Sent> to_service, to_client;
    std::size_t done = 0, bad = 0;
    const std::size_t n = 60;
    const auto send = [&](Port& port, PeerId peer, std::deque<Sent>& sent) {
        const std::size_t exponent = random() % 24;
        const std::size_t size = random() % (std::size_t{1} << exponent);
        sent.push_back({std::to_string(sent.size()), bytes_of_seed(size, random())});
        const std::span<const std::byte> all = sent.back().payload;
        const std::size_t cut = all.empty() ? 0 : random() % all.size();
        const std::span<const std::byte> pieces[] = {all.first(cut), all.subspan(cut)};
        const Status status = port.send(peer, as_header(sent.back().header), pieces,
                                        [&](const Status& why) { ++(why.ok() ? done : bad); });
        ASSERT_TRUE(status.ok()) << status.message();
    };
    for (std::size_t i = 0; i < n; ++i) {
        send(*pair.client, pair.at_client, to_service);
        send(*pair.service, pair.at_service, to_client);
        for (unsigned k = random() % 4; k > 0; --k) {
            pair.client->run_once(0.0);
            pair.service->run_once(0.0);
        }
    }
    ASSERT_TRUE(run({pair.service.get(), pair.client.get()},
                    [&] {
                        return done + bad == 2 * n && pair.service_heard.messages.size() == n &&
                               pair.client_heard.messages.size() == n;
                    }))
        << done << " " << pair.service_heard.messages.size();
    EXPECT_EQ(bad, 0u);
    for (std::size_t i = 0; i < n; ++i) {
        EXPECT_EQ(pair.service_heard.messages[i].header, to_service[i].header);
        EXPECT_TRUE(pair.service_heard.messages[i].payload == to_service[i].payload) << i;
        EXPECT_EQ(pair.client_heard.messages[i].header, to_client[i].header);
        EXPECT_TRUE(pair.client_heard.messages[i].payload == to_client[i].payload) << i;
    }
}

// Which transports UCX has chosen: shared memory alone inside a node, and none of it otherwise.
TEST_P(Ports, of_a_node_use_shared_memory_only_and_others_none) {
    Pair pair;
    connect(pair);
    const auto data = bytes_of_seed(1 << 20, 1);
    const std::span<const std::byte> piece = data;
    ASSERT_TRUE(pair.client->send(pair.at_client, {}, {&piece, 1}).ok());
    ASSERT_TRUE(run({pair.service.get(), pair.client.get()},
                    [&] { return !pair.service_heard.messages.empty(); }));
    for (const std::string& text :
         {pair.client->describe(pair.at_client), pair.service->describe(pair.at_service)}) {
        const bool shared = text.find("sysv/") != text.npos || text.find("posix/") != text.npos;
        EXPECT_EQ(shared, GetParam() == k_local) << text;
        EXPECT_EQ(text.find("tcp/") != text.npos, GetParam() == k_tcp) << text;
        EXPECT_EQ(text.find("cma"), text.npos) << text;
    }
}

TEST_P(Ports, deliver_all_that_was_sent_before_close) {
    Pair pair;
    connect(pair);
    const auto data = bytes_of_seed(9 << 20, 1);
    const std::span<const std::byte> piece = data;
    int good = 0;
    for (int i = 0; i < 5; ++i)
        ASSERT_TRUE(pair.client
                        ->send(pair.at_client, as_header(std::to_string(i)),
                               {&piece, i % 2 == 0 ? 1u : 0u},
                               [&](const Status& status) { good += status.ok(); })
                        .ok());
    pair.client->close(pair.at_client);
    EXPECT_FALSE(pair.client->send(pair.at_client, {}).ok());
    ASSERT_TRUE(run({pair.service.get(), pair.client.get()},
                    [&] { return pair.service->peers() + pair.client->peers() == 0; }));
    EXPECT_EQ(good, 5);
    ASSERT_EQ(pair.service_heard.messages.size(), 5u);
    EXPECT_TRUE(pair.service_heard.messages[4].payload == data);
    EXPECT_TRUE(pair.client_heard.lost[pair.at_client].ok());
    EXPECT_EQ(pair.service_heard.lost[pair.at_service].code(), StatusCode::cancelled);
}

TEST_P(Ports, may_both_close_at_once) {
    base::VirtualClock clock;  // stands: no time limit helps
    PortOptions with_clock = options();
    with_clock.clock = &clock;
    Pair pair;
    connect(pair, with_clock, with_clock);
    pair.client->close(pair.at_client);
    pair.service->close(pair.at_service);
    ASSERT_TRUE(run({pair.service.get(), pair.client.get()},
                    [&] { return pair.service->peers() + pair.client->peers() == 0; }));
    EXPECT_TRUE(pair.client_heard.lost[pair.at_client].ok());
    EXPECT_TRUE(pair.service_heard.lost[pair.at_service].ok());
}

// Handlers may do what they like with the port, in the middle of anything.
TEST_P(Ports, let_handlers_send_close_and_drop) {
    for (const int what : {0, 1, 2}) {
        Pair pair;
        connect(pair);
        int heard = 0;
        pair.service_heard.heard = [&](PeerId peer) {
            if (++heard != 3) return;
            if (what == 0) pair.service->close(peer);
            if (what == 1) pair.service->drop(peer, {StatusCode::cancelled, "enough"});
            if (what == 2) (void)pair.service->send(peer, as_header("answer"));
        };
        const auto data = bytes_of_seed(100000, 1);
        const std::span<const std::byte> piece = data;
        for (int i = 0; i < 6; ++i)
            ASSERT_TRUE(pair.client->send(pair.at_client, {}, {&piece, 1}).ok());
        ASSERT_TRUE(run({pair.service.get(), pair.client.get()}, [&] {
            return what == 2 ? heard == 6 && !pair.client_heard.messages.empty()
                             : pair.client->peers() + pair.service->peers() == 0;
        })) << what;
        EXPECT_EQ(heard, what == 2 ? 6 : 3);
    }
}

TEST_P(Ports, lose_a_peer_whose_message_is_refused) {
    Pair pair;
    connect(pair);
    pair.service_heard.refuse = true;
    const auto data = bytes_of_seed(100000, 1);
    const std::span<const std::byte> piece = data;
    int done = 0;
    ASSERT_TRUE(
        pair.client->send(pair.at_client, {}, {&piece, 1}, [&](const Status&) { ++done; }).ok());
    ASSERT_TRUE(run({pair.service.get(), pair.client.get()},
                    [&] { return pair.service->peers() + pair.client->peers() == 0; }));
    EXPECT_EQ(done, 1);
    const Status& why = pair.service_heard.lost[pair.at_service];
    EXPECT_EQ(why.code(), StatusCode::no_space);
    EXPECT_NE(why.message().find("100000 bytes was refused"), std::string::npos) << why.message();
    EXPECT_FALSE(pair.client_heard.lost[pair.at_client].ok());
}

TEST_P(Ports, send_nothing_beyond_the_limits) {
    Pair pair;
    PortOptions small = options();
    small.payload_bytes = 1000;
    small.header_bytes = 10;
    connect(pair, options(), small);
    const std::vector<std::byte> data(1001);
    const std::span<const std::byte> piece = data;
    Status told;
    const auto done = [&](const Status& status) { told = status; };
    EXPECT_EQ(pair.client->send(pair.at_client, {}, {&piece, 1}, done).code(),
              StatusCode::invalid_argument);
    EXPECT_EQ(told.code(), StatusCode::invalid_argument);
    EXPECT_EQ(pair.client->send(pair.at_client, std::span(data).first(11)).code(),
              StatusCode::invalid_argument);
    EXPECT_EQ(pair.client->send(99, {}).code(), StatusCode::invalid_argument);
    // What the other side's limits forbid ends the connection there.
    const std::span<const std::byte> large = data;
    ASSERT_TRUE(pair.service->send(pair.at_service, {}, {&large, 1}).ok());
    ASSERT_TRUE(run({pair.service.get(), pair.client.get()},
                    [&] { return pair.client_heard.lost.contains(pair.at_client); }));
    EXPECT_EQ(pair.client_heard.lost[pair.at_client].code(), StatusCode::no_space);
}

TEST_P(Ports, notice_who_gives_no_sign_of_life_and_only_him) {
    base::VirtualClock clock;
    PortOptions with_clock = options();
    with_clock.clock = &clock;
    with_clock.heartbeat_s = 1.0;
    with_clock.silence_s = 5.0;
    Pair pair;
    connect(pair, with_clock, with_clock);
    double now = 0.0;
    for (int i = 0; i < 50; ++i) {  // both alive
        clock.set(now += 0.5);
        for (int k = 0; k < 50; ++k) {
            pair.client->run_once(0.0);
            pair.service->run_once(0.0);
        }
    }
    EXPECT_TRUE(pair.service_heard.lost.empty());
    EXPECT_TRUE(pair.client_heard.lost.empty());
    const double silent_since = now;
    while (pair.service_heard.lost.empty() && now < silent_since + 20.0) {
        clock.set(now += 0.25);
        for (int k = 0; k < 5; ++k) pair.service->run_once(0.0);
    }
    EXPECT_GE(now, silent_since + 4.0);
    EXPECT_LE(now, silent_since + 6.0);
    EXPECT_NE(pair.service_heard.lost[pair.at_service].message().find("no sign of life"),
              std::string::npos);
}

// Who slept himself (a stopped process, a laptop) gives the others their time again.
TEST_P(Ports, blame_nobody_for_their_own_sleep) {
    base::VirtualClock clock;
    PortOptions with_clock = options();
    with_clock.clock = &clock;
    Pair pair;
    connect(pair, with_clock, with_clock);
    clock.set(1000.0);
    for (int i = 0; i < 100; ++i) pair.service->run_once(0.0);
    EXPECT_TRUE(pair.service_heard.lost.empty());
}

TEST_P(Ports, run_what_other_threads_post) {
    Recorder heard;
    const auto port = make(options(), heard);
    ASSERT_TRUE(port->listen(address(GetParam())).ok());
    std::vector<int> order;
    std::thread other([&] {
        for (int i = 0; i < 1000; ++i) port->post([&, i] { order.push_back(i); });
    });
    // It sleeps for an hour if nobody wakes it.
    while (order.size() < 1000) port->run_once(3600.0);
    other.join();
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

// A timer's signals come in the middle of everything.
TEST_P(Ports, go_on_after_signals) {
    struct sigaction action {};
    struct sigaction before {};
    action.sa_handler = [](int) {};  // no SA_RESTART
    ::sigaction(SIGALRM, &action, &before);
    itimerval every{{0, 500}, {0, 500}};
    ::setitimer(ITIMER_REAL, &every, nullptr);
    {
        Pair pair;
        connect(pair);
        const auto data = bytes_of_seed(20 << 20, 1);
        const std::span<const std::byte> piece = data;
        ASSERT_TRUE(pair.client->send(pair.at_client, {}, {&piece, 1}).ok());
        ASSERT_TRUE(run({pair.service.get(), pair.client.get()},
                        [&] { return !pair.service_heard.messages.empty(); }));
        EXPECT_TRUE(pair.service_heard.messages.front().payload == data);
    }
    every = {};
    ::setitimer(ITIMER_REAL, &every, nullptr);
    ::sigaction(SIGALRM, &before, nullptr);
}

// A child that ends as C++ programs do destroys what it has inherited.
TEST_P(Ports, are_left_alone_by_a_child) {
    Pair pair;
    connect(pair);
    const pid_t child = ::fork();
    if (child == 0) {
        pair.service.reset();
        pair.client.reset();
        ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    ASSERT_TRUE(pair.client->send(pair.at_client, as_header("still here")).ok());
    ASSERT_TRUE(run({pair.service.get(), pair.client.get()},
                    [&] { return !pair.service_heard.messages.empty(); }));
    if (GetParam() == k_local) {
        EXPECT_TRUE(std::filesystem::exists(directory_ + "/socket"));
    }
}

// A service that was stopped has been given up; what still lies there for it is not heard.
TEST_P(Ports, of_which_one_listens_and_stood_still_part_without_a_word) {
    PortOptions quick = options();
    quick.heartbeat_s = 0.05;
    quick.silence_s = 0.3;
    Recorder service_heard, client_heard;
    const auto service = make(quick, service_heard);
    const auto place = service->listen(address(GetParam()));
    ASSERT_TRUE(place.ok()) << place.status().message();
    PortOptions patient = options();
    const auto client = make(patient, client_heard);
    const auto peer = client->connect(*place);
    ASSERT_TRUE(peer.ok());
    ASSERT_TRUE(run({service.get(), client.get()}, [&] {
        return !service_heard.connected.empty() && !client_heard.connected.empty();
    }));
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(client->send(*peer, as_header("too late")).ok());
    ASSERT_TRUE(run({client.get()}, [&] {
        return std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(400);
    }));
    ASSERT_TRUE(run({service.get()}, [&] { return !service_heard.lost.empty(); }));
    EXPECT_TRUE(service_heard.messages.empty());
    EXPECT_NE(service_heard.lost.begin()->second.message().find("stood still"), std::string::npos);
}

// --------------------------------------------------------------------------- the socket file

using SocketFile = PortTest;

TEST_F(SocketFile, has_the_mode_that_was_asked_for_and_goes_with_the_port) {
    Recorder heard;
    for (const unsigned mode : {0600u, 0660u}) {
        PortOptions with_mode = options();
        with_mode.socket_mode = mode;
        const auto port = make(with_mode, heard);
        ASSERT_TRUE(port->listen(address(k_local)).ok());
        struct stat info {};
        ASSERT_EQ(::stat((directory_ + "/socket").c_str(), &info), 0);
        EXPECT_EQ(info.st_mode & 0777, mode);
        EXPECT_TRUE(S_ISSOCK(info.st_mode));
    }
    EXPECT_FALSE(std::filesystem::exists(directory_ + "/socket"));
}

TEST_F(SocketFile, of_a_dead_service_is_replaced_and_of_a_live_one_is_not) {
    Recorder heard;
    {
        Child child({"listen", address(k_local).text(), "-", "sink"}, directory_ + "/output");
        const auto port = make(options(), heard);
        while (child.output().empty() && !child.ended()) ::usleep(1000);
        ASSERT_EQ(child.output(), address(k_local).text() + "\n");
        const auto second = port->listen(address(k_local));
        EXPECT_EQ(second.status().code(), StatusCode::io);
        EXPECT_NE(second.status().message().find("already"), std::string::npos);
        child.kill();
        EXPECT_TRUE(std::filesystem::exists(directory_ + "/socket"));
        EXPECT_EQ(port->connect(address(k_local)).status().code(), StatusCode::io);
        const auto place = port->listen(address(k_local));
        EXPECT_TRUE(place.ok()) << place.status().message();
        EXPECT_EQ(port->listen(address(k_local)).status().code(), StatusCode::invalid_argument);
    }
    EXPECT_FALSE(std::filesystem::exists(directory_ + "/socket"));
}

TEST_F(SocketFile, is_never_put_in_the_place_of_something_else) {
    Recorder heard;
    std::ofstream(directory_ + "/socket") << "precious";
    const auto port = make(options(), heard);
    EXPECT_EQ(port->listen(address(k_local)).status().code(), StatusCode::io);
    EXPECT_EQ(std::filesystem::file_size(directory_ + "/socket"), 8u);
    const auto nowhere = port->listen(*Address::parse("unix:/nonexistent/dir/socket"));
    EXPECT_NE(nowhere.status().message().find("/nonexistent/dir/socket"), std::string::npos);
    EXPECT_EQ(port->connect(*Address::parse("unix:/nonexistent/x")).status().code(),
              StatusCode::io);
}

}  // namespace
}  // namespace caesura::transit
