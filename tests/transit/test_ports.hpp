// Ports and those who listen to them, for tests.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "transit/port/port.hpp"

namespace caesura::transit {

inline std::vector<std::byte> bytes_of_seed(std::size_t n, std::uint64_t seed) {
    std::vector<std::byte> bytes(n);
    std::uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
    for (std::size_t i = 0; i < n; i += 8) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        for (std::size_t k = 0; k < 8 && i + k < n; ++k)
            bytes[i + k] = static_cast<std::byte>(state >> (8 * k));
    }
    return bytes;
}

inline std::span<const std::byte> as_header(std::string_view text) {
    return std::as_bytes(std::span(text));
}

/// Keeps what it hears.
class Recorder : public PortHandler {
  public:
    struct Message {
        PeerId peer;
        std::string header;
        std::vector<std::byte> payload;
    };
    std::deque<Message> messages;
    std::map<PeerId, Who> connected;
    std::map<PeerId, Status> lost;
    std::map<PeerId, std::deque<std::vector<std::byte>>> rooms;
    bool refuse = false;
    bool keep_payloads = true;
    std::function<void(PeerId)> heard = {};

    void on_connected(PeerId peer, const Who& who) override {
        EXPECT_FALSE(connected.contains(peer));
        connected[peer] = who;
    }
    std::span<std::byte> room_for(PeerId peer, std::span<const std::byte>,
                                  std::uint64_t bytes) override {
        EXPECT_FALSE(lost.contains(peer));
        if (refuse) return {};
        return rooms[peer].emplace_back(bytes);
    }
    void on_message(PeerId peer, std::span<const std::byte> header,
                    std::span<const std::byte> payload) override {
        EXPECT_TRUE(connected.contains(peer));
        EXPECT_FALSE(lost.contains(peer));
        auto& theirs = rooms[peer];
        const bool large = !theirs.empty() && theirs.front().data() == payload.data();
        Message message{peer, {reinterpret_cast<const char*>(header.data()), header.size()}, {}};
        if (keep_payloads && large)
            message.payload = std::move(theirs.front());
        else if (keep_payloads)
            message.payload.assign(payload.begin(), payload.end());
        if (large) theirs.pop_front();
        messages.push_back(std::move(message));
        if (heard) heard(peer);
    }
    void on_lost(PeerId peer, const Status& why) override {
        EXPECT_FALSE(lost.contains(peer)) << "lost twice";
        lost[peer] = why;
        rooms.erase(peer);
    }
};

