// How strangers become peers: over the UNIX socket, and over UCX's listener.
#include <fmt/format.h>
#include <netdb.h>

#include <algorithm>
#include <cstring>

#include "base/invalid.hpp"
#include "transit/port/port_core.hpp"

namespace caesura::transit {
namespace {

// In the operator's file, and behind a client's address.
constexpr char k_needs_secret[] = ": tcp needs a secret: the same secret=FILE on both sides";

struct Place {
    sockaddr_storage address{};
    socklen_t bytes = 0;
};

// IPv4 first, as UCX prefers it too.
Result<Place> look_up(const Address& address, bool to_listen) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | (to_listen ? AI_PASSIVE : 0);
    addrinfo* list = nullptr;
    const int error =
        ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
    if (error != 0)
        return base::invalid(fmt::format("{}: {}", address.text(), ::gai_strerror(error)));
    const addrinfo* best = list;
    for (const addrinfo* one = list; one != nullptr; one = one->ai_next)
        if (one->ai_family == AF_INET) {
            best = one;
            break;
        }
    Place place;
    place.bytes = std::min<socklen_t>(best->ai_addrlen, sizeof place.address);
    std::memcpy(&place.address, best->ai_addr, place.bytes);
    ::freeaddrinfo(list);
    return place;
}

}  // namespace

// --------------------------------------------------------------------------- inside a node

Result<Address> Port::Core::listen_local(const Address& address) {
    if (local_) return base::invalid("port: it listens at unix:" + local_->path() + " already");
    if (auto node = context(Address::Kind::local); !node.ok()) return node.status();
    auto listener = LocalListener::listen(address.path, options_.socket_mode);
    if (!listener.ok()) return listener.status();
    local_.emplace(std::move(*listener));
    local_watched_ = watch(local_->descriptor(), k_local_tag);
    return address;
}

Result<PeerId> Port::Core::connect_local_port(const Address& address) {
    if (auto node = context(Address::Kind::local); !node.ok()) return node.status();
    auto socket = connect_local(address.path);
    if (!socket.ok()) return socket.status();
    Peer& peer = add(Address::Kind::local, Stage::reaching);
    peer.known = true;
    peer.where = address;
    peer.who.address = address.text();
    peer.socket = std::move(*socket);
    if (peer.socket.is_open()) reach(peer);
    return peer.id;
}

// The socket is connected, or tries again.
void Port::Core::reach(Peer& peer) {
    if (!peer.socket.is_open()) {
        auto socket = connect_local(peer.where.path);
        if (!socket.ok()) return lose(peer, socket.status());
        if (!socket->is_open()) return;
        peer.socket = std::move(*socket);
    }
    const auto greeting = own_greeting(peer);
    if (!greeting.ok()) return lose(peer, greeting.status());
    if (Status status = send_packet(peer.socket, greeting->encode()); !status.ok()) {
        // Turned away already: it may have said why.
        if (auto said = receive_packet(peer.socket, Greeting::k_max_bytes); said.ok() && *said)
            if (const auto refusal = Greeting::decode(**said);
                refusal.ok() && !refusal->refused.empty())
                return hear_greeting(peer, *refusal);
        return lose(peer, std::move(status));
    }
    if (!watch(peer.socket.get(), socket_tag(peer.id)))
        return lose(peer, {StatusCode::io, fmt::format("epoll: {}", std::strerror(errno))});
    peer.stage = Stage::greeting;
}

Result<Greeting> Port::Core::own_greeting(Peer& peer) {
    auto fabric = make_fabric(Address::Kind::local, peer.id);
    if (!fabric.ok()) return fabric.status();
    peer.fabric = std::move(*fabric);
    auto worker = peer.fabric->worker_address();
    if (!worker.ok()) return worker.status();
    return Greeting{peer.mine, options_.identity, std::move(*worker), {}};
}

