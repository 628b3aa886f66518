// The inside of a port: its peers, and what moves them from one stage of life to the next.
//
//     reaching   unix: the listener has no room yet, try again
//     greeting   the hand-shake is going on; there is a time limit
//     open       messages travel
//     leaving    close() was called: the rest and the good-bye are on their way; a time limit
//     ending     the link is being broken: UCX gives memory back, then on_lost()
//
// A peer is erased in sweep() only, never under the feet of somebody who works on it.
#pragma once

#include <map>
#include <unordered_map>
#include <unordered_set>

#include "transit/port/calls.hpp"
#include "transit/port/fabric.hpp"
#include "transit/port/hand_shake.hpp"
#include "transit/port/inbox.hpp"
#include "transit/port/local_socket.hpp"
#include "transit/port/outbox.hpp"
#include "transit/port/port.hpp"

namespace caesura::transit {

class Port::Core {
  public:
    static Result<std::unique_ptr<Core>> make(PortOptions options, PortHandler& handler);
    ~Core();

    // As in Port.
    Result<Address> listen(const Address& address);
    Result<PeerId> connect(const Address& address);
    Status send(PeerId id, std::span<const std::byte> header,
                std::span<const std::span<const std::byte>> payload, Done done);
    void close(PeerId id);
    void drop(PeerId id, Status why);
    std::uint64_t pending_bytes(PeerId id) const;
    void post(std::function<void()> function);
    bool run_once(double timeout_s);
    const PortCounts& counts() const { return counts_; }
    std::size_t peers() const { return peers_.size(); }
    std::uint64_t max_header_bytes() const { return options_.header_bytes; }
    std::string describe(PeerId id) const;
    bool is_child() const { return owner_ != ::getpid(); }

  private:
    // Numbers that no packet has, for what is sent beside them.
    static constexpr std::uint64_t k_beat_number = ~0ull - 1, k_greeting_number = ~0ull;
    // What epoll says: a peer's socket and fabric have tags made of its number; the tcp listener's
    // fabric has the number 0.
    static constexpr std::uint64_t k_wake_tag = 0, k_local_tag = ~0ull;
    static std::uint64_t socket_tag(PeerId id) { return 2 * id; }
    static std::uint64_t fabric_tag(PeerId id) { return 2 * id + 1; }
    static constexpr double k_refusal_s = 1.0;  ///< for a refusal to arrive
    static constexpr double k_listen_again_s = 0.1;

    enum class Stage { reaching, greeting, open, leaving, ending };
    struct Peer;

    Core(PortOptions options, PortHandler& handler);
    Status open();
    double now_s() const { return options_.clock->now_s(); }
    Peer* find(PeerId id) const;
    Peer& add(Address::Kind kind, Stage stage);

    // port_core.cpp: the loop
    Result<std::shared_ptr<Fabric::Context>> context(Address::Kind kind);
    /// @param id  of whom; 0: the listener.
    Result<std::unique_ptr<Fabric>> make_fabric(Address::Kind kind, PeerId id);
    bool watch(int descriptor, std::uint64_t tag);
    void unwatch(int descriptor);
    bool work();
    bool sleep();
    bool wait(double timeout_s);
    bool woken(std::uint64_t tag);
    void handle(Peer& peer, Fabric::Event& event);
    void on_packet(Peer& peer, Arrival&& arrival);
    void lose_all_if_away();
    void check_times();
    void check(Peer& peer, double now);
    double next_check_s() const;
    void beat(Peer& peer, double now);
    void sweep();

    // port_peers.cpp: life
    void open_peer(Peer& peer);
    void lose(Peer& peer, Status why);
    void finish(Peer& peer);
    bool may_let_in();
    std::string no_room() const;

    // port_greet.cpp: hand-shakes
    Result<Address> listen_local(const Address& address);
    Result<Address> listen_tcp(const Address& address);
    Result<PeerId> connect_local_port(const Address& address);
    Result<PeerId> connect_tcp(const Address& address);
    void reach(Peer& peer);
    Result<Greeting> own_greeting(Peer& peer);
    void accept_local();
    void turn_away(Descriptor& socket, const std::string& reason);
    void on_socket(Peer& peer);
    void hear_greeting(Peer& peer, const Greeting& greeting);
    void on_asked(const Fabric::Event& event);
    void on_greeting(Peer& peer, std::span<const std::byte> message);
    void greet(Peer& peer, std::vector<std::byte>&& message);
    Status start_hand_shake(Peer& peer, HandShake::Role role);

    PortOptions options_;
    PortHandler* handler_;
    const pid_t owner_ = ::getpid();
    PortCounts counts_;
    std::optional<Secret> secret_;
    Descriptor poll_, wake_;
    std::optional<LocalListener> local_;
    bool local_watched_ = false;
    double listen_again_s_ = 0.0;  ///< the UNIX listener has had no descriptor
    std::shared_ptr<Fabric::Context> node_, network_;
    std::unique_ptr<Fabric> tcp_;  ///< listens
    struct Served {
        PeerId id;
        Fabric* fabric;
    };
    std::vector<Served> fabrics_;  ///< all there are
    Calls calls_;
    PeerId last_id_ = 0;
    double checked_s_ = 0.0;
    double turned_s_ = 0.0;                       ///< real time
    double allowance_ = 0.0, allowance_s_ = 0.0;  ///< strangers who may come now
    std::size_t half_open_ = 0;
    std::vector<Fabric::Event> events_;
    std::vector<PeerId> finish_later_;     ///< lost without a link; for sweep()
    std::unordered_set<PeerId> finished_;  ///< for sweep()
    std::unordered_map<PeerId, std::unique_ptr<Peer>> peers_;
};

/// One connection. Its boxes talk to it, and it to UCX and the handler.
struct Port::Core::Peer final : Inbox::Sink, Outbox::Sink {
    Peer(Core& its_core, PeerId its_id) : core(its_core), id(its_id) {}

    Core& core;
    const PeerId id;
    Stage stage = Stage::greeting;
    Who who;
    Address where;  ///< we asked: whom
    Token mine{}, theirs{};
    std::unique_ptr<Fabric> fabric;
    Descriptor socket;  ///< local
    std::optional<HandShake> hand_shake;
    std::optional<Seal> seal_out, seal_in;
    std::unique_ptr<Outbox> outbox;
    std::unique_ptr<Inbox> inbox;
    std::vector<Arrival> early;  ///< packets that overtook the last greeting
    Status why;
    bool known = false;  ///< the handler has heard of it
    bool counted_half_open = false;
    bool beat_on_its_way = false;
    bool heard_good_bye = false;  ///< while leaving
    bool refused = false;         ///< tcp: it has been told so
    double deadline_s = 0.0, heard_s = 0.0, said_s = 0.0;

    std::string name() const;
    Sealing outgoing() const;
    Sealing incoming() const;

    // Inbox::Sink
    std::span<std::byte> room_for(std::span<const std::byte> header, std::uint64_t bytes) override;
    void on_message(std::span<const std::byte> header, std::span<const std::byte> payload) override;
    void fetch(std::uint64_t number, const Waiting& waiting, std::span<std::byte> target) override;
    void leave(const Waiting& waiting) override;
    void on_good_bye() override;
    // Outbox::Sink
    void transmit(std::uint64_t number, std::vector<std::byte>&& head,
                  std::vector<std::byte>&& owned, std::span<const std::byte> data,
                  bool large) override;
};

}  // namespace caesura::transit
