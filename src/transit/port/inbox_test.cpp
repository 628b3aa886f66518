// Goal: between an outbox and an inbox, messages keep their order and their bytes in whatever order
// packets and data come; what is replayed, changed, cut, reordered beyond the window or larger than
// allowed ends the connection and reaches nobody.
#include "transit/port/inbox.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "transit/port/outbox.hpp"

namespace caesura::transit {
namespace {

using Bytes = std::vector<std::byte>;

Seal seal() { return Seal(Key()); }

Bytes random_bytes(std::mt19937& random, std::size_t n) {
    Bytes bytes(n);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
}

// What is on its way: packets, and data that wait at the sender.
struct Wire : Outbox::Sink {
    struct Packet {
        std::uint64_t number = 0;
        Bytes head, data;
        bool large = false;
    };
    std::deque<Packet> packets;
    void transmit(std::uint64_t number, Bytes&& head, Bytes&&, std::span<const std::byte> data,
                  bool large) override {
        packets.push_back({number, std::move(head), {data.begin(), data.end()}, large});
    }
};

struct Reader : Inbox::Sink {
    struct Message {
        Bytes header, payload;
        friend bool operator==(const Message&, const Message&) = default;
    };
    struct Fetch {
        std::uint64_t number;
        const Wire::Packet* packet;
        std::span<std::byte> target;
    };
    std::vector<Message> messages;
    std::deque<Bytes> rooms;
    std::vector<Fetch> fetches;
    std::uint64_t left = 0, asked = 0;
    bool refuse = false, good_bye = false;

    std::span<std::byte> room_for(std::span<const std::byte>, std::uint64_t bytes) override {
        ++asked;
        if (refuse) return {};
        return rooms.emplace_back(bytes);
    }
    void on_message(std::span<const std::byte> header,
                    std::span<const std::byte> payload) override {
        messages.push_back({{header.begin(), header.end()}, {payload.begin(), payload.end()}});
    }
    void fetch(std::uint64_t number, const Waiting& waiting, std::span<std::byte> target) override {
        fetches.push_back({number, static_cast<const Wire::Packet*>(waiting.handle), target});
    }
    void leave(const Waiting&) override { ++left; }
    void on_good_bye() override { good_bye = true; }
};

Arrival arrival_of(const Wire::Packet& packet) {
    Arrival arrival;
    arrival.bytes = packet.head;
    arrival.head_bytes = packet.head.size();
    if (packet.large)
        arrival.waiting = {const_cast<Wire::Packet*>(&packet), packet.data.size()};
    else
        arrival.bytes.insert(arrival.bytes.end(), packet.data.begin(), packet.data.end());
    return arrival;
}

constexpr Inbox::Limits k_limits{1000, 100 << 20};
constexpr std::uint64_t k_eager = 1000;

class Boxes : public ::testing::TestWithParam<int> {
  protected:
    // 0: inside a node; 1: heads have tags; 2: data too
    Sealing sealing() const { return {GetParam() > 0 ? &seal_ : nullptr, GetParam() > 1}; }
    bool sealed() const { return GetParam() > 0; }
    bool data_sealed() const { return GetParam() > 1; }
    // The packets of these messages.
    std::vector<Wire::Packet> packets_of(const std::vector<Bytes>& payloads) const {
        Wire wire;
        Outbox outbox({}, sealing(), k_eager, wire);
        std::vector<Wire::Packet> all;
        for (const Bytes& payload : payloads) {
            const std::span<const std::byte> piece = payload;
            outbox.push(Bytes(10, std::byte{1}), {&piece, 1}, {});
            while (!wire.packets.empty()) {
                const std::uint64_t number = wire.packets.front().number;
                all.push_back(std::move(wire.packets.front()));
                wire.packets.pop_front();
                outbox.completed(number, {});
            }
        }
        return all;
    }
    Seal seal_ = seal();
};
INSTANTIATE_TEST_SUITE_P(Transit, Boxes, ::testing::Values(0, 1, 2));

// Neighbouring pieces of any lengths, also of none.
std::vector<std::span<const std::byte>> pieces_of(std::mt19937& random, const Bytes& bytes) {
    std::vector<std::span<const std::byte>> pieces;
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t piece =
            std::min<std::size_t>(bytes.size() - at, random() % (bytes.size() / 3 + 2));
        pieces.push_back(std::span<const std::byte>(bytes).subspan(at, piece));
        at += piece;
    }
    return pieces;
}

// Everything at random: sizes, pieces, when packets arrive, when data do, when sends are over.
TEST_P(Boxes, keep_order_and_bytes_whatever_comes_first) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    for (int round = 0; round < 4; ++round) {
        Wire wire;
        Reader reader;
        Outbox outbox({}, sealing(), k_eager, wire);
        Inbox inbox(k_limits, sealing(), reader);
        std::vector<Reader::Message> sent;
        std::deque<Bytes> kept;
        std::size_t done = 0;
        std::deque<Wire::Packet> arrived;  // deque: their places stay
        std::vector<std::size_t> coming;
        std::vector<std::uint64_t> small;
        const std::size_t n = 30;
        for (int step = 0; done < n || reader.messages.size() < n; ++step) {
            ASSERT_LT(step, 100000);
            const unsigned what = random() % 4;
            if (what == 0 && sent.size() < n) {
                const std::size_t sizes[] = {0, 1, 900, 1000, 1001, 70000, 5000000};
                const Bytes payload = random_bytes(random, sizes[random() % 7]);
                const auto pieces = pieces_of(random, kept.emplace_back(payload));
                const Bytes header = random_bytes(random, random() % 50);
                sent.push_back({header, payload});
                outbox.push(header, pieces, [&](const Status& status) {
                    EXPECT_TRUE(status.ok());
                    ++done;
                });
            }
            while (!wire.packets.empty()) {
                arrived.push_back(std::move(wire.packets.front()));
                wire.packets.pop_front();
                coming.push_back(arrived.size() - 1);
            }
            // UCX keeps the order but for a few.
            if (what == 1 && !coming.empty()) {
                const std::size_t i = random() % std::min<std::size_t>(coming.size(), 3);
                const Wire::Packet& packet = arrived[coming[i]];
                coming.erase(coming.begin() + static_cast<std::ptrdiff_t>(i));
                const Status status = inbox.arrived(arrival_of(packet));
                ASSERT_TRUE(status.ok()) << status.message();
                if (!packet.large) small.push_back(packet.number);
            }
            if (what == 2 && !reader.fetches.empty()) {
                const std::size_t i = random() % reader.fetches.size();
                const Reader::Fetch fetch = reader.fetches[i];
                reader.fetches.erase(reader.fetches.begin() + static_cast<std::ptrdiff_t>(i));
                std::copy(fetch.packet->data.begin(), fetch.packet->data.end(),
                          fetch.target.begin());
                const Status status = inbox.fetched(fetch.number);
                ASSERT_TRUE(status.ok()) << status.message();
                outbox.completed(fetch.number, {});
            }
            if (what == 3 && !small.empty()) {
                outbox.completed(small.back(), {});
                small.pop_back();
            }
            EXPECT_LE(inbox.held_packets(), Window::packets);
            EXPECT_LE(inbox.held_bytes(), Window::eager_bytes + 200 * Window::packets);
        }
        ASSERT_EQ(reader.messages.size(), sent.size());
        EXPECT_TRUE(reader.messages == sent);
        EXPECT_EQ(inbox.held_bytes(), 0u);
        EXPECT_TRUE(outbox.idle());
        EXPECT_EQ(outbox.pending_bytes(), 0u);
        EXPECT_EQ(reader.left, 0u);
    }
}

