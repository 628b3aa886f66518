#include "transit/client/port_channel.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "transit/envelope.hpp"
#include "transit/messages.hpp"

namespace caesura::transit {
namespace {

// Signs of life go out in between.
constexpr double k_turn_s = 0.25;
// While the end of the service's process is watched for.
constexpr double k_watch_s = 0.005;
// An answer's payload: what a file was asked for, or a block that overflowed.
constexpr std::uint64_t k_most_bytes = k_block_limit_bytes + k_message_limit_bytes;

/// All channels of this process. Never destroyed: stop_all() comes after destructors of statics.
struct Channels {
    std::mutex mutex;
    std::vector<PortChannel*> all;
};
Channels& channels() {
    static auto& live = *new Channels;
    return live;
}

}  // namespace

PortChannel::PortChannel(Address address) : address_(std::move(address)), owner_(::getpid()) {
    const std::lock_guard lock(channels().mutex);
    channels().all.push_back(this);
}

void PortChannel::stop_all() {
    for (PortChannel* const one : channels().all)
        if (one->owner_ == ::getpid()) one->stop();
}

namespace {

// A destructor of the program's or library's image: after handlers of exit(), of which HDF5 closes
// files in one, and before the destructors of UCX, on which this image depends.
[[gnu::destructor]] void end_channels() { PortChannel::stop_all(); }

}  // namespace

Result<std::unique_ptr<PortChannel>> PortChannel::make(const std::string& address,
                                                       PortOptions options) {
    auto parsed = Address::parse(address);
    if (!parsed.ok()) return parsed.status();
    std::unique_ptr<PortChannel> channel(new PortChannel(std::move(*parsed)));
    auto port = Port::make(std::move(options), *channel);
    if (!port.ok()) return port.status();
    channel->port_ = std::move(*port);
    return channel;
}

void PortChannel::stop() {
    if (!thread_.joinable()) return;
    port_->post([this] {
        if (service_) port_->close(*service_);
    });
    stopping_.store(true, std::memory_order_release);
    thread_.join();
}

PortChannel::~PortChannel() {
    if (owner_ == ::getpid()) {
        {
            const std::lock_guard lock(channels().mutex);
            std::erase(channels().all, this);
        }
        stop();
    } else if (thread_.joinable()) {
        thread_.detach();
    }
    port_.reset();
    if (process_ >= 0) ::close(process_);
}

void PortChannel::start(ChannelListener& listener) {
    listener_ = &listener;
    thread_ = std::thread([this] { loop(); });
}

void PortChannel::loop() {
    auto connected = port_->connect(address_);
    if (connected.ok())
        service_ = *connected;
    else
        listener_->on_lost(connected.status(), false);
    // What was sent before the end still goes, and its `done` is called.
    while (!stopping_.load(std::memory_order_acquire) || port_->peers() > 0) {
        port_->run_once(awaits_death_ ? k_watch_s : k_turn_s);
        if (!awaits_death_ || !service_is_dead()) continue;
        awaits_death_ = false;
        listener_->on_dead();
    }
    for (Waiting& one : waiting_)
        if (one.done) one.done();
    (void)port_->run_once(0.0);  // what was sent since finds no peer, and is told so
}

void PortChannel::end() {
    port_->post([this] {
        if (service_) port_->drop(*service_, {StatusCode::cancelled, "given up"});
    });
}

void PortChannel::send(std::vector<std::byte> message,
                       std::vector<std::span<const std::byte>> payload,
                       std::function<void()> done) {
    port_->post([this, message = std::move(message), payload = std::move(payload),
                 done = std::move(done)]() mutable {
        if (service_ && !connected_)
            waiting_.push_back({std::move(message), std::move(payload), std::move(done)});
        else
            send_now(std::move(message), std::move(payload), std::move(done));
    });
}

void PortChannel::send_now(std::vector<std::byte> message,
                           std::vector<std::span<const std::byte>> payload,
                           std::function<void()> done) {
    if (!service_) {
        if (done) done();
        return;
    }
    auto envelope = std::make_shared<Envelope>(wrap(std::move(message), port_->max_header_bytes()));
    if (!envelope->lead.empty()) payload.insert(payload.begin(), envelope->lead);
    (void)port_->send(*service_, envelope->head, payload, [envelope, done](const Status&) {
        if (done) done();
    });
}

void PortChannel::on_connected(PeerId, const Who& who) {
    if (who.process > 0) process_ = static_cast<int>(::syscall(SYS_pidfd_open, who.process, 0));
    connected_ = true;
    for (Waiting& one : std::exchange(waiting_, {}))
        send_now(std::move(one.message), std::move(one.payload), std::move(one.done));
}

std::span<std::byte> PortChannel::room_for(PeerId, std::span<const std::byte>,
                                           std::uint64_t payload_bytes) {
    if (payload_bytes > k_most_bytes) return {};
    auto buffer = pool_.take(payload_bytes);
    if (!buffer.ok()) return {};
    const std::span<std::byte> bytes = buffer->bytes();
    rooms_[bytes.data()] = std::move(*buffer);
    return bytes;
}

void PortChannel::on_message(PeerId, std::span<const std::byte> header,
                             std::span<const std::byte> payload) {
    const auto room = rooms_.extract(payload.data());
    const auto letter = unwrap(header, payload);
    if (letter.ok()) return listener_->on_message(letter->message, letter->payload);
    port_->drop(*service_, letter.status());
}

// A process that has ended does nothing any more, whatever it had in hand.
bool PortChannel::service_is_dead() const {
    if (process_ < 0) return false;
    pollfd ended{process_, POLLIN, 0};
    return ::poll(&ended, 1, 0) == 1 && (ended.revents & POLLIN) != 0;
}

void PortChannel::on_lost(PeerId, const Status& why) {
    service_.reset();
    rooms_.clear();
    for (Waiting& one : std::exchange(waiting_, {}))
        if (one.done) one.done();
    const bool is_dead = service_is_dead();
    awaits_death_ = process_ >= 0 && !is_dead;
    listener_->on_lost(why, is_dead);
}

}  // namespace caesura::transit
