// A port: the end of connections between a service and its clients. It listens or connects, says
// who the others are, carries messages both ways in the order in which they were sent, and notices
// when somebody dies. What the messages mean, it does not know.
//
// | address | meets at          | data travel by                    | the other side is        |
// |---------|-------------------|-----------------------------------|--------------------------|
// | unix:   | a socket file     | UCX, shared memory and nothing else | who the kernel says it is |
// | tcp:    | UCX's listener    | UCX: TCP, or a card for RDMA      | who knows the secret     |
//
// Invariants:
//  - Everything but post() is called on one thread, the port's thread: whoever calls run_once().
//    Handlers and `done` functions are called there too, from inside run_once() (or from inside
//    send(), if a message cannot be sent at all), and may call the port, but for run_once().
//  - For each peer the handler hears: on_connected(), messages, on_lost(), which is the last. A
//  peer
//    that connect() named may be lost without having been connected. A stranger who does not get
//    through the hand-shake is never heard of; Counts knows.
//  - What a peer sends is looked at before anything is allocated for it, and is held within bounds.
//  - After on_lost() nothing of that peer comes, and every `done` of it has been called: memory
//    that was given to send() or by room_for() is the caller's again.
//  - The environment of the process is left alone, no signal is raised, nothing is printed.
//    A program that must get a tcp port again soon after its end sets UCX_TCP_CM_REUSEADDR=y before
//    it makes a port: UCX takes that from the environment alone.
//    (UCX's own library takes SIGSEGV and its like when it is loaded, to print a backtrace;
//    UCX_HANDLE_ERRORS=none forbids it.)
//
// Nobody encrypts. And UCX itself trusts whoever speaks UCX to it: a stranger who can reach its TCP
// ports, and knows its wire format, can crash the process or worse before we see a byte. Let a
// firewall keep the network to the machine (PortOptions::tcp_ports); see `remote_memory`, too. The
// hand-shake keeps away everybody who merely speaks our protocol.
//
// A child of fork() must leave its parent's port alone; destroying it there does nothing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "transit/port/address.hpp"

namespace caesura::transit {

/// Names a peer of one port; never used again.
using PeerId = std::uint64_t;

/// Who a peer is.
struct Who {
    Address::Kind kind = Address::Kind::local;
    std::string identity{};  ///< as it calls itself; printable
    std::string address{};   ///< where it is, or where it has come from: "tcp:10.0.0.7:40112"
    bool asked = false;      ///< it has connected to us; else we to it
    unsigned user = 0;       ///< local: its uid, of the kernel
    int process = 0;         ///< local: its pid, of the kernel; 0 in another pid namespace
};

/// What a port tells. Calls return soon: while they work, the port gives no sign of life.
/// Default: nothing is wanted, large messages are refused.
class PortHandler {
  public:
    virtual ~PortHandler() = default;
    virtual void on_connected(PeerId, const Who&) {}
    /// Memory for the payload of a large message, before it is brought. The message may come long
    /// after it, and messages sent before it come before it. The memory is the port's until
    /// on_message() with it has returned, or on_lost().
    /// @return  at least payload_bytes; less: refuse, and lose the peer.
    virtual std::span<std::byte> room_for(PeerId, std::span<const std::byte> /*header*/,
                                          std::uint64_t /*payload_bytes*/) {
        return {};
    }
    /// @param header, payload  valid during the call. A large payload lies in the room given for
    /// it.
    virtual void on_message(PeerId, std::span<const std::byte> /*header*/,
                            std::span<const std::byte> /*payload*/) {}
    /// @param why  ok: this side has closed the connection, and everything sent was handed over.
    ///             cancelled: the other side has. Else what has happened: io, corrupt, no_space,
    ///             unsupported, invalid_argument.
    virtual void on_lost(PeerId, const Status& /*why*/) {}
};

struct PortOptions {
    std::string identity = "caesura";  ///< told to others
    /// tcp: a file that Secret::read() accepts. There is no tcp without it.
    std::string secret_path{};
    /// tcp: payloads carry no tag, heads do. Both sides must say the same.
    bool trusted_network = false;
    /// tcp: UCX may write and read this process's memory over the network, if its cards can; else
    /// all data are active messages. With trusted_network only.
    bool remote_memory = false;
    std::string network_devices{};  ///< tcp: UCX's names, "eth0,mlx5_0:1"; empty: all
    std::string transports{};       ///< tcp: UCX's names, "tcp"; empty: all but shared memory
    /// tcp: "5000-5999" for data; empty: any. A connection takes one on each network device.
    std::string tcp_ports{};
    unsigned socket_mode = 0600;  ///< unix: of the socket file
    /// unix: asked when the kernel has said who comes, before UCX sees a byte of him. Null: all.
    std::function<Status(const Who&)> may_come{};
    bool other_users = false;  ///< unix: let in who is neither this user nor root

