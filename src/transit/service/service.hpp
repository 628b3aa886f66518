// The service without its port: clients come, send messages and go; their blocks are compressed and
// written. What a message means is a Session's to know.
//
// Invariants:
//  - One thread, the port's, calls connected(), message() and lost(); nothing here makes it wait
//    for a disk or a worker.
//  - What does not parse ends its client's session, and nobody else's.
#pragma once

#include <algorithm>
#include <limits>

#include "transit/service/session.hpp"

namespace caesura::transit {

struct ServiceOptions {
    Press::Options press;
    int lanes = 4;          ///< threads that write; clients are spread over them
    double lease_s = 10.0;  ///< as the port's silence_s: a client that is not heard for so long
    Limits limits = {k_block_limit_bytes, k_io_limit_bytes, 64, 64};
    bool recover = true;  ///< files of clients that are gone; else that is left to others
    StoreLimits objects;
    std::string sink;  ///< directory for values of objects that memory has no room for; or none
    std::uint64_t sink_bytes = std::uint64_t{16} << 30;
    /// The memory of other services, for objects; or none. Outlives the service.
    FarMemory* far = nullptr;
    /// What clients may have run; null: what is built in.
    std::shared_ptr<const lambda::Registry> functions;
    lambda::Operator by;               ///< the key of chains that the service applies
    std::vector<std::string> on_dump;  ///< analyses of every dump
    /// Beside the host's cores. Called once; empty: none.
    std::function<std::vector<std::unique_ptr<BlockDevice>>()> make_devices;
    /// For copies of regions of objects. Called once; empty: none.
    std::function<std::vector<std::unique_ptr<DeviceMemory>>()> make_device_memories;
    where::PlacerOptions placer;
    bool host_last = false, probe = false;  ///< Dispatch::Options
    /// Hears of every block, on any lane.
    std::function<void(const Placed&)> trace;
};

struct ClientStatus {
    ClientId id = 0;
    std::string application;
    double weight = 1.0;
    double age_s = 0.0;  ///< since it came
    std::uint64_t blocks = 0, raw_bytes = 0, stored_bytes = 0, dumps = 0;
    std::uint64_t waiting_blocks = 0, outstanding_bytes = 0;  ///< not compressed yet
};

class Service {
  public:
    /// @param replies  outlives the service.
    /// @param spool    for values of objects; null: none.
    Service(const ServiceOptions& options, Replies& replies, std::unique_ptr<Spool> spool = {});
    /// Every client is given up as if it had died.
    ~Service();

    void connected(ClientId client, Permit permit);
    /// @param message  its bytes.  @param payload  beside it; begins at a multiple of 8.
    /// @param held     destroyed once the message has been handled, or is given up.
    void message(ClientId client, std::span<const std::byte> message, base::Buffer payload,
                 std::shared_ptr<void> held = {});
    /// It is gone: drop what it had, close its files, recover them.
    void lost(ClientId client);
    std::vector<ClientStatus> status() const;
    const ObjectStore& objects() const { return store_; }
    std::vector<DeviceStatus> devices() const { return dispatch_.status(); }
    /// Blocks of all clients that wait for a worker, or are on one.
    std::size_t waiting() const { return press_.waiting() + dispatch_.waiting(); }
    std::size_t clients() const { return sessions_.size(); }
    /// A message and its payload, at most.
    std::uint64_t largest_message_bytes() const {
        return k_message_limit_bytes + std::max(options_.limits.block_bytes, k_io_limit_bytes);
    }

    /// The port has just looked who is alive: so lanes may work on, for a lease and a little.
    void turned(double now_s) { valid_until_s_.store(now_s + options_.lease_s + k_beyond_lease_s); }

  private:
    static constexpr double k_beyond_lease_s = 1.0;  // a port that is late first loses all clients

    ServiceOptions options_;
    Replies& replies_;
    std::atomic<double> valid_until_s_{std::numeric_limits<double>::infinity()};
    std::atomic<bool> ending_{false};
    OpenPaths paths_;
    std::mutex hdf5_;
    const std::shared_ptr<const lambda::Registry> functions_;
    ObjectStore store_;
    const ObjectTools tools_;
    std::map<ClientId, std::shared_ptr<Session>> sessions_;
    std::size_t next_lane_ = 0;
    Press press_;
    Dispatch dispatch_;
    std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace caesura::transit
