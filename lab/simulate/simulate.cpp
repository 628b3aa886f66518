// The public face: names, validation, one run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planners/planners.hpp"
#include "simulate/world.hpp"

namespace caesura::simulate {
namespace {

Status bad(std::string_view setting, const std::string& value, std::string_view what) {
    return {StatusCode::invalid_argument,
            fmt::format("simulate: {} is {}; it must be {}", setting, value, what)};
}

struct Number {
    std::string_view name;
    double value;
    double least;
};

Status check_numbers(const Scenario& s) {
    const Number numbers[] = {
        {"compress.min_bytes_per_s", s.compress.min_bytes_per_s, 1.0},
        {"compress.max_bytes_per_s", s.compress.max_bytes_per_s, s.compress.min_bytes_per_s},
        {"compress.bits_per_raw_value", s.compress.bits_per_raw_value, 1.0},
        {"storage.stream_bytes_per_s", s.storage.stream_bytes_per_s, 0.0},
        {"storage.node_bytes_per_s", s.storage.node_bytes_per_s, 0.0},
        {"storage.system_bytes_per_s", s.storage.system_bytes_per_s, 0.0},
        {"storage.latency_s", s.storage.latency_s, 0.0},
        {"noise.interval_sigma", s.noise.interval_sigma, 0.0},
        {"noise.ratio_sigma", s.noise.ratio_sigma, 0.0},
        {"noise.compress_sigma", s.noise.compress_sigma, 0.0},
        {"noise.write_sigma", s.noise.write_sigma, 0.0},
        {"noise.block_sigma", s.noise.block_sigma, 0.0},
        {"noise.jitter_sigma", s.noise.jitter_sigma, 0.0},
        {"noise.contention_sigma", s.noise.contention_sigma, 0.0},
        {"output.write_buffer_bytes", s.output.write_buffer_bytes, 0.0},
        {"output.small_write_bytes", s.output.small_write_bytes, 0.0},
        {"output.snapshot_bytes_per_s", s.output.snapshot_bytes_per_s, 0.0},
        {"output.collective_s", s.output.collective_s, 0.0},
        {"output.copy_bytes_per_s", s.output.copy_bytes_per_s, 0.0},
        {"output.close_s", s.output.close_s, 0.0},
        {"library.bytes_per_s", s.library.bytes_per_s, 0.0},
        {"library.dump_s", s.library.dump_s, 0.0},
        {"library.close_s", s.library.close_s, 0.0},
        {"conflict.compute_slowdown", s.conflict.compute_slowdown, 1.0},
        {"ratio_spread", s.ratio_spread, 0.0},
    };
    for (const Number& n : numbers)
        if (!std::isfinite(n.value) || n.value < n.least)
            return bad(n.name, fmt::format("{}", n.value),
                       fmt::format("a finite number of at least {}", n.least));
    if (!std::isfinite(s.compress.exponent))
        return bad("compress.exponent", fmt::format("{}", s.compress.exponent), "finite");
    if (!(s.output.patience_iterations >= 0.0))
        return bad("output.patience_iterations", fmt::format("{}", s.output.patience_iterations),
                   "0 or more");
    if (!(s.conflict.communicate_slowdown >= 1.0))
        return bad("conflict.communicate_slowdown",
                   fmt::format("{}", s.conflict.communicate_slowdown), "at least 1");
    if (s.noise.contention_sigma > 0.0 && !(s.noise.contention_period_s > 0.0))
        return bad("noise.contention_period_s", fmt::format("{}", s.noise.contention_period_s),
                   "above 0");
    if (s.noise.contention_sigma > 0.0 && s.storage.system_bytes_per_s == 0.0)
        return bad("storage.system_bytes_per_s", "0 (no limit)",
                   "above 0 for noise.contention_sigma to have something to act on");
    return {};
}

Status check_pattern(const Pattern& pattern, std::size_t index) {
    const std::string name = fmt::format("pattern {}", index);
    if (!std::isfinite(pattern.iteration_s) || pattern.iteration_s <= 0.0)
        return bad(name + ": iteration_s", fmt::format("{}", pattern.iteration_s),
                   "finite and above 0");
    for (const auto* lane : {&pattern.obstacles.compress, &pattern.obstacles.write}) {
        double before_s = 0.0;
        for (std::size_t i = 0; i < lane->size(); ++i) {
            const plan::Interval& o = (*lane)[i];
            const bool inside =
                o.begin_s >= before_s && o.end_s >= o.begin_s && o.end_s <= pattern.iteration_s;
            if (!inside)
                return bad(
                    fmt::format("{}: {} obstacle {}", name,
                                lane == &pattern.obstacles.compress ? "compress" : "write", i),
                    fmt::format("[{}, {}) s", o.begin_s, o.end_s),
                    fmt::format("behind the one before and inside [0, {}) s", pattern.iteration_s));
            before_s = o.end_s;
        }
    }
    return {};
}

Status check_blocks(const Scenario& s) {
    for (std::size_t r = 0; r < s.blocks.size(); ++r)
        for (std::size_t b = 0; b < s.blocks[r].size(); ++b) {
            const Block& block = s.blocks[r][b];
            const std::string name = fmt::format("block {} of rank {}: ", b, r);
            if (!std::isfinite(block.raw_bytes) || block.raw_bytes <= 0.0)
                return bad(name + "raw_bytes", fmt::format("{}", block.raw_bytes),
                           "finite and above 0");
            if (!std::isfinite(block.ratio) || block.ratio < 1.0)
                return bad(name + "ratio", fmt::format("{}", block.ratio), "at least 1");
            if (!std::isfinite(block.compress_s))
                return bad(name + "compress_s", fmt::format("{}", block.compress_s), "finite");
        }
    return {};
}

}  // namespace

std::string_view to_string(Mode mode) {
    switch (mode) {
        case Mode::compute:
            return "compute";
        case Mode::sync:
            return "sync";
        case Mode::filter:
            return "filter";
        case Mode::async:
            return "async";
        case Mode::caesura:
            return "caesura";
        case Mode::no_planning:
            return "no_planning";
        case Mode::normal_priority:
            return "normal_priority";
    }
    return "unknown";
}

Result<Mode> mode_named(std::string_view name) {
    std::string known;
    for (const Mode mode : k_modes) {
        if (name == to_string(mode)) return mode;
        known += (known.empty() ? "" : ", ") + std::string(to_string(mode));
    }
    return Status(StatusCode::invalid_argument,
                  fmt::format("mode is '{}'; use one of {}", name, known));
}

std::string_view to_string(Span::Kind kind) {
    switch (kind) {
        case Span::Kind::host:
            return "host";
        case Span::Kind::communicate:
            return "communicate";
        case Span::Kind::compress:
            return "compress";
        case Span::Kind::write:
            return "write";
        case Span::Kind::snapshot:
            return "snapshot";
        case Span::Kind::wait:
            return "wait";
        case Span::Kind::planned_compress:
            return "planned_compress";
        case Span::Kind::planned_write:
            return "planned_write";
    }
    return "unknown";
}

Status validate(const Scenario& s) {
    const std::pair<std::string_view, std::uint32_t> counts[] = {
        {"ranks", s.ranks},
        {"ranks_per_node", s.ranks_per_node},
        {"iterations", s.iterations},
        {"dump_every", s.dump_every},
        {"patterns_per_rank", s.patterns_per_rank},
        {"output.dumps_in_flight",
         static_cast<std::uint32_t>(std::max(0, s.output.dumps_in_flight))},
    };
    for (const auto& [name, value] : counts)
        if (value == 0) return bad(name, "0", "at least 1");
    if (s.ratio_spread > 0.0 && s.ranks_per_node < 2)
        return bad("ranks_per_node", "1", "at least 2 for ratio_spread to have a meaning");
    if (s.patterns.empty() || s.patterns.size() % s.patterns_per_rank != 0)
        return bad("the number of patterns", fmt::format("{}", s.patterns.size()),
                   fmt::format("a multiple of patterns_per_rank, {}", s.patterns_per_rank));
    if (s.blocks.empty()) return bad("the number of ranks' blocks", "0", "at least 1");
    if (Status status = lab::check_name(s.output.algorithm); !status.ok())
        return status.with_context("simulate: output");
    if (Status status = check_numbers(s); !status.ok()) return status;
    for (std::size_t i = 0; i < s.patterns.size(); ++i)
        if (Status status = check_pattern(s.patterns[i], i); !status.ok()) return status;
    return check_blocks(s);
}

Result<Outcome> simulate(const Scenario& scenario, Mode mode,
                         const std::function<bool(double)>& progress) {
    if (Status status = validate(scenario); !status.ok()) return status;
    return World(scenario, mode).run(progress);
}

}  // namespace caesura::simulate
