// A series of files: when the next one is made, when one is closed, and how many may be between.
//
// A file is made inside the end() of its first dump, once all ranks have agreed that there will be
// such a dump. Rank 0 makes it and says whose it is, the others open it; nobody waits for the disk.
// When it has all its dumps it is pending: each later collective call takes the same steps for it
// as for the current one, with what it says of itself in the same exchange.
#include <fmt/format.h>

#include <algorithm>

#include "base/all_ranks.hpp"
#include "base/file.hpp"
#include "base/invalid.hpp"
#include "store/region_writer.hpp"
#include "writer/impl.hpp"
#include "writer/user_attributes.hpp"

namespace caesura {

using base::invalid;
using writer::OwnFile;

// All ranks take part whatever their paths say: they find out here that these differ.
Status Writer::Impl::begin_series() {
    const WriterOptions& options = session.options;
    const auto name = base::SeriesName::parse(session.path);
    Status mine = name.status();
    if (mine.ok() && !*name && options.dumps_per_file > 1)
        mine =
            invalid(fmt::format("dumps_per_file is {}, but path '{}' has no %T for the number "
                                "of a file, as in run_%06T.h5",
                                options.dumps_per_file, session.path));
    struct Said {
        std::uint64_t code, series, dumps_per_file, pending_files, stripe_bytes, layout, after;
    };
    const bool is_series = mine.ok() && *name;
    const auto all = base::from_all(
        *session.comm, Said{static_cast<std::uint64_t>(mine.code()),
                            is_series ? std::hash<std::string>{}((*name)->format()) | 1u : 0u,
                            options.dumps_per_file, options.pending_files,
                            std::max(options.stripe_bytes, store::k_region_alignment),
                            std::hash<std::string>{}(options.layout),
                            opening && opening->after ? *opening->after + 1 : 0});
    if (!all.ok()) return round.lost(all.status());
    if (std::any_of(all->begin(), all->end(), [](const Said& said) { return said.code != 0; }))
        return round.agree(mine);
    for (std::size_t r = 1; r < all->size(); ++r) {
        const Said &first = all->front(), &theirs = (*all)[r];
        const auto differ = [&](std::string_view what) {
            return invalid(fmt::format("ranks 0 and {} have {}; give all the same", r, what));
        };
        if (theirs.after != first.after) return differ("different iterations to go on after");
        if (theirs.layout != first.layout)
            return differ(fmt::format("different layouts (here '{}')", options.layout));
        if (theirs.series != first.series) return differ("different names of files with %T");
        if (first.series == 0) continue;
        if (theirs.dumps_per_file != first.dumps_per_file)
            return differ(fmt::format("dumps_per_file {} and {}", first.dumps_per_file,
                                      theirs.dumps_per_file));
        if (theirs.pending_files != first.pending_files)
            return differ(
                fmt::format("pending_files {} and {}", first.pending_files, theirs.pending_files));
    }
    if (!is_series) return {};
    series.name = *name;
    series.stripe_bytes = all->front().stripe_bytes;
    const auto attributes = writer::attributes_of(options);
    if (!attributes.ok()) return attributes.status();  // which check_options() has told all
    for (const auto& [attribute, value] : *attributes)
        metadata.set({AttributeOwner::Kind::file}, attribute, value);
    if (opening) {
        if (Status taken = take_up_series(); !taken.ok()) return taken;
    } else if (session.rank == 0) {
        say_what_is_there();
    }
    plan_file(0);
    return {};
}

// Readers of the series find them too.
void Writer::Impl::say_what_is_there() {
    const auto found = series.name->find();
    if (!found.ok() || found->empty()) return;  // what is wrong there, making a file tells
    session.warn(
        writer::Warning::of_file,
        fmt::format("{}: {} files of this name are there, {} to {}; a dump empties the one "
                    "that it comes to, and readers find the others beside the new ones: "
                    "remove them, or go on after them with Writer::open",
                    session.path, found->size(), found->front().path, found->back().path));
}

void Writer::Impl::plan_file(std::uint64_t next_dump) {
    OwnFile planned;
    planned.number = static_cast<std::uint32_t>(session.totals.files);
    planned.file = std::make_unique<store::SharedFile>();
    const bool alone = session.options.dumps_per_file == 1;
    planned.tree = new_tree(*planned.file, alone ? series.name->format() : "");
    planned.ledger = std::make_unique<ledger::Ledger>(
        ledger::Ledger::Subject{*planned.file, *planned.tree, *session.comm,
                                session.options.durable},
        next_dump, store::first_region_address());
    planned.ledger->book().set_stripe(series.stripe_bytes);
    own = std::move(planned);
    tree = own.tree.get();
    ledger = own.ledger.get();
}

// Header and name reach the disk with the file's first dump, on the write lane: until then nothing
// of it counts.
Status Writer::Impl::make_file() {
    if (!series.name || own.is_made) return {};
    const double begin_s = session.now_s();
    const std::string path = series.name->path_of(session.iteration);
    struct Made {
        store::RunId run{};
        std::uint64_t code = 0;
    } made;
    Status status;
    const auto take = [&](Result<store::SharedFile> opened) {
        if (opened.ok())
            *own.file = std::move(*opened);
        else
            status = opened.status();
    };
    if (session.rank == 0) {
        made.run = store::make_run_id();
        take(store::SharedFile::create(file_system(), path, made.run, false));
        made.code = static_cast<std::uint64_t>(status.code());
    }
    if (Status sent = session.comm->broadcast(std::as_writable_bytes(std::span(&made, 1)), 0);
        !sent.ok())
        return round.lost(sent);
    if (session.rank != 0 && made.code == 0)
        take(store::SharedFile::open(file_system(), path, made.run));
    if (Status all = round.agree(status); !all.ok()) {
        *own.file = store::SharedFile();
        return all;
    }
    session.path = path;
    own.is_made = true;
    own.is_unnamed = session.rank == 0 && session.options.durable;
    ++session.totals.files;
    node.add_file(own.number, *own.file);
    session.trace("commit", "make file", begin_s);
    return {};
}

void Writer::Impl::note_full() {
    const ledger::Book& book = ledger->book();
    const std::uint64_t dumps = book.next_dump() - book.first_dump();
    if (!series.name || dumps < session.options.dumps_per_file) return;
    const std::uint64_t next_dump = book.next_dump();
    series.pending.push_back(std::move(own));
    plan_file(next_dump);
}

Status Writer::Impl::make_room() {
    const std::size_t most = session.options.pending_files;
    if (!series.name || own.is_made || series.pending.size() < most) return {};
    const double begin_s = session.now_s();
    if (!std::exchange(series.said_full, true) && session.rank == 0)
        session.warn(writer::Warning::of_file,
                     fmt::format("{} files have all their dumps and wait to be written, as many as "
                                 "pending_files allows: end() waits for {}. Said once; file_wait_s "
                                 "of the report has the time.",
                                 most, series.pending.front().file->path()));
    executor->set_draining(true);
    Finish wanted;
    wanted.most_pending = most - 1;
    const Status status = finishing_rounds(wanted);
    executor->set_draining(false);
    session.totals.file_wait_s += session.now_s() - begin_s;
    session.trace("wait", "pending files", begin_s);
    return status;
}

// A later file may be done before an earlier one, of which a block found no room.
void Writer::Impl::close_committed() {
    std::erase_if(series.pending, [&](OwnFile& file) {
        const ledger::Book& book = file.ledger->book();
        if (book.committed() < book.next_dump() || !book.is_settled()) return false;
        series.reserved_bytes += book.reserved_bytes();
        series.spare_bytes += book.free_bytes();
        drop_file(file);
        return true;
    });
}

void Writer::Impl::drop_file(OwnFile& file) {
    node.drop_file(file.number);
    if (series.name && file.is_made && session.rank == 0) series.held = file.file->keep();
    file.file.reset();
}

void Writer::Impl::note_trimmed(const ledger::Ledger& of) {
    for (OwnFile& file : series.pending)
        if (file.ledger.get() == &of) file.is_trimmed = true;
    if (is_current(of)) own.is_trimmed = true;
}

bool Writer::Impl::is_trimmed(const ledger::Ledger& one) const {
    if (is_current(one)) return own.is_trimmed;
    return std::any_of(series.pending.begin(), series.pending.end(), [&](const OwnFile& file) {
        return file.ledger.get() == &one && file.is_trimmed;
    });
}

std::vector<std::string> Writer::Impl::take_unnamed(std::span<ledger::Ledger* const> due) {
    std::vector<std::string> paths;
    const auto take = [&](OwnFile& file) {
        const bool is_due = std::find(due.begin(), due.end(), file.ledger.get()) != due.end();
        if (is_due && std::exchange(file.is_unnamed, false)) paths.push_back(file.file->path());
    };
    for (OwnFile& file : series.pending) take(file);
    take(own);
    return paths;
}

std::uint64_t Writer::Impl::committed() const {
    for (const OwnFile& file : series.pending) {
        const ledger::Book& book = file.ledger->book();
        if (book.committed() < book.next_dump()) return book.committed();
    }
    return ledger->book().committed();
}

}  // namespace caesura
