// UCX, as a port uses it: a worker, endpoints, active messages. UCX's headers are seen by
// fabric*.cpp, quiet.cpp and ucx.cpp only.
//
// Every connection has a fabric of its own. In UCX's shared memory all who send to a worker share
// one queue: one who is killed while he puts something in blocks it for everybody. And whatever
// carries it, UCX never gives back what was meant for one who is there and takes nothing any more.
// With a worker for each, close() gives UCX a moment and then takes the worker away.
//
// Invariants:
//  - Nothing of the caller's runs inside a call of UCX: what happens becomes an event, in the order
//    in which it happened, and progress() gives the events away.
//  - Memory that was given to send() or fetch() belongs to UCX until its event has come. After
//    close() all of them are there, and `closed` is the last one.
//  - Nothing is printed (Quiet).
//
// One thread. Fabrics of a process share a context and nothing else, and know nobody else who uses
// UCX in it.
#pragma once

#include <sys/socket.h>

#include <memory>
#include <string>
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
    /// Two kinds of active messages.
    enum class Channel : unsigned { packet = 1, greeting = 2 };

    struct Event {
        enum class Kind {
            arrival,  ///< something came: `arrival`, on `channel`
            sent,     ///< send() `number` is over: `status`
            fetched,  ///< fetch() `number` is over: `status`
            failed,   ///< the link is broken: `status`; close() it
            closed,   ///< nothing comes any more
            asked,    ///< somebody (`from`) wants a link: accept() or reject() `request`
        };
        Kind kind = Kind::arrival;
        Channel channel = Channel::packet;
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

    /// Make the link; once. Errors: io. That nobody is there may turn up later, as `failed`.
    Status connect(std::span<const std::byte> worker_address);
    Status connect(const sockaddr_storage& address, socklen_t bytes);
    /// @param request  of a fabric of the same context.
    Status accept(void* request);
    /// Or hear who wants one.
    /// @return  the port. Errors: io.
    Result<std::uint16_t> listen(const sockaddr_storage& address, socklen_t bytes);
    void reject(void* request);
    bool has_link() const { return endpoint_ != nullptr; }

    /// @param owned  kept until the event; `data` may lie in it or be the caller's.
    /// @param large  the data wait here until the other side fetches them.
    struct Outgoing {
        std::uint64_t number = 0;
        std::vector<std::byte> head;
        std::vector<std::byte> owned{};
        std::span<const std::byte> data{};
        bool large = false;
    };
    void send(Channel channel, Outgoing&& outgoing);
    void fetch(std::uint64_t number, const Waiting& waiting, std::span<std::byte> target);
    void leave(const Waiting& waiting);
    /// Break the link, at once and for good.
    void close();

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
    std::string describe() const;

  private:
    explicit Fabric(std::shared_ptr<Context> context);
    struct Operation;
    struct Callbacks;
    Status open();
    Status make_link(const void* endpoint_params);
    Operation* begin(Operation&& operation);
    void start(Operation* operation, void* request);
    void finish(Operation* operation, int ucs_status);
    void note(const Operation& operation, int ucs_status);

    std::shared_ptr<Context> context_;
    ucp_worker* worker_ = nullptr;
    ucp_listener* listener_ = nullptr;
    ucp_ep* endpoint_ = nullptr;
    int descriptor_ = -1;
    std::size_t max_head_bytes_ = 0;
    bool awake_ = true, closing_ = false, abandoned_ = false;
    std::vector<Event> events_;
    std::unordered_set<Operation*> operations_;  ///< UCX works on them
};

}  // namespace caesura::transit
