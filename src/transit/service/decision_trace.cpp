#include "transit/service/decision_trace.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"

namespace caesura::transit {
namespace {

using nlohmann::json;

json finite(double number) { return std::isfinite(number) ? json(number) : json(nullptr); }

std::string_view name_of(plan::Known known) {
    switch (known) {
        case plan::Known::like_sizes:
            return "like_sizes";
        case plan::Known::other_sizes:
            return "other_sizes";
        default:
            return "nothing";
    }
}

json arguments(const Placed& placed, const std::vector<std::string>& devices) {
    const where::Decision& decision = placed.decision;
    json options = json::array();
    for (std::size_t i = 0; i < decision.options.size(); ++i) {
        const where::Option& one = decision.options[i];
        options.push_back({{"device", devices[i]},
                           {"latency_s", finite(one.latency_s)},
                           {"queue_s", one.queue_s},
                           {"to_s", one.expected.to_s},
                           {"compute_s", one.expected.compute_s},
                           {"from_s", one.expected.from_s},
                           {"utilisation", one.utilisation},
                           {"known", name_of(one.expected.known)}});
    }
    return {{"iteration", 0},
            {"bytes", placed.bytes},
            {"result_bytes", placed.result_bytes},
            {"result_s_per_byte", placed.result_s_per_byte},
            {"function", placed.function},
            {"variant", placed.variant},
            {"field", placed.field},
            {"device", devices[decision.device]},
            {"done_by", devices[placed.device]},
            {"moved", placed.moved},
            {"lay_on", placed.lay_on},
            {"failed", placed.failed},
            {"why", placed.why},
            {"predicted_s", decision.where.predicted_s},
            {"best_s", decision.where.best_s},
            {"is_trial", decision.where.is_trial},
            {"took_s", placed.ended_s - placed.given_s},
            {"utilisation", placed.run.utilisation},
            {"to_s", placed.run.to_s},
            {"compute_s", placed.run.compute_s},
            {"from_s", placed.run.from_s},
            {"options", std::move(options)}};
}

}  // namespace

Result<std::shared_ptr<DecisionTrace>> DecisionTrace::create(const std::string& path,
                                                             std::vector<std::string> devices) {
    std::shared_ptr<DecisionTrace> trace(new DecisionTrace(std::move(devices)));
    trace->file_.open(path, std::ios::trunc);
    if (!trace->file_) return Status{StatusCode::io, "trace " + path + ": cannot be written"};
    trace->origin_s_ = base::Clock::steady().now_s();
    trace->line(R"([{"ph":"M","name":"process_name","pid":0,"args":{"name":"caesura-serve"}})");
    for (std::size_t i = 0; i < trace->devices_.size(); ++i) {
        const json named = {{"ph", "M"},
                            {"name", "thread_name"},
                            {"pid", 0},
                            {"tid", i},
                            {"args", {{"name", trace->devices_[i]}}}};
        trace->line("," + named.dump());
    }
    return trace;
}

void DecisionTrace::line(const std::string& text) {
    if (bytes_ + text.size() > k_most_bytes) return;
    bytes_ += text.size() + 1;
    file_ << text << '\n' << std::flush;
}

void DecisionTrace::add(const Placed& placed) {
    const std::size_t device = placed.device;
    const json event = {{"ph", "X"},
                        {"cat", placed.function == "compress" ? "compress" : "analyse"},
                        {"name", placed.label},
                        {"pid", 0},
                        {"tid", device},
                        {"ts", (placed.begun_s - origin_s_) * 1e6},
                        {"dur", (placed.ended_s - placed.begun_s) * 1e6},
                        {"args", arguments(placed, devices_)}};
    // Labels are a client's bytes, and may be no text.
    const std::string text = event.dump(-1, ' ', false, json::error_handler_t::replace);
    const std::lock_guard lock(mutex_);
    line("," + text);
}

}  // namespace caesura::transit
