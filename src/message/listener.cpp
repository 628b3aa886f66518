#include <fcntl.h>
#include <poll.h>
#include <sodium.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include "base/no_signals.hpp"
#include "message/packet.hpp"
#include "message/socket.hpp"

namespace caesura::message {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto k_patience = std::chrono::seconds(5);  // with one that has connected

}  // namespace

struct Listener::State {
    /// One that has connected from another node, and what it has said so far.
    struct Peer {
        base::Descriptor socket;
        Packet packet{};
        std::size_t bytes = 0;
        Clock::time_point until;
    };
    Address address;
    Heard heard;
    base::Descriptor stop, local, internet;
    std::vector<Peer> peers;
    std::thread thread;

    Status open_local();
    void open_internet();
    void loop();
    void read_local();
    void accept_peers();
    bool read_peer(Peer& peer);
};

Status Listener::State::open_local() {
    local = new_socket(AF_UNIX, SOCK_DGRAM);
    stop = base::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    const SocketAddress own = local_address(address);
    if (stop.is_open() && local.is_open() && ::bind(local.get(), own.get(), own.bytes) == 0)
        return {};
    return {StatusCode::unsupported, "no local socket for messages"};
}

// Without it other nodes are not heard, and their files are completed at the next call.
void Listener::State::open_internet() {
    address.hosts = own_hosts();
    for (const int family : {AF_INET6, AF_INET}) {
        internet = new_socket(family, SOCK_STREAM);
        SocketAddress any = internet_address({std::uint8_t(family == AF_INET ? 4 : 6), {}}, 0);
        if (!internet.is_open() || ::bind(internet.get(), any.get(), any.bytes) != 0 ||
            ::listen(internet.get(), SOMAXCONN) != 0 ||
            ::getsockname(internet.get(), reinterpret_cast<sockaddr*>(&any.storage), &any.bytes) !=
                0)
            continue;
        // Both kinds of addresses have the port at the same place.
        const auto& port = reinterpret_cast<const std::uint8_t*>(&any.storage) + 2;
        address.port = static_cast<std::uint16_t>(port[0] << 8 | port[1]);
        return;
    }
    internet.close();
}

void Listener::State::read_local() {
    for (;;) {
        Packet packet{};
        const auto bytes = ::recv(local.get(), packet.data(), packet.size(), MSG_DONTWAIT);
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes < 0) return;
        if (bytes != static_cast<ssize_t>(packet.size())) continue;
        if (const auto news = decode(address, packet)) heard(*news);
    }
}

void Listener::State::accept_peers() {
    while (peers.size() < k_most_peers) {
        base::Descriptor socket(
            ::accept4(internet.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket.is_open()) return;
        peers.push_back({std::move(socket), {}, 0, Clock::now() + k_patience});
    }
}

/// @return  is there more to come?
bool Listener::State::read_peer(Peer& peer) {
    const auto bytes = ::recv(peer.socket.get(), peer.packet.data() + peer.bytes,
                              peer.packet.size() - peer.bytes, MSG_DONTWAIT);
    if (bytes < 0) return errno == EAGAIN || errno == EINTR;
    if (bytes == 0) return false;
    peer.bytes += static_cast<std::size_t>(bytes);
    if (peer.bytes < peer.packet.size()) return true;
    if (const auto news = decode(address, peer.packet)) {
        heard(*news);
        const std::byte answer{1};
        (void)::send(peer.socket.get(), &answer, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    return false;
}

void Listener::State::loop() {
    for (;;) {
        std::vector<pollfd> all{{stop.get(), POLLIN, 0}, {local.get(), POLLIN, 0}};
        const bool accepts = internet.is_open() && peers.size() < k_most_peers;
        all.push_back({accepts ? internet.get() : -1, POLLIN, 0});
        for (const Peer& peer : peers) all.push_back({peer.socket.get(), POLLIN, 0});
        const int timeout_ms = peers.empty() ? -1 : 1000;
        if (::poll(all.data(), all.size(), timeout_ms) < 0 && errno != EINTR) return;
        if ((all[0].revents & POLLIN) != 0) return;
        read_local();
        const auto now = Clock::now();
        std::erase_if(peers, [&](Peer& peer) { return !read_peer(peer) || now > peer.until; });
        if (accepts) accept_peers();
    }
}

Listener::Listener(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Listener>> Listener::open(bool beyond_node, Heard heard) try {
    if (Status status = prepare_cryptography(); !status.ok()) return status;
    auto state = std::make_unique<State>();
    state->heard = std::move(heard);
    randombytes_buf(state->address.key.data(), state->address.key.size());
    randombytes_buf(state->address.name.data(), state->address.name.size());
    if (Status status = state->open_local(); !status.ok()) return status;
    if (beyond_node) state->open_internet();
    const base::NoSignals no_signals;
    state->thread = std::thread([live = state.get()] { live->loop(); });
    return std::unique_ptr<Listener>(new Listener(std::move(state)));
} catch (const std::bad_alloc&) {
    return Status{StatusCode::no_space, "out of memory for messages"};
} catch (const std::system_error&) {
    return Status{StatusCode::unsupported, "no thread for messages"};
}

Listener::~Listener() {
    const std::uint64_t one = 1;
    (void)!::write(state_->stop.get(), &one, sizeof one);
    state_->thread.join();
}

const Address& Listener::address() const { return state_->address; }

}  // namespace caesura::message
