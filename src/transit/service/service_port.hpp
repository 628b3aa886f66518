// A service at its port: who may come, messages in, replies out.
//
// Invariants:
//  - One thread drives it, run_once(). Lanes answer from theirs through Port::post().
//  - What a client has sent and its lane has not handled takes memory up to its credits and one
//    message more, and so do answers that it does not fetch; who goes beyond is dropped.
#pragma once

#include <atomic>
#include <functional>
#include <unordered_map>

#include "transit/port/port.hpp"
#include "transit/service/service.hpp"

namespace caesura::transit {

/// What the operator allows whoever comes. Errors: why he may not.
using Admission = std::function<Result<Permit>(const Who&)>;

class ServicePort final : private PortHandler, private Replies {
  public:
    /// Errors: those of Port::make().
    static Result<std::unique_ptr<ServicePort>> make(const ServiceOptions& service,
                                                     PortOptions port, Admission admission);
    ~ServicePort() override;

    /// @return  the address to connect to. Errors: those of Port::listen().
    Result<Address> listen(const Address& address) { return port_->listen(address); }
    /// As Port::run_once().
    bool run_once(double timeout_s);
    /// Tell all clients that it will end, and take no more of them.
    void drain();
    std::vector<ClientStatus> status() const { return service_->status(); }
    const ObjectStore& objects() const { return service_->objects(); }
    std::vector<DeviceStatus> devices() const { return service_->devices(); }
    std::size_t waiting() const { return service_->waiting(); }
    const PortCounts& counts() const { return port_->counts(); }

  private:
    explicit ServicePort(Admission admission) : admission_(std::move(admission)) {}

    void on_connected(PeerId peer, const Who& who) override;
    std::span<std::byte> room_for(PeerId peer, std::span<const std::byte> header,
                                  std::uint64_t payload_bytes) override;
    void on_message(PeerId peer, std::span<const std::byte> header,
                    std::span<const std::byte> payload) override;
    void on_lost(PeerId peer, const Status& why) override;

    void send(ClientId client, const ServiceMessage& message, base::Buffer payload) override;
    void drop(ClientId client, const Status& why) override;
    void send_now(PeerId peer, const ServiceMessage& message, base::Buffer payload);

    struct Client {
        std::uint64_t most_bytes = 0;  ///< held at once
        /// Rooms, and messages until they are handled: then the lane takes it off.
        std::shared_ptr<std::atomic<std::uint64_t>> held_bytes =
            std::make_shared<std::atomic<std::uint64_t>>(0);
        std::unordered_map<const std::byte*, base::Buffer> rooms;
    };
    const Admission admission_;
    bool draining_ = false;
    static constexpr std::uint64_t k_most_pool_bytes = std::uint64_t{64} << 20;
    base::BufferPool pool_{k_most_pool_bytes};
    std::map<PeerId, Client> clients_;
    std::unique_ptr<Service> service_;
    std::unique_ptr<Port> port_;
};

}  // namespace caesura::transit
