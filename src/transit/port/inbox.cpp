#include "transit/port/inbox.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace caesura::transit {
Status Inbox::failed(Status status) {
    drop();
    return status;
}

void Inbox::drop() {
    stopped_ = true;
    for (auto& [number, arrival] : early_)
        if (arrival.waiting.handle != nullptr) sink_.leave(arrival.waiting);
    early_.clear();
    // The messages stay: one of them may be in the hands of on_message().
}

Status Inbox::arrived(Arrival&& arrival) {
    const Waiting waiting = arrival.waiting;
    const auto leave = [&](Status status) {
        if (waiting.handle != nullptr) sink_.leave(waiting);
        return failed(std::move(status));
    };
    if (stopped_) {
        if (waiting.handle != nullptr) sink_.leave(waiting);
        return {};
    }
    const std::uint64_t bytes = waiting.handle != nullptr ? waiting.bytes : arrival.data().size();
    const auto decoded = decode(arrival.head(), bytes, sealing_);
    if (!decoded.ok()) return leave(decoded.status());
    const Head& head = decoded->head;
    if (head.kind == PacketKind::beat) {
        if (waiting.handle != nullptr) return leave(bad_packet("a heartbeat with data"));
        return beat(*decoded);
    }
    if (head.number < next_ || early_.contains(head.number))
        return leave(bad_packet(fmt::format("packet {} has come again", head.number)));
    if (head.number > next_) {
        Status status = hold(head.number, std::move(arrival));
        return status.ok() ? status : leave(std::move(status));
    }
    if (Status status = take(std::move(arrival), *decoded); !status.ok())
        return leave(std::move(status));
    // What it held up: checked when it came, but for what depends on its turn.
    while (!stopped_ && !early_.empty() && early_.begin()->first == next_) {
        Arrival next = std::move(early_.begin()->second);
        early_.erase(early_.begin());
        held_bytes_ -= next.bytes.size();
        const Waiting behind = next.waiting;
        const auto again = decode(
            next.head(), behind.handle != nullptr ? behind.bytes : next.data().size(), sealing_);
        Status status = again.ok() ? take(std::move(next), *again) : again.status();
        if (!status.ok() && behind.handle != nullptr) sink_.leave(behind);
        if (!status.ok()) return failed(std::move(status));
    }
    hand_on();
    return {};
}

Status Inbox::beat(const Decoded& decoded) {
    if (decoded.head.number < next_beat_ || decoded.head.data_bytes != 0)
        return failed(bad_packet(fmt::format("heartbeat {} has come again", decoded.head.number)));
    next_beat_ = decoded.head.number + 1;
    return {};
}

Status Inbox::hold(std::uint64_t number, Arrival&& arrival) {
    if (number - next_ > Window::packets || held_packets() >= 2 * Window::packets ||
        held_bytes_ + arrival.bytes.size() > 2 * Window::eager_bytes)
        return bad_packet(fmt::format(
            "packet {} came while {} was waited for: more than the window", number, next_));
    held_bytes_ += arrival.bytes.size();
    early_.emplace(number, std::move(arrival));
    return {};
}

Status Inbox::take(Arrival&& arrival, const Decoded& decoded) {
    const Head& head = decoded.head;
    if (said_good_bye_) return bad_packet("a packet after the last one");
    if (decoded.header.size() > limits_.header_bytes)
        return {StatusCode::no_space,
                fmt::format("a message with a header of {} bytes; the limit is {}",
                            decoded.header.size(), limits_.header_bytes)};
    if (head.total > limits_.payload_bytes)
        return {StatusCode::no_space,
                fmt::format("a message of {} bytes is announced; the limit is {}", head.total,
                            limits_.payload_bytes)};
    if (held_packets() >= 2 * Window::packets)
        return bad_packet(fmt::format("{} messages behind one that is on its way", held_packets()));
    const bool open = !messages_.empty() && messages_.back().begun < messages_.back().total;
    if (open != (head.kind == PacketKind::part))
        return bad_packet(fmt::format("packet {} is out of turn", head.number));
    ++next_;
    if (head.kind == PacketKind::part) return take_part(arrival.waiting, decoded);
    if (head.kind == PacketKind::begin) return take_begin(std::move(arrival), decoded);
    return take_whole(std::move(arrival), decoded);
}

