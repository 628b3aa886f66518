#include "transit/port/outbox.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace caesura::transit {
namespace {

// Pieces smaller than this are copied together: a part of its own costs a round trip.
constexpr std::uint64_t k_gather_bytes = 64 << 10;
constexpr std::uint64_t k_gathered_bytes = 1 << 20;

}  // namespace

void Outbox::push(std::span<const std::byte> header,
                  std::span<const std::span<const std::byte>> payload, Done done) {
    auto message = std::make_shared<Message>();
    message->header.assign(header.begin(), header.end());
    for (const auto& piece : payload)
        if (!piece.empty()) message->payload.push_back(piece);
    for (const auto& piece : message->payload) message->total += piece.size();
    message->done = std::move(done);
    pending_bytes_ += message->total;
    queue_.push_back(std::move(message));
    pump();
}

void Outbox::push_good_bye() {
    queue_.push_back(std::make_shared<Message>());
    queue_.back()->good_bye = true;
    pump();
}

std::vector<std::byte> Outbox::make_beat() {
    return encode({PacketKind::beat, token_, next_beat_++, 0, 0}, {}, {}, sealing_);
}

bool Outbox::may_send(bool large, std::uint64_t bytes) const {
    if (large && large_in_flight_ >= Window::parts) return false;
    if (in_flight_.empty()) return true;
    // What the receiver may have to hold: all behind the oldest packet that it may not have.
    const auto& [number, oldest] = *in_flight_.begin();
    return next_ - number < Window::packets &&
           eager_sent_ + bytes - oldest.eager_before <= Window::eager_bytes;
}

void Outbox::pump() {
    if (pumping_) return;
    pumping_ = true;
    while (!queue_.empty() && !failed_) {
        const Message& message = *queue_.front();
        const bool large = message.total > eager_bytes_;
        const std::uint64_t eager =
            message.header.size() + k_around_header_bytes + (large ? 0 : message.total);
        if (!may_send(large, eager)) break;
        send_next();
    }
    pumping_ = false;
}

// Step by step through the pieces; small neighbours become one part.
std::span<const std::byte> Outbox::next_part(Message& message, std::uint64_t limit,
                                             std::vector<std::byte>& gathered) {
    const auto rest = [&] { return message.payload[message.piece].subspan(message.piece_at); };
    const auto advance = [&](std::uint64_t bytes) {
        message.piece_at += bytes;
        message.sent += bytes;
        if (message.piece_at < message.payload[message.piece].size()) return;
        ++message.piece;
        message.piece_at = 0;
    };
    const auto first = rest();
    if (message.payload.size() == 1 || first.size() >= k_gather_bytes) {
        const auto part = first.first(std::min<std::uint64_t>(first.size(), limit));
        advance(part.size());
        return part;
    }
    const std::uint64_t most = std::min(limit, k_gathered_bytes);
    while (message.piece < message.payload.size() && gathered.size() < most) {
        const auto piece = rest();
        const auto bytes = std::min<std::uint64_t>(piece.size(), most - gathered.size());
        gathered.insert(gathered.end(), piece.begin(),
                        piece.begin() + static_cast<std::ptrdiff_t>(bytes));
        advance(bytes);
    }
    return gathered;
}

void Outbox::send_next() {
    const std::shared_ptr<Message> message = queue_.front();
    const bool large = message->total > eager_bytes_;
    Head head{PacketKind::whole, token_, next_++, message->total, 0};
    std::span<const std::byte> header = message->header;
    if (message->good_bye) head.kind = PacketKind::good_bye;
    if (large) head.kind = message->sent == 0 ? PacketKind::begin : PacketKind::part;
    if (head.kind == PacketKind::part) {
        head.total = 0;
        header = {};
    }
    std::vector<std::byte> owned;
    std::span<const std::byte> data;
    if (large) {
        data = next_part(*message, Window::part_bytes, owned);
    } else if (message->total > 0) {
        for (const auto& piece : message->payload)
            owned.insert(owned.end(), piece.begin(), piece.end());
        data = owned;
        message->sent = message->total;
    }
    head.data_bytes = data.size();
    const std::uint64_t eager = header.size() + k_around_header_bytes + (large ? 0 : data.size());
    if (message->sent == message->total) queue_.pop_front();
    ++message->on_their_way;
    in_flight_[head.number] = {message, eager, eager_sent_, large};
    eager_sent_ += eager;
    eager_in_flight_ += eager;
    if (large) ++large_in_flight_;
    auto bytes = encode(head, header, data, sealing_);
    sink_.transmit(head.number, std::move(bytes), std::move(owned), data, large);
}

void Outbox::completed(std::uint64_t number, const Status& status) {
    const auto found = in_flight_.find(number);
    if (found == in_flight_.end()) return;
    const std::shared_ptr<Message> message = found->second.message;
    eager_in_flight_ -= found->second.bytes;
    if (found->second.large) --large_in_flight_;
    in_flight_.erase(found);
    --message->on_their_way;
    if (!status.ok() && message->status.ok()) message->status = status;
    if (message->on_their_way == 0 && (failed_ || message->sent == message->total))
        finish(*message);
    pump();
}

void Outbox::finish(Message& message) {
    pending_bytes_ -= message.total;
    if (const Done done = std::exchange(message.done, {})) done(message.status);
}

void Outbox::fail(const Status& status) {
    failed_ = true;
    const auto queue = std::exchange(queue_, {});
    for (const auto& message : queue) {
        if (message->status.ok()) message->status = status;
        if (message->on_their_way == 0) finish(*message);
    }
}

}  // namespace caesura::transit
