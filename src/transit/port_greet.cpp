// How strangers become peers: over the UNIX socket, and over UCX's listener.
#include <fmt/format.h>
#include <netdb.h>

#include <algorithm>
#include <cstring>

#include "base/invalid.hpp"
#include "transit/port_core.hpp"

namespace caesura::transit {
namespace {

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
    auto fabric = make_fabric(Address::Kind::local, fabric_tag(peer.id));
    if (!fabric.ok()) return fabric.status();
    peer.own_fabric = std::move(*fabric);
    peer.fabric = peer.own_fabric.get();
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
        // No descriptor is free: its socket stays where it is until one is, or the next check.
        if (!socket.ok()) break;
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
        Peer& peer = add(Address::Kind::local, Stage::greeting);
        peer.who.asked = true;
        peer.who.user = user;
        peer.who.process = credentials->process;
        peer.who.address = fmt::format("unix:{}, process {}", local_->path(), peer.who.process);
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
    peer.theirs = greeting.token;
    peer.who.identity = greeting.identity;
    std::optional<Greeting> answer;
    if (peer.who.asked) {
        auto made = own_greeting(peer);
        if (!made.ok()) return lose(peer, made.status());
        answer = std::move(*made);
    } else if (const auto service = credentials_of(peer.socket); service.ok()) {
        peer.who.user = service->user;
        peer.who.process = service->process;
    }
    auto link = peer.fabric->connect(greeting.worker, peer.id);
    if (!link.ok()) return lose(peer, link.status());
    peer.link = *link;
    if (answer)
        if (Status status = send_packet(peer.socket, answer->encode()); !status.ok())
            return lose(peer, std::move(status));
    open_peer(peer);
}

// --------------------------------------------------------------------------- between nodes

Result<Address> Port::Core::listen_tcp(const Address& address) {
    if (network_listens_) return base::invalid("port: it listens at a tcp address already");
    if (!secret_)
        return base::invalid(fmt::format("{}: tcp needs a secret (secret_path)", address.text()));
    const auto place = look_up(address, true);
    if (!place.ok()) return place.status();
    auto fabric = network();
    if (!fabric.ok()) return fabric.status();
    const auto port = (*fabric)->listen(place->address, place->bytes);
    if (!port.ok()) return port.status().with_context(address.text());
    network_listens_ = true;
    Address bound = address;
    bound.port = *port;
    return bound;
}

Result<PeerId> Port::Core::connect_tcp(const Address& address) {
    if (!secret_)
        return base::invalid(fmt::format("{}: tcp needs a secret (secret_path)", address.text()));
    const auto place = look_up(address, false);
    if (!place.ok()) return place.status();
    auto fabric = network();
    if (!fabric.ok()) return fabric.status();
    Peer& peer = add(Address::Kind::tcp, Stage::greeting);
    peer.fabric = *fabric;
    peer.where = address;
    peer.who.address = address.text();
    auto link = peer.fabric->connect(place->address, place->bytes, peer.id);
    if (!link.ok()) {
        lose(peer, link.status());
        return link.status().with_context(address.text());
    }
    peer.link = *link;
    peer.known = true;
    peer.hand_shake.emplace(HandShake::Role::asks,
                            HandShake::Self{*secret_, options_.identity, options_.trusted_network});
    by_token_.erase(peer.mine);
    peer.mine = peer.hand_shake->own_token();
    by_token_[peer.mine] = peer.id;
    greet(peer, peer.hand_shake->hello(), true);
    return peer.id;
}

void Port::Core::on_asked(Fabric& fabric, const Fabric::Event& event) {
    if (!may_let_in() || !no_room().empty()) {
        ++counts_.turned_away;
        return fabric.reject(event.request);
    }
    allowance_ -= 1.0;
    Peer& peer = add(Address::Kind::tcp, Stage::greeting);
    peer.fabric = &fabric;
    peer.who.asked = true;
    peer.who.address = event.from;
    peer.counted_half_open = true;
    ++half_open_;
    peer.hand_shake.emplace(HandShake::Role::answers,
                            HandShake::Self{*secret_, options_.identity, options_.trusted_network});
    by_token_.erase(peer.mine);
    peer.mine = peer.hand_shake->own_token();
    by_token_[peer.mine] = peer.id;
    auto link = fabric.accept(event.request, peer.id);
    if (!link.ok()) return lose(peer, link.status());
    peer.link = *link;
}

void Port::Core::greet(Peer& peer, std::vector<std::byte>&& message, bool reply) {
    Fabric::Outgoing outgoing;
    outgoing.number = k_greeting_number;
    outgoing.head = std::move(message);
    outgoing.reply = reply;
    peer.fabric->send(peer.link, Fabric::Channel::greeting, std::move(outgoing));
}

void Port::Core::on_greeting(Fabric& fabric, Fabric::Event& event) {
    if (event.arrival.waiting.handle != nullptr) fabric.leave(event.arrival.waiting);
    const auto message = event.arrival.head();
    // A hello has come by the link that it asks for; what follows carries the token we gave.
    Peer* peer =
        HandShake::is_hello(message) ? find(event.peer) : find(HandShake::receiver_of(message));
    if (peer == nullptr || peer->fabric != &fabric || peer->stage != Stage::greeting ||
        !peer->hand_shake || peer->refused) {
        ++counts_.strays;
        return;
    }
    if (const auto reason = HandShake::refusal_in(message); reason && !peer->who.asked)
        return lose(*peer, {StatusCode::io, "the service refuses: " + *reason});
    auto answer = peer->hand_shake->answer(message);
    peer->theirs = peer->hand_shake->other_token();
    if (!answer.ok()) {
        if (!peer->who.asked) return lose(*peer, answer.status());
        // It hears why, and goes by itself or when its time is over.
        peer->refused = true;
        peer->deadline_s = std::min(peer->deadline_s, now_s() + k_refusal_s);
        return greet(*peer, HandShake::refuse(peer->theirs, answer.status().message()), false);
    }
    if (!answer->empty()) greet(*peer, std::move(*answer), false);
    if (!peer->hand_shake->done()) return;
    peer->who.identity = peer->hand_shake->other_identity();
    peer->seal_out = peer->hand_shake->outgoing();
    peer->seal_in = peer->hand_shake->incoming();
    peer->hand_shake.reset();
    open_peer(*peer);
}

}  // namespace caesura::transit