/// `transit_peer` in a process of its own; killed in the end.
class Child {
  public:
    explicit Child(const std::vector<std::string>& words, const std::string& output,
                   const std::vector<std::string>& before = {},
                   const std::string& program = CAESURA_TRANSIT_PEER) {
        std::vector<std::string> all = before;
        if (!program.empty()) all.push_back(program);
        all.insert(all.end(), words.begin(), words.end());
        std::vector<char*> argv;
        for (std::string& word : all) argv.push_back(word.data());
        argv.push_back(nullptr);
        output_ = output;
        const int file = ::open(output.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
        process_ = ::fork();
        if (process_ == 0) {
            ::dup2(file, 1);
            ::dup2(file, 2);
            ::execvp(argv[0], argv.data());
            ::_exit(127);
        }
        ::close(file);
    }
    ~Child() { kill(); }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    pid_t process() const { return process_; }
    void signal(int number) const { ::kill(process_, number); }
    void kill() {
        if (process_ <= 0) return;
        signal(SIGKILL);
        wait();
    }
    int wait() {
        int status = 0;
        while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
        }
        process_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    bool ended() {
        int status = 0;
        if (process_ > 0 && ::waitpid(process_, &status, WNOHANG) == process_) process_ = -1;
        return process_ <= 0;
    }
    /// All that it has printed.
    std::string output() const {
        std::ifstream file(output_);
        return {std::istreambuf_iterator<char>(file), {}};
    }

  private:
    pid_t process_ = -1;
    std::string output_;
};

/// Of this process, in KiB; without what malloc keeps for later.
inline long resident_kib() {
    ::malloc_trim(0);
    std::ifstream file("/proc/self/statm");
    long all = 0, resident = 0;
    file >> all >> resident;
    return resident * (::sysconf(_SC_PAGESIZE) / 1024);
}

inline std::size_t open_descriptors() {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
        ++n;
    return n;
}

/// A directory of one test, with a secret in it.
class PortTest : public ::testing::Test {
  protected:
    void SetUp() override {
        directory_ = ::testing::TempDir() + "caesura_port_" + std::to_string(::getpid()) + "_" +
                     std::to_string(number_++);
        std::filesystem::create_directories(directory_);
        secret_ = write_secret("secret", std::string(64, 's'));
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    std::string write_secret(const std::string& name, const std::string& text) const {
        const std::string path = directory_ + "/" + name;
        std::ofstream(path) << text;
        EXPECT_EQ(::chmod(path.c_str(), 0600), 0);
        return path;
    }
    PortOptions options() const {
        PortOptions options;
        options.identity = "test";
        options.secret_path = secret_;
        options.connects_per_s = 1e6;
        return options;
    }
    Address address(Address::Kind kind) const {
        if (kind == Address::Kind::tcp) return *Address::parse("tcp:127.0.0.1:0");
        return *Address::parse("unix:" + directory_ + "/socket");
    }
    static std::unique_ptr<Port> make(PortOptions options, PortHandler& handler) {
        auto port = Port::make(std::move(options), handler);
        EXPECT_TRUE(port.ok()) << port.status().message();
        return port.ok() ? std::move(*port) : nullptr;
    }
    /// Run the ports in turn until `done`, at most so many seconds.
    template <class Done>
    static bool run(std::initializer_list<Port*> ports, Done done, double limit_s = 300.0) {
        const auto begin = std::chrono::steady_clock::now();
        while (!done()) {
            for (Port* port : ports) port->run_once(ports.size() == 1 ? 0.01 : 0.0);
            const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
            if (passed.count() > limit_s) return false;
        }
        return true;
    }

    std::string directory_, secret_;

  private:
    static inline int number_ = 0;
};

/// Two ports of this process that are connected.
struct Pair {
    Recorder service_heard, client_heard;
    std::unique_ptr<Port> service, client;
    PeerId at_service = 0, at_client = 0;

    // Both say good-bye, which takes both.
    ~Pair() {
        if (client) client->close(at_client);
        if (service) service->close(at_service);
        for (int i = 0; i < 1000 && client && service; ++i) {
            if (client->peers() + service->peers() == 0) break;
            client->run_once(0.0);
            service->run_once(0.0);
        }
    }
};

class PairTest : public PortTest, public ::testing::WithParamInterface<Address::Kind> {
  protected:
    void connect(Pair& pair, PortOptions service, PortOptions client) const {
        pair.service = make(std::move(service), pair.service_heard);
        const auto place = pair.service->listen(address(GetParam()));
        ASSERT_TRUE(place.ok()) << place.status().message();
        pair.client = make(std::move(client), pair.client_heard);
        const auto peer = pair.client->connect(*place);
        ASSERT_TRUE(peer.ok()) << peer.status().message();
        pair.at_client = *peer;
        const bool met = run({pair.service.get(), pair.client.get()}, [&] {
            return (pair.client_heard.connected.contains(*peer) &&
                    !pair.service_heard.connected.empty()) ||
                   pair.client_heard.lost.contains(*peer);
        });
        ASSERT_TRUE(met);
        ASSERT_TRUE(pair.client_heard.connected.contains(*peer))
            << pair.client_heard.lost[*peer].message();
        pair.at_service = pair.service_heard.connected.begin()->first;
    }
    void connect(Pair& pair) const { connect(pair, options(), options()); }
};

inline std::string name_of_kind(const ::testing::TestParamInfo<Address::Kind>& info) {
    return info.param == Address::Kind::local ? "local" : "tcp";
}

}  // namespace caesura::transit
