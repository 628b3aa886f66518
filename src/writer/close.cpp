// close(): finish everything, in rounds that all ranks go through together.
#include <fmt/format.h>

#include <algorithm>

#include "writer/impl.hpp"

namespace caesura {

using writer::Hello;

// Everything handed over becomes part of the tree, and the Writer goes on.
Status Writer::Impl::finish_dumps() {
    if (Status here = session.check_process(); !here.ok()) return here;
    if (!round.failed().ok()) return round.failed();
    const run::Unobserved ours;
    executor->set_draining(true);
    const Status status = together([this] { return finishing_rounds({}); });
    executor->set_draining(false);
    return status;
}

Status Writer::Impl::finish_by(double seconds) {
    if (Status here = session.check_process(); !here.ok()) return here;
    if (closed || !(seconds >= 0.0))
        return {StatusCode::invalid_argument,
                closed ? "finish_by() after close()"
                       : fmt::format("finish_by({}): must be 0 or more", seconds)};
    if (!round.failed().ok()) return round.failed();
    const run::Unobserved ours;
    const double until_s = session.now_s() + std::min(seconds, 1e6);
    executor->set_draining(true);
    const Status status = together([&] { return finishing_rounds({false, until_s}); });
    executor->set_draining(false);
    return status;
}

// What is next for one file. `any`: there is something.
Status Writer::Impl::take_step(ledger::Ledger& of, const ledger::Finishing& state,
                               std::vector<Commit>& commits, bool& any) {
    const ledger::Step step = of.book().next_step(state);
    any |= step != ledger::Step::nothing;
    bool trim = step == ledger::Step::trim;
    switch (step) {
        case ledger::Step::nothing:
            return {};
        case ledger::Step::place_overflow:
            flights->place_overflow(of);
            return {};
        case ledger::Step::gather_and_trim:
        case ledger::Step::gather:
            if (Status status = gather(of); !status.ok()) return status;
            trim = step == ledger::Step::gather_and_trim && of.book().may_build(true);
            break;
        case ledger::Step::build:
        case ledger::Step::trim:
            break;
    }
    commits.push_back({&of, trim});
    return {};
}

// Every round: do the local work to the end, tell each other, take one step of each file that all
// ranks know to be needed. Ends when a round finds nothing to do. After an error nothing new is
// begun, but dumps that are durable everywhere are still committed.
// `left` is an error that only this rank knows. The first round tells it.
// Commits take milliseconds and are finished whatever the time is.
Status Writer::Impl::finishing_rounds(const Finish& wanted, Status left) {
    const auto enough = [&] {
        if (executor->flush_running()) return false;
        const bool oldest_is_done = wanted.most_pending && !series.pending.empty() &&
                                    !flights->any_at_work(series.pending.front().ledger.get());
        return oldest_is_done || session.now_s() >= wanted.until_s;
    };
    for (;;) {
        executor->help(enough, wanted.until_s);
        flights->harvest();
        Status mine = executor->error();
        if (mine.ok()) mine = std::exchange(left, {});
        Hello message = hello(mine, !mine.ok());
        message.has_dump = 0;
        auto all = exchange(message);
        if (!all.ok()) return round.failed();
        if (writer::any_error(*all)) {
            const Status first = round.agree(mine);
            round.fail_at_first(first);
            if (round.comm_failed()) return round.failed();
        }
        if (wanted.most_pending && series.pending.size() <= *wanted.most_pending)
            return round.failed();
        ledger::Finishing state;
        state.failed = !round.failed().ok();
        state.rank_0_failed = (*all)[0].code != 0;
        std::vector<Commit> commits;
        bool any = false;
        Status status;
        for_each_ledger([&](ledger::Ledger& one) {
            state.closing = wanted.closing || !is_current(one);  // which gets more dumps
            state.trimmed = is_trimmed(one);
            if (status.ok()) status = take_step(one, state, commits, any);
        });
        if (!status.ok()) return round.failed();
        if (!any) return wanted.until_s < k_no_end_s ? round.failed() : none_is_missing();
        commit(commits);
    }
}

// Nothing is left to do, so either an error is known or every dump is committed. Otherwise a dump
// is stuck, and would be lost without a word.
Status Writer::Impl::none_is_missing() {
    for_each_ledger([&](const ledger::Ledger& one) {
        const ledger::Book& book = one.book();
        if (round.failed().ok() && book.committed() < book.next_dump())
            round.fail_at_first(
                {StatusCode::internal,
                 fmt::format("{}: dumps from number {} on are not committed, and nothing says why",
                             one.file().path(), book.committed())});
    });
    return round.failed();
}

std::string writer::Session::trace_path() const {
    std::string of_rank = options.trace_path;
    const std::size_t mark = of_rank.find("%r");
    if (mark != std::string::npos)
        of_rank.replace(mark, 2, std::to_string(rank));
    else if (size > 1)
        of_rank += fmt::format(".{}", rank);
    return of_rank;
}

std::vector<const base::TraceLane*> Writer::Impl::traced_lanes() const {
    std::vector<const base::TraceLane*> lanes{&session.application_trace, &session.plan_trace,
                                              &session.outcome_trace};
    for (const base::TraceLane* lane : executor->trace_lanes()) lanes.push_back(lane);
    return lanes;
}

void Writer::Impl::begin_trace() {
    if (!session.traces()) return;
    session.live_trace = std::make_unique<base::LiveTrace>(session.trace_path(), session.rank,
                                                           session.trace_origin_s, traced_lanes());
    // An earlier run's trace goes, or whoever watches would take this run for ended. What cannot be
    // written now is met again at close().
    (void)session.live_trace->append();
    executor->keep_trace(session.live_trace.get());
}

void Writer::Impl::finish_traces() {
    if (!session.traces()) return;
    const Status status = base::write_chrome_trace(session.trace_path(), session.rank,
                                                   session.trace_origin_s, traced_lanes());
    if (!status.ok()) round.fail_at_first(status.with_context("writing the trace"));
}

// The lanes are done, and what they found goes to the next file's Writer.
Status Writer::Impl::take_in_completed(double since_s) {
    flights->harvest();
    if (Status sent = tables.gather_counts(); !sent.ok()) return round.lost(sent);
    tables.note_new_counts();
    for_each_ledger([&](ledger::Ledger& one) {
        one.note_completed();
        flights->committed({one.book().first_dump(), one.book().committed()},
                           session.now_s() - since_s);
    });
    return round.failed();
}

Status Writer::Impl::close(std::optional<double> completed_since_s) {
    if (Status here = session.check_process(); !here.ok()) return here;
    if (closed) return round.failed();
    const run::Unobserved ours;
    const double begin_s = session.now_s();
    // The puts of an iteration that was left open are kept. An end() that has nothing to do tells
    // the other ranks nothing: the first finishing round tells them.
    Status left = intake->in_iteration() ? Status{} : intake->take_misuse();
    if (intake->in_iteration() && !tree->shares_iterations()) {
        const bool all_know = anything_to_do();
        Status ended = end_iteration();
        if (all_know)
            round.fail_at_first(ended);
        else
            left = std::move(ended);
    }
    closed = true;
    intake->close();
    executor->set_draining(true);
    if (!round.comm_failed())
        (void)together([&] {
            return completed_since_s ? take_in_completed(*completed_since_s)
                                     : finishing_rounds({true}, std::move(left));
        });
    if (tree->serves_next_file() && round.failed().ok())
        (void)together([this] { return tables.agree(); });
    if_memory_allows([&] { session.notice_service(); });
    executor->stop();
    // What this rank has left to another one of the node is written by now, or never will be.
    if (node.ranks() != nullptr && !round.comm_failed())
        round.fail_at_first(node.ranks()->barrier());
    (void)together([&] {  // nobody waits for this rank any more
        flights->harvest();
        session.totals.close_s += session.now_s() - begin_s;
        session.trace("wait", "close", begin_s);
        finish_traces();
        return round.failed();
    });
    if (round.failed().ok() && committed() == first_dump && !metadata.all().empty())
        if_memory_allows([&] {
            session.warn(
                writer::Warning::of_file,
                fmt::format("{} has no {}dump, and so none of the attributes that were set",
                            session.path, known.kept.empty() ? "" : "new "));
        });
    // And their locks: recover and stock writers may have the files now.
    for (writer::OwnFile& file : series.pending) drop_file(file);
    drop_file(own);
    series.held.reset();
    return round.failed();
}

}  // namespace caesura
