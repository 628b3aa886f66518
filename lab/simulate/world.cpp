// The loop over events, and what runs beside what.
#include "simulate/world.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/median.hpp"

namespace caesura::simulate {
namespace {

bool is_background(Mode mode) {
    return mode != Mode::compute && mode != Mode::sync && mode != Mode::filter;
}

}  // namespace

World::World(const Scenario& scenario, Mode mode)
    : scenario_(scenario),
      mode_(mode),
      background_(is_background(mode)),
      workload_(scenario),
      sharing_(scenario.storage,
               (scenario.ranks + scenario.ranks_per_node - 1) / scenario.ranks_per_node,
               scenario.ranks_per_node),
      next_event_(scenario.ranks),
      ranks_(scenario.ranks),
      slowest_dump_s_(scenario.iterations, 0.0) {
    for (std::uint32_t r = 0; r < scenario.ranks; ++r) {
        ranks_[r].id = r;
        ranks_[r].node = r / scenario.ranks_per_node;
    }
    if (scenario.noise.contention_sigma > 0.0) {
        sharing_.set_system(0.0, workload_.system_bytes_per_s(0));
        system_change_s_ = scenario.noise.contention_period_s;
    }
}

Result<Outcome> World::run(const std::function<bool(double)>& progress) {
    for (Rank& rank : ranks_) begin_iteration(rank);
    for (Rank& rank : ranks_) settle(rank);
    std::uint32_t told = 0;
    while (!done_) {
        const double rank_s = next_event_.time_s(), transfer_s = sharing_.next_end_s();
        const double next_s = std::min({rank_s, transfer_s, system_change_s_});
        if (next_s == k_never_s)
            return Status(StatusCode::internal,
                          fmt::format("simulate: nothing can happen after {} s", now_s_));
        now_s_ = std::max(now_s_, next_s);
        ++outcome_.events;
        if (next_s == system_change_s_) {
            sharing_.set_system(now_s_, workload_.system_bytes_per_s(++system_period_));
            system_change_s_ =
                static_cast<double>(system_period_ + 1) * scenario_.noise.contention_period_s;
        } else if (next_s == transfer_s) {
            Rank& rank = ranks_[sharing_.end_next()];
            end_transfer(rank);
            settle(rank);
        } else {
            handle_rank(next_event_.rank());
        }
        if (!error_.ok()) return error_;
        if (told == iteration_) continue;
        told = iteration_;
        if (progress && !progress(static_cast<double>(told) / scenario_.iterations))
            return Status(StatusCode::cancelled, "simulate: stopped");
    }
    finish();
    return std::move(outcome_);
}

// Everything that is due on this rank, in an order that leaves no lane a moment too long: what ends
// now ends before the application goes on, and only then may something begin (settle).
void World::handle_rank(std::uint32_t id) {
    Rank& rank = ranks_[id];
    for (;;) {
        if (rank.compress.end_s <= now_s_) {
            end_compress(rank);
        } else if (rank.copy.end_s <= now_s_) {
            end_copy(rank);
        } else if (rank.latency_end_s <= now_s_) {
            rank.latency_end_s = k_never_s;
            sharing_.begin(now_s_, id, rank.node, rank.write_bytes);
        } else if (rank.application.end_s <= now_s_) {
            next_step(rank);
        } else {
            break;
        }
    }
    settle(rank);
}

void World::settle(Rank& rank) {
    rank.timer_s = k_never_s;
    if (rank.step == Step::phase) mark_phase(rank);
    begin_compress(rank);
    begin_write(rank);
    set_speeds(rank);
    next_event_.set(rank.id, rank.next_event_s());
}

void World::set_speeds(Rank& rank) {
    const Phase phase = rank.phase();
    double application = 1.0, compress = 1.0, copy = 1.0;
    if (phase.host && rank.compressing) {
        const double slowdown = scenario_.conflict.compute_slowdown;
        if (mode_ == Mode::normal_priority) {
            application = 1.0 / slowdown;
            compress = slowdown > 1.0 ? 1.0 - application : 1.0;
        } else if (application_waits_for_core()) {
            application = 0.0;  // S0 §5.4.1: one after the other
        } else {
            compress = 0.0;
        }
    }
    // Whoever copies a write into the system is the application's equal; what is at idle priority
    // waits for both.
    if (rank.copy.running()) {
        if (phase.host) application *= 0.5, copy = 0.5;
        const bool idle = mode_ != Mode::normal_priority && scenario_.output.resumable;
        compress *= idle ? 0.0 : 0.5;
    }
    // An infinite slowdown makes it wait.
    if (phase.network && rank.write_running) application /= scenario_.conflict.communicate_slowdown;
    rank.application.set_speed(now_s_, application);
    rank.compress.set_speed(now_s_, compress);
    rank.copy.set_speed(now_s_, copy);
}

void World::finish() {
    outcome_.wall_s = now_s_;
    outcome_.closing_s = now_s_ - iteration_begin_s_;
    const double n = static_cast<double>(ranks_.size());
    for (const Rank& rank : ranks_) {
        outcome_.wait_s += rank.wait_s / n;
        outcome_.delay_s += rank.delay_s / n;
    }
    if (n_dumps_ > 0) outcome_.dump_s = dump_s_ / static_cast<double>(n_dumps_);
    double slowest_s = 0.0, dumps = 0.0;
    for (const double dump_s : slowest_dump_s_) {
        slowest_s += dump_s;
        dumps += dump_s > 0.0;
    }
    if (dumps > 0.0) outcome_.slowest_dump_s = slowest_s / dumps;
    outcome_.plan_error = base::median(std::move(plan_errors_));
    std::stable_sort(outcome_.timeline.begin(), outcome_.timeline.end(),
                     [](const Span& a, const Span& b) { return a.begin_s < b.begin_s; });
}

void World::note(const Rank& rank, Span::Kind kind, double begin_s, double end_s,
                 std::uint32_t iteration, std::uint32_t block) {
    if (rank.id == scenario_.timeline_rank && end_s > begin_s)
        outcome_.timeline.push_back({kind, begin_s, end_s, iteration, block});
}

}  // namespace caesura::simulate