TEST_P(Boxes, take_no_packet_twice) {
    const auto packets = packets_of({Bytes(10), Bytes(2000), Bytes(5)});
    for (const std::size_t again : {0u, 1u, 2u}) {
        Reader reader;
        Inbox inbox(k_limits, sealing(), reader);
        for (const auto& packet : packets) ASSERT_TRUE(inbox.arrived(arrival_of(packet)).ok());
        const std::size_t before = reader.messages.size();
        EXPECT_EQ(inbox.arrived(arrival_of(packets[again])).code(), StatusCode::corrupt);
        EXPECT_EQ(reader.left, again == 1 ? 1u : 0u) << "what waits is given back";
        ASSERT_EQ(reader.fetches.size(), 1u);
        EXPECT_TRUE(inbox.fetched(reader.fetches[0].number).ok());
        EXPECT_EQ(reader.messages.size(), before) << "nothing after an error";
    }
    // While it is held, too.
    Reader reader;
    Inbox inbox(k_limits, sealing(), reader);
    ASSERT_TRUE(inbox.arrived(arrival_of(packets[2])).ok());
    EXPECT_EQ(inbox.arrived(arrival_of(packets[2])).code(), StatusCode::corrupt);
}

TEST_P(Boxes, notice_every_changed_or_cut_byte) {
    if (!sealed()) GTEST_SKIP() << "shared memory of one node has no tags";
    for (const bool large : {false, true}) {
        const Bytes payload(large ? 2000 : 300, std::byte{7});
        const auto packets = packets_of({payload});
        const std::size_t head = packets[0].head.size(), all = head + payload.size();
        for (std::size_t at = 0; at < all; ++at)
            for (const bool cut : {false, true}) {
                Wire::Packet packet = packets[0];
                Bytes& bytes = at < head ? packet.head : packet.data;
                const std::size_t place = at < head ? at : at - head;
                if (cut)
                    bytes.resize(place);
                else
                    bytes[place] ^= std::byte{1};
                Reader reader;
                Inbox inbox(k_limits, sealing(), reader);
                Status status = inbox.arrived(arrival_of(packet));
                if (status.ok() && !reader.fetches.empty()) {
                    std::copy(packet.data.begin(), packet.data.end(),
                              reader.fetches[0].target.begin());
                    status = inbox.fetched(reader.fetches[0].number);
                }
                const bool untagged = at >= head && !cut && !data_sealed();
                EXPECT_EQ(status.ok(), untagged) << at << (cut ? " cut" : " flipped");
                EXPECT_EQ(reader.messages.size(), untagged ? 1u : 0u);
                if (at < head) {
                    EXPECT_EQ(reader.asked, 0u) << "asked before it was sure";
                }
            }
    }
}

