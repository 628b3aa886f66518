// The one collective of an iteration (decision D4).
//
// Hello goes round; then, only where all ranks know that it is needed: boxes, straddling pieces,
// reservations of a new dump, and the records of dumps that have become durable everywhere.
#include <fmt/format.h>

#include <algorithm>

#include "base/wire.hpp"
#include "writer/impl.hpp"

namespace caesura {

using writer::Hello;

namespace {

bool any_puts(std::span<const Hello> all) {
    return std::any_of(all.begin(), all.end(), [](auto& h) { return h.has_puts != 0; });
}

bool any_boxes_changed(std::span<const Hello> all) {
    return std::any_of(all.begin(), all.end(), [](auto& h) { return h.boxes_changed != 0; });
}

bool differ_in_metadata(std::span<const Hello> all) {
    return std::any_of(all.begin(), all.end(),
                       [&](auto& h) { return h.metadata != all.front().metadata; });
}

}  // namespace

// The same answer on every rank: dumps begin in the same order everywhere, and what is committed
// was agreed at the last exchange.
bool Writer::Impl::anything_to_do() const {
    const ledger::Book& book = ledger->book();
    return intake->dump() || !series.pending.empty() || book.committed() < book.next_dump() ||
           tree->changed();
}

Hello Writer::Impl::hello(const Status& mine, bool fatal) {
    const auto& dump = intake->dump();
    Hello message;
    message.code = static_cast<std::int32_t>(mine.code());
    message.fatal = fatal;
    message.has_dump = dump.has_value();
    message.has_puts = dump && !dump->puts.empty();
    message.warnings = session.warnings.unsaid();
    message.iteration = session.iteration;
    message.definitions = fields.hash();
    if (dump) message.metadata = metadata.digest() + 3 * dump->metadata.digest();
    return message;
}

// With the Hello goes what there is to say of each file that is not closed.
Result<std::vector<Hello>> Writer::Impl::exchange(const Hello& mine) {
    const bool flushed = !executor->flush_running() && executor->error().ok();
    std::vector<ledger::Statement> ours;
    for_each_ledger([&](ledger::Ledger& one) { ours.push_back(one.statement(flushed)); });
    auto all = round.exchange(mine, ours);
    if (!all.ok()) return all.status();
    if (std::ranges::any_of(all->hellos, [](auto& h) { return h.warnings != 0; }))
        if (Status said = session.warnings.hand_over(*session.comm); !said.ok())
            return round.lost(said);
    // After an error of one rank trees need not be alike any more.
    const bool alike = !writer::any_error(all->hellos);
    Status broken;
    std::size_t file = 0;
    for_each_ledger([&](ledger::Ledger& one) {
        Status of_tree;
        const Status heard = one.hear(all->statements[file++], alike, of_tree);
        if (broken.ok()) broken = heard;
        if (!of_tree.ok()) executor->report(of_tree);
        flights->committed({one.book().first_dump(), one.book().committed()}, session.now_s());
    });
    if (!broken.ok()) return round.fail(broken);
    close_committed();
    return std::move(all->hellos);
}

// Records of all dumps of a file that are durable everywhere travel to the ranks that build, which
// then know them completely; what their blocks say about table sets, to rank 0.
Status Writer::Impl::gather(ledger::Ledger& from) {
    const writer::Flights::Range dumps{from.book().gathered(), from.book().heard().durable_dumps};
    const bool everywhere = tree->records_on_all_ranks();
    base::Packer counts;
    flights->send_findings(dumps, counts);
    // At the last close of a file of our own nobody will need them.
    if (!everywhere && (!closed || tree->serves_next_file())) tables.send_to(counts);
    auto gathered = from.gather(dumps.end, counts.bytes());
    if (!gathered.ok()) return round.lost(gathered.status());
    for (const Communicator::Bytes& aside : gathered->asides) {
        base::Unpacker unpacker(aside);
        flights->take_findings(unpacker);
        tables.take(unpacker);
    }
    if (everywhere)
        if (Status sent = tables.gather_counts(); !sent.ok()) return sent;
    tables.note_new_counts();
    flights->keep_findings(from);
    flights->gathered(dumps, gathered->records);
    return {};
}

// The metadata of all gathered dumps (HDF5, 1.5 us a block); rank 0 hands their flush to the write
// lane. Waits for its turn if the last commit, of any file, is still being flushed.
void Writer::Impl::commit(std::span<const Commit> wanted) {
    bool settled = true;
    for_each_ledger([&](ledger::Ledger& one) { settled &= one.book().is_settled(); });
    std::vector<ledger::Ledger*> due;
    for (const Commit& one : wanted) {
        if (!settled) return;
        if (one.trim) note_trimmed(*one.ledger);
        if (!one.ledger->book().may_build(one.trim)) continue;
        const double begin_s = session.now_s();
        const Status built = one.ledger->build(one.trim);
        if (one.ledger->builds()) session.trace("commit", "build metadata", begin_s);
        if (!built.ok())
            executor->report(built.with_context("committing to " + one.ledger->file().path()));
        else if (one.ledger->flush_due())
            due.push_back(one.ledger);
        if (!tree->records_on_all_ranks()) continue;
        if (Status agreed = one.ledger->agree_on_end(); !agreed.ok()) (void)round.lost(agreed);
    }
    if (due.empty()) return;
    const auto unnamed = take_unnamed(due);
    const Status given = executor->submit_flush([this, due, unnamed] {
        for (const std::string& path : unnamed)
            if (Status status = file_system().sync_directory_of(path); !status.ok()) return status;
        for (ledger::Ledger* const one : due)
            if (Status status = one->flush(); !status.ok()) return status;
        return Status{};
    });
    if (!given.ok()) executor->report(given);
}

// What has been gathered; a file that has all its dumps gives the rest back.
void Writer::Impl::commit_ready() {
    std::vector<Commit> wanted;
    for_each_ledger([&](ledger::Ledger& one) {
        const ledger::Book& book = one.book();
        const bool all = !is_current(one) && book.gathered() == book.next_dump();
        if (is_current(one) || book.gathered() > book.built()) wanted.push_back({&one, all});
    });
    commit(wanted);
}

Status Writer::Impl::assemble(std::span<const Hello> all) {
    writer::Assembly assembly({session, fields, metadata, round, tables, *flights, node, *ledger,
                               *tree, *executor, *helpers, background, own.number, first_dump,
                               [this] { return make_file(); }, [this] { return finish_dumps(); }},
                              *intake->dump());
    return assembly.run(any_boxes_changed(all));
}

// Blocks that were due and that compress threads had no time for.
void Writer::Impl::warn_if_starved() {
    const std::uint64_t blocks = executor->counters().due_blocks;
    if (blocks == 0 || std::exchange(said_starved, true)) return;
    session.warn(
        writer::Warning::starved,
        fmt::format("rank {}: compress threads get too little time: {} blocks were due "
                    "(max_delay_s) and were compressed at normal priority, which slows the "
                    "application. Give each rank another core (mpirun --map-by slot:PE=2, srun "
                    "--cpus-per-task=2), let MPI yield (Open MPI: --mca mpi_yield_when_idle 1), or "
                    "allow a longer max_delay_s; docs/guide/planning.md has more.",
                    session.rank, blocks));
}

Status Writer::Impl::collective() {
    if (!round.failed().ok()) return round.failed();
    flights->harvest();
    flights->learn_writes();
    warn_if_starved();
    Status mine = executor->error();
    const bool fatal = !mine.ok();
    const Status misuse = intake->take_misuse();
    if (mine.ok()) mine = misuse;
    if (mine.ok() && intake->dump()) mine = intake->dump()->error;
    if (!anything_to_do()) return mine;

    Hello message = hello(mine, fatal);
    if (intake->dump()) message.boxes_changed = intake->boxes_changed();
    auto all = exchange(message);
    if (!all.ok()) return all.status();
    Status status = round.agree_on_errors(*all, mine);
    if (!round.failed().ok()) return round.failed();
    if (status.ok() && differ_in_metadata(*all)) {
        status = round.agree_on_metadata(writer::pack(metadata, intake->dump()->metadata));
        if (round.comm_failed()) return status;
    }

    Status gathered;
    for_each_ledger([&](ledger::Ledger& one) {
        flights->place_overflow(one);
        if (gathered.ok() && one.book().heard().durable_dumps > one.book().gathered())
            gathered = gather(one);
    });
    if (!gathered.ok()) return gathered;
    const bool dumps = intake->dump() && (tree->dump_is_whole() || any_puts(*all));
    // What every rank does by itself: who compresses and writes is no concern of the others.
    if (dumps) if_memory_allows([&] { session.mend_service(); });
    if (dumps && status.ok()) status = make_room();
    if (dumps && status.ok()) status = assemble(*all);
    if (round.comm_failed()) return status;
    if (dumps && status.ok()) note_full();
    commit_ready();
    return status;
}

// The dump of this iteration was not handed over, and never will be.
void Writer::Impl::note_refused() {
    const auto& dump = intake->dump();
    if (!dump || (!tree->dump_is_whole() && dump->puts.empty())) return;
    ++session.totals.lost_dumps;
    session.totals.lost_bytes += dump->put_bytes;
}

Status Writer::Impl::end_iteration() {
    if (Status here = session.check_process(); !here.ok()) return here;
    const double begin_s = session.now_s();
    if (!intake->in_iteration())
        return {StatusCode::invalid_argument, "end() outside an iteration"};
    run::Observer& observer = executor->observer();
    if (tree->shares_iterations()) session.iteration_begin_s = observer.iteration_begin_s();
    const run::Unobserved ours;
    // The collective is communication: writes keep out of its way, and the next iteration
    // expects it at the same place.
    if_memory_allows([&] { settle_observation(begin_s); });
    if_memory_allows([&] { observer.enter(run::Observer::Lane::write, begin_s); });
    // Of a Writer that has failed before nothing is taken, and so nothing more is lost.
    const bool takes = round.failed().ok();
    const std::uint64_t dumps_before = ledger->book().next_dump();
    const Status status = together([this] { return collective(); });
    if_memory_allows([&] { session.notice_service(); });
    if (takes && !status.ok() && ledger->book().next_dump() == dumps_before) note_refused();
    if_memory_allows([&] {
        observer.leave(run::Observer::Lane::write, session.now_s());
        observer.end_iteration(session.now_s());
        flights->outcomes().iteration_ended(session.now_s());
    });
    executor->obstacles_changed();
    intake->end_iteration();
    if_memory_allows([&] {
        session.trace("end", "end", begin_s);
        session.trace("iteration", "iteration " + std::to_string(session.iteration),
                      session.iteration_begin_s);
    });
    session.totals.end_s += session.now_s() - begin_s;
    return status;
}

}  // namespace caesura
