// Who writes (S0 §3.4): which blocks of this dump the ranks of a node write for each other.
//
// Loads are what this dump is predicted to take, which is known here before anything is compressed;
// S0 takes those of the dump before. All ranks of a node decide the same from the same numbers, so
// one exchange inside the node is all that is said.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/wire.hpp"
#include "plan/who.hpp"
#include "writer/assembly.hpp"

namespace caesura::writer {
namespace {

// Seconds of `intervals` up to `end_s`.
double covered_s(std::span<const plan::Interval> intervals, double end_s) {
    return std::accumulate(intervals.begin(), intervals.end(), 0.0,
                           [&](double sum, const plan::Interval& i) {
                               return sum + std::max(0.0, std::min(i.end_s, end_s) - i.begin_s);
                           });
}

}  // namespace

// Collective over the node, the last exchange of a dump: every rank has agreed to it by then.
Status Assembly::balance_writes() {
    if (parts_.node.share() == nullptr) return {};
    run::DumpTask& task = *task_;
    const double begin_s = parts_.session.now_s();
    const plan::Obstacles& obstacles = parts_.executor.observer().recorded();
    const double iteration_s = parts_.session.now_s() - parts_.session.iteration_begin_s;
    // By the byte alone: small blocks are gathered into large writes, so that what a write costs
    // by itself is not a block's.
    const run::WriteCost cost = cost_of(parts_.session.experience->write_model);
    std::vector<plan::Job> jobs(task.n_jobs);
    for (std::size_t i = 0; i < task.n_jobs; ++i)
        jobs[i] = {compress_s_[i], predicted_[i].mean / cost.bytes_per_s};
    // When each block will have been compressed, and in which order it would be written. Any fair
    // order will do; the plan itself may be made later, elsewhere, and with more care.
    std::vector<std::uint32_t> order(task.n_jobs);
    std::iota(order.begin(), order.end(), 0u);
    std::vector<double> ready_s(task.n_jobs, 0.0);
    const auto schedule =
        plan::schedule(plan::Algorithm::ext_johnson_backfill, jobs, obstacles, {.resumable = true});
    if (schedule.ok()) {
        ready_s = schedule->compress_end_s;
        std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
            return schedule->write_begin_s[a] < schedule->write_begin_s[b];
        });
    }
    base::Packer packer;
    const double busy_s = covered_s(obstacles.write, iteration_s);
    packer.put(iteration_s > 0.0 ? std::clamp(1.0 - busy_s / iteration_s, 0.05, 1.0) : 1.0);
    std::vector<plan::WriteTask> mine;
    for (const std::uint32_t i : order) mine.push_back({jobs[i].write_s, ready_s[i]});
    packer.put(mine);
    auto all = parts_.node.ranks()->allgatherv(packer.bytes());
    if (!all.ok()) return parts_.round.lost(all.status());
    std::vector<plan::WriteLoad> loads;
    for (const Communicator::Bytes& part : *all) {
        base::Unpacker unpacker(part);
        plan::WriteLoad load;
        load.free_share = unpacker.get<double>();
        load.tasks = unpacker.get_list<plan::WriteTask>();
        loads.push_back(std::move(load));
    }
    const auto moves = plan::balance(loads);
    if (!moves.ok()) {
        parts_.session.warn(
            Warning::balance_off,
            "balancing failed, every rank writes its own blocks: " + moves.status().message());
        return {};
    }
    for (const plan::Move& move : *moves) {
        if (static_cast<int>(move.from) != parts_.node.ranks()->rank()) continue;
        const std::uint32_t i = order[move.task];
        // Room for a prediction that is off; a block that is larger still stays here.
        const double mean = predicted_[i].mean;
        const auto room = static_cast<std::uint64_t>(1.5 * mean) + (64u << 10);
        (void)parts_.node.share()->allot(task.jobs[i].share, static_cast<int>(move.to), room,
                                         parts_.file_number);
    }
    parts_.session.totals.plan_s += parts_.session.now_s() - begin_s;
    return {};
}

}  // namespace caesura::writer