    double heartbeat_s = 1.0;   ///< between signs of life
    double silence_s = 10.0;    ///< without one, the peer is lost
    double hand_shake_s = 5.0;  ///< for all of it
    double close_s = 5.0;       ///< for what has been sent before close() to go

    /// At once, those that we made included. Each has memory and descriptors of its own, whatever
    /// it does: 2 MiB and 4 descriptors inside a node at most, 0.1 MiB and 6 by tcp with two
    /// devices.
    std::size_t connections = 1024;
    std::size_t half_open = 64;                ///< strangers in the hand-shake at once
    double connects_per_s = 500.0;             ///< strangers let in; the rest wait or are refused
    std::uint64_t header_bytes = 1024;         ///< of a message, at most
    std::uint64_t payload_bytes = 1ull << 32;  ///< of a message, at most
    std::uint64_t eager_bytes = 8 << 10;       ///< a payload up to this comes without room_for()
    double spin_s = 0.0;  ///< run_once() looks so long before it sleeps: latency for CPU time

    /// Says what the time is, for all of the above. Waiting is done in real time.
    const base::Clock* clock = &base::Clock::steady();
};

/// What a port has seen, ever.
struct PortCounts {
    std::uint64_t connected = 0;    ///< through the hand-shake
    std::uint64_t lost = 0;         ///< of those
    std::uint64_t turned_away = 0;  ///< too many, too often, another user
    std::uint64_t unproved = 0;     ///< did not get through the hand-shake
    std::uint64_t strays = 0;       ///< packets of nobody
    std::uint64_t messages_in = 0, messages_out = 0;
    std::uint64_t bytes_in = 0, bytes_out = 0;  ///< payloads
};

class Port {
  public:
    /// Called when the payload is no longer needed: ok if it was handed over to the peer's port.
    using Done = std::function<void(const Status&)>;

    /// @param handler  outlives the port.
    /// Errors: invalid_argument (an option, which it names); those of Secret::read(); io.
    static Result<std::unique_ptr<Port>> make(PortOptions options, PortHandler& handler);
    /// Breaks all connections, after a moment for what is on its way. Handlers are not called.
    ~Port();
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    /// @return  the address with the port that the system has chosen, if it was 0. One unix and one
    /// tcp at most.
    /// Errors: io (in use, no permission), unsupported (UCX has no such transport),
    /// invalid_argument (a second one, no secret, no such host).
    Result<Address> listen(const Address& address);
    /// Returns at once; on_connected() or on_lost() says how it went.
    /// Errors: io (nobody listens at the socket), invalid_argument, unsupported, no_space.
    Result<PeerId> connect(const Address& address);

    /// @param header   copied. At most max_header_bytes().
    /// @param payload  its pieces must live until `done`; the spans themselves are copied.
    /// Errors: `done` is called with them too: invalid_argument (no such peer, not yet connected or
    /// closing, too large).
    Status send(PeerId peer, std::span<const std::byte> header,
                std::span<const std::span<const std::byte>> payload = {}, Done done = {});
    /// Say good-bye: what was sent before still goes, nothing more is received; on_lost() follows.
    /// No such peer: nothing happens.
    void close(PeerId peer);
    /// Lose the peer at once, with a reason.
    void drop(PeerId peer, Status why);
    /// Bytes of payload sent to a peer and not done; 0 if there is none.
    std::uint64_t pending_bytes(PeerId peer) const;

    /// Any thread; never waits. `function` runs on the port's thread in run_once(); if the port
    /// goes before, it does not run.
    void post(std::function<void()> function);

    /// Do what there is to do; if there is nothing, wait for it, at most timeout_s.
    /// @return  was there anything?
    bool run_once(double timeout_s);

    const PortCounts& counts() const;
    std::size_t peers() const;
    std::uint64_t max_header_bytes() const;
    /// What UCX says about the way to a peer, and which transports carry it; for people and tests.
    std::string describe(PeerId peer) const;

  private:
    class Core;
    explicit Port(std::unique_ptr<Core> core);
    std::unique_ptr<Core> core_;
};

}  // namespace caesura::transit
