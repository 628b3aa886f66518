#include "transit/devices/remote.hpp"

#include <fmt/format.h>

#include <chrono>

#include "base/clock.hpp"
#include "codec/packed/packed.hpp"
#include "transit/client/port_channel.hpp"

namespace caesura::transit {
namespace {

double clock_s() { return base::Clock::steady().now_s(); }

/// Is it a frame of so many bytes of values, or the chunk as it is?
Status check_block(std::span<const std::byte> frame, std::uint32_t filter_mask,
                   std::uint64_t valid_bytes, std::uint64_t chunk_bytes) {
    if (filter_mask == 1 && frame.size() == chunk_bytes) return {};
    if (filter_mask != 0)
        return {StatusCode::corrupt,
                fmt::format("{} bytes with filter mask {:#x} for a chunk of {}", frame.size(),
                            filter_mask, chunk_bytes)};
    if (codec::packed::is_packed_frame(frame)) {
        const auto header = codec::packed::read_packed_header(frame, frame.size());
        if (!header.ok()) return header.status();
        if (header->raw_bytes == chunk_bytes) return {};
        return {StatusCode::corrupt, fmt::format("a packed frame of {} bytes for a chunk of {}",
                                                 header->raw_bytes, chunk_bytes)};
    }
    const auto info = read_frame_info(frame);
    if (!info.ok()) return info.status();
    if (info->raw_bytes == valid_bytes) return {};
    return {StatusCode::corrupt,
            fmt::format("a frame of {} bytes for a block of {}", info->raw_bytes, valid_bytes)};
}

}  // namespace

RemoteDevice::RemoteDevice(Options options, Connect connect)
    : options_(std::move(options)), connect_(std::move(connect)) {}

std::unique_ptr<RemoteDevice> RemoteDevice::over_port(const Options& options, std::string address,
                                                      PortOptions port) {
    return std::make_unique<RemoteDevice>(
        options, [address = std::move(address), port]() -> Result<std::unique_ptr<Channel>> {
            auto channel = PortChannel::make(address, port);
            if (!channel.ok()) return channel.status();
            return std::unique_ptr<Channel>(std::move(*channel));
        });
}

RemoteDevice::~RemoteDevice() { give_up(); }

bool RemoteDevice::takes(const run::Job& job, const DatasetCodec& codec) const {
    return is_simple(job, codec);
}

// ----------------------------------------------------------------------------- connection

Status RemoteDevice::connect() {
    const std::lock_guard connecting(connecting_);
    {
        const std::lock_guard lock(mutex_);
        if (channel_ && !lost_) return {};
    }
    channel_.reset();  // its listener is not called any more
    auto made = connect_();
    if (!made.ok()) return made.status();
    {
        const std::lock_guard lock(mutex_);
        lost_ = false;
        welcome_.reset();
        versions_.reset();
        unfit_.clear();
    }
    channel_ = std::move(*made);
    channel_->start(*this);
    Status status = greet();
    if (!status.ok()) channel_.reset();
    return status;
}

Status RemoteDevice::greet() {
    Hello hello;
    hello.application = "a service, for " + options_.name;
    auto bytes = transit::encode(ClientMessage(hello));
    if (!bytes.ok()) return bytes.status();
    channel_->send(std::move(*bytes));
    std::unique_lock lock(mutex_);
    const bool told = changed_.wait_for(lock, std::chrono::duration<double>(options_.patience_s),
                                        [&] { return lost_ || welcome_.has_value(); });
    if (!told) lost_ = true;
    if (!told)
        return {StatusCode::io,
                fmt::format("{}: no answer within {} s", options_.name, options_.patience_s)};
    return lost_ ? why_lost_ : Status{};
}

void RemoteDevice::give_up() {
    const std::lock_guard connecting(connecting_);
    channel_.reset();
    const std::lock_guard lock(mutex_);
    lost_ = true;
    why_lost_ = {StatusCode::io, options_.name + ": given up"};
    changed_.notify_all();
}

void RemoteDevice::on_lost(const Status& why, bool) {
    const std::lock_guard lock(mutex_);
    lost_ = true;
    const std::string text = why.ok() ? "it has ended the connection" : why.message();
    why_lost_ = {StatusCode::io, fmt::format("{} is gone: {}", options_.name, text)};
    changed_.notify_all();
}

void RemoteDevice::on_message(std::span<const std::byte> message,
                              std::span<const std::byte> payload) {
    auto parsed = parse_service(message, payload.size());
    if (!parsed.ok()) return on_lost(parsed.status(), false);
    if (const auto* const refusal = std::get_if<Refusal>(&*parsed))
        return on_lost(refusal->status, false);
    // It waits for its clients to go, and this one shall not be the last; the host does the rest.
    if (std::holds_alternative<Draining>(*parsed))
        return on_lost({StatusCode::cancelled, "it is about to end"}, false);
    const std::lock_guard lock(mutex_);
    if (const auto* const welcome = std::get_if<Welcome>(&*parsed)) welcome_ = *welcome;
    std::optional<std::uint64_t> request;
    if (const auto* const pressed = std::get_if<PressedBlock>(&*parsed)) request = pressed->request;
    if (const auto* const state = std::get_if<AnalysedRegion>(&*parsed)) request = state->request;
    if (const auto* const answer = std::get_if<Answer>(&*parsed)) request = answer->request;
    if (const auto found = request ? asked_.find(*request) : asked_.end(); found != asked_.end())
        found->second = Reply{std::move(*parsed), {payload.begin(), payload.end()}};
    changed_.notify_all();
}

// ------------------------------------------------------------------------------ requests

std::uint64_t RemoteDevice::next_request() {
    const std::lock_guard lock(mutex_);
    return ++last_request_;
}

Status RemoteDevice::fits(std::uint64_t bytes) const {
    const std::lock_guard lock(mutex_);
    if (!welcome_ || bytes <= welcome_->limits.block_bytes) return {};
    return {StatusCode::unsupported,
            fmt::format("{} takes {} bytes at most", options_.name, welcome_->limits.block_bytes)};
}

DeviceParts RemoteDevice::split(double took_s, double compute_s, double to_bytes,
                                double from_bytes) {
    DeviceParts parts;
    parts.compute_s = std::min(compute_s, took_s);
    const double way_s = took_s - parts.compute_s;
    parts.to_s = way_s * to_bytes / (to_bytes + from_bytes);
    parts.from_s = way_s - parts.to_s;
    return parts;
}

// The values are the caller's, so nobody may return before they are sent, or never will be.
Result<RemoteDevice::Reply> RemoteDevice::ask(std::uint64_t request, const ClientMessage& message,
                                              std::span<const std::byte> values) {
    auto bytes = transit::encode(message);
    if (!bytes.ok()) return bytes.status();
    std::shared_ptr<Channel> channel;
    {
        const std::lock_guard connecting(connecting_);
        channel = channel_;
    }
    if (!channel) return Status{StatusCode::io, options_.name + " is gone"};
    bool sent = false;
    {
        const std::lock_guard lock(mutex_);
        asked_[request] = std::nullopt;
    }
    std::vector<std::span<const std::byte>> payload;
    if (!values.empty()) payload.push_back(values);
    channel->send(std::move(*bytes), payload, [&] {
        const std::lock_guard lock(mutex_);
        sent = true;
        changed_.notify_all();
    });
    std::optional<Reply> reply;
    Status why;
    {
        std::unique_lock lock(mutex_);
        const auto over = [&] { return lost_ || (sent && asked_.at(request)); };
        const bool in_time =
            changed_.wait_for(lock, std::chrono::duration<double>(options_.patience_s), over);
        reply = std::move(asked_.extract(request).mapped());
        why = in_time ? why_lost_
                      : Status{StatusCode::io, fmt::format("{}: no answer within {} s",
                                                           options_.name, options_.patience_s)};
        if (!in_time) lost_ = true;
    }
    if (!reply) {
        channel.reset();
        give_up();  // which says of all that was sent that it is over
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return sent; });
    if (!reply) return why;
    return std::move(*reply);
}

