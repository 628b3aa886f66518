// The two lanes of a rank: when a compression begins, what a write takes, and what follows.
#include <algorithm>

#include "plan/compress_policy.hpp"
#include "plan/write_policy.hpp"
#include "simulate/world.hpp"

namespace caesura::simulate {
namespace {

// Sums of times that were planned exactly may differ in their last bits: a task that just fits has
// to fit.
plan::Gap rounded(plan::Gap gap) {
    constexpr double k_rounding_s = 1e-9;
    gap.free_s += k_rounding_s;
    return gap;
}

}  // namespace

void World::begin_compress(Rank& rank) {
    if (rank.compressing) return;
    for (const auto& dump : rank.dumps) {
        if (dump->next_compress == dump->compress_order.size()) continue;
        Task& task = dump->tasks[dump->compress_order[dump->next_compress]];
        if (!may_compress(rank, task)) return;
        ++dump->next_compress;
        rank.compressing = &task;
        rank.compress_waits_since_s = -1.0;
        rank.compress.start(now_s_, task.piece.compress_s, 1.0);
        return;
    }
}

// Only S0's rule makes a compression wait: it must end before the application's next obstacle.
bool World::may_compress(Rank& rank, const Task& task) {
    if (!application_waits_for_core() || rank.draining()) return true;
    if (rank.compress_waits_since_s < 0.0) rank.compress_waits_since_s = now_s_;
    plan::CompressView view;
    view.now_s = now_s_;
    view.application_computes = rank.phase().host;
    view.gap = rounded(rank.host.gap(now_s_));
    view.expected_s = {&task.piece.predicted_compress_s, 1};
    view.patience_ends_s =
        rank.compress_waits_since_s + scenario_.output.patience_iterations * last_iteration_s_;
    const plan::CompressDecision decision = decide_compress(view);
    if (decision.begin) return true;
    if (!view.application_computes)
        rank.timer_s = std::min({rank.timer_s, decision.wait_until_s, view.patience_ends_s});
    return false;
}

void World::end_compress(Rank& rank) {
    Task& task = *rank.compressing;
    note(rank, Span::Kind::compress, rank.compress.begin_s(), now_s_, task.dump->iteration,
         task.index);
    rank.compress.stop();
    rank.compressing = nullptr;
    task.compressed = true;
    if (task.writer != rank.id) settle(ranks_[task.writer]);
}

// What may be written now, in planned order, of the oldest dump that has something.
// @return whether other blocks of that dump are still to come.
bool World::collect_ready(const Rank& rank) {
    ready_.clear();
    ready_bytes_.clear();
    bool more = false;
    const std::uint32_t dump = rank.to_write.front()->dump->iteration;
    for (Task* task : rank.to_write) {
        if (task->dump->iteration != dump) break;
        if (!task->compressed) {
            more = true;
            if (scenario_.output.write_in_order) break;
            continue;
        }
        ready_.push_back(task);
        ready_bytes_.push_back(mode_ == Mode::async ? task->piece.raw_bytes : task->piece.bytes);
    }
    return more;
}

void World::begin_write(Rank& rank) {
    if (rank.write_running || rank.to_write.empty()) return;
    const bool more = collect_ready(rank);
    if (ready_.empty()) {
        rank.write_waits_since_s = -1.0;
        return;
    }
    if (rank.write_waits_since_s < 0.0) rank.write_waits_since_s = now_s_;
    plan::WriteView view;
    view.planning = mode_ == Mode::caesura;
    view.in_order = scenario_.output.write_in_order;
    view.draining = rank.draining();
    view.application_writes = rank.phase().network;
    view.gap = rounded(rank.network.gap(now_s_));
    view.ready_bytes = ready_bytes_;
    view.more_coming = more;
    view.oldest_wait_s = now_s_ - rank.write_waits_since_s;
    view.patience_s = scenario_.output.patience_iterations * last_iteration_s_;
    view.buffer_bytes = scenario_.output.write_buffer_bytes;
    view.small_bytes = scenario_.output.small_write_bytes;
    view.cost = {scenario_.storage.latency_s, rank.bytes_per_s};
    const plan::WriteDecision choice = decide_write(view);
    if (choice.take == 0) {
        if (choice.wait_until_s < 0.0) return;  // at an event
        const double tired_s = now_s_ + view.patience_s - view.oldest_wait_s;
        const double again_s = std::min(choice.wait_until_s, tired_s);
        if (again_s > now_s_) rank.timer_s = std::min(rank.timer_s, again_s);
        return;
    }
    double bytes = 0.0;
    for (std::size_t i = choice.first; i < choice.first + choice.take; ++i) {
        bytes += ready_bytes_[i] * ready_[i]->piece.write_factor;
        rank.writing.push_back(ready_[i]);
        rank.to_write.erase(std::find(rank.to_write.begin(), rank.to_write.end(), ready_[i]));
    }
    start_write(rank, bytes, scenario_.storage.latency_s);
}

void World::start_write(Rank& rank, double bytes, double latency_s) {
    rank.write_running = true;
    rank.write_waits_since_s = -1.0;
    rank.write_begin_s = now_s_;
    rank.write_bytes = bytes;
    rank.stored = false;
    const double copy_bytes_per_s =
        background_ ? scenario_.output.copy_bytes_per_s : scenario_.library.bytes_per_s;
    if (copy_bytes_per_s > 0.0) rank.copy.start(now_s_, bytes / copy_bytes_per_s, 1.0);
    if (latency_s > 0.0)
        rank.latency_end_s = now_s_ + latency_s;
    else
        sharing_.begin(now_s_, rank.id, rank.node, bytes);
}

// A write is over when its bytes are copied and stored, whichever comes last.
void World::end_transfer(Rank& rank) {
    if (rank.copy.running())
        rank.stored = true;
    else
        end_write(rank);
}

void World::end_copy(Rank& rank) {
    rank.copy.stop();
    if (rank.stored) end_write(rank);
}

void World::end_write(Rank& rank) {
    rank.write_running = rank.stored = false;
    ++outcome_.writes;
    if (rank.writing.empty()) {  // the application's own
        rank.wait_s += now_s_ - rank.step_begin_s;
        note(rank, Span::Kind::wait, rank.step_begin_s, now_s_, iteration_);
        arrive(rank);
        return;
    }
    note(rank, Span::Kind::write, rank.write_begin_s, now_s_, rank.writing[0]->dump->iteration,
         rank.writing[0]->index);
    rank.seen_s += now_s_ - rank.write_begin_s - scenario_.storage.latency_s;
    const std::vector<Task*> written = std::move(rank.writing);
    rank.writing.clear();
    for (Task* task : written) {
        const double bytes = mode_ == Mode::async ? task->piece.raw_bytes : task->piece.bytes;
        rank.seen_bytes += bytes;
        outcome_.written_bytes += bytes;
        outcome_.foreign_writes += task->owner != rank.id;
        if (--task->dump->unwritten == 0) dump_done(*task->dump);
    }
}

}  // namespace caesura::simulate