void Port::Core::turn_away(Descriptor& socket, const std::string& reason) {
    ++counts_.turned_away;
    // It hears why if it can; that it does not is its own affair.
    (void)send_packet(socket, Greeting{{}, options_.identity, {}, reason}.encode());
}

void Port::Core::accept_local() {
    while (may_let_in()) {
        auto socket = local_->accept();
        // No descriptor is free: its socket stays where it is until one is.
        if (!socket.ok()) {
            listen_again_s_ = now_s() + k_listen_again_s;
            break;
        }
        if (!socket->is_open()) return;
        allowance_ -= 1.0;
        const auto credentials = credentials_of(*socket);
        if (!credentials.ok()) continue;
        if (const std::string full = no_room(); !full.empty()) {
            turn_away(*socket, full);
            continue;
        }
        const uid_t user = credentials->user;
        if (!options_.other_users && user != 0 && user != ::geteuid()) {
            turn_away(*socket,
                      fmt::format("it serves user {} only, not user {}", ::geteuid(), user));
            continue;
        }
        Who who;
        who.asked = true;
        who.user = user;
        who.process = credentials->process;
        who.address = fmt::format("unix:{}, process {}", local_->path(), who.process);
        if (options_.may_come)
            if (const Status status = options_.may_come(who); !status.ok()) {
                turn_away(*socket, status.message());
                continue;
            }
        Peer& peer = add(Address::Kind::local, Stage::greeting);
        peer.who = who;
        peer.socket = std::move(*socket);
        peer.counted_half_open = true;
        ++half_open_;
        if (!watch(peer.socket.get(), socket_tag(peer.id)))
            lose(peer, {StatusCode::io, fmt::format("epoll: {}", std::strerror(errno))});
    }
    // Enough for now: those who knock wait in the kernel.
    unwatch(local_->descriptor());
    local_watched_ = false;
}

void Port::Core::on_socket(Peer& peer) {
    if (peer.stage == Stage::ending || !peer.socket.is_open()) return;
    auto packet = receive_packet(peer.socket, Greeting::k_max_bytes);
    if (packet.ok() && !*packet) return;
    if (!packet.ok() && peer.stage != Stage::greeting) {
        // What it has sent before it went is in its shared memory.
        work();
        if (peer.stage == Stage::leaving && peer.outbox->idle()) return lose(peer, {});
    }
    if (!packet.ok()) return lose(peer, packet.status());
    if (peer.stage != Stage::greeting)
        return lose(peer, {StatusCode::corrupt, "a second greeting"});
    const auto greeting = Greeting::decode(**packet);
    if (!greeting.ok()) return lose(peer, greeting.status());
    hear_greeting(peer, *greeting);
}

void Port::Core::hear_greeting(Peer& peer, const Greeting& greeting) {
    if (!greeting.refused.empty())
        return lose(peer, {StatusCode::io, "the service refuses: " + greeting.refused});
    if (greeting.worker.empty())
        return lose(peer, {StatusCode::corrupt, "a greeting without UCX's address"});
    peer.theirs = greeting.token;
    peer.who.identity = greeting.identity;
    std::optional<Greeting> answer;
    if (peer.who.asked) {
        auto made = own_greeting(peer);
        if (!made.ok()) {
            turn_away(peer.socket, made.status().message());
            return lose(peer, made.status());
        }
        answer = std::move(*made);
    } else if (const auto service = credentials_of(peer.socket); service.ok()) {
        peer.who.user = service->user;
        peer.who.process = service->process;
    }
    if (Status status = peer.fabric->connect(greeting.worker); !status.ok())
        return lose(peer, std::move(status));
    if (answer)
        if (Status status = send_packet(peer.socket, answer->encode()); !status.ok())
            return lose(peer, std::move(status));
    open_peer(peer);
}

// --------------------------------------------------------------------------- between nodes

