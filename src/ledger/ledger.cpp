#include "ledger/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/all_ranks.hpp"
#include "base/wire.hpp"
#include "store/committer.hpp"

namespace caesura::ledger {

Tree::Built CommitterTree::build(const Dumps& dumps, std::uint64_t file_end, bool trim) {
    auto image = committer_->build(dumps.manifests, dumps.records, file_end, trim);
    if (!image.ok()) return image.status();
    return std::optional<store::CommitImage>(std::move(*image));
}

Ledger::Ledger(const Subject& subject, std::uint64_t next_dump, std::uint64_t file_end)
    : subject_(subject),
      book_({subject.ranks.rank(), next_dump, file_end, subject.tree.runs_ahead()}) {}

// --------------------------------------------------------------------------------- dumps

std::vector<Book::Place> Ledger::begin(store::DumpManifest manifest,
                                       std::span<const Extent> extents) {
    pages_.push_back({std::move(manifest), {}, false});
    return book_.begin(extents);
}

Status Ledger::wrote(std::uint64_t dump, const Wrote& wrote) {
    // This comes first, as it may run out of memory: no dump looks durable without its records.
    std::vector<store::ChunkRecord>* records = nullptr;
    if (dump >= book_.gathered() && dump < book_.next_dump()) {
        records = &pages_[dump - book_.gathered()].records;
        records->reserve(records->size() + wrote.records.size());
    }
    const Status taken = book_.wrote(dump, wrote.tails, wrote.used_end, wrote.overflow);
    if (!taken.ok()) return taken;
    records->insert(records->end(), wrote.records.begin(), wrote.records.end());
    return {};
}

Status Ledger::abandon(std::uint64_t dump) {
    if (Status status = book_.abandon(dump); !status.ok()) return status;
    pages_[dump - book_.gathered()] = {{}, {}, true};
    return {};
}

// --------------------------------------------------------------------------------- the exchange

void Ledger::take_note_of_flush() {
    if (!image_ || !lies_there_) return;
    (void)book_.flushed();  // it was pending: nobody else makes images
    image_.reset();
}

Statement Ledger::statement(bool flushed) {
    if (flushed) take_note_of_flush();
    return book_.statement(subject_.tree.end(), subject_.tree.changed(), flushed);
}

// Trees that were the same must stay so.
Status Ledger::hear(std::span<const Statement> all, bool alike, Status& of_tree) {
    const bool settled = book_.hear(all);
    for (std::size_t r = 1; alike && r < all.size(); ++r)
        if (all[r].tree_end != all[0].tree_end)
            return {StatusCode::internal,
                    fmt::format("{}: the metadata end at {} on rank 0 and at {} on rank {}: all "
                                "ranks must change them in the same way",
                                file().path(), all[0].tree_end, all[r].tree_end, r)};
    if (settled && builds()) of_tree = subject_.tree.flushed();
    return {};
}

std::vector<Book::Place> Ledger::place_overflow() {
    const std::uint64_t before = book_.file_end();
    auto places = book_.place_overflow();
    if (book_.file_end() > before) subject_.tree.regions_end(book_.file_end());
    return places;
}

Result<Extent> Ledger::reserve(std::span<const std::uint64_t> bytes) {
    const std::uint64_t before = book_.file_end();
    auto mine = book_.reserve(bytes);
    if (book_.file_end() > before) subject_.tree.regions_end(book_.file_end());
    return mine;
}

// --------------------------------------------------------------------------------- the commit

store::DumpManifest* Ledger::gathered_manifest(std::uint64_t dump) {
    for (store::DumpManifest& manifest : manifests_)
        if (manifest.dump == dump && manifest.tree == store::TreeOwner::caesura) return &manifest;
    return nullptr;
}

Result<Ledger::Gathered> Ledger::gather(std::uint64_t until, std::span<const std::byte> aside) {
    const std::uint64_t from = book_.gathered();
    if (Status status = book_.gather(until); !status.ok()) return status;
    std::vector<store::ChunkRecord> mine;
    for (std::uint64_t dump = from; dump < until; ++dump) {
        Page page = std::move(pages_.front());
        pages_.pop_front();
        mine.insert(mine.end(), page.records.begin(), page.records.end());
        if (builds() && !page.abandoned) manifests_.push_back(std::move(page.manifest));
    }
    base::Packer packer;
    packer.put_bytes(std::as_bytes(std::span(mine)));
    packer.put_bytes(aside);
    auto all = subject_.tree.records_on_all_ranks() ? subject_.ranks.allgatherv(packer.bytes())
                                                    : subject_.ranks.gatherv(packer.bytes(), 0);
    if (!all.ok()) return all.status();
    const std::size_t known = records_.size();
    Gathered gathered;
    for (const Communicator::Bytes& part : *all) {
        base::Unpacker unpacker(part);
        const auto records = unpacker.get_bytes();
        const std::size_t at = records_.size(), n = records.size() / sizeof(store::ChunkRecord);
        records_.resize(at + n);
        if (n > 0) std::memcpy(records_.data() + at, records.data(), records.size());
        const auto theirs = unpacker.get_bytes();
        gathered.asides.emplace_back(theirs.begin(), theirs.end());
    }
    gathered.records = std::span<const store::ChunkRecord>(records_).subspan(known);
    return gathered;
}

Tree::Built Ledger::build_tree(std::uint64_t file_end, bool trim) try {
    return subject_.tree.build({manifests_, records_}, file_end, trim);
} catch (const std::bad_alloc&) {
    return Status{StatusCode::no_space, "out of memory while building a commit"};
}

Status Ledger::build(bool trim) {
    const auto file_end = book_.build(trim);
    if (!file_end.ok()) return file_end.status();
    if (!builds()) return {};
    if (book_.has_failed_build())
        return {StatusCode::cancelled, "ledger: a commit before could not be built"};
    auto built = build_tree(*file_end, trim);
    if (!built.ok()) {
        book_.build_failed();
        return built.status();
    }
    manifests_.clear();
    records_.clear();
    if (!*built) return {};
    image_ = std::move(*built);
    lies_there_ = false;
    book_.made_image(image_->file_end());
    return {};
}

// The library of a rank that has read in between may flush a block once more. So the journal may
// fit into its slot on one rank and need room behind the file on another, and what comes next must
// begin behind it on all.
Status Ledger::agree_on_end() {
    const auto ends = base::from_all(subject_.ranks, subject_.tree.end());
    if (!ends.ok()) return ends.status();
    subject_.tree.regions_end(*std::max_element(ends->begin(), ends->end()));
    return {};
}

Status Ledger::flush() {
    if (!flush_due()) return {StatusCode::internal, "ledger: flush() without an image"};
    if (Status status = image_->flush(subject_.file, subject_.durable); !status.ok()) return status;
    lies_there_ = true;
    return {};
}

void Ledger::note_completed() {
    pages_.clear();
    manifests_.clear();
    records_.clear();
    image_.reset();
    book_.note_completed();
}

Status Ledger::settle() {
    take_note_of_flush();
    if (Status status = book_.settle(); !status.ok()) return status;
    return builds() ? subject_.tree.flushed() : Status{};
}

}  // namespace caesura::ledger
