// close(): finish everything, in rounds that all ranks go through together.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "writer/impl.hpp"

namespace caesura {

using writer::Hello;

// Everything handed over becomes part of the tree, and the Writer goes on.
Status Writer::Impl::finish_dumps() {
    if (!failed.ok()) return failed;
    const run::Unobserved ours;
    executor->set_draining(true);
    const Status status = finishing_rounds(false);
    executor->set_draining(false);
    return status;
}

// Every round: do the local work to the end, tell each other, take one step that all ranks know
// to be needed. Ends when a round finds nothing to do. After an error nothing new is begun, but
// dumps that are durable everywhere are still committed.
Status Writer::Impl::finishing_rounds(bool closing) {
    bool trimmed = !closing;  // what is reserved beyond the last block will be needed
    for (;;) {
        executor->help([] { return false; });
        harvest();
        Status mine = executor->error();
        Hello message = hello();
        message.code = static_cast<std::int32_t>(mine.code());
        message.fatal = !mine.ok();
        message.has_dump = 0;
        auto all = exchange_hello(message);
        if (!all.ok()) return failed;
        const bool any_error =
            std::any_of(all->begin(), all->end(), [](const Hello& h) { return h.code != 0; });
        if (any_error) {
            const Status first = agree(mine);
            if (failed.ok()) failed = first;
        }
        std::uint64_t end = file_end_of(*all), used = 0, durable = next_dump, overflow = 0;
        for (const Hello& theirs : *all) {
            durable = std::min(durable, theirs.durable_dumps);
            used = std::max({used, theirs.used_end, theirs.tree_end});
            overflow += theirs.overflow_bytes;
        }
        const bool committing = !may_build || (tree_changed && failed.ok()) ||
                                (*all)[0].committed_dumps < gathered_dumps;
        const bool rank_0_failed = (*all)[0].code != 0;
        if (failed.ok() && overflow > 0) {
            place_overflow(*all, end);
            tree->regions_end(end);
            file_end = end;
        } else if (durable > gathered_dumps) {
            if (Status status = gather_records(durable); !status.ok()) return failed;
            // With everything on disk the reserved ends nobody needed are given back.
            const bool trim = closing && failed.ok() && durable == next_dump;
            trimmed = trimmed || trim;
            if (trim) free_space.cut(store::align_up(used));
            commit(trim ? store::align_up(used) : end, trim);
        } else if (committing && !rank_0_failed && !spoiled) {
            commit(end, false);
        } else if (failed.ok() && !trimmed && next_dump > first_dump &&
                   store::align_up(used) < end) {
            trimmed = true;
            free_space.cut(store::align_up(used));
            commit(store::align_up(used), true);
        } else {
            return failed;
        }
    }
}

void Writer::Impl::finish_traces() {
    if (options.trace_path.empty()) return;
    std::string trace_path = options.trace_path;
    const std::size_t mark = trace_path.find("%r");
    if (mark != std::string::npos)
        trace_path.replace(mark, 2, std::to_string(rank));
    else if (size > 1)
        trace_path += fmt::format(".{}", rank);
    std::vector<const base::TraceLane*> lanes{&application_trace, &plan_trace};
    for (const base::TraceLane* lane : executor->trace_lanes()) lanes.push_back(lane);
    const Status status = base::write_chrome_trace(trace_path, rank, trace_origin_s, lanes);
    if (!status.ok() && failed.ok()) failed = status.with_context("writing the trace");
}

Status Writer::Impl::close() {
    if (closed) return failed;
    const run::Unobserved ours;
    const double begin_s = now_s();
    if (in_iteration && own_tree) {
        // An iteration left open: what was put is not thrown away.
        if (Status status = end_iteration(); !status.ok() && failed.ok()) failed = status;
    }
    closed = true;
    expect_no_snapshots();
    executor->set_draining(true);
    const Status fatal = failed;
    if (!comm_failed) (void)finishing_rounds(true);
    if (failed.ok()) failed = fatal;
    // For the next file.
    if (!own_tree && failed.ok()) (void)agree_on_tables();
    executor->stop();
    // What this rank has left to another one of the node is written by now, or never will be.
    if (node_ranks && !comm_failed)
        if (Status met = node_ranks->barrier(); !met.ok() && failed.ok()) failed = met;
    harvest();
    totals.close_s += now_s() - begin_s;
    trace_application("wait", "close", begin_s);
    finish_traces();
    image.reset();
    own_file.reset();  // and its lock: recover and stock writers may have the file now
    return failed;
}

}  // namespace caesura
