// The application of a rank: its phases, what it waits for, and the barrier after each iteration.
#include <algorithm>

#include "simulate/world.hpp"

namespace caesura::simulate {

void World::begin_iteration(Rank& rank) {
    workload_.phases(rank.id, iteration_, rank.phases);
    rank.own_phases = rank.phases.size();
    if (background_ && workload_.dumps(iteration_)) {
        const double speed = scenario_.output.snapshot_bytes_per_s;
        rank.phases.push_back(
            {speed > 0.0 ? workload_.raw_bytes(rank.id) / speed : 0.0, true, false});
        rank.phases.push_back({scenario_.output.collective_s, true, true});
    }
    rank.host.begin_iteration(now_s_);
    rank.network.begin_iteration(now_s_);
    rank.at_phase = 0;
    enter_phase(rank);
}

void World::enter_phase(Rank& rank) {
    const Phase& phase = rank.phases[rank.at_phase];
    rank.step = Step::phase;
    rank.step_begin_s = now_s_;
    mark_phase(rank);
    rank.application.start(now_s_, phase.length_s, 1.0);
}

// A phase that has to wait for one of our tasks begins when that has ended (S0 §5.4.1).
void World::mark_phase(Rank& rank) {
    const Phase& phase = rank.phases[rank.at_phase];
    const bool host_waits = !rank.host.on() && rank.compressing && application_waits_for_core();
    const bool network_waits = !rank.network.on() && rank.write_running &&
                               std::isinf(scenario_.conflict.communicate_slowdown);
    mark(rank, phase.host && !host_waits, phase.network && !network_waits);
}

// What the lanes are told: an obstacle begins or ends where two phases differ.
void World::mark(Rank& rank, bool host, bool network) {
    if (host && !rank.host.on()) rank.host.enter(now_s_);
    if (!host && rank.host.on()) rank.host.leave(now_s_);
    if (network && !rank.network.on()) rank.network.enter(now_s_);
    if (!network && rank.network.on()) rank.network.leave(now_s_);
}

// The application's work is done: what comes next?
void World::next_step(Rank& rank) {
    rank.application.stop();
    if (rank.step == Step::prepare) {
        begin_blocking_output(rank);
        return;
    }
    if (rank.step == Step::close_file) {
        arrive(rank);
        return;
    }
    const Phase& phase = rank.phases[rank.at_phase];
    const bool own = rank.at_phase < rank.own_phases;
    rank.delay_s += std::max(0.0, now_s_ - rank.step_begin_s - phase.length_s);
    if (!own) note(rank, Span::Kind::snapshot, rank.step_begin_s, now_s_, iteration_);
    if (own && phase.host) note(rank, Span::Kind::host, rank.step_begin_s, now_s_, iteration_);
    if (own && phase.network)
        note(rank, Span::Kind::communicate, rank.step_begin_s, now_s_, iteration_);
    if (++rank.at_phase < rank.phases.size()) {
        if (rank.at_phase == rank.own_phases)
            wait_for_room(rank);
        else
            enter_phase(rank);
        return;
    }
    mark(rank, false, false);
    if (!background_ && mode_ != Mode::compute && workload_.dumps(iteration_)) {
        rank.step_begin_s = now_s_;
        begin_blocking_output(rank);
    } else {
        arrive(rank);
    }
}

void World::wait_for_room(Rank& rank) {
    if (rank.dumps.size() < static_cast<std::size_t>(scenario_.output.dumps_in_flight)) {
        enter_phase(rank);
        return;
    }
    mark(rank, false, false);
    rank.step = Step::room;
    rank.step_begin_s = now_s_;
}

// What the core does in blocking output before it writes: the library's calls, and compressing.
double World::preparing_s(const std::vector<Piece>& pieces) const {
    double sum_s = scenario_.library.dump_s;
    if (mode_ == Mode::filter)
        for (const Piece& piece : pieces) sum_s += piece.compress_s;
    return sum_s;
}

// The core's part and then writing, on the application's own time. Every block is a write of its
// own as far as latency goes.
void World::begin_blocking_output(Rank& rank) {
    const std::vector<Piece> pieces = workload_.pieces(rank.id, iteration_);
    if (rank.step == Step::phase) {
        if (const double core_s = preparing_s(pieces); core_s > 0.0) {
            rank.step = Step::prepare;
            rank.application.start(now_s_, core_s, 1.0);
            return;
        }
    }
    double bytes = 0.0;
    for (const Piece& piece : pieces) {
        const double written = mode_ == Mode::filter ? piece.bytes : piece.raw_bytes;
        bytes += written * piece.write_factor;
        outcome_.raw_bytes += piece.raw_bytes;
        outcome_.compressed_bytes += written;
        outcome_.written_bytes += written;
    }
    rank.step = Step::write_all;
    start_write(rank, bytes, scenario_.storage.latency_s * static_cast<double>(pieces.size()));
}

// A dump of `owner` is on disk: it may wait for that.
void World::dump_done(Dump& dump) {
    Rank& owner = ranks_[dump.tasks.front().owner];
    dump_s_ += now_s_ - dump.begin_s;
    ++n_dumps_;
    double& slowest_s = slowest_dump_s_[dump.iteration];
    slowest_s = std::max(slowest_s, now_s_ - dump.begin_s);
    if (dump.planned_end_s > 0.0)
        plan_errors_.push_back(std::fabs((now_s_ - dump.begin_s) / dump.planned_end_s - 1.0));
    std::erase_if(owner.dumps, [&dump](const auto& kept) { return kept.get() == &dump; });
    if (owner.step == Step::room) {
        if (owner.dumps.size() >= static_cast<std::size_t>(scenario_.output.dumps_in_flight))
            return;
        owner.wait_s += now_s_ - owner.step_begin_s;
        note(owner, Span::Kind::wait, owner.step_begin_s, now_s_, iteration_);
        enter_phase(owner);
        settle(owner);
    } else if (owner.step == Step::closing && owner.dumps.empty()) {
        note(owner, Span::Kind::wait, owner.step_begin_s, now_s_, iteration_);
        close_file(owner);
        settle(owner);  // another rank may have written the last block
    }
}

// Everything of this rank is written.
void World::close_file(Rank& rank) {
    const double close_s = mode_ == Mode::compute ? 0.0
                           : background_          ? scenario_.output.close_s
                                                  : scenario_.library.close_s;
    if (close_s == 0.0) {
        arrive(rank);
        return;
    }
    rank.step = Step::close_file;
    rank.application.start(now_s_, close_s, 1.0);
}

void World::arrive(Rank& rank) {
    rank.step = closing_ ? Step::done : Step::barrier;
    rank.application.stop();
    if (++arrived_ == scenario_.ranks) release();
}

// All ranks are here. What they dumped is handed over, and all go on together.
void World::release() {
    arrived_ = 0;
    if (closing_) {
        done_ = true;
        return;
    }
    last_iteration_s_ = now_s_ - iteration_begin_s_;
    outcome_.iteration_s.push_back(last_iteration_s_);
    iteration_begin_s_ = now_s_;
    const bool dumped = background_ && workload_.dumps(iteration_);
    const std::uint32_t dump = iteration_++;
    closing_ = iteration_ == scenario_.iterations;
    for (Rank& rank : ranks_) {
        if (!closing_) {
            begin_iteration(rank);
            continue;
        }
        rank.host.begin_iteration(now_s_);
        rank.network.begin_iteration(now_s_);
        rank.step = Step::closing;
        rank.step_begin_s = now_s_;
    }
    if (dumped) hand_over(dump);
    if (closing_)
        for (Rank& rank : ranks_)
            if (rank.dumps.empty()) close_file(rank);
    for (Rank& rank : ranks_) settle(rank);
}

}  // namespace caesura::simulate
