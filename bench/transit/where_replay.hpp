// Requests that were recorded on every device, served again by one policy after the other: what
// each would have taken, and how far its predictions were off. The choice is the service's own
// (src/where), and so are the samples with which each device is known at first.
#pragma once

#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/median.hpp"
#include "where/placer.hpp"

namespace caesura::transit::bench {

inline constexpr std::size_t k_devices = 3;
inline const std::array<const char*, k_devices> k_names = {"cpu", "gpu", "remote"};

/// One request, on each device, under the same load.
struct Measured {
    std::string field;
    double bytes = 0.0;
    std::array<double, k_devices> utilisation{};  ///< before it began
    double runnable = 0.0, waiting_share = 0.0;   ///< of the host, then
    std::vector<double> host_cpu_s;               ///< of each repeat, its worker's own time
    std::array<double, 2> load{};                 ///< that was meant: cores, GPU
    std::vector<std::array<where::Run, k_devices>> repeats;
};

/// A service that has just started: samples on each device.
using Samples = std::array<std::vector<where::Run>, k_devices>;

/// What was recorded in one go.
struct Recording {
    Samples samples;
    std::vector<Measured> requests, slow_down;
    std::size_t slower_from = 0;
};

inline double seconds(const where::Run& run) { return run.to_s + run.compute_s + run.from_s; }

/// The repeat in the middle, by its time.
inline where::Run middle(const Measured& request, std::size_t device) {
    std::vector<where::Run> runs;
    for (const auto& repeat : request.repeats) runs.push_back(repeat[device]);
    std::sort(runs.begin(), runs.end(),
              [](const where::Run& a, const where::Run& b) { return seconds(a) < seconds(b); });
    return runs[runs.size() / 2];
}

/// What a policy made of them.
struct Served {
    std::vector<std::size_t> device;
    std::vector<double> took_s, predicted_s, best_s;
    int trials = 0;

    nlohmann::json summary(std::size_t from = 0) const {
        double took = 0.0, best = 0.0, ratios = 0.0;
        std::array<int, k_devices> blocks{};
        for (std::size_t i = from; i < took_s.size(); ++i) {
            took += took_s[i];
            best += best_s[i];
            ratios += took_s[i] / best_s[i];
            ++blocks[device[i]];
        }
        const double n = static_cast<double>(took_s.size() - from);
        return {{"took_s", took},
                {"over_best_total", took / best - 1.0},
                {"over_best_mean", ratios / n - 1.0},
                {"trials", trials},
                {"blocks", blocks}};
    }
};

/// @param only  the device that takes all; k_devices: the placer chooses.
/// @param single  the first measurement of each; else the one in the middle of the repeats.
/// @param samples  taught before the first request; null: nothing is known then.
inline Served replay(const std::vector<Measured>& requests, where::Rule rule, std::size_t only,
                     bool single, const Samples* samples) {
    where::Placer placer({rule});
    for (const char* const name : k_names) placer.add(name, 1);
    for (std::size_t d = 0; samples != nullptr && d < k_devices; ++d)
        for (const where::Run& run : (*samples)[d]) placer.calibrate(d, run);
    Served served;
    for (const Measured& measured : requests) {
        std::array<where::Run, k_devices> runs;
        double best_s = 1e30;
        for (std::size_t d = 0; d < k_devices; ++d) {
            runs[d] = single ? measured.repeats[0][d] : middle(measured, d);
            runs[d].utilisation = measured.utilisation[d];
            best_s = std::min(best_s, seconds(runs[d]));
        }
        const where::Request request{"caesura", measured.field, measured.bytes};
        std::vector<where::Present> present(k_devices);
        for (std::size_t d = 0; d < k_devices; ++d) {
            present[d].utilisation = measured.utilisation[d];
            present[d].takes_it = only == k_devices || only == d;
        }
        const auto decision = placer.choose(request, present, 0.0);
        const std::size_t device = decision->device;
        const double took_s = seconds(runs[device]);
        placer.done(request, *decision, runs[device], took_s);
        served.device.push_back(device);
        served.took_s.push_back(took_s);
        served.predicted_s.push_back(decision->predicted_s());
        served.trials += decision->where.is_trial ? 1 : 0;
        served.best_s.push_back(best_s);
    }
    return served;
}

inline nlohmann::json policies(const std::vector<Measured>& requests, bool single,
                               const Samples& samples) {
    nlohmann::json all;
    const auto add = [&](const char* name, where::Rule rule, std::size_t only,
                         bool with_samples = true) {
        const Served served =
            replay(requests, rule, only, single, with_samples ? &samples : nullptr);
        all[name] = served.summary();
        all[name]["second_half"] = served.summary(requests.size() / 2);
        if (std::string(name) != "model") return;
        all[name]["device"] = served.device;
        all[name]["predicted_s"] = served.predicted_s;
        all[name]["took"] = served.took_s;
        all[name]["best"] = served.best_s;
    };
    add("model", where::Rule::model, k_devices);
    add("without_samples", where::Rule::model, k_devices, false);
    add("average", where::Rule::average, k_devices);
    for (std::size_t d = 0; d < k_devices; ++d) add(k_names[d], where::Rule::model, d);
    return all;
}

/// The latency model on requests that it was not fitted to: a random half teaches it, the other
/// half is predicted.
inline nlohmann::json model_quality(const std::vector<Measured>& requests, std::size_t device,
                                    bool with_fields, unsigned seed) {
    where::DeviceRecord record;
    std::mt19937 random(seed);
    std::vector<bool> teaches;
    for (std::size_t i = 0; i < requests.size(); ++i) teaches.push_back(random() % 2 == 0);
    const auto field_of = [&](std::size_t i) {
        return with_fields ? requests[i].field : std::string();
    };
    for (std::size_t i = 0; i < requests.size(); ++i)
        if (teaches[i]) {
            where::Run run = middle(requests[i], device);
            run.utilisation = requests[i].utilisation[device];
            record.learn("caesura", field_of(i), run);
        }
    double mean = 0.0, n = 0.0, off = 0.0, all = 0.0;
    std::vector<std::array<double, 2>> pairs;
    nlohmann::json requests_of_pairs = nlohmann::json::array();
    std::map<double, std::vector<double>> errors;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (teaches[i]) continue;
        const double seen_s = seconds(middle(requests[i], device));
        const auto expected =
            record.predict("caesura", field_of(i), requests[i].bytes,
                           requests[i].utilisation[device], device != 0, device != 0);
        const double predicted_s = expected.to_s + expected.compute_s + expected.from_s;
        pairs.push_back({predicted_s, seen_s});
        requests_of_pairs.push_back(i);
        errors[requests[i].bytes].push_back(std::fabs(predicted_s / seen_s - 1.0));
        mean += seen_s;
        ++n;
    }
    mean /= std::max(1.0, n);
    for (const auto& [predicted_s, seen_s] : pairs) {
        off += std::pow(predicted_s - seen_s, 2);
        all += std::pow(seen_s - mean, 2);
    }
    nlohmann::json by_size = nlohmann::json::object();
    for (auto& [bytes, of_size] : errors) {
        std::sort(of_size.begin(), of_size.end());
        by_size[std::to_string(static_cast<long long>(bytes))] = of_size[of_size.size() / 2];
    }
    return {{"r2", all > 0.0 ? 1.0 - off / all : 0.0},
            {"median_error_by_bytes", by_size},
            {"requests", pairs.size()},
            {"pairs_s", pairs},
            {"requests_of_pairs", std::move(requests_of_pairs)}};
}

