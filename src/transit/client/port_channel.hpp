// The way to a service over a port: a thread of this process, at normal priority, that drives it.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <unordered_map>

#include "transit/client/channel.hpp"
#include "transit/port/port.hpp"

namespace caesura::transit {

class PortChannel final : public Channel, private PortHandler {
  public:
    /// @param address  as `caesura serve` prints it.
    /// Errors: invalid_argument (no address), those of Port::make(). That nobody is there the
    /// listener hears.
    static Result<std::unique_ptr<PortChannel>> make(const std::string& address,
                                                     PortOptions options);
    ~PortChannel() override;

    void start(ChannelListener& listener) override;
    void send(std::vector<std::byte> message, std::vector<std::span<const std::byte>> payload,
              std::function<void()> done) override;

  private:
    explicit PortChannel(Address address) : address_(std::move(address)) {}
    void loop();
    void send_now(std::vector<std::byte> message, std::vector<std::span<const std::byte>> payload,
                  std::function<void()> done);

    void on_connected(PeerId peer, const Who& who) override;
    std::span<std::byte> room_for(PeerId peer, std::span<const std::byte> header,
                                  std::uint64_t payload_bytes) override;
    void on_message(PeerId peer, std::span<const std::byte> header,
                    std::span<const std::byte> payload) override;
    void on_lost(PeerId peer, const Status& why) override;
    bool service_is_dead() const;

    const Address address_;
    // All that follows belongs to the thread.
    std::unique_ptr<Port> port_;
    ChannelListener* listener_ = nullptr;
    std::optional<PeerId> service_;
    bool connected_ = false;
    int process_ = -1;  ///< descriptor of the service's process, if it is on this node
    struct Waiting {
        std::vector<std::byte> message;
        std::vector<std::span<const std::byte>> payload;
        std::function<void()> done;
    };
    std::vector<Waiting> waiting_;  ///< until there is a connection
    base::BufferPool pool_;
    std::unordered_map<const std::byte*, base::Buffer> rooms_;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace caesura::transit
