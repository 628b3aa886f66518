// A peer in a process of its own, for tests and measurements: it can be killed, stopped, or run in
// another network namespace.
//
//     transit_peer connect|listen ADDRESS SECRET|- WHAT [NUMBER] [OPTION=VALUE ...]
//
// WHAT: echo (send back what comes), flood (send messages of NUMBER bytes without end), sink (take
// what comes), come_and_go (connect and close, NUMBER times), send (NUMBER messages of 1000 bytes,
// then close). OPTION: bytes=, identity=, heartbeat_s=, silence_s=, trusted=1, spin_s=, devices=.
// It prints one line when it is ready, and one why it lost its peer; it ends then, unless it
// listens.
#include <fmt/format.h>

#include <cstdlib>
#include <deque>
#include <map>

#include "transit/port/port.hpp"

namespace caesura::transit {
namespace {

struct Options {
    std::string what;
    std::uint64_t number = 0;
    std::uint64_t bytes = 1000;
    PortOptions port;
};

class Peer final : public PortHandler {
  public:
    explicit Peer(const Options& options) : options_(options) {}

    Port* port = nullptr;
    bool over = false;
    std::uint64_t gone = 0;

    void on_connected(PeerId peer, const Who& who) override {
        if (options_.what != "come_and_go") say(fmt::format("connected {}", who.identity));
        if (options_.what == "flood") {
            data_.assign(options_.number, std::byte{7});
            for (int i = 0; i < 3; ++i) flood(peer);
        } else if (options_.what == "come_and_go") {
            port->close(peer);
        } else if (options_.what == "send") {
            data_.assign(options_.bytes, std::byte{9});
            const std::span<const std::byte> piece = data_;
            for (std::uint64_t i = 0; i < options_.number; ++i)
                (void)port->send(peer, std::as_bytes(std::span(&i, 1)), {&piece, 1});
            port->close(peer);
        }
    }
    std::span<std::byte> room_for(PeerId peer, std::span<const std::byte>,
                                  std::uint64_t bytes) override {
        return rooms_[peer].emplace_back(bytes);
    }
    void on_message(PeerId peer, std::span<const std::byte> header,
                    std::span<const std::byte> payload) override {
        auto& rooms = rooms_[peer];
        std::vector<std::byte> mine(payload.begin(), payload.end());
        if (!rooms.empty() && rooms.front().data() == payload.data()) {
            mine = std::move(rooms.front());
            rooms.pop_front();
        }
        if (options_.what != "echo") return;
        const auto kept = std::make_shared<std::vector<std::byte>>(std::move(mine));
        const std::span<const std::byte> piece = *kept;
        (void)port->send(peer, header, {&piece, 1}, [kept](const Status&) {});
    }
    void on_lost(PeerId peer, const Status& why) override {
        rooms_.erase(peer);
        ++gone;
        if (options_.what == "come_and_go" && why.ok()) return;
        say(fmt::format("lost {}", why.message()));
        over = true;
    }
    static void say(const std::string& line) {
        fmt::print("{}\n", line);
        (void)std::fflush(stdout);
    }

  private:
    void flood(PeerId peer) {
        const std::span<const std::byte> piece = data_;
        (void)port->send(peer, {}, {&piece, 1}, [this, peer](const Status& status) {
            if (status.ok()) flood(peer);
        });
    }
    Options options_;
    std::vector<std::byte> data_;
    std::map<PeerId, std::deque<std::vector<std::byte>>> rooms_;
};

bool read_option(Options& options, const std::string& word) {
    const std::size_t at = word.find('=');
    const std::string name = word.substr(0, at), value = word.substr(at + 1);
    if (at == std::string::npos)
        options.number = std::strtoull(word.c_str(), nullptr, 10);
    else if (name == "bytes")
        options.bytes = std::strtoull(value.c_str(), nullptr, 10);
    else if (name == "identity")
        options.port.identity = value;
    else if (name == "heartbeat_s")
        options.port.heartbeat_s = std::strtod(value.c_str(), nullptr);
    else if (name == "silence_s")
        options.port.silence_s = std::strtod(value.c_str(), nullptr);
    else if (name == "trusted")
        options.port.trusted_network = value == "1";
    else if (name == "spin_s")
        options.port.spin_s = std::strtod(value.c_str(), nullptr);
    else if (name == "devices")
        options.port.network_devices = value;
    else
        return false;
    return true;
}

int come_and_go(Port& port, Peer& peer, const Address& address, std::uint64_t times) {
    for (std::uint64_t i = 0; i < times && !peer.over; ++i) {
        if (const auto id = port.connect(address); !id.ok()) {
            Peer::say("lost " + id.status().message());
            return 1;
        }
        while (peer.gone <= i) port.run_once(1.0);
    }
    return peer.over ? 1 : 0;
}

int run(int argc, char** argv) {
    (void)::setenv("UCX_TCP_CM_REUSEADDR", "y", 0);  // the next one may have the same port
    Options options;
    const std::string side = argv[1];
    options.port.identity = "peer";
    if (std::string(argv[3]) != "-") options.port.secret_path = argv[3];
    options.port.connects_per_s = 1e6;
    options.what = argv[4];
    for (int i = 5; i < argc; ++i)
        if (!read_option(options, argv[i])) return 2;
    const auto address = Address::parse(argv[2]);
    Peer peer(options);
    auto port = Port::make(options.port, peer);
    if (!address.ok() || !port.ok()) {
        Peer::say((address.ok() ? port.status() : address.status()).message());
        return 2;
    }
    peer.port = port->get();
    if (side == "connect" && options.what == "come_and_go")
        return come_and_go(**port, peer, *address, options.number);
    Status status;
    if (side == "listen") {
        const auto place = (*port)->listen(*address);
        status = place.status();
        if (place.ok()) Peer::say(place->text());
    } else {
        status = (*port)->connect(*address).status();
    }
    if (!status.ok()) Peer::say("lost " + status.message());
    while (status.ok() && (side == "listen" || !peer.over)) (*port)->run_once(1.0);
    return 0;
}

}  // namespace
}  // namespace caesura::transit

int main(int argc, char** argv) { return argc < 5 ? 2 : caesura::transit::run(argc, argv); }
