// What analyses of a dump's parts come to, without the service: by the functions that are built in.
#include <map>
#include <nlohmann/json.hpp>

#include "lambda/registry.hpp"
#include "transit/client/client.hpp"

namespace caesura::transit {

std::string Client::conclude(std::span<const writer::Finding> findings,
                             std::uint64_t values) const {
    static const auto& registry = *new lambda::Registry;
    struct Sum {
        lambda::AnalysisState state;
        std::uint64_t values = 0;
        bool whole = true;
    };
    std::map<std::string, Sum> sums;
    for (const writer::Finding& finding : findings) {
        auto state = registry.parse_state(finding.state);
        if (!state.ok()) continue;  // of the operator's: the service has its results
        const auto known = sums.find(state->call());
        if (known == sums.end()) {
            const std::string call = state->call();
            sums.emplace(call, Sum{std::move(*state), finding.values});
            continue;
        }
        known->second.whole &= known->second.state.merge(*state).ok();
        known->second.values += finding.values;
    }
    nlohmann::ordered_json all = nlohmann::ordered_json::object();
    for (const auto& [call, sum] : sums) {
        if (!sum.whole || sum.values != values) continue;
        if (const auto results = sum.state.finish(); results.ok()) all[call] = results->to_json();
    }
    return all.empty() ? std::string() : all.dump();
}

}  // namespace caesura::transit