TEST_P(Boxes, refuse_what_is_beyond_the_limits_before_asking_for_memory) {
    const auto expect_refused = [&](const Inbox::Limits& limits, bool refuse, std::uint64_t asked) {
        Reader reader;
        reader.refuse = refuse;
        Inbox inbox(limits, sealing(), reader);
        const auto packets = packets_of({Bytes(5000)});
        EXPECT_EQ(inbox.arrived(arrival_of(packets[0])).code(), StatusCode::no_space);
        EXPECT_EQ(reader.asked, asked);
        EXPECT_EQ(reader.left, 1u);
    };
    expect_refused({1000, 4999}, false, 0);
    expect_refused({9, 5000}, false, 0);
    expect_refused({10, 5000}, true, 1);
}

TEST_P(Boxes, end_a_connection_that_makes_them_hold_more_than_the_window) {
    std::vector<Bytes> payloads(3 * Window::packets, Bytes(1));
    payloads[0] = Bytes(2000);
    const auto packets = packets_of(payloads);
    Reader reader;
    Inbox inbox(k_limits, sealing(), reader);
    std::size_t taken = 0;
    Status status;
    // Behind one that never comes.
    for (std::size_t i = 0; i < packets.size() && status.ok(); ++i, ++taken)
        status = inbox.arrived(arrival_of(packets[i]));
    EXPECT_EQ(status.code(), StatusCode::corrupt);
    EXPECT_LE(taken, 2 * Window::packets + 2);
    Reader late_reader;
    Inbox late(k_limits, sealing(), late_reader);
    EXPECT_EQ(late.arrived(arrival_of(packets[Window::packets + 2])).code(), StatusCode::corrupt);
}

// Hand-made packets of one who knows the key, and lies.
TEST_P(Boxes, end_a_connection_that_lies_about_parts) {
    const auto packet = [&](PacketKind kind, std::uint64_t number, std::uint64_t total,
                            std::size_t bytes, bool large) {
        Wire::Packet made;
        made.number = number;
        made.data = Bytes(bytes);
        made.large = large;
        made.head = encode({kind, {}, number, total, bytes}, {}, made.data, sealing());
        return made;
    };
    using K = PacketKind;
    const std::uint64_t most = Window::part_bytes;
    const std::vector<std::vector<Wire::Packet>> lies = {
        {packet(K::part, 0, 0, 10, true)},                // nothing began
        {packet(K::begin, 0, 100, 200, true)},            // more than announced
        {packet(K::begin, 0, 0, 10, true)},               // nothing announced
        {packet(K::begin, 0, 20, 10, false)},             // not by rendezvous
        {packet(K::begin, 0, 20, 0, true)},               // no bytes
        {packet(K::begin, 0, 2 * most, most + 1, true)},  // too large a part
        {packet(K::begin, 0, 20, 10, true), packet(K::part, 1, 0, 11, true)},
        {packet(K::begin, 0, 20, 10, true), packet(K::whole, 1, 1, 1, false)},
        {packet(K::begin, 0, 20, 10, true), packet(K::begin, 1, 9, 9, true)},
        {packet(K::whole, 0, 5, 4, false)},  // total and data differ
        {packet(K::whole, 0, 5, 5, true)},   // by rendezvous
        {packet(K::beat, 0, 0, 5, false)},   // a beat with data
        {packet(K::good_bye, 0, 0, 0, false), packet(K::whole, 1, 1, 1, false)},
        {packet(static_cast<PacketKind>(9), 0, 0, 0, false)},
    };
    for (std::size_t i = 0; i < lies.size(); ++i) {
        Reader reader;
        Inbox inbox(k_limits, sealing(), reader);
        Status status;
        for (const auto& lie : lies[i])
            if (status.ok()) status = inbox.arrived(arrival_of(lie));
        const bool after_good_bye = i == 12;  // then it hears nothing more
        EXPECT_EQ(status.code(), after_good_bye ? StatusCode::ok : StatusCode::corrupt) << i;
        EXPECT_TRUE(reader.messages.empty()) << i;
    }
}

