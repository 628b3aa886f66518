#include "transit/service/service_port.hpp"

#include <fmt/format.h>

#include <cstring>

#include "transit/envelope.hpp"

namespace caesura::transit {
namespace {

// What a message takes beside its bytes.
constexpr std::uint64_t k_message_bytes = 1024;

}  // namespace

Result<std::unique_ptr<ServicePort>> ServicePort::make(const ServiceOptions& service,
                                                       PortOptions options, Admission admission) {
    std::unique_ptr<ServicePort> made(new ServicePort(std::move(admission)));
    options.silence_s = service.lease_s;
    // Whoever may write nowhere is told so before he is let in further.
    options.may_come = [may = made->admission_](const Who& who) { return may(who).status(); };
    auto port = Port::make(std::move(options), *made);
    if (!port.ok()) return port.status();
    made->port_ = std::move(*port);
    Replies& replies = *made;
    std::unique_ptr<Spool> spool;
    if (!service.sink.empty()) {
        auto opened = Spool::make(service.sink, service.sink_bytes);
        if (!opened.ok()) return opened.status();
        spool = std::move(*opened);
    }
    made->service_ = std::make_unique<Service>(service, replies, std::move(spool));
    return made;
}

bool ServicePort::run_once(double timeout_s) {
    const bool any = port_->run_once(timeout_s);
    service_->turned(base::Clock::steady().now_s());
    return any;
}

// Lanes say what they have to say to a port that is still there.
ServicePort::~ServicePort() { service_.reset(); }

void ServicePort::drain() {
    if (std::exchange(draining_, true)) return;
    for (const auto& [peer, client] : clients_) send_now(peer, Draining{}, {});
}

void ServicePort::on_connected(PeerId peer, const Who& who) {
    auto permit =
        draining_ ? Status(StatusCode::cancelled, "the service is about to end") : admission_(who);
    if (!permit.ok()) {
        send_now(peer, Refusal{permit.status()}, {});
        port_->close(peer);
        return;
    }
    clients_[peer].most_bytes = permit->credits_bytes + service_->largest_message_bytes();
    service_->connected(peer, std::move(*permit));
}

std::span<std::byte> ServicePort::room_for(PeerId peer, std::span<const std::byte>,
                                           std::uint64_t payload_bytes) {
    const auto found = clients_.find(peer);
    if (found == clients_.end()) return {};
    Client& client = found->second;
    // One block may be larger than all credits: then it is the only one.
    const std::uint64_t held_bytes = client.held_bytes->load();
    const bool fits = held_bytes + payload_bytes <= client.most_bytes;
    if (!fits && (held_bytes > 0 || payload_bytes > service_->largest_message_bytes())) return {};
    auto buffer = pool_.take(payload_bytes);
    if (!buffer.ok()) return {};
    client.held_bytes->fetch_add(payload_bytes);
    const std::span<std::byte> bytes = buffer->bytes();
    client.rooms[bytes.data()] = std::move(*buffer);
    return bytes;
}

void ServicePort::on_message(PeerId peer, std::span<const std::byte> header,
                             std::span<const std::byte> payload) {
    const auto found = clients_.find(peer);
    if (found == clients_.end()) return;
    Client& client = found->second;
    const auto letter = unwrap(header, payload);
    if (!letter.ok()) return port_->drop(peer, letter.status());
    base::Buffer values;
    auto room = client.rooms.extract(payload.data());
    const std::uint64_t bytes = header.size() + payload.size() + k_message_bytes;
    client.held_bytes->fetch_add(room ? bytes - payload.size() : bytes);
    const std::shared_ptr<void> held(
        nullptr, [counter = client.held_bytes, bytes](void*) { counter->fetch_sub(bytes); });
    if (client.held_bytes->load() > client.most_bytes + bytes)
        return port_->drop(
            peer, {StatusCode::no_space,
                   fmt::format("more than {} bytes wait to be handled", client.most_bytes)});
    if (room && letter->payload.data() == payload.data()) {
        values = std::move(room.mapped());
    } else if (!letter->payload.empty()) {
        auto copy = pool_.take(letter->payload.size());
        if (!copy.ok()) return port_->drop(peer, copy.status());
        std::memcpy(copy->data(), letter->payload.data(), letter->payload.size());
        values = std::move(*copy);
    }
    service_->message(peer, letter->message, std::move(values), held);
}

void ServicePort::on_lost(PeerId peer, const Status&) {
    clients_.erase(peer);
    service_->lost(peer);
}

// --------------------------------------------------------------------------------- replies

void ServicePort::send(ClientId client, const ServiceMessage& message, base::Buffer payload) {
    // A function must be copyable, and a buffer has one owner.
    auto held = std::make_shared<base::Buffer>(std::move(payload));
    port_->post([this, client, message, held] { send_now(client, message, std::move(*held)); });
}

void ServicePort::drop(ClientId client, const Status& why) {
    port_->post([this, client, why] {
        if (!clients_.contains(client)) return;
        send_now(client, Refusal{why}, {});
        port_->close(client);
    });
}

void ServicePort::send_now(PeerId peer, const ServiceMessage& message, base::Buffer payload) {
    auto bytes = encode(message);
    if (!bytes.ok()) return port_->drop(peer, bytes.status());
    const auto found = clients_.find(peer);
    const std::uint64_t unfetched = port_->pending_bytes(peer) + payload.size() + bytes->size();
    if (found != clients_.end() && unfetched > found->second.most_bytes)
        return port_->drop(peer, {StatusCode::no_space,
                                  fmt::format("it does not fetch its answers: {} bytes wait, more "
                                              "than {}",
                                              unfetched, found->second.most_bytes)});
    struct Letter {
        Envelope envelope;
        base::Buffer payload;
    };
    auto letter = std::make_shared<Letter>(
        Letter{wrap(std::move(*bytes), port_->max_header_bytes()), std::move(payload)});
    std::vector<std::span<const std::byte>> parts;
    if (!letter->envelope.lead.empty()) parts.emplace_back(letter->envelope.lead);
    if (letter->payload.size() > 0) parts.push_back(std::as_const(letter->payload).bytes());
    (void)port_->send(peer, letter->envelope.head, parts, [letter](const Status&) {});
}

}  // namespace caesura::transit
