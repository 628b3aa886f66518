// What goes to one peer: messages in, packets out.
//
// Invariants:
//  - Packets are handed out in the order of their numbers, and never more than Window allows the
//    receiver to hold. A packet that has to wait, waits here: headers are kept, payloads stay
//    the caller's.
//  - Every message's `done` is called once: when the payload is no longer needed, or with an error.
//
// Not thread-safe. Knows neither sockets nor UCX.
#pragma once

#include <deque>
#include <functional>
#include <map>

#include "transit/port/packet.hpp"

namespace caesura::transit {

class Outbox {
  public:
    using Done = std::function<void(const Status&)>;
    class Sink {
      public:
        virtual ~Sink() = default;
        /// Send it; completed(number) comes later, or from inside this call.
        /// @param owned  becomes the sink's; `data` may lie in it.
        /// @param large  the receiver fetches it; else it goes along with the head.
        virtual void transmit(std::uint64_t number, std::vector<std::byte>&& head,
                              std::vector<std::byte>&& owned, std::span<const std::byte> data,
                              bool large) = 0;
    };

    /// @param eager_bytes  a payload of at most so many goes in one packet.
    Outbox(const Token& token, const Sealing& sealing, std::uint64_t eager_bytes, Sink& sink)
        : token_(token), sealing_(sealing), eager_bytes_(eager_bytes), sink_(sink) {}
    Outbox(const Outbox&) = delete;
    Outbox& operator=(const Outbox&) = delete;

    /// Queue a message, and send what may be sent.
    /// @param payload  its bytes must live until `done`; pieces of any size.
    void push(std::span<const std::byte> header,
              std::span<const std::span<const std::byte>> payload, Done done);
    /// Nothing comes after it.
    void push_good_bye();
    /// Packet `number` is no longer needed here.
    void completed(std::uint64_t number, const Status& status);
    /// What has not been sent never will; those on their way end by completed().
    void fail(const Status& status);
    /// Is everything done?
    bool idle() const { return queue_.empty() && in_flight_.empty(); }
    /// Bytes of payload that were pushed and are not done.
    std::uint64_t pending_bytes() const { return pending_bytes_; }
    std::vector<std::byte> make_beat();

  private:
    struct Message {
        std::vector<std::byte> header;
        std::vector<std::span<const std::byte>> payload;
        std::uint64_t total = 0, sent = 0;
        std::size_t piece = 0;       ///< the next bytes lie in this one ...
        std::uint64_t piece_at = 0;  ///< ... from here on
        std::size_t on_their_way = 0;
        Status status{};
        Done done;
        bool good_bye = false;
    };
    struct Packet {
        std::shared_ptr<Message> message;
        std::uint64_t bytes = 0;
        std::uint64_t eager_before = 0;
        bool large = false;
    };
    bool may_send(bool large, std::uint64_t bytes) const;
    void pump();
    void send_next();
    std::span<const std::byte> next_part(Message& message, std::uint64_t limit,
                                         std::vector<std::byte>& gathered);
    void finish(Message& message);

    Token token_;
    Sealing sealing_;
    std::uint64_t eager_bytes_;
    Sink& sink_;
    std::deque<std::shared_ptr<Message>> queue_;
    std::map<std::uint64_t, Packet> in_flight_;  ///< by number
    std::size_t large_in_flight_ = 0;
    std::uint64_t next_ = 0, next_beat_ = 0;
    std::uint64_t eager_sent_ = 0;       ///< bytes, ever
    std::uint64_t eager_in_flight_ = 0;  ///< bytes
    std::uint64_t pending_bytes_ = 0;
    bool pumping_ = false, failed_ = false;
};

}  // namespace caesura::transit
