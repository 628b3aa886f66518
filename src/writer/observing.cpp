// What is known of the application without its help: the cores it was given, and what was seen of
// its thread.
#include <fmt/format.h>
#include <sched.h>

#include <array>

#include "writer/impl.hpp"

namespace caesura {
namespace {

// Cores a thread may run on, as the kernel says it. Larger than cpu_set_t: machines are.
constexpr std::size_t k_most_cores = 8192;
using CoreMask = std::array<std::uint64_t, k_most_cores / 64>;

bool has(const CoreMask& mask, std::size_t core) { return (mask[core / 64] >> (core % 64)) & 1u; }

CoreMask cores_of_this_thread() {
    CoreMask mask{};
    // Fails only where the kernel knows more cores than the mask has room for.
    if (::sched_getaffinity(0, sizeof mask, reinterpret_cast<cpu_set_t*>(mask.data())) != 0)
        mask = {};
    return mask;
}

// "0-3, 8"
std::string text_of(const CoreMask& mask) {
    std::string text;
    for (std::size_t core = 0; core < k_most_cores; ++core) {
        if (!has(mask, core)) continue;
        std::size_t last = core;
        while (last + 1 < k_most_cores && has(mask, last + 1)) ++last;
        text += fmt::format("{}{}", text.empty() ? "" : ", ", core);
        if (last > core) text += fmt::format("-{}", last);
        core = last;
    }
    return text;
}

}  // namespace

// The compress threads inherit this thread's cores. A core that n ranks of the node may use counts
// one n-th: so it comes to the same whether ranks are bound to cores or float over all of them.
// Collective over the node.
void Writer::Impl::read_binding(Communicator* node) {
    const CoreMask mine = cores_of_this_thread();
    std::vector<CoreMask> all{mine};
    if (node) {
        all.resize(static_cast<std::size_t>(node->size()));
        const Status gathered = node->allgather(std::as_bytes(std::span(&mine, 1)),
                                                std::as_writable_bytes(std::span(all)));
        if (!gathered.ok()) all = {mine};  // the next call of the communicator will say so
    }
    double share = 0.0;
    for (std::size_t core = 0; core < k_most_cores; ++core) {
        if (!has(mine, core)) continue;
        int users = 0;
        for (const CoreMask& theirs : all) users += has(theirs, core);
        share += 1.0 / users;
    }
    if (share == 0.0) return;  // not known
    cores = share;
    totals.cores = cores;
    constexpr double k_enough = 2.0 - 1e-9;
    workers_have_a_core = cores >= k_enough;
    if (workers_have_a_core || size == 1 || rank != 0) return;
    say(fmt::format(
        "rank {}: {} ranks of this node share core {}, {:.3g} for each: compress threads have no "
        "core of their own. They work while the application waits for a device or a disk, but "
        "hardly while MPI waits spinning. Give each rank another core (mpirun --map-by slot:PE=2, "
        "srun --cpus-per-task=2) or let MPI yield (Open MPI: --mca mpi_yield_when_idle 1); "
        "docs/guide/planning.md has more.",
        rank, all.size(), text_of(mine), cores));
}

// What was seen since begin_iteration becomes obstacles of this iteration, and part of the account.
void Writer::Impl::settle_observation(double now_s) {
    experience->listener.end();
    run::Observer& observer = executor->observer();
    observer.settle(now_s, run::observation::anybody_watches(), workers_have_a_core);
    const run::Seen& seen = observer.seen();
    const auto account = [&](const run::Intervals& intervals, double& sum_s, const char* kind,
                             const char* name) {
        sum_s += run::length_s(intervals);
        totals.seen_intervals += intervals.size();
        if (options.trace_path.empty()) return;
        for (const plan::Interval& interval : intervals)
            application_trace.add({kind, name, iteration_begin_s + interval.begin_s,
                                   iteration_begin_s + interval.end_s, iteration, 0});
    };
    account(seen.computing, totals.seen_computing_s, "obstacle", "compress");
    account(seen.communicating, totals.seen_communicating_s, "obstacle", "write");
    account(seen.waiting, totals.seen_waiting_s, "pause", "pause");
    totals.seen_spinning_s += run::length_s(seen.spinning);
}

}  // namespace caesura
