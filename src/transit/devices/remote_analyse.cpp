// Regions that another service analyses.
#include <fmt/format.h>

#include <sstream>

#include "base/clock.hpp"
#include "transit/devices/remote.hpp"

namespace caesura::transit {
namespace {

std::string version_line(const lambda::Function& function) {
    return function.name + " " + function.version;
}

}  // namespace

bool RemoteDevice::takes(const DeviceFunction& what, std::uint64_t bytes) const {
    if (!what.variant.is_also_on(lambda::Device::remote) || !fits(bytes).ok() ||
        what.from.size() > k_state_limit_bytes || what.is_secret)
        return false;
    const std::lock_guard lock(mutex_);
    if (unfit_.contains(what.function.name)) return false;
    return !versions_ || versions_->contains(version_line(what.function));
}

// Once for each connection, and only by who has something to analyse: a service that knows no
// analyses for others can still compress blocks for them.
Status RemoteDevice::ask_versions() {
    {
        const std::lock_guard lock(mutex_);
        if (versions_) return {};
    }
    ListVersions message;
    message.request = next_request();
    const auto reply = ask(message.request, message, {});
    if (!reply.ok()) return reply.status();
    const auto* const answer = std::get_if<Answer>(&reply->message);
    if (answer == nullptr || !answer->status.ok())
        return {StatusCode::corrupt, options_.name + " does not say what it can analyse"};
    std::set<std::string> versions;
    std::istringstream lines(
        std::string(reinterpret_cast<const char*>(reply->bytes.data()), reply->bytes.size()));
    for (std::string line; std::getline(lines, line);) versions.insert(line);
    const std::lock_guard lock(mutex_);
    versions_ = std::move(versions);
    return {};
}

Result<DeviceState> RemoteDevice::analyse(const DeviceFunction& what,
                                          const lambda::RegionView& region, DeviceParts& parts) {
    if (Status status = connect(); !status.ok()) return status;
    if (Status status = ask_versions(); !status.ok()) return status;
    if (!takes(what, region.values.size()))
        return Status{StatusCode::unsupported,
                      fmt::format("{} has no {}", options_.name, version_line(what.function))};
    AnalyseRegion message;
    message.request = next_request();
    message.function = what.function.name;
    message.version = what.function.version;
    message.object = region.object;
    message.id = region.id;
    message.dtype = region.dtype;
    message.shape = region.shape;
    message.box = region.box;
    message.time = region.time;
    message.owner = region.owner;
    message.tags.assign(region.tags.begin(), region.tags.end());
    message.state = what.from;
    message.payload_bytes = region.values.size();
    const double begin_s = base::Clock::steady().now_s();
    const auto reply = ask(message.request, message, region.values);
    if (!reply.ok()) return reply.status();
    const double took_s = base::Clock::steady().now_s() - begin_s;
    const auto* const analysed = std::get_if<AnalysedRegion>(&reply->message);
    if (analysed == nullptr) return Status{StatusCode::corrupt, options_.name + ": no state"};
    if (analysed->status.code() == StatusCode::unsupported) {
        const std::lock_guard lock(mutex_);
        unfit_.insert(what.function.name);
    }
    if (!analysed->status.ok()) return analysed->status.with_context(options_.name);
    auto state = what.functions.parse_state(reply->bytes);
    if (!state.ok()) return state.status().with_context(options_.name);
    utilisation_.store(analysed->utilisation);
    parts = split(took_s, analysed->compute_s, static_cast<double>(region.values.size()),
                  static_cast<double>(reply->bytes.size()));
    return DeviceState{std::move(*state), reply->bytes.size()};
}

}  // namespace caesura::transit
