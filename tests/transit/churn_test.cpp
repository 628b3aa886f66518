// Goal: peers come and go, by themselves or killed, and nothing of them stays: no descriptor, no
// memory, no file, no shared segment. CAESURA_TRANSIT_CONNECTS says how many (10000 for the
// record).
#include <signal.h>

#include <cstdlib>
#include <sstream>

#include "transit/test_ports.hpp"

namespace caesura::transit {
namespace {

// A sanitizer keeps what was given back, for a while.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool k_counts_memory = false;
#else
constexpr bool k_counts_memory = true;
#endif

class Churn : public PairTest {
  protected:
    static std::uint64_t connects() {
        const char* text = std::getenv("CAESURA_TRANSIT_CONNECTS");
        return text != nullptr ? std::strtoull(text, nullptr, 10) : 300;
    }
    static std::size_t entries(const std::string& directory) {
        std::error_code error;
        std::size_t n = 0;
        for ([[maybe_unused]] const auto& entry :
             std::filesystem::directory_iterator(directory, error))
            ++n;
        return n;
    }
    /// System V segments that this process has made, or one that is gone: those of other programs
    /// that run meanwhile do not count.
    static std::size_t segments() {
        std::ifstream file("/proc/sysvipc/shm");
        std::string line;
        std::getline(file, line);  // the heading
        std::size_t n = 0;
        while (std::getline(file, line)) {
            std::istringstream words(line);
            std::string skipped;
            pid_t creator = 0;
            words >> skipped >> skipped >> skipped >> skipped >> creator;
            n += creator == ::getpid() || ::kill(creator, 0) != 0;
        }
        return n;
    }
    void wait_for(Port& port, Child& child) {
        ASSERT_TRUE(run(
            {&port}, [&] { return child.ended() && port.peers() == 0; }, 600.0))
            << child.output() << port.peers();
    }
};
INSTANTIATE_TEST_SUITE_P(Transit, Churn,
                         ::testing::Values(Address::Kind::local, Address::Kind::tcp), name_of_kind);

TEST_P(Churn, leaves_nothing_behind) {
    PortHandler heard;  // keeps nothing
    const auto port = make(options(), heard);
    const auto place = port->listen(address(GetParam()));
    ASSERT_TRUE(place.ok()) << place.status().message();
    const std::uint64_t n = connects();
    const auto come_and_go = [&](std::uint64_t times) {
        Child child({"connect", place->text(), secret_, "come_and_go", std::to_string(times)},
                    directory_ + "/output");
        wait_for(*port, child);
        EXPECT_EQ(child.output(), "");
    };
    come_and_go(n / 10);  // what UCX allocates once
    const std::size_t descriptors = open_descriptors(), files = entries(directory_);
    const long before = resident_kib();
    come_and_go(n);
    const long after = resident_kib();
    std::printf("%llu connects: %ld KiB before, %ld KiB after\n",
                static_cast<unsigned long long>(n), before, after);
    EXPECT_EQ(port->counts().connected, n + n / 10);
    EXPECT_EQ(port->counts().lost, n + n / 10);
    EXPECT_EQ(open_descriptors(), descriptors);
    EXPECT_EQ(entries(directory_), files);
    // 0.5 KiB a connection would be 5 MiB of 10000.
    if (k_counts_memory) {
        EXPECT_LT(after - before, 2048 + static_cast<long>(n) / 4);
    }
}

TEST_P(Churn, of_killed_peers_leaves_nothing_behind) {
    Recorder heard;
    heard.keep_payloads = false;
    const auto port = make(options(), heard);
    const auto place = port->listen(address(GetParam()));
    ASSERT_TRUE(place.ok()) << place.status().message();
    std::size_t descriptors = 0, shared = 0;
    long before = 0;
    const int n = static_cast<int>(connects() / 10);
    for (int i = 0; i < 5 + n; ++i) {
        if (i == 5) {
            descriptors = open_descriptors();
            before = resident_kib();
            shared = segments();
        }
        Child child({"connect", place->text(), secret_, "flood", "6000000"},
                    directory_ + "/output");
        const std::size_t messages = heard.messages.size();
        ASSERT_TRUE(run({port.get()}, [&] { return heard.messages.size() > messages; }))
            << child.output();
        for (int k = 0; k < i % 7; ++k) port->run_once(0.0);
        child.kill();
        ASSERT_TRUE(run({port.get()}, [&] { return port->peers() == 0; })) << i;
    }
    const long after = resident_kib();
    std::printf("%d kills: %ld KiB before, %ld KiB after\n", n, before, after);
    EXPECT_EQ(open_descriptors(), descriptors);
    EXPECT_LE(segments(), shared + 2);  // other programs of this user may run
    if (k_counts_memory) {
        EXPECT_LT(after - before, 8192 + n * 16l);
    }
}

}  // namespace
}  // namespace caesura::transit
