// A session of another service that has this one as a device: regions come to be analysed, and
// their states go back.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "transit/service/region_analysis.hpp"
#include "transit/service/session.hpp"

namespace caesura::transit {

void Session::take(const ListVersions& message, base::Buffer&) {
    std::string lines;
    for (const lambda::Function* function : desk_.tools().functions.functions())
        if (function->kind == lambda::Kind::analysis)
            lines += fmt::format("{} {}\n", function->name, function->version);
    auto buffer = pool_.take(lines.size());
    if (!buffer.ok()) return answer(message.request, buffer.status());
    std::memcpy(buffer->data(), lines.data(), lines.size());
    answer(message.request, {}, 0, std::move(*buffer));
}

void Session::take(const AnalyseRegion& message, base::Buffer& payload) {
    // A state is as much the client's as the values are.
    const std::uint64_t bytes = message.payload_bytes + message.state.size();
    if (message.payload_bytes > workshop_.limits.block_bytes)
        return refuse(
            {StatusCode::corrupt, fmt::format("a region of {} bytes", message.payload_bytes)});
    if (outstanding_bytes_ > 0 && outstanding_bytes_ + bytes > permit_.credits_bytes)
        return refuse({StatusCode::corrupt,
                       fmt::format("{} bytes are under way beside {}, with credits of {}", bytes,
                                   outstanding_bytes_, permit_.credits_bytes)});
    if (analysing_ >= k_requests_limit)
        return refuse({StatusCode::corrupt, fmt::format("more than {} regions", analysing_)});
    auto sent = std::make_shared<SentRegion>(SentRegion{message, std::move(payload)});
    const Status status =
        analyse_sent(errand_host(), workshop_.dispatch, desk_.tools().functions, sent,
                     desk_.tools().store.states(),
                     [this, request = message.request, bytes](const AnalysedThere& done) {
                         --analysing_;
                         outstanding_bytes_ -= bytes;
                         counters_.outstanding_bytes.store(outstanding_bytes_);
                         if (is_alive()) analysed(request, done);
                     });
    if (!status.ok()) {
        AnalysedThere refused;
        refused.state = status;
        return analysed(message.request, refused);
    }
    ++analysing_;
    outstanding_bytes_ += bytes;
    counters_.outstanding_bytes.store(outstanding_bytes_);
}

void Session::analysed(std::uint64_t request, const AnalysedThere& done) {
    AnalysedRegion reply;
    base::Buffer payload;
    reply.request = request;
    reply.status = done.state.status();
    reply.compute_s = std::min(done.took_s, k_seconds_limit);
    reply.utilisation = std::clamp(done.utilisation, 0.0, 1.0);
    reply.device = done.device;
    // It would be as large each time: the asking service then keeps this analysis to itself.
    if (reply.status.ok() && done.state->size() > k_state_limit_bytes)
        reply.status = {StatusCode::unsupported,
                        fmt::format("a state of {} bytes; a message has at most {}",
                                    done.state->size(), k_state_limit_bytes)};
    if (reply.status.ok()) {
        auto buffer = pool_.take(done.state->size());
        if (buffer.ok()) {
            std::memcpy(buffer->data(), done.state->data(), done.state->size());
            payload = std::move(*buffer);
            reply.payload_bytes = payload.size();
        } else {
            reply.status = buffer.status();
        }
    }
    workshop_.replies.send(id_, reply, std::move(payload));
}

}  // namespace caesura::transit
