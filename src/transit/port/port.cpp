#include "transit/port/port.hpp"

#include "transit/port/port_core.hpp"

namespace caesura::transit {

Result<std::unique_ptr<Port>> Port::make(PortOptions options, PortHandler& handler) {
    auto core = Core::make(std::move(options), handler);
    if (!core.ok()) return core.status();
    return std::unique_ptr<Port>(new Port(std::move(*core)));
}

Port::Port(std::unique_ptr<Core> core) : core_(std::move(core)) {}

Port::~Port() {
    // What a child of fork() has is its parent's: UCX's threads are not here, its sockets are
    // shared.
    if (core_->is_child()) (void)core_.release();
}

Result<Address> Port::listen(const Address& address) { return core_->listen(address); }
Result<PeerId> Port::connect(const Address& address) { return core_->connect(address); }

Status Port::send(PeerId peer, std::span<const std::byte> header,
                  std::span<const std::span<const std::byte>> payload, Done done) {
    return core_->send(peer, header, payload, std::move(done));
}

void Port::close(PeerId peer) { core_->close(peer); }
void Port::drop(PeerId peer, Status why) { core_->drop(peer, std::move(why)); }
std::uint64_t Port::pending_bytes(PeerId peer) const { return core_->pending_bytes(peer); }
void Port::post(std::function<void()> function) { core_->post(std::move(function)); }
bool Port::run_once(double timeout_s) { return core_->run_once(timeout_s); }
const PortCounts& Port::counts() const { return core_->counts(); }
std::size_t Port::peers() const { return core_->peers(); }
std::uint64_t Port::max_header_bytes() const { return core_->max_header_bytes(); }
std::string Port::describe(PeerId peer) const { return core_->describe(peer); }

}  // namespace caesura::transit
