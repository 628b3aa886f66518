// Goal: two nodes (network namespaces with a cable between them) talk over the cable, and a cable
// that is cut for longer than the limit is noticed on both sides. Root only.
#include <sys/stat.h>

#include <cstdlib>

#include "transit/test_ports.hpp"

namespace caesura::transit {
namespace {

// Two namespaces and a veth pair, which go whatever happens in the test.
class TwoNodes : public PortTest {
  protected:
    void SetUp() override {
        PortTest::SetUp();
        if (::geteuid() != 0) GTEST_SKIP() << "making network namespaces takes root";
        const std::string id = std::to_string(::getpid());
        node_[0] = "caesura_a" + id;
        node_[1] = "caesura_b" + id;
        cable_[0] = "ca" + id;
        cable_[1] = "cb" + id;
        for (const std::string& node : node_)
            if (!ip("netns add " + node)) GTEST_SKIP() << "no network namespaces here";
        if (!ip("link add " + cable_[0] + " netns " + node_[0] + " type veth peer name " +
                cable_[1] + " netns " + node_[1]))
            GTEST_SKIP() << "no veth here";
        for (const int i : {0, 1}) {
            const std::string in = "-n " + node_[i] + " ";
            ASSERT_TRUE(
                ip(in + "addr add 10.77.0." + std::to_string(i + 1) + "/24 dev " + cable_[i]));
            ASSERT_TRUE(ip(in + "link set " + cable_[i] + " up"));
            ASSERT_TRUE(ip(in + "link set lo up"));
        }
        // A cable that has just been plugged in carries nothing at first.
        for (const int i : {0, 1})
            ASSERT_TRUE(wait_for([&] {
                return std::system(("ip -n " + node_[i] + " link show dev " + cable_[i] +
                                    " | grep -q 'state UP'")
                                       .c_str()) == 0;
            }));
    }
    void TearDown() override {
        service_.reset();
        client_.reset();
        for (const std::string& node : node_)
            if (!node.empty()) ip("netns del " + node);
        PortTest::TearDown();
    }
    static bool ip(const std::string& words) {
        return std::system(("ip " + words + " 2>/dev/null").c_str()) == 0;
    }
    std::unique_ptr<Child> start(int node, std::vector<std::string> words) {
        return std::make_unique<Child>(
            words, output(node), std::vector<std::string>{"ip", "netns", "exec", node_[node]});
    }
    std::string output(int node) const { return directory_ + "/output" + std::to_string(node); }
    /// Bytes that the cable has carried to a node.
    std::uint64_t received(int node) const {
        const std::string path = directory_ + "/bytes";
        const std::string command = "ip netns exec " + node_[node] + " cat /sys/class/net/" +
                                    cable_[node] + "/statistics/rx_bytes > " + path;
        EXPECT_EQ(std::system(command.c_str()), 0);
        std::uint64_t bytes = 0;
        std::ifstream(path) >> bytes;
        return bytes;
    }
    static bool wait_for(const std::function<bool()>& done) {
        for (int i = 0; i < 3000; ++i) {
            if (done()) return true;
            ::usleep(10000);
        }
        return false;
    }
    // Up to where they are connected.
    void connect(const std::string& what, const std::string& number) {
        service_ = start(0, {"listen", "tcp:10.77.0.1:4711", secret_, "sink", "heartbeat_s=0.2",
                             "silence_s=1.5"});
        ASSERT_TRUE(wait_for([&] { return service_->output().ends_with("\n"); }))
            << service_->output();
        client_ = start(1, {"connect", "tcp:10.77.0.1:4711", secret_, what, number, "bytes=100000",
                            "heartbeat_s=0.2", "silence_s=1.5"});
        ASSERT_TRUE(wait_for([&] {
            return service_->output().find("connected") != std::string::npos;
        })) << service_->output()
            << client_->output();
    }

    std::string node_[2], cable_[2];
    std::unique_ptr<Child> service_, client_;
};

TEST_F(TwoNodes, talk_over_the_cable) {
    const std::uint64_t before = received(0);
    ASSERT_NO_FATAL_FAILURE(connect("send", "200"));
    ASSERT_TRUE(wait_for([&] { return client_->ended(); }));
    EXPECT_EQ(client_->output(), "connected peer\nlost \n") << "closed, and all handed over";
    EXPECT_GE(received(0) - before, 200u * 100000u);
    EXPECT_NE(service_->output().find("has closed the connection"), std::string::npos);
}

TEST_F(TwoNodes, notice_a_cut_cable_on_both_sides) {
    for (const std::string what : {"sink", "flood"}) {
        ASSERT_NO_FATAL_FAILURE(connect(what, "2000000"));
        // Shorter than the limit: nothing happens.
        ASSERT_TRUE(ip("-n " + node_[0] + " link set " + cable_[0] + " down"));
        ::usleep(500000);
        ASSERT_TRUE(ip("-n " + node_[0] + " link set " + cable_[0] + " up"));
        ::usleep(3000000);
        EXPECT_EQ(client_->output(), "connected peer\n");
        EXPECT_EQ(service_->output().find("lost"), std::string::npos) << service_->output();
        ASSERT_TRUE(ip("-n " + node_[0] + " link set " + cable_[0] + " down"));
        EXPECT_TRUE(wait_for([&] {
            return client_->ended() && service_->output().find("lost") != std::string::npos;
        })) << client_->output()
            << service_->output();
        ASSERT_TRUE(ip("-n " + node_[0] + " link set " + cable_[0] + " up"));
        for (const auto& text : {client_->output(), service_->output()})
            EXPECT_NE(text.find("no sign of life"), std::string::npos) << text;
        // The service goes on.
        client_ = start(1, {"connect", "tcp:10.77.0.1:4711", secret_, "send", "5"});
        EXPECT_TRUE(wait_for([&] { return client_->ended(); }));
        EXPECT_EQ(client_->output(), "connected peer\nlost \n");
        service_.reset();
    }
}

}  // namespace
}  // namespace caesura::transit
