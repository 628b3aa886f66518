#include "writer/node.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/all_ranks.hpp"
#include "store/region_writer.hpp"

namespace caesura::writer {
namespace {

// At most so much of a rank's compressed data is in the hands of others at once.
constexpr std::uint64_t k_most_arena_bytes = std::uint64_t{1} << 30;

using base::CoreMask;

// "0-3, 8"
std::string text_of(const CoreMask& mask) {
    std::string text;
    for (std::size_t core = 0; core < CoreMask::k_most; ++core) {
        if (!mask.has(core)) continue;
        std::size_t last = core;
        while (mask.has(last + 1)) ++last;
        text += fmt::format("{}{}", text.empty() ? "" : ", ", core);
        if (last > core) text += fmt::format("-{}", last);
        core = last;
    }
    return text;
}

}  // namespace

// The compress threads inherit this thread's cores. A core that n ranks of the node may use counts
// one n-th: so it comes to the same whether ranks are bound to cores or float over all of them.
void Node::read_binding(Communicator* node) {
    const CoreMask mine = base::cores_of_this_thread();
    std::vector<CoreMask> all{mine};
    if (node)  // after an error the next call of the communicator will say so
        if (auto gathered = base::from_all(*node, mine); gathered.ok()) all = std::move(*gathered);
    double share = 0.0;
    for (std::size_t core = 0; core < CoreMask::k_most; ++core) {
        if (!mine.has(core)) continue;
        int users = 0;
        for (const CoreMask& theirs : all) users += theirs.has(core);
        share += 1.0 / users;
    }
    if (share == 0.0) return;  // not known
    session_.totals.cores = share;
    cores_ = mine;
    constexpr double k_enough = 2.0 - 1e-9;
    workers_have_a_core_ = share >= k_enough;
    if (workers_have_a_core_ || session_.size == 1 || session_.rank != 0) return;
    session_.say(fmt::format(
        "rank {}: {} ranks of this node share core {}, {:.3g} for each: compress threads have no "
        "core of their own. They work while the application waits for a device or a disk, but "
        "hardly while MPI waits spinning. Give each rank another core (mpirun --map-by slot:PE=2, "
        "srun --cpus-per-task=2) or let MPI yield (Open MPI: --mca mpi_yield_when_idle 1); "
        "docs/guide/planning.md has more.",
        session_.rank, all.size(), text_of(mine), share));
}

std::optional<double> Node::idle_s() const {
    const auto all = base::idle_s(cores_);
    if (!all) return std::nullopt;
    return *all * session_.totals.cores / static_cast<double>(cores_.count());
}

Status Node::share_writes(std::unique_ptr<Communicator> ranks) {
    const WriterOptions& options = session_.options;
    struct Wish {
        std::uint64_t arena_bytes;
        std::int32_t rank;
        std::uint32_t balance;
    };
    if (ranks->size() < 2) return {};
    const auto off = [&](const Status& why) {
        if (options.balance_writes)
            session_.warn(Warning::balance_off, fmt::format("rank {}: balance_writes is off: {}",
                                                            session_.rank, why.message()));
    };
    const std::uint64_t most = std::min(session_.budget.limit_bytes(), k_most_arena_bytes);
    const Wish mine{store::align_up(most), session_.rank,
                    options.balance_writes && options.planning};
    const auto all = base::from_all(*ranks, mine);
    if (all.status().code() == StatusCode::unsupported) return off(all.status()), Status{};
    if (!all.ok()) return all.status();
    if (!std::all_of(all->begin(), all->end(), [](const Wish& w) { return w.balance != 0; }))
        return {};
    run::NodeShare::Settings settings;
    settings.rank = ranks->rank();
    settings.durable = options.durable;
    for (const Wish& wish : *all) {
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
    const Status status = ranks->broadcast(std::as_writable_bytes(std::span(&key, 1)), 0);
    if (!status.ok()) return status;
    if (ranks->rank() != 0) {
        if (key.descriptor >= 0)
            take(base::SharedMemory::open(key));
        else
            opened = {StatusCode::unsupported, "the node's lowest rank could not share memory"};
    }
    if (opened.ok()) {
        auto made = run::NodeShare::make(memory, std::move(settings));
        if (made.ok())
            share_ = std::move(*made);
        else
            opened = made.status();
    }
    const std::int32_t code = static_cast<std::int32_t>(opened.code());
    const auto codes = base::from_all(*ranks, code);
    if (!codes.ok()) return codes.status();
    if (std::any_of(codes->begin(), codes->end(), [](std::int32_t c) { return c != 0; })) {
        share_.reset();
        if (opened.ok()) opened = {StatusCode::unsupported, "another rank of the node could not"};
        return off(opened), Status{};
    }
    ranks_ = std::move(ranks);
    return {};
}

}  // namespace caesura::writer
