// UCX, as a port uses it: a worker, endpoints, active messages. UCX's headers are seen by
// fabric*.cpp and quiet.cpp only.
//
// Inside a node every connection has a fabric of its own. In UCX's shared memory all who send to a
// worker share one queue: one who is killed while he puts something in blocks it for everybody, and
// what was meant for one who does not take it out any more is never given back. With a worker for
// each, the damage ends with the connection: close() gives UCX a moment and then takes the worker
// away. Between nodes connections do not share anything, and all have one fabric.
//
// Invariants:
//  - Nothing of the caller's runs inside a call of UCX: what happens becomes an event, in the order
//    in which it happened, and progress() gives the events away.
//  - Memory that was given to send() or fetch() belongs to UCX until its event has come. After
//    close() every such event comes before the event `closed`, the last one of that link.
//  - Nothing is printed (Quiet).
//
// One thread. Two fabrics of a process do not know each other, nor whoever else uses UCX in it.
#pragma once

#include <sys/socket.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "transit/port/inbox.hpp"

struct ucp_worker;
struct ucp_listener;
struct ucp_ep;

namespace caesura::transit {

class Fabric {
  public:
    /// node: shared memory, and nothing else. network: everything but shared memory, as a stranger
    /// could name any segment of this node in the address that he sends.
    enum class Reach { node, network };
    struct Options {
        Reach reach = Reach::node;
        /// The network may write into and read from memory of this process (RMA), which is faster
        /// on cards that can; else data come as active messages only.
        bool remote_memory = false;
        std::string devices{};  ///< network: "eth0", "mlx5_0:1", ...; empty: all
        std::string
            transports{};  ///< network: UCX's names, such as "tcp"; empty: all but shared memory
        std::string tcp_ports{};  ///< network: "5000-5099", for a firewall; empty: any
    };
    class Context;
    struct Link;
    /// Two kinds of active messages.
    enum class Channel : unsigned { packet = 1, greeting = 2 };

    struct Event {
        enum class Kind {
            arrival,  ///< something came: `arrival`, on `channel`; `peer` if a reply was asked for
            sent,     ///< send() `number` of `peer` is over: `status`
            fetched,  ///< fetch() `number` of `peer` is over: `status`
            failed,   ///< the link of `peer` is broken: `status`; close() it
            closed,   ///< the link of `peer` is gone
            asked,    ///< somebody (`from`) wants a link: accept() or reject() `request`
        };
        Kind kind = Kind::arrival;
        Channel channel = Channel::packet;
        std::uint64_t peer = 0;
        std::uint64_t number = 0;
        Status status{};
        Arrival arrival{};
        void* request = nullptr;
        std::string from{};
    };

    /// UCX's context: what fabrics of the same options share.
    /// Errors: unsupported (UCX has no transport that would do), io, no_space.
    static Result<std::shared_ptr<Context>> prepare(const Options& options);
    /// Errors: as prepare().
    static Result<std::unique_ptr<Fabric>> make(std::shared_ptr<Context> context);
    /// Breaks all links at once, without events.
    ~Fabric();
    Fabric(const Fabric&) = delete;
    Fabric& operator=(const Fabric&) = delete;

    /// What another fabric of this node connects to.
    Result<std::vector<std::byte>> worker_address() const;
    /// The most bytes of a packet's head.
    std::size_t max_head_bytes() const { return max_head_bytes_; }

    /// @param peer  names the link in events.
    /// Errors: io. That nobody is there may turn up later, as `failed`.
    Result<Link*> connect(std::span<const std::byte> worker_address, std::uint64_t peer);
    Result<Link*> connect(const sockaddr_storage& address, socklen_t bytes, std::uint64_t peer);
    /// @return  the port.
    Result<std::uint16_t> listen(const sockaddr_storage& address, socklen_t bytes);
    Result<Link*> accept(void* request, std::uint64_t peer);
    void reject(void* request);

    /// @param owned  kept until the event; `data` may lie in it or be the caller's.
    /// @param large  the data wait here until the other side fetches them.
    /// @param reply  the other side gets to know the link that this comes by.
    struct Outgoing {
        std::uint64_t number = 0;
        std::vector<std::byte> head;
        std::vector<std::byte> owned;
        std::span<const std::byte> data;
        bool large = false;
        bool reply = false;
    };
    void send(Link* link, Channel channel, Outgoing&& outgoing);
    void fetch(Link* link, std::uint64_t number, const Waiting& waiting,
               std::span<std::byte> target);
    void leave(const Waiting& waiting);
    /// Break the link, at once. The pointer is void from now on; inside a node, so is the fabric.
    void close(Link* link);

    /// Let UCX work.
    /// @return  what has happened, swapped into `events`, which is empty before.
    void progress(std::vector<Event>& events);
    /// May there be something to do? Since it was made, a call came, or wake().
    bool awake() const { return awake_; }
    void wake() { awake_ = true; }
    /// Go to sleep: descriptor() is readable when there is something to do.
    /// @return  false: there is something to do now.
    bool sleep();
    int descriptor() const { return descriptor_; }
    /// UCX's own words about a link: transports, lanes, thresholds.
    std::string describe(Link* link) const;
    std::size_t links() const { return links_.size(); }

  private:
    explicit Fabric(std::shared_ptr<Context> context);
    struct Operation;
    struct Callbacks;
    Status open();
    void abandon();
    Result<Link*> make_link(const void* endpoint_params, std::uint64_t peer);
    void start(Operation* operation, void* request);
    void finish(Operation* operation, int ucs_status);
    void let_go(Link* link);

    std::shared_ptr<Context> context_;
    ucp_worker* worker_ = nullptr;
    ucp_listener* listener_ = nullptr;
    int descriptor_ = -1;
    std::size_t max_head_bytes_ = 0;
    bool awake_ = true, abandoned_ = false;
    std::vector<Event> events_;
    std::unordered_set<Operation*> operations_;  ///< UCX works on them
    std::unordered_map<Link*, std::unique_ptr<Link>> links_;
    std::unordered_map<const ucp_ep*, Link*> by_endpoint_;
};

}  // namespace caesura::transit
