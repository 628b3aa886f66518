// Recordings as JSON, so that they are made once and replayed often.
#pragma once

#include <nlohmann/json.hpp>

#include "where_replay.hpp"

namespace caesura::transit::bench {

inline nlohmann::json json_of(const where::Run& run) {
    return {{"bytes", run.bytes},   {"result_bytes", run.result_bytes},
            {"to_s", run.to_s},     {"compute_s", run.compute_s},
            {"from_s", run.from_s}, {"utilisation", run.utilisation}};
}
inline where::Run run_from(const nlohmann::json& said) {
    where::Run run;
    run.bytes = said.at("bytes");
    run.result_bytes = said.at("result_bytes");
    run.to_s = said.at("to_s");
    run.compute_s = said.at("compute_s");
    run.from_s = said.at("from_s");
    run.utilisation = said.at("utilisation");
    return run;
}

inline nlohmann::json json_of(const std::vector<Measured>& requests) {
    nlohmann::json all = nlohmann::json::array();
    for (const Measured& one : requests) {
        nlohmann::json repeats = nlohmann::json::array();
        for (const auto& repeat : one.repeats) {
            nlohmann::json runs = nlohmann::json::array();
            for (const where::Run& run : repeat) runs.push_back(json_of(run));
            repeats.push_back(std::move(runs));
        }
        all.push_back({{"field", one.field},
                       {"bytes", one.bytes},
                       {"utilisation", one.utilisation},
                       {"runnable", one.runnable},
                       {"waiting_share", one.waiting_share},
                       {"load", one.load},
                       {"host_cpu_s", one.host_cpu_s},
                       {"repeats", std::move(repeats)}});
    }
    return all;
}
inline std::vector<Measured> requests_from(const nlohmann::json& said) {
    std::vector<Measured> all;
    for (const nlohmann::json& one : said) {
        Measured& request = all.emplace_back();
        request.field = one.at("field");
        request.bytes = one.at("bytes");
        request.utilisation = one.at("utilisation");
        request.runnable = one.at("runnable");
        request.waiting_share = one.at("waiting_share");
        request.load = one.at("load");
        for (const nlohmann::json& repeat : one.at("repeats")) {
            auto& runs = request.repeats.emplace_back();
            for (std::size_t d = 0; d < k_devices; ++d) runs[d] = run_from(repeat.at(d));
        }
    }
    return all;
}

/// Recordings that followed each other, as one.
inline Recording recording_from(const nlohmann::json& pieces) {
    Recording all;
    for (const nlohmann::json& piece : pieces) {
        const auto add = [](std::vector<Measured>& to, const nlohmann::json& from) {
            for (Measured& one : requests_from(from)) to.push_back(std::move(one));
        };
        if (all.requests.empty())
            for (std::size_t d = 0; d < k_devices; ++d)
                for (const nlohmann::json& run : piece.at("samples").at(d))
                    all.samples[d].push_back(run_from(run));
        if (all.slow_down.empty()) {
            add(all.slow_down, piece.at("slow_down"));
            all.slower_from = piece.at("slower_from");
        }
        add(all.requests, piece.at("requests"));
    }
    return all;
}

}  // namespace caesura::transit::bench