Result<Address> Port::Core::listen_tcp(const Address& address) {
    if (tcp_) return base::invalid("port: it listens at a tcp address already");
    if (!secret_) return base::invalid(address.text() + k_needs_secret);
    const auto place = look_up(address, true);
    if (!place.ok()) return place.status();
    auto fabric = make_fabric(Address::Kind::tcp, 0);
    if (!fabric.ok()) return fabric.status();
    const auto port = (*fabric)->listen(place->address, place->bytes);
    if (!port.ok()) {
        fabrics_.pop_back();
        unwatch((*fabric)->descriptor());
        return port.status().with_context(address.text());
    }
    tcp_ = std::move(*fabric);
    Address bound = address;
    bound.port = *port;
    return bound;
}

Status Port::Core::start_hand_shake(Peer& peer, HandShake::Role role) {
    auto fabric = make_fabric(Address::Kind::tcp, peer.id);
    if (!fabric.ok()) return fabric.status();
    peer.fabric = std::move(*fabric);
    peer.hand_shake.emplace(role,
                            HandShake::Self{*secret_, options_.identity, options_.trusted_network});
    peer.mine = peer.hand_shake->own_token();
    return {};
}

Result<PeerId> Port::Core::connect_tcp(const Address& address) {
    if (!secret_) return base::invalid(address.text() + k_needs_secret);
    const auto place = look_up(address, false);
    if (!place.ok()) return place.status();
    Peer& peer = add(Address::Kind::tcp, Stage::greeting);
    peer.where = address;
    peer.who.address = address.text();
    Status status = start_hand_shake(peer, HandShake::Role::asks);
    if (status.ok()) status = peer.fabric->connect(place->address, place->bytes);
    if (!status.ok()) {
        lose(peer, status);
        return status.with_context(address.text());
    }
    peer.known = true;
    greet(peer, peer.hand_shake->hello());
    return peer.id;
}

void Port::Core::on_asked(const Fabric::Event& event) {
    if (!may_let_in() || !no_room().empty()) {
        ++counts_.turned_away;
        return tcp_->reject(event.request);
    }
    allowance_ -= 1.0;
    Peer& peer = add(Address::Kind::tcp, Stage::greeting);
    peer.who.asked = true;
    peer.who.address = event.from;
    peer.counted_half_open = true;
    ++half_open_;
    if (Status status = start_hand_shake(peer, HandShake::Role::answers); !status.ok()) {
        tcp_->reject(event.request);
        return lose(peer, std::move(status));
    }
    if (Status status = peer.fabric->accept(event.request); !status.ok())
        lose(peer, std::move(status));
}

void Port::Core::greet(Peer& peer, std::vector<std::byte>&& message) {
    peer.fabric->send(Fabric::Channel::greeting, {k_greeting_number, std::move(message)});
}

void Port::Core::on_greeting(Peer& peer, std::span<const std::byte> message) {
    const bool for_us =
        HandShake::is_hello(message) || HandShake::receiver_of(message) == peer.mine;
    if (!for_us || peer.stage != Stage::greeting || !peer.hand_shake || peer.refused) {
        ++counts_.strays;
        return;
    }
    if (const auto reason = HandShake::refusal_in(message); reason && !peer.who.asked)
        return lose(peer, {StatusCode::io, "the service refuses: " + *reason});
    auto answer = peer.hand_shake->answer(message);
    peer.theirs = peer.hand_shake->other_token();
    if (!answer.ok()) {
        if (!peer.who.asked) return lose(peer, answer.status());
        // It hears why, and goes by itself or when its time is over.
        peer.refused = true;
        peer.deadline_s = std::min(peer.deadline_s, now_s() + k_refusal_s);
        return greet(peer, HandShake::refuse(peer.theirs, answer.status().message()));
    }
    if (!answer->empty()) greet(peer, std::move(*answer));
    if (!peer.hand_shake->done()) return;
    peer.who.identity = peer.hand_shake->other_identity();
    peer.seal_out = peer.hand_shake->outgoing();
    peer.seal_in = peer.hand_shake->incoming();
    peer.hand_shake.reset();
    open_peer(peer);
}

}  // namespace caesura::transit