Status Inbox::take_whole(Arrival&& arrival, const Decoded& decoded) {
    const Head& head = decoded.head;
    if (arrival.waiting.handle != nullptr || head.total != head.data_bytes)
        return bad_packet(fmt::format("packet {} is not as small as it says", head.number));
    if (!data_fits(head.number, arrival.data(), decoded.data_tag, sealing_))
        return bad_packet(fmt::format("the data of packet {} are not the peer's own", head.number));
    if (held_bytes_ + arrival.bytes.size() > 2 * Window::eager_bytes)
        return bad_packet(fmt::format("{} bytes behind a message that is on its way", held_bytes_));
    Message message;
    message.header.assign(decoded.header.begin(), decoded.header.end());
    message.good_bye = head.kind == PacketKind::good_bye;
    message.first = head.number;
    said_good_bye_ = message.good_bye;
    held_bytes_ += arrival.bytes.size();
    message.whole = std::move(arrival);
    messages_.push_back(std::move(message));
    return {};
}

Status Inbox::take_begin(Arrival&& arrival, const Decoded& decoded) {
    const Head& head = decoded.head;
    if (arrival.waiting.handle == nullptr || head.total == 0)
        return bad_packet(fmt::format("packet {} is not as large as it says", head.number));
    Message message;
    message.header.assign(decoded.header.begin(), decoded.header.end());
    message.total = head.total;
    message.first = head.number;
    message.room = sink_.room_for(message.header, head.total);
    if (stopped_) {  // the sink has closed the connection instead
        sink_.leave(arrival.waiting);
        return {};
    }
    if (message.room.size() < head.total)
        return {StatusCode::no_space, fmt::format("a message of {} bytes was refused", head.total)};
    messages_.push_back(std::move(message));
    return take_part(arrival.waiting, decoded);
}

Status Inbox::take_part(const Waiting& waiting, const Decoded& decoded) {
    const Head& head = decoded.head;
    Message& message = messages_.back();
    if (waiting.handle == nullptr || head.data_bytes == 0 || head.data_bytes > Window::part_bytes ||
        head.data_bytes > message.total - message.begun)
        return bad_packet(fmt::format("a part of {} bytes, {} of {} have come", head.data_bytes,
                                      message.begun, message.total));
    Part part{message.room.subspan(message.begun, head.data_bytes), {}};
    std::copy(decoded.data_tag.begin(), decoded.data_tag.end(), part.tag.begin());
    message.begun += head.data_bytes;
    parts_.emplace(head.number, part);
    sink_.fetch(head.number, waiting, part.target);
    return {};
}

Status Inbox::fetched(std::uint64_t number) {
    const auto found = parts_.find(number);
    if (found == parts_.end() || stopped_) return {};
    const Part part = found->second;
    parts_.erase(found);
    if (!data_fits(number, part.target, part.tag, sealing_))
        return failed(
            bad_packet(fmt::format("the data of packet {} are not the peer's own", number)));
    // The last message that began before it: it is among the few that are on their way.
    for (auto message = messages_.rbegin(); message != messages_.rend(); ++message)
        if (message->first <= number) {
            message->came += part.target.size();
            break;
        }
    hand_on();
    return {};
}

void Inbox::hand_on() {
    // fetched() from inside fetch(), or a call of the sink that brings us here again.
    if (handing_on_) return;
    handing_on_ = true;
    while (!stopped_ && !messages_.empty() && messages_.front().complete()) {
        Message& message = messages_.front();
        if (message.good_bye) {
            sink_.on_good_bye();
            stopped_ = true;
            break;
        }
        held_bytes_ -= message.whole.bytes.size();
        sink_.on_message(message.header,
                         message.total > 0
                             ? std::span<const std::byte>(message.room).first(message.total)
                             : message.whole.data());
        messages_.pop_front();
    }
    handing_on_ = false;
}

}  // namespace caesura::transit
