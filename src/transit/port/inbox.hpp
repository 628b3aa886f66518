// What one peer sends: packets in, messages out, in the order in which they were sent.
//
// UCX keeps the order of small packets among each other, but the data of a large one come later,
// when the small ones behind it are already there. So packets are taken in the order of their
// numbers, and a message is handed on when it is complete and all before it have been handed on.
//
// Invariants:
//  - Nothing is asked of the sink and nothing is allocated by a number that the peer said before
//  the
//    packet's head has proved to be the peer's own (Sealing) and within the limits.
//  - What is held is bounded by Window, and by the rooms that the sink gave; who makes it hold more
//    has broken the protocol.
//  - A number is taken once. A packet from the past is an error: nobody honest sends one.
//  - After the first error, or drop(), the sink hears nothing more.
//
// Not thread-safe. Knows neither sockets nor UCX: tests hand packets to it.
#pragma once

#include <deque>
#include <map>

#include "transit/port/packet.hpp"

namespace caesura::transit {

/// Data that the sender still has; whoever handed it in knows how to fetch it.
struct Waiting {
    void* handle = nullptr;
    std::uint64_t bytes = 0;
};

/// One packet as it came. A packet has either `data` or something `waiting`.
struct Arrival {
    std::vector<std::byte> bytes;  ///< the head, behind it the data
    std::size_t head_bytes = 0;
    Waiting waiting{};

    std::span<const std::byte> head() const { return std::span(bytes).first(head_bytes); }
    std::span<const std::byte> data() const { return std::span(bytes).subspan(head_bytes); }
};

class Inbox {
  public:
    class Sink {
      public:
        virtual ~Sink() = default;
        /// Memory for a payload of so many bytes; less means "refused". It stays until
        /// on_message() with it has returned, or until the connection is gone.
        virtual std::span<std::byte> room_for(std::span<const std::byte> header,
                                              std::uint64_t bytes) = 0;
        virtual void on_message(std::span<const std::byte> header,
                                std::span<const std::byte> payload) = 0;
        /// Start to bring the data; fetched() comes later, or from inside this call.
        virtual void fetch(std::uint64_t number, const Waiting& waiting,
                           std::span<std::byte> target) = 0;
        /// Nobody will fetch it.
        virtual void leave(const Waiting& waiting) = 0;
        /// The peer's last word has come.
        virtual void on_good_bye() = 0;
    };
    struct Limits {
        std::uint64_t header_bytes = 0;   ///< of a message
        std::uint64_t payload_bytes = 0;  ///< of a message
    };

    Inbox(const Limits& limits, const Sealing& sealing, Sink& sink)
        : limits_(limits), sealing_(sealing), sink_(sink) {}
    ~Inbox() { drop(); }
    Inbox(const Inbox&) = delete;
    Inbox& operator=(const Inbox&) = delete;

    /// Takes it, and what it held up. The sink is called from inside.
    /// Errors, all for good: corrupt (not the peer's own, cut, replayed, out of turn, more than the
    /// window), no_space (beyond the limits, or the sink refused the room).
    Status arrived(Arrival&& arrival);
    /// The data of packet `number` have come. Errors: corrupt (tag), and as arrived().
    Status fetched(std::uint64_t number);
    /// Take nothing more.
    void drop();

    /// What it holds for a message that has not been handed on, without the rooms.
    std::uint64_t held_bytes() const { return held_bytes_; }
    std::size_t held_packets() const { return early_.size() + messages_.size(); }

  private:
    struct Part {
        std::span<std::byte> target;
        Tag tag;
    };
    struct Message {
        std::vector<std::byte> header;
        Arrival whole;              ///< a message in one packet
        std::span<std::byte> room;  ///< a message of parts
        std::uint64_t total = 0, begun = 0, came = 0;
        std::uint64_t first = 0;  ///< its first packet
        bool good_bye = false;
        bool complete() const { return came == total; }
    };
    Status beat(const Decoded& decoded);
    Status hold(std::uint64_t number, Arrival&& arrival);
    Status take(Arrival&& arrival, const Decoded& decoded);
    Status take_whole(Arrival&& arrival, const Decoded& decoded);
    Status take_begin(Arrival&& arrival, const Decoded& decoded);
    Status take_part(const Waiting& waiting, const Decoded& decoded);
    void hand_on();
    Status failed(Status status);

    Limits limits_;
    Sealing sealing_;
    Sink& sink_;
    bool stopped_ = false, said_good_bye_ = false, handing_on_ = false;
    std::uint64_t next_ = 0, next_beat_ = 0;
    std::map<std::uint64_t, Arrival> early_;  ///< by number; all beyond next_
    std::map<std::uint64_t, Part> parts_;     ///< by number; being fetched
    std::deque<Message> messages_;            ///< taken, not handed on
    std::uint64_t held_bytes_ = 0;
};

}  // namespace caesura::transit
