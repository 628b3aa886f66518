// Who writes (S0 §3.4): which blocks of this dump the ranks of a node write for each other.
//
// Loads are what this dump is predicted to take, which is known here before anything is compressed;
// S0 takes those of the dump before. All ranks of a node decide the same from the same numbers, so
// one exchange inside the node is all that is said.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "caesura/who.hpp"
#include "writer/assembly.hpp"
#include "writer/wire.hpp"

namespace caesura {
namespace {

// At most so much of a rank's compressed data is in the hands of others at once.
constexpr std::uint64_t k_most_arena_bytes = std::uint64_t{1} << 30;

// Seconds of `intervals` up to `end_s`.
double covered_s(std::span<const plan::Interval> intervals, double end_s) {
    return std::accumulate(intervals.begin(), intervals.end(), 0.0,
                           [&](double sum, const plan::Interval& i) {
                               return sum + std::max(0.0, std::min(i.end_s, end_s) - i.begin_s);
                           });
}

}  // namespace

// Collective over the node. Without it every rank writes its own blocks, and says why.
Status Writer::Impl::share_node(std::unique_ptr<Communicator> ranks) {
    struct Wish {
        std::uint64_t arena_bytes;
        std::int32_t rank;
        std::uint32_t balance;
    };
    if (ranks->size() < 2) return {};
    const auto off = [&](const Status& why) {
        if (options.balance_writes)
            say(fmt::format("rank {}: balance_writes is off: {}", rank, why.message()));
    };
    const std::uint64_t most = std::min(budget.limit_bytes(), k_most_arena_bytes);
    const Wish mine{store::align_up(most), rank, options.balance_writes && options.planning};
    std::vector<Wish> all(static_cast<std::size_t>(ranks->size()));
    Status status = ranks->allgather(std::as_bytes(std::span(&mine, 1)),
                                     std::as_writable_bytes(std::span(all)));
    if (status.code() == StatusCode::unsupported) return off(status), Status{};
    if (!status.ok()) return status;
    if (!std::all_of(all.begin(), all.end(), [](const Wish& w) { return w.balance != 0; }))
        return {};
    run::NodeShare::Settings settings;
    settings.rank = ranks->rank();
    settings.durable = options.durable;
    for (const Wish& wish : all) {
        settings.names.push_back(wish.rank);
        settings.arena_bytes.push_back(wish.arena_bytes);
    }
    // One makes it, all open it; whoever cannot says so, and then nobody uses it.
    std::shared_ptr<base::SharedMemory> memory;
    base::SharedMemory::Key key;
    Status opened;
    const auto take = [&](Result<std::shared_ptr<base::SharedMemory>> got) {
        if (got.ok())
            memory = std::move(*got);
        else
            opened = got.status();
    };
    if (ranks->rank() == 0) {
        take(base::SharedMemory::create(run::NodeShare::bytes_needed(settings.arena_bytes)));
        if (memory) key = memory->key();
    }
    status = ranks->broadcast(std::as_writable_bytes(std::span(&key, 1)), 0);
    if (!status.ok()) return status;
    if (ranks->rank() != 0) {
        if (key.descriptor >= 0)
            take(base::SharedMemory::open(key));
        else
            opened = {StatusCode::unsupported, "the node's lowest rank could not share memory"};
    }
    if (opened.ok()) {
        auto made = run::NodeShare::make(memory, file->file(), std::move(settings));
        if (made.ok())
            node_share = std::move(*made);
        else
            opened = made.status();
    }
    const std::int32_t code = static_cast<std::int32_t>(opened.code());
    std::vector<std::int32_t> codes(all.size());
    status = ranks->allgather(std::as_bytes(std::span(&code, 1)),
                              std::as_writable_bytes(std::span(codes)));
    if (!status.ok()) return status;
    if (std::any_of(codes.begin(), codes.end(), [](std::int32_t c) { return c != 0; })) {
        node_share.reset();
        if (opened.ok()) opened = {StatusCode::unsupported, "another rank of the node could not"};
        return off(opened), Status{};
    }
    node_ranks = std::move(ranks);
    return {};
}

// Collective over the node, the last exchange of a dump: every rank has agreed to it by then.
Status Writer::Impl::balance_writes(Assembly& assembly) {
    if (!node_share) return {};
    run::DumpTask& task = *assembly.task;
    const double begin_s = now_s();
    const plan::Obstacles& obstacles = executor->observer().recorded();
    const double iteration_s = now_s() - iteration_begin_s;
    // By the byte alone: small blocks are gathered into large writes, so that what a write costs
    // by itself is not a block's.
    const run::WriteCost cost = writer::cost_of(experience->write_model);
    std::vector<plan::Job> jobs(task.n_jobs);
    for (std::size_t i = 0; i < task.n_jobs; ++i)
        jobs[i] = {assembly.compress_s[i], assembly.predicted[i].mean / cost.bytes_per_s};
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
    writer::Packer packer;
    const double busy_s = covered_s(obstacles.write, iteration_s);
    packer.put(iteration_s > 0.0 ? std::clamp(1.0 - busy_s / iteration_s, 0.05, 1.0) : 1.0);
    std::vector<plan::WriteTask> mine;
    for (const std::uint32_t i : order) mine.push_back({jobs[i].write_s, ready_s[i]});
    packer.put(mine);
    auto all = node_ranks->allgatherv(packer.bytes());
    if (!all.ok()) {
        comm_failed = true;
        return failed = all.status();
    }
    std::vector<plan::WriteLoad> loads;
    for (const Communicator::Bytes& part : *all) {
        writer::Unpacker unpacker(part);
        plan::WriteLoad load;
        load.free_share = unpacker.get<double>();
        load.tasks = unpacker.get_list<plan::WriteTask>();
        loads.push_back(std::move(load));
    }
    const auto moves = plan::balance(loads);
    if (!moves.ok()) {
        say("balancing failed, every rank writes its own blocks: " + moves.status().message());
        return {};
    }
    for (const plan::Move& move : *moves) {
        if (static_cast<int>(move.from) != node_ranks->rank()) continue;
        const std::uint32_t i = order[move.task];
        // Room for a prediction that is off; a block that is larger still stays here.
        const double mean = assembly.predicted[i].mean;
        const auto room = static_cast<std::uint64_t>(1.5 * mean) + (64u << 10);
        (void)node_share->allot(task.jobs[i].share, static_cast<int>(move.to), room);
    }
    totals.plan_s += now_s() - begin_s;
    return {};
}

}  // namespace caesura
