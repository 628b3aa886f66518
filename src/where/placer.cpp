#include "where/placer.hpp"

#include <algorithm>
#include <cmath>

namespace caesura::where {
namespace {

// A device of which nothing is known is taken for one that works off so much: less than that no
// device would be worth its link.
constexpr double k_unknown_bytes_per_s = 1e9;
constexpr std::size_t k_choosers = 64;

}  // namespace

double queue_s(const Present& present, int at_once, double now_s) {
    const auto servers = static_cast<std::size_t>(std::max(1, at_once));
    if (present.waiting < servers) return 0.0;
    const double mean_s = present.waiting_s / static_cast<double>(present.waiting);
    // Of those that are being worked on some is done: of one it is known how much, of several half.
    // One that is late is taken to need as long again as it is late already.
    double done_s = 0.0;
    if (servers > 1) {
        done_s = 0.5 * mean_s * static_cast<double>(servers);
    } else if (present.running_since_s >= 0.0) {
        const double runs_s = std::max(0.0, now_s - present.running_since_s);
        done_s = runs_s <= mean_s ? runs_s : 2.0 * mean_s - runs_s;
    }
    return std::max(0.0, present.waiting_s - done_s) / static_cast<double>(servers);
}

void Placer::add(std::string name, int at_once) {
    Device& device = devices_.emplace_back();
    device.name = std::move(name);
    device.at_once = at_once;
}

plan::Chooser& Placer::chooser_of(const std::string& variant) {
    const bool is_known = choosers_.contains(variant);
    const std::string& key = is_known || choosers_.size() < k_choosers ? variant : std::string();
    return choosers_.try_emplace(key, options_.rules).first->second;
}

Option Placer::option(std::size_t number, const Request& request, const Present& present,
                      double now_s) const {
    const Device& device = devices_[number];
    // The host's cores read its memory; so does a device its own.
    const bool to_link = number != 0 && request.from != number;
    const bool from_link = number != 0 && request.to != number;
    // Data of one device that another is to work on go through the host.
    const bool from_elsewhere =
        request.from != k_host && request.from != number && !request.is_on_host_too;
    const bool to_elsewhere = request.to != k_host && request.to != number;
    Option option;
    option.utilisation = present.utilisation;
    option.expected =
        device.record.predict(request.variant, request.field, request.bytes, present.utilisation,
                              to_link, from_link, request.is_like_samples);
    if (from_elsewhere && request.from < devices_.size())
        option.expected.to_s += devices_[request.from].record.from().seconds(request.bytes);
    if (to_elsewhere && request.to < devices_.size())
        option.expected.from_s +=
            devices_[request.to].record.to().seconds(option.expected.result_bytes);
    option.expected.from_s += option.expected.result_bytes * request.result_s_per_byte;
    if (option.expected.known == plan::Known::nothing)
        option.expected.compute_s = request.bytes / k_unknown_bytes_per_s;
    option.queue_s = queue_s(present, device.at_once, now_s);
    const bool fit = present.takes_it && now_s >= device.paused_until_s;
    option.latency_s = fit ? option.expected.to_s + option.queue_s + option.expected.compute_s +
                                 option.expected.from_s
                           : std::numeric_limits<double>::infinity();
    return option;
}

std::vector<Option> Placer::options(const Request& request, std::span<const Present> present,
                                    double now_s) const {
    std::vector<Option> all;
    for (std::size_t i = 0; i < devices_.size(); ++i)
        all.push_back(option(i, request, present[i], now_s));
    return all;
}

void Placer::moved(const Request& request, const Decision& decision, std::size_t device,
                   const Run& run) {
    teach(device, request, run);
    if (options_.rule == Rule::model) chooser_of(request.variant).withdrawn(decision.where);
}

// Each device once, and then the one whose average is least.
std::optional<plan::Where> Placer::by_average(const Request& request,
                                              std::span<const Option> options) const {
    std::optional<plan::Where> best;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        if (!std::isfinite(options[i].latency_s)) continue;
        const double seconds = devices_[i].average_s_per_byte * request.bytes;
        if (!best || seconds < best->predicted_s)
            best = plan::Where{i, seconds, devices_[i].runs == 0, seconds, 0.0, false};
    }
    return best;
}

std::optional<Decision> Placer::choose(const Request& request, std::span<const Present> present,
                                       double now_s) {
    Decision decision;
    decision.options = options(request, present, now_s);
    std::vector<plan::Candidate> candidates;
    for (const Option& one : decision.options) {
        const bool can = std::isfinite(one.latency_s);
        candidates.push_back({one.expected.to_s, can ? one.queue_s : one.latency_s,
                              one.expected.compute_s, one.expected.hoped_s, one.expected.from_s,
                              one.expected.known});
    }
    const auto where = options_.rule == Rule::average
                           ? by_average(request, decision.options)
                           : chooser_of(request.variant).choose(candidates);
    if (!where) return std::nullopt;
    decision.device = where->device;
    decision.where = *where;
    const Option& chosen = decision.options[decision.device];
    decision.service_s = chosen.latency_s - chosen.queue_s;
    return decision;
}

void Placer::done(const Request& request, const Decision& decision, const Run& run, double took_s) {
    teach(decision.device, request, run);
    if (options_.rule == Rule::model)
        chooser_of(request.variant)
            .done(decision.where, took_s + run.result_bytes * request.result_s_per_byte);
}

void Placer::teach(std::size_t number, const Request& request, const Run& run) {
    Device& device = devices_[number];
    device.record.learn(request.variant, request.field, run, request.is_like_samples);
    device.paused_until_s = device.pause_s = 0.0;
    const double service_s = run.to_s + run.compute_s + run.from_s;
    if (run.bytes > 0.0) {
        ++device.runs;
        device.average_s_per_byte +=
            (service_s / run.bytes - device.average_s_per_byte) / static_cast<double>(device.runs);
    }
}

void Placer::failed(std::size_t number, double now_s) {
    if (number == 0) return;
    Device& device = devices_[number];
    ++device.failures;
    if (now_s < device.paused_until_s) return;  // others of the same failure
    device.pause_s = device.pause_s == 0.0
                         ? options_.first_pause_s
                         : std::min(2.0 * device.pause_s, options_.longest_pause_s);
    device.paused_until_s = now_s + device.pause_s;
}

double Placer::lost_by_trials_s() const {
    double lost_s = 0.0;
    for (const auto& [variant, chooser] : choosers_) lost_s += chooser.lost_s();
    return lost_s;
}

double Placer::allowed_loss_s() const {
    double allowed_s = 0.0;
    for (const auto& [variant, chooser] : choosers_) allowed_s += chooser.allowed_loss_s();
    return allowed_s;
}

}  // namespace caesura::where
