// The way to a service over a port: a thread of this process, at normal priority, that drives it.
//
// Invariants:
//  - Lost is not dead: the kernel closes a process's sockets before the process counts as ended. So
//    the end of a service of this node is watched for after the connection is lost.
//  - The thread ends before UCX's own destructors run, also if nobody destroys the channel: a
//    program may end with Writers that it has forgotten.
//  - A child of fork() has no such thread, and leaves its parent's channel alone.
#pragma once

#include <sys/types.h>

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
    void end() override;
    void send(std::vector<std::byte> message, std::vector<std::span<const std::byte>> payload,
              std::function<void()> done) override;
    /// The process is about to end: all its channels say good-bye.
    static void stop_all();

  private:
    explicit PortChannel(Address address);
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
    void stop();

    const Address address_;
    const pid_t owner_;
    // All that follows belongs to the thread.
    std::unique_ptr<Port> port_;
    ChannelListener* listener_ = nullptr;
    std::optional<PeerId> service_;
    bool connected_ = false;
    bool awaits_death_ = false;  ///< lost, and its process has not been seen to end
    int process_ = -1;           ///< descriptor of the service's process, if it is on this node
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
