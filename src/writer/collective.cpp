// The one collective of an iteration (decision D4).
//
// Hello goes round; then, only where all ranks know that it is needed: boxes, straddling pieces,
// reservations of a new dump, and the records of dumps that have become durable everywhere.
#include <fmt/format.h>

#include <algorithm>

#include "writer/impl.hpp"

namespace caesura {

using writer::Hello;

namespace {

bool any_puts(const std::vector<Hello>& all) {
    return std::any_of(all.begin(), all.end(), [](auto& h) { return h.has_puts != 0; });
}

}  // namespace

// Ranks before this number have all their blocks on disk.
std::uint64_t Writer::Impl::durable_dumps() const {
    for (const writer::InFlight& dump : in_flight)
        if (!dump.durable) return dump.dump;
    return next_dump;
}

// The same answer on every rank: dumps begin in the same order everywhere, and what is committed
// was agreed at the last exchange.
bool Writer::Impl::anything_to_do() const {
    return open_dump || committed_dumps < next_dump || tree->changed();
}

// Nothing in use lies at or beyond it, and nothing is reserved there.
std::uint64_t Writer::Impl::file_end_of(const std::vector<Hello>& all) const {
    return std::max(all[0].file_end, store::align_up(all[0].tree_end));
}

Hello Writer::Impl::hello() const {
    Hello mine;
    mine.has_dump = open_dump.has_value();
    mine.has_puts = open_dump && !open_dump->puts.empty();
    mine.iteration = iteration;
    mine.definitions = definitions_hash;
    mine.durable_dumps = durable_dumps();
    for (const writer::InFlight& dump : in_flight)
        if (!dump.overflow.empty() && !dump.task) {
            mine.overflow_bytes += store::region_overhead_bytes(dump.overflow.size(), 0);
            for (const auto& block : dump.overflow) mine.overflow_bytes += block.stored.size();
            // Whole stripes a dump, as place_overflow() lays them out.
            mine.overflow_bytes = store::align_up(mine.overflow_bytes, stripe_bytes);
        }
    mine.used_end = used_end;
    mine.file_end = file_end;
    const bool flushed = image && !executor->flush_running() && executor->error().ok();
    mine.committed_dumps = flushed ? image_dumps : committed_dumps;
    mine.image_pending = image && !flushed;
    mine.tree_end = tree->end();
    mine.tree_changed = tree->changed();
    mine.spoiled = spoiled;
    return mine;
}

Result<std::vector<Hello>> Writer::Impl::exchange_hello(const Hello& mine) {
    std::vector<Hello> all(static_cast<std::size_t>(size));
    const Status status =
        comm->allgather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
    if (!status.ok()) {
        comm_failed = true;
        failed = status;
        return status;
    }
    may_build = all[0].image_pending == 0;
    if (may_build) image.reset();
    committed_dumps = all[0].committed_dumps;
    agreed_end = file_end_of(all);
    for (const Hello& theirs : all) {
        tree_changed |= theirs.tree_changed != 0;
        spoiled |= theirs.spoiled != 0;
    }
    if (Status same = check_trees(all); !same.ok()) return failed = same;
    if (may_build && flush_expected) {
        flush_expected = false;
        if (builds())
            if (Status told = tree->flushed(); !told.ok()) executor->report(told);
    }
    return all;
}

// Trees that were the same must stay so. After an error of one rank they need not.
Status Writer::Impl::check_trees(const std::vector<Hello>& all) const {
    if (std::any_of(all.begin(), all.end(), [](auto& h) { return h.code != 0; })) return {};
    for (int r = 1; r < size; ++r) {
        const std::uint64_t theirs = all[static_cast<std::size_t>(r)].tree_end;
        if (theirs != all[0].tree_end)
            return {StatusCode::internal,
                    fmt::format("{}: the metadata end at {} on rank 0 and at {} on rank {}: all "
                                "ranks must change them in the same way",
                                path, all[0].tree_end, theirs, r)};
    }
    return {};
}

// Errors of any rank, and disagreement between ranks. Same result on all ranks.
Status Writer::Impl::agree_on_errors(const std::vector<Hello>& all, const Status& mine) {
    const bool any_error = std::any_of(all.begin(), all.end(), [](auto& h) { return h.code != 0; });
    if (any_error) {
        const Status first = agree(mine);
        const bool fatal =
            std::any_of(all.begin(), all.end(), [](auto& h) { return h.fatal != 0; });
        if (fatal) failed = first;
        return first;
    }
    for (int r = 1; r < size; ++r) {
        const Hello& theirs = all[static_cast<std::size_t>(r)];
        const auto differ = [&](std::string_view what) {
            return Status{StatusCode::invalid_argument,
                          fmt::format("ranks 0 and {} {}; iterations {} and {}", r, what,
                                      all[0].iteration, theirs.iteration)};
        };
        if (theirs.definitions != all[0].definitions)
            return differ("have defined different fields");
        if (theirs.has_dump != all[0].has_dump || theirs.iteration != all[0].iteration)
            return differ("do not dump the same iteration");
    }
    return {};
}

Status Writer::Impl::collective() {
    if (!failed.ok()) return failed;
    harvest();
    learn_writes();
    Status mine = executor->error();
    const bool fatal = !mine.ok();
    if (mine.ok()) mine = misuse;
    if (mine.ok() && open_dump) mine = open_dump->error;
    misuse = {};
    if (!anything_to_do()) return mine;

    Hello message = hello();
    message.code = static_cast<std::int32_t>(mine.code());
    message.fatal = fatal;
    if (open_dump) message.boxes_changed = boxes_changed();
    auto all = exchange_hello(message);
    if (!all.ok()) return all.status();
    Status status = agree_on_errors(*all, mine);
    if (!failed.ok()) return failed;

    const std::uint64_t before = file_end_of(*all);
    std::uint64_t end = before;
    std::uint64_t durable = next_dump;
    for (const Hello& theirs : *all) durable = std::min(durable, theirs.durable_dumps);
    place_overflow(*all, end);
    if (end > before) tree->regions_end(end);
    file_end = end;
    const std::uint64_t overflow_end = end;
    if (durable > gathered_dumps)
        if (Status gathered = gather_records(durable); !gathered.ok()) return gathered;
    const bool dumps = open_dump && (own_tree || any_puts(*all));
    if (dumps && status.ok()) status = assemble(*all, end);
    if (end > overflow_end) tree->regions_end(end);
    file_end = end;
    commit(end, false);
    return status;
}

Status Writer::Impl::end_iteration() {
    const double begin_s = now_s();
    if (!in_iteration) return {StatusCode::invalid_argument, "end() outside an iteration"};
    // Another file's hand-over may have begun a new one.
    if (!own_tree) iteration_begin_s = executor->observer().iteration_begin_s();
    const run::Unobserved ours;
    settle_observation(begin_s);
    // The collective is communication: writes keep out of its way, and the next iteration
    // expects it at the same place.
    executor->observer().enter(run::Observer::Lane::write, begin_s);
    Status status;
    try {
        status = collective();
    } catch (const std::bad_alloc&) {
        // Other ranks may be waiting in a call that this one will not reach: nothing can be agreed
        // on any more.
        comm_failed = true;
        status = failed = {StatusCode::no_space, fmt::format("rank {}: out of memory", rank)};
    }
    executor->observer().leave(run::Observer::Lane::write, now_s());
    executor->observer().end_iteration(now_s());
    outcomes.iteration_ended(now_s());
    executor->obstacles_changed();
    open_dump.reset();
    in_iteration = false;
    trace_application("end", "end", begin_s);
    trace_application("iteration", fmt::format("iteration {}", iteration), iteration_begin_s);
    totals.end_s += now_s() - begin_s;
    return status;
}

}  // namespace caesura