TEST_P(Boxes, take_heartbeats_in_any_place_but_none_twice) {
    Wire wire;
    Reader reader;
    Outbox outbox({}, sealing(), k_eager, wire);
    Inbox inbox(k_limits, sealing(), reader);
    std::vector<Bytes> beats;
    for (int i = 0; i < 4; ++i) beats.push_back(outbox.make_beat());
    const auto come = [&](const Bytes& head) {
        Arrival arrival;
        arrival.bytes = head;
        arrival.head_bytes = head.size();
        return inbox.arrived(std::move(arrival));
    };
    EXPECT_TRUE(come(beats[0]).ok());
    EXPECT_TRUE(come(beats[2]).ok()) << "one may be lost from sight";
    EXPECT_TRUE(reader.messages.empty());
    EXPECT_EQ(come(beats[1]).code(), StatusCode::corrupt);
    EXPECT_TRUE(come(beats[3]).ok()) << "nothing is heard any more";
}

TEST_P(Boxes, survive_random_packets) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto packets = packets_of({Bytes(10), Bytes(2000), Bytes(0), Bytes(5)});
    for (int round = 0; round < 3000; ++round) {
        Reader reader;
        Inbox inbox({1000, 1 << 20}, sealing(), reader);
        std::deque<Wire::Packet> kept;
        for (int i = 0; i < 8; ++i) {
            Wire::Packet& packet = kept.emplace_back(packets[random() % packets.size()]);
            if (random() % 2 == 0 && !packet.head.empty())
                packet.head[random() % packet.head.size()] = static_cast<std::byte>(random());
            if (random() % 4 == 0) packet.head.resize(random() % (packet.head.size() + 1));
            if (random() % 4 == 0) packet.large = !packet.large;
            (void)inbox.arrived(arrival_of(packet));
            if (!reader.fetches.empty() && random() % 2 == 0) {
                (void)inbox.fetched(reader.fetches.back().number);
                reader.fetches.pop_back();
            }
        }
        EXPECT_LE(inbox.held_packets(), 8u);
    }
}

// --------------------------------------------------------------------------- the sender's side

TEST(Outbox, sends_no_more_than_the_receiver_may_have_to_hold) {
    Wire wire;
    Outbox outbox({}, {}, k_eager, wire);
    const Bytes large(3 * Window::part_bytes), small(1000);
    const std::span<const std::byte> large_piece = large, small_piece = small;
    for (int i = 0; i < 3; ++i) outbox.push({}, {&large_piece, 1}, {});
    EXPECT_EQ(wire.packets.size(), Window::parts);
    for (int i = 0; i < 2; ++i) outbox.push({}, {&large_piece, 0}, {});
    EXPECT_EQ(wire.packets.size(), Window::parts) << "order is kept";
    Wire other;
    Outbox behind({}, {}, k_eager, other);
    behind.push({}, {&large_piece, 1}, {});
    for (std::size_t i = 0; i < 2 * Window::packets; ++i) behind.push({}, {&small_piece, 1}, {});
    EXPECT_EQ(other.packets.size(), Window::packets);
    // Those behind are over, but the first is not.
    for (std::uint64_t number = 1; number < Window::packets; ++number) behind.completed(number, {});
    EXPECT_EQ(other.packets.size(), Window::packets);
    behind.completed(0, {});
    EXPECT_GT(other.packets.size(), Window::packets);
}

TEST(Outbox, calls_every_done_once_when_it_fails) {
    Wire wire;
    Outbox outbox({}, {}, k_eager, wire);
    const Bytes large(10 * Window::part_bytes);
    const std::span<const std::byte> piece = large;
    int done = 0;
    for (int i = 0; i < 5; ++i)
        outbox.push({}, {&piece, 1}, [&](const Status& status) {
            EXPECT_EQ(status.code(), StatusCode::io);
            ++done;
        });
    outbox.fail({StatusCode::io, "broken"});
    EXPECT_EQ(done, 4) << "the first one's parts are still on their way";
    for (const auto& packet : std::exchange(wire.packets, {}))
        outbox.completed(packet.number, {StatusCode::cancelled, "cut"});
    EXPECT_EQ(done, 5);
    EXPECT_TRUE(outbox.idle() && wire.packets.empty());
    EXPECT_EQ(outbox.pending_bytes(), 0u);
}

}  // namespace
}  // namespace caesura::transit
