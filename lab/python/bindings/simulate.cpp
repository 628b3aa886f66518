// The simulator: a scenario as nested dictionaries in, an outcome as a dictionary out.
#include "simulate/simulate.hpp"

#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings.hpp"

namespace caesura::python {

namespace {
using Pair = std::pair<double, double>;

/// Settings of one table, by the names they have in simulate/simulate.hpp. A name that nobody asks
/// for is a mistake.
class Table {
  public:
    Table(nb::dict dict, std::string name) : dict_(std::move(dict)), name_(std::move(name)) {
        for (const auto& item : dict_) left_.push_back(nb::cast<std::string>(item.first));
    }
    template <class T>
    void take(const char* key, T& value) {
        if (!claim(key)) return;
        if (!nb::try_cast(dict_[key], value)) fail(key, "has the wrong type");
    }
    nb::object take_object(const char* key) {
        return claim(key) ? nb::object(dict_[key]) : nb::object(nb::none());
    }
    void done() const {
        if (!left_.empty()) fail(left_[0], "is not known");
    }

  private:
    bool claim(const char* key) {
        const auto at = std::find(left_.begin(), left_.end(), key);
        if (at == left_.end()) return false;
        left_.erase(at);
        return true;
    }
    void fail(const std::string& key, const char* what) const {
        raise_if_error({StatusCode::invalid_argument, name_ + "." + key + " " + what});
    }
    std::vector<std::string> left_;
    nb::dict dict_;
    std::string name_;
};

std::vector<plan::Interval> to_intervals(const std::vector<Pair>& pairs) {
    std::vector<plan::Interval> intervals;
    for (const auto& [begin_s, end_s] : pairs) intervals.push_back({begin_s, end_s});
    return intervals;
}

void read_noise(Table table, simulate::Noise& noise) {
    table.take("interval_sigma", noise.interval_sigma);
    table.take("ratio_sigma", noise.ratio_sigma);
    table.take("compress_sigma", noise.compress_sigma);
    table.take("write_sigma", noise.write_sigma);
    table.take("block_sigma", noise.block_sigma);
    table.take("jitter_sigma", noise.jitter_sigma);
    table.take("contention_sigma", noise.contention_sigma);
    table.take("contention_period_s", noise.contention_period_s);
    table.done();
}

void read_storage(Table table, simulate::Storage& storage) {
    table.take("stream_bytes_per_s", storage.stream_bytes_per_s);
    table.take("node_bytes_per_s", storage.node_bytes_per_s);
    table.take("system_bytes_per_s", storage.system_bytes_per_s);
    table.take("latency_s", storage.latency_s);
    table.done();
}

void read_compress(Table table, simulate::CompressSpeed& compress) {
    table.take("min_bytes_per_s", compress.min_bytes_per_s);
    table.take("max_bytes_per_s", compress.max_bytes_per_s);
    table.take("exponent", compress.exponent);
    table.take("bits_per_raw_value", compress.bits_per_raw_value);
    table.done();
}

void read_output(Table table, simulate::Output& output) {
    std::string balance;
    table.take("algorithm", output.algorithm);
    table.take("balance", balance);
    if (!balance.empty()) output.balance = value_or_raise(plan::balance_named(balance));
    table.take("search_steps", output.search_steps);
    table.take("resumable", output.resumable);
    table.take("balance_least_gain", output.balance_least_gain);
    table.take("write_in_order", output.write_in_order);
    table.take("write_buffer_bytes", output.write_buffer_bytes);
    table.take("small_write_bytes", output.small_write_bytes);
    table.take("patience_iterations", output.patience_iterations);
    table.take("dumps_in_flight", output.dumps_in_flight);
    table.take("snapshot_bytes_per_s", output.snapshot_bytes_per_s);
    table.take("collective_s", output.collective_s);
    table.take("copy_bytes_per_s", output.copy_bytes_per_s);
    table.take("close_s", output.close_s);
    table.done();
}

void read_library(Table table, simulate::Library& library) {
    table.take("bytes_per_s", library.bytes_per_s);
    table.take("dump_s", library.dump_s);
    table.take("close_s", library.close_s);
    table.done();
}

void read_conflict(Table table, simulate::Conflict& conflict) {
    table.take("compute_slowdown", conflict.compute_slowdown);
    table.take("communicate_slowdown", conflict.communicate_slowdown);
    table.done();
}

void read_patterns(const nb::object& list, simulate::Scenario& scenario) {
    for (const nb::handle item : list) {
        Table table(nb::cast<nb::dict>(item), "patterns");
        simulate::Pattern pattern;
        std::vector<Pair> compress, write;
        table.take("iteration_s", pattern.iteration_s);
        table.take("compress", compress);
        table.take("write", write);
        table.done();
        pattern.obstacles.compress = to_intervals(compress);
        pattern.obstacles.write = to_intervals(write);
        scenario.patterns.push_back(std::move(pattern));
    }
}

// Each rank's blocks as (raw_bytes, ratio, compress_s).
void read_blocks(const nb::object& list, simulate::Scenario& scenario) {
    for (const nb::handle item : list) {
        std::vector<simulate::Block> blocks;
        for (const auto& numbers : nb::cast<std::vector<std::vector<double>>>(item)) {
            if (numbers.size() != 3)
                raise_if_error({StatusCode::invalid_argument,
                                "blocks: each is (raw_bytes, ratio, compress_s)"});
            blocks.push_back({numbers[0], numbers[1], numbers[2]});
        }
        scenario.blocks.push_back(std::move(blocks));
    }
}

simulate::Scenario to_scenario(const nb::dict& dict) {
    simulate::Scenario scenario;
    Table table(dict, "scenario");
    const auto part = [&table](const char* name) {
        const nb::object object = table.take_object(name);
        return Table(object.is_none() ? nb::dict() : nb::cast<nb::dict>(object), name);
    };
    table.take("ranks", scenario.ranks);
    table.take("ranks_per_node", scenario.ranks_per_node);
    table.take("iterations", scenario.iterations);
    table.take("dump_every", scenario.dump_every);
    table.take("tail_iterations", scenario.tail_iterations);
    table.take("seed", scenario.seed);
    table.take("ratio_spread", scenario.ratio_spread);
    table.take("timeline_rank", scenario.timeline_rank);
    read_patterns(table.take_object("patterns"), scenario);
    table.take("patterns_per_rank", scenario.patterns_per_rank);
    read_blocks(table.take_object("blocks"), scenario);
    read_compress(part("compress"), scenario.compress);
    read_storage(part("storage"), scenario.storage);
    read_noise(part("noise"), scenario.noise);
    read_output(part("output"), scenario.output);
    read_library(part("library"), scenario.library);
    read_conflict(part("conflict"), scenario.conflict);
    table.done();
    return scenario;
}

nb::dict to_dict(const simulate::Outcome& outcome) {
    nb::dict out;
    out["wall_s"] = outcome.wall_s;
    out["iteration_s"] = nb::cast(outcome.iteration_s);
    out["closing_s"] = outcome.closing_s;
    out["wait_s"] = outcome.wait_s;
    out["delay_s"] = outcome.delay_s;
    out["dump_s"] = outcome.dump_s;
    out["slowest_dump_s"] = outcome.slowest_dump_s;
    out["plan_error"] = outcome.plan_error;
    out["raw_bytes"] = outcome.raw_bytes;
    out["compressed_bytes"] = outcome.compressed_bytes;
    out["written_bytes"] = outcome.written_bytes;
    out["writes"] = outcome.writes;
    out["foreign_writes"] = outcome.foreign_writes;
    out["plans"] = outcome.plans;
    out["events"] = outcome.events;
    nb::list timeline;
    for (const simulate::Span& span : outcome.timeline) {
        const std::string kind(to_string(span.kind));
        timeline.append(nb::make_tuple(kind, span.begin_s, span.end_s, span.iteration, span.block));
    }
    out["timeline"] = timeline;
    return out;
}

nb::dict run(const nb::dict& dict, const std::string& mode,
             std::optional<std::function<bool(double)>> progress) {
    const simulate::Scenario scenario = to_scenario(dict);
    const simulate::Mode which = value_or_raise(simulate::mode_named(mode));
    Result<simulate::Outcome> outcome = Status{StatusCode::internal, "not run"};
    {
        nb::gil_scoped_release unlocked;
        outcome = simulate::simulate(scenario, which, [&progress](double share) {
            if (!progress) return true;
            nb::gil_scoped_acquire locked;
            return (*progress)(share);
        });
    }
    return to_dict(value_or_raise(std::move(outcome)));
}

std::vector<std::string> mode_names() {
    std::vector<std::string> names;
    for (const simulate::Mode mode : simulate::k_modes) names.emplace_back(to_string(mode));
    return names;
}
}  // namespace

void bind_simulate(nb::module_& module) {
    module.def("simulate", &run, nb::arg("scenario"), nb::arg("mode"),
               nb::arg("progress") = nb::none());
    module.attr("simulation_modes") = nb::cast(mode_names());
}

}  // namespace caesura::python
