// A dump is handed over: in which order its blocks are done, and who writes which of them.
#include <algorithm>
#include <numeric>

#include "planners/planners.hpp"
#include "simulate/world.hpp"

namespace caesura::simulate {
namespace {

std::vector<std::uint32_t> generation_order(std::size_t n) {
    std::vector<std::uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0u);
    return order;
}

std::vector<std::uint32_t> order_of(const std::vector<double>& begin_s) {
    std::vector<std::uint32_t> order = generation_order(begin_s.size());
    std::stable_sort(order.begin(), order.end(), [&begin_s](std::uint32_t a, std::uint32_t b) {
        return begin_s[a] < begin_s[b];
    });
    return order;
}

}  // namespace

void World::hand_over(std::uint32_t iteration) {
    std::vector<Dump*> dumps(ranks_.size(), nullptr);
    for (Rank& rank : ranks_) {
        learn_bandwidth(rank);
        auto dump = make_dump(rank, iteration);
        if (dump->tasks.empty()) continue;
        dumps[rank.id] = dump.get();
        rank.dumps.push_back(std::move(dump));
        if (mode_ == Mode::caesura) plan(rank, *dumps[rank.id]);
        if (!error_.ok()) return;
    }
    if (mode_ == Mode::caesura && scenario_.output.balance != plan::Balance::none)
        for (std::size_t first = 0; first < ranks_.size(); first += scenario_.ranks_per_node)
            balance(std::span(ranks_).subspan(
                first, std::min<std::size_t>(scenario_.ranks_per_node, ranks_.size() - first)));
    for (Rank& rank : ranks_) {
        if (!dumps[rank.id]) continue;
        Dump& dump = *dumps[rank.id];
        const bool lent = std::any_of(dump.tasks.begin(), dump.tasks.end(),
                                      [](const Task& task) { return task.writer != task.owner; });
        if (lent) plan(rank, dump);  // what is left may do better in another order
        for (const std::uint32_t i : dump.write_order)
            if (dump.tasks[i].writer == rank.id) rank.to_write.push_back(&dump.tasks[i]);
        if (mode_ != Mode::caesura) continue;
        for (const Task& task : dump.tasks) {
            const double write_begin_s = now_s_ + dump.schedule.write_begin_s[task.index];
            note(rank, Span::Kind::planned_compress,
                 now_s_ + dump.schedule.compress_begin_s[task.index],
                 now_s_ + dump.schedule.compress_end_s[task.index], iteration, task.index);
            note(rank, Span::Kind::planned_write, write_begin_s,
                 write_begin_s + write_s(rank, task), iteration, task.index);
        }
    }
    // Behind everybody's own blocks comes what a light rank writes for a heavy one (S0 §3.4).
    for (Dump* dump : dumps)
        if (dump)
            for (Task& task : dump->tasks)
                if (task.writer != task.owner) ranks_[task.writer].to_write.push_back(&task);
}

std::unique_ptr<Dump> World::make_dump(const Rank& rank, std::uint32_t iteration) {
    auto dump = std::make_unique<Dump>();
    dump->iteration = iteration;
    dump->begin_s = now_s_;
    const std::vector<Piece> pieces = workload_.pieces(rank.id, iteration);
    dump->tasks.resize(pieces.size());
    dump->unwritten = pieces.size();
    dump->write_order = generation_order(pieces.size());
    if (mode_ != Mode::async) dump->compress_order = dump->write_order;
    for (std::uint32_t i = 0; i < pieces.size(); ++i) {
        Task& task = dump->tasks[i];
        task.piece = pieces[i];
        task.dump = dump.get();
        task.index = i;
        task.owner = task.writer = rank.id;
        task.compressed = mode_ == Mode::async;
        outcome_.raw_bytes += task.piece.raw_bytes;
        outcome_.compressed_bytes += mode_ == Mode::async ? task.piece.raw_bytes : task.piece.bytes;
    }
    return dump;
}

// As the Writer plans: the blocks as predicted, around the obstacles of the last iteration.
void World::plan(Rank& rank, Dump& dump) {
    std::vector<plan::Job> jobs(dump.tasks.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const Task& task = dump.tasks[i];
        jobs[i].compress_s = task.piece.predicted_compress_s;
        jobs[i].write_s = write_s(rank, task);
    }
    plan::Rules rules;
    rules.resumable = scenario_.output.resumable;
    rules.search_steps = scenario_.output.search_steps;
    plan::Obstacles obstacles;
    obstacles.compress = rank.host.obstacles();
    obstacles.write = rank.network.obstacles();
    auto schedule = lab::schedule(scenario_.output.algorithm, jobs, obstacles, rules);
    if (!schedule.ok()) {
        error_ = schedule.status().with_context("simulate: planning");
        return;
    }
    ++outcome_.plans;
    dump.schedule = std::move(*schedule);
    dump.planned_end_s = dump.schedule.end_s;
    dump.compress_order = order_of(dump.schedule.compress_begin_s);
    dump.write_order = order_of(dump.schedule.write_begin_s);
}

// What this rank expects the write of one of its blocks to take; nothing if another writes it.
double World::write_s(const Rank& rank, const Task& task) const {
    if (task.writer != rank.id) return 0.0;
    return scenario_.storage.latency_s + task.piece.predicted_bytes / rank.bytes_per_s;
}

// Inside a node, from the writes as planned.
void World::balance(std::span<Rank> node) {
    std::vector<plan::WriteLoad> loads(node.size());
    for (std::size_t p = 0; p < node.size(); ++p) {
        const Rank& rank = node[p];
        double busy_s = 0.0;
        for (const plan::Interval& o : rank.network.obstacles()) busy_s += o.end_s - o.begin_s;
        if (last_iteration_s_ > 0.0)
            loads[p].free_share = std::clamp(1.0 - busy_s / last_iteration_s_, 0.01, 1.0);
        if (rank.dumps.empty()) continue;
        const Dump& dump = *rank.dumps.back();
        for (const std::uint32_t i : dump.write_order)
            loads[p].tasks.push_back(
                {write_s(rank, dump.tasks[i]), dump.schedule.compress_end_s[i]});
    }
    const auto moves =
        plan::balance(loads, {scenario_.output.balance, scenario_.output.balance_least_gain});
    if (!moves.ok()) {
        error_ = moves.status().with_context("simulate: balancing");
        return;
    }
    for (const plan::Move& move : *moves) {
        Dump& dump = *node[move.from].dumps.back();
        dump.tasks[dump.write_order[move.task]].writer = node[move.to].id;
    }
}

// Bytes per s of this rank's writes: as they have been, older ones counting less; at first as if
// all ranks wrote at once.
void World::learn_bandwidth(Rank& rank) const {
    if (rank.seen_s > 0.0) {
        rank.bytes_per_s = rank.seen_bytes / rank.seen_s;
        rank.seen_bytes *= 0.5;
        rank.seen_s *= 0.5;
        return;
    }
    const Storage& storage = scenario_.storage;
    const double in_node = std::min(scenario_.ranks, scenario_.ranks_per_node);
    rank.bytes_per_s = 1e21;
    const auto limit = [&rank](double bytes_per_s) {
        if (bytes_per_s > 0.0) rank.bytes_per_s = std::min(rank.bytes_per_s, bytes_per_s);
    };
    limit(storage.stream_bytes_per_s);
    limit(storage.node_bytes_per_s / in_node);
    limit(storage.system_bytes_per_s / scenario_.ranks);
}

}  // namespace caesura::simulate