/// The GPU becomes slower: how many of the requests before had it, and which was the last of the 20
/// after that did (later ones are trials).
inline nlohmann::json recovery(const std::vector<Measured>& requests, std::size_t slower_from,
                               const Samples& samples) {
    constexpr std::size_t k_gpu = 1, k_looked_at = 20;
    nlohmann::json all;
    for (const auto& [name, rule] :
         {std::pair{"model", where::Rule::model}, std::pair{"average", where::Rule::average}}) {
        const Served served = replay(requests, rule, k_devices, true, &samples);
        std::size_t before = 0, last = 0;
        for (std::size_t i = 0; i < std::min(served.device.size(), slower_from + k_looked_at);
             ++i) {
            if (served.device[i] != k_gpu) continue;
            if (i < slower_from)
                ++before;
            else
                last = i - slower_from + 1;
        }
        all[name] = {{"before", before}, {"last", last}, {"device", served.device}};
    }
    return all;
}

/// What the model says of a usual field, by utilisation and bytes, after all requests.
inline nlohmann::json surface(const std::vector<Measured>& requests, std::size_t device) {
    where::DeviceRecord record;
    for (const Measured& request : requests) {
        where::Run run = middle(request, device);
        run.utilisation = request.utilisation[device];
        record.learn("caesura", request.field, run);
    }
    constexpr int k_steps = 20;
    nlohmann::json rows = nlohmann::json::array();
    for (const double bytes : {8.0, 16.0, 24.0, 32.0, 40.0, 48.0, 56.0, 64.0})
        for (int step = 0; step <= k_steps; ++step) {
            const double busy = static_cast<double>(step) / k_steps;
            nlohmann::json row = {{"bytes", bytes * (1 << 20)}, {"utilisation", busy}};
            for (const char* const field : {"", "smooth", "waves", "noise"}) {
                const auto said = record.predict("caesura", field, bytes * (1 << 20), busy,
                                                 device != 0, device != 0);
                row["seconds"][field] = said.to_s + said.compute_s + said.from_s;
            }
            rows.push_back(std::move(row));
        }
    return rows;
}

}  // namespace caesura::transit::bench
