// The life of a peer, after the hand-shake.
#include <fmt/format.h>

#include <algorithm>

#include "base/invalid.hpp"
#include "transit/port/port_core.hpp"

namespace caesura::transit {

Port::Core::Peer& Port::Core::add(Address::Kind kind, Stage stage) {
    const PeerId id = ++last_id_;
    auto peer = std::make_unique<Peer>(*this, id);
    peer->stage = stage;
    peer->who.kind = kind;
    peer->deadline_s = now_s() + options_.hand_shake_s;
    fill_with_random(peer->mine);
    return *(peers_[id] = std::move(peer));
}

std::string Port::Core::no_room() const {
    if (peers_.size() < options_.connections) return {};
    return fmt::format("it has {} connections already", peers_.size());
}

bool Port::Core::may_let_in() {
    const double now = now_s(), most = std::max(1.0, options_.connects_per_s);
    allowance_ = std::min(most, allowance_ + (now - allowance_s_) * options_.connects_per_s);
    allowance_s_ = now;
    return allowance_ >= 1.0 && half_open_ < options_.half_open;
}

void Port::Core::open_peer(Peer& peer) {
    peer.stage = Stage::open;
    if (peer.counted_half_open) --half_open_;
    peer.counted_half_open = false;
    peer.outbox =
        std::make_unique<Outbox>(peer.theirs, peer.outgoing(), options_.eager_bytes, peer);
    peer.inbox = std::make_unique<Inbox>(
        Inbox::Limits{options_.header_bytes, options_.payload_bytes}, peer.incoming(), peer);
    peer.heard_s = now_s();
    peer.said_s = peer.heard_s - options_.heartbeat_s;  // the first beat goes at once
    peer.known = true;
    ++counts_.connected;
    handler_->on_connected(peer.id, peer.who);
    for (Arrival& arrival : std::exchange(peer.early, {})) on_packet(peer, std::move(arrival));
}

void Port::Core::lose(Peer& peer, Status why) {
    if (peer.stage == Stage::ending) return;
    const bool had_opened = peer.outbox != nullptr;
    if (!had_opened && peer.who.asked) ++counts_.unproved;
    if (had_opened) ++counts_.lost;
    peer.stage = Stage::ending;
    peer.why = why.ok() ? why : why.with_context(peer.name());
    if (peer.counted_half_open) --half_open_;
    peer.counted_half_open = false;
    if (peer.socket.is_open()) unwatch(peer.socket.get());
    peer.socket.close();
    // UCX wants back what it holds while the link still stands.
    for (const Arrival& arrival : peer.early)
        if (arrival.waiting.handle != nullptr) peer.fabric->leave(arrival.waiting);
    peer.early.clear();
    if (peer.inbox) peer.inbox->drop();
    if (peer.fabric && peer.fabric->has_link())
        peer.fabric->close();
    else
        finish_later_.push_back(peer.id);
    if (peer.outbox)
        peer.outbox->fail(peer.why.ok() ? Status(StatusCode::cancelled, "the connection is closed")
                                        : peer.why);
}

void Port::Core::finish(Peer& peer) {
    if (!finished_.insert(peer.id).second) return;
    if (peer.known) handler_->on_lost(peer.id, peer.why);
}

void Port::Core::sweep() {
    for (const PeerId id : std::exchange(finish_later_, {}))
        if (Peer* peer = find(id)) finish(*peer);
    for (const PeerId id : std::exchange(finished_, {})) {
        if (const Fabric* fabric = peers_.at(id)->fabric.get()) {
            unwatch(fabric->descriptor());
            std::erase_if(fabrics_, [id](const Served& served) { return served.id == id; });
        }
        peers_.erase(id);
    }
}

// --------------------------------------------------------------------------- the port's calls

Result<PeerId> Port::Core::connect(const Address& address) {
    if (const std::string full = no_room(); !full.empty())
        return Status{StatusCode::no_space, fmt::format("port: {}: {}", address.text(), full)};
    return address.kind == Address::Kind::local ? connect_local_port(address)
                                                : connect_tcp(address);
}

Result<Address> Port::Core::listen(const Address& address) {
    return address.kind == Address::Kind::local ? listen_local(address) : listen_tcp(address);
}

Status Port::Core::send(PeerId id, std::span<const std::byte> header,
                        std::span<const std::span<const std::byte>> payload, Done done) {
    Peer* peer = find(id);
    std::uint64_t bytes = 0;
    for (const auto& piece : payload) bytes += piece.size();
    Status status;
    if (peer == nullptr || peer->stage != Stage::open)
        status = base::invalid(fmt::format("port: peer {} is not connected", id));
    else if (header.size() > options_.header_bytes)
        status = base::invalid(fmt::format("port: a header of {} bytes; the limit is {}",
                                           header.size(), options_.header_bytes));
    else if (bytes > options_.payload_bytes)
        status = base::invalid(fmt::format("port: a payload of {} bytes; the limit is {}", bytes,
                                           options_.payload_bytes));
    if (!status.ok()) {
        if (done) done(status);
        return status;
    }
    ++counts_.messages_out;
    counts_.bytes_out += bytes;
    peer->outbox->push(header, payload, std::move(done));
    return {};
}

void Port::Core::close(PeerId id) {
    Peer* peer = find(id);
    if (peer == nullptr || peer->stage == Stage::leaving) return;
    if (peer->stage != Stage::open) return lose(*peer, {});
    peer->stage = Stage::leaving;
    peer->deadline_s = now_s() + options_.close_s;
    peer->inbox->drop();
    peer->outbox->push_good_bye();
}

void Port::Core::drop(PeerId id, Status why) {
    if (Peer* peer = find(id)) lose(*peer, std::move(why));
}

std::uint64_t Port::Core::pending_bytes(PeerId id) const {
    const Peer* peer = find(id);
    return peer != nullptr && peer->outbox ? peer->outbox->pending_bytes() : 0;
}

std::string Port::Core::describe(PeerId id) const {
    const Peer* peer = find(id);
    return peer != nullptr && peer->fabric ? peer->fabric->describe() : "";
}

// --------------------------------------------------------------------------- a peer's own

std::string Port::Core::Peer::name() const {
    if (who.identity.empty()) return who.address;
    return fmt::format("{} at {}", who.identity, who.address);
}

Sealing Port::Core::Peer::outgoing() const {
    return {seal_out ? &*seal_out : nullptr, !core.options_.trusted_network};
}

Sealing Port::Core::Peer::incoming() const {
    return {seal_in ? &*seal_in : nullptr, !core.options_.trusted_network};
}

std::span<std::byte> Port::Core::Peer::room_for(std::span<const std::byte> header,
                                                std::uint64_t bytes) {
    return core.handler_->room_for(id, header, bytes);
}

void Port::Core::Peer::on_message(std::span<const std::byte> header,
                                  std::span<const std::byte> payload) {
    ++core.counts_.messages_in;
    core.counts_.bytes_in += payload.size();
    core.handler_->on_message(id, header, payload);
}

void Port::Core::Peer::fetch(std::uint64_t number, const Waiting& waiting,
                             std::span<std::byte> target) {
    if (fabric->has_link())
        fabric->fetch(number, waiting, target);
    else
        fabric->leave(waiting);
}

void Port::Core::Peer::leave(const Waiting& waiting) { fabric->leave(waiting); }

void Port::Core::Peer::on_good_bye() {
    core.lose(*this, {StatusCode::cancelled, "has closed the connection"});
}

void Port::Core::Peer::transmit(std::uint64_t number, std::vector<std::byte>&& head,
                                std::vector<std::byte>&& owned, std::span<const std::byte> data,
                                bool large) {
    fabric->send(Fabric::Channel::packet, {number, std::move(head), std::move(owned), data, large});
}

}  // namespace caesura::transit
