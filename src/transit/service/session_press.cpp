// A session of another service that has this one as a device: blocks come, and go back compressed.
#include <fmt/format.h>

#include <algorithm>

#include "transit/service/session.hpp"

namespace caesura::transit {

PressedWork::PressedWork(Session& session, PressBlock message,
                         std::shared_ptr<const BlockCodec> codec, base::Buffer payload,
                         base::BufferPool& pool)
    : Encoding(pool),
      session_(session),
      message_(std::move(message)),
      codec_(std::move(codec)),
      payload_(std::move(payload)),
      came_s_(base::Clock::steady().now_s()) {
    const DatasetCodec& wanted = message_.codec;
    const Shape origin = Shape::filled(wanted.chunk.rank(), 0);
    job.label = "of another service";
    job.dtype = wanted.dtype;
    job.chunk_box = {origin, wanted.chunk};
    job.valid = message_.valid;
    job.pieces = {{{origin, message_.valid}, {origin, message_.valid}, payload_.data(), nullptr}};
    job.exactly = message_.exactly;
    job.codec = codec_.get();
    recipe = &message_.codec;
    for_another_service = true;
}

double PressedWork::age_s() const { return base::Clock::steady().now_s() - came_s_; }
bool PressedWork::is_wanted() const { return session_.is_alive(); }
void PressedWork::ready() { session_.lane().done(*this); }
void PressedWork::take_up() { session_.pressed(*this); }

Status Session::press(const PressBlock& message, base::Buffer& payload) {
    if (!caesura_mode(message.codec.spec))
        return {StatusCode::unsupported,
                fmt::format("codec \"{}\"; another service's blocks are coded by caesura alone",
                            message.codec.spec.name)};
    // Small blocks take more than their bytes here.
    if (pressed_.size() >= k_requests_limit)
        return {StatusCode::no_space, fmt::format("{} blocks are under way, the most that another "
                                                  "service may have here",
                                                  pressed_.size())};
    auto codec = make_block_codec(
        message.codec.spec, message.codec.dtype, message.codec.chunk, message.codec.bound,
        {message.codec.tables, message.codec.gather, message.codec.missing});
    if (!codec.ok()) return codec.status();
    auto work =
        std::make_unique<PressedWork>(*this, message, std::move(*codec), std::move(payload), pool_);
    PressedWork& given = *work;
    pressed_[message.request] = std::move(work);
    outstanding_bytes_ += message.payload_bytes;
    counters_.outstanding_bytes.store(outstanding_bytes_, std::memory_order_relaxed);
    counters_.blocks.fetch_add(1, std::memory_order_relaxed);
    counters_.raw_bytes.fetch_add(message.payload_bytes, std::memory_order_relaxed);
    constexpr double k_usual_bytes_per_s = 200e6;  // costs of clients are seconds
    const double cost = static_cast<double>(message.payload_bytes) / k_usual_bytes_per_s;
    workshop_.dispatch.give(id_, weight(), cost, given);
    return {};
}

void Session::take(const PressBlock& message, base::Buffer& payload) {
    const std::uint64_t bytes = message.payload_bytes;
    if (bytes > workshop_.limits.block_bytes)
        return refuse({StatusCode::corrupt, fmt::format("a block of {} bytes", bytes)});
    if (pressed_.contains(message.request))
        return refuse({StatusCode::corrupt, fmt::format("request {} again", message.request)});
    if (outstanding_bytes_ > 0 && outstanding_bytes_ + bytes > permit_.credits_bytes)
        return refuse({StatusCode::corrupt,
                       fmt::format("{} bytes are under way beside {}, with credits of {}", bytes,
                                   outstanding_bytes_, permit_.credits_bytes)});
    Status status = press(message, payload);
    if (status.ok()) return;
    PressedBlock pressed;
    pressed.request = message.request;
    pressed.status = std::move(status);
    workshop_.replies.send(id_, pressed);
}

void Session::pressed(PressedWork& work) {
    const auto alive = shared_from_this();  // end() may let go of the last one
    workshop_.dispatch.learn(work);
    const std::uint64_t request = work.message().request;
    outstanding_bytes_ -= work.message().payload_bytes;
    counters_.outstanding_bytes.store(outstanding_bytes_, std::memory_order_relaxed);
    if (is_alive()) {
        PressedBlock pressed;
        base::Buffer stored;
        pressed.request = request;
        pressed.compress_s = std::min(work.age_s(), k_seconds_limit);
        pressed.utilisation = std::clamp(workshop_.dispatch.utilisation_of(work), 0.0, 1.0);
        pressed.device = work.device;
        pressed.status = work.encoded.status();
        if (work.encoded.ok()) {
            run::Encoded& encoded = *work.encoded;
            stored = std::move(encoded.stored);
            pressed.filter_mask = encoded.filter_mask;
            if (std::isfinite(encoded.max_error)) pressed.max_error = encoded.max_error;
            pressed.fell_back = encoded.fell_back;
            const auto statistics = encoded.statistics.bytes();
            pressed.statistics.assign(statistics.begin(), statistics.end());
            pressed.payload_bytes = stored.size();
            counters_.stored_bytes.fetch_add(stored.size(), std::memory_order_relaxed);
        }
        workshop_.replies.send(id_, pressed, std::move(stored));
    }
    pressed_.erase(request);
    if (!is_alive() && dumps_.empty() && pressed_.empty()) end();
}

}  // namespace caesura::transit