Result<EncodedBlock> RemoteDevice::encode(const DeviceBlock& block, DeviceParts& parts) {
    if (Status status = connect(); !status.ok()) return status;
    if (Status status = fits(block.values.size()); !status.ok()) return status;
    PressBlock message;
    message.request = next_request();
    message.codec = block.codec;
    message.valid = block.valid;
    message.exactly = block.exactly;
    message.payload_bytes = block.values.size();
    const double begin_s = clock_s();
    auto reply = ask(message.request, message, block.values);
    if (!reply.ok()) return reply.status();
    const double took_s = clock_s() - begin_s;
    auto* const answered = std::get_if<PressedBlock>(&reply->message);
    if (answered == nullptr) return Status{StatusCode::corrupt, options_.name + ": no block"};
    PressedBlock& pressed = *answered;
    if (!pressed.status.ok()) return pressed.status.with_context(options_.name);
    const std::uint64_t chunk_bytes = block.codec.chunk.count() * size_of(block.codec.dtype);
    if (Status status =
            check_block(reply->bytes, pressed.filter_mask, block.values.size(), chunk_bytes);
        !status.ok())
        return status.with_context(options_.name);
    utilisation_.store(pressed.utilisation);
    parts = split(took_s, pressed.compress_s, static_cast<double>(block.values.size()),
                  static_cast<double>(reply->bytes.size()));
    EncodedBlock encoded;
    encoded.bytes = std::move(reply->bytes);
    encoded.filter_mask = pressed.filter_mask;
    if (pressed.max_error) encoded.max_error = *pressed.max_error;
    encoded.fell_back = pressed.fell_back;
    encoded.statistics = std::move(pressed.statistics);
    return encoded;
}

}  // namespace caesura::transit
