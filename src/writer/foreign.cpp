// What is different where the datasets are an application's: their pipelines are fixed before any
// value is known, and blocks keep what nobody puts.
#include <fmt/format.h>

#include <algorithm>

#include "writer/assembly.hpp"

namespace caesura {

// Our own frames say what bound they keep; the pipeline says what was asked for, so that whoever
// writes more, through the filter or after opening the file again, knows it. Other codecs must do
// with a pipeline that no range of values changes.
Status Writer::Impl::fix_pipeline(writer::FieldState& field) const {
    const auto made = [&](const ErrorBound& bound) {
        return make_block_codec(field.codec, field.dtype, field.dataset->chunk, bound,
                                {field.tables});
    };
    const bool ranged = writer::needs_range(field.bound);
    auto codec = made(ranged ? lossless() : field.bound);
    if (!codec.ok()) return codec.status().with_context("dataset " + field.name);
    const auto pipeline = (*codec)->pipeline();
    field.dataset->pipeline = {pipeline.begin(), pipeline.end()};
    field.dataset->creation_values = (*codec)->creation_values();
    if (!ranged) return {};
    if (caesura_mode(field.codec)) {
        auto asked = filter_before_range(field.codec, field.dtype, field.dataset->chunk,
                                         field.bound, field.tables);
        if (!asked.ok()) return asked.status().with_context("dataset " + field.name);
        field.dataset->creation_values = {asked->cd_values};
        field.dataset->pipeline = {std::move(*asked)};
        return {};
    }
    for (const ErrorBound& other : {absolute(0.5), absolute(1.0)}) {
        auto different = made(other);
        if (!different.ok()) return different.status().with_context("dataset " + field.name);
        if (!std::ranges::equal((*different)->pipeline(), field.dataset->pipeline))
            return {StatusCode::unsupported,
                    fmt::format("dataset {}: codec {} must know the bound when the dataset is "
                                "created, before any value is there; give an absolute bound, or "
                                "use codec caesura",
                                field.name, field.codec.name)};
    }
    return {};
}

// Content that a block keeps is read from the tree: what an earlier dump put there must be in it.
// Same result on all ranks.
Status Writer::Impl::finish_what_is_needed(const Assembly& assembly) {
    if (own_tree || committed_dumps == next_dump || !background) return {};
    bool possible = false;
    std::uint32_t needed = 0;
    for (const Assembly::FieldDump& dumped : assembly.fields) {
        const writer::FieldState& field = fields[dumped.field];
        if (field.dataset->dumps_end <= committed_dumps || !field.layout->may_be_open) continue;
        possible = true;
        for (const writer::OwnedChunk& chunk : field.layout->mine) needed |= !chunk.covered;
    }
    if (!possible) return {};
    std::vector<std::uint32_t> all(static_cast<std::size_t>(size));
    const Status exchanged = comm->allgather(std::as_bytes(std::span(&needed, 1)),
                                             std::as_writable_bytes(std::span(all)));
    if (!exchanged.ok()) {
        comm_failed = true;
        return failed = exchanged;
    }
    if (std::all_of(all.begin(), all.end(), [](std::uint32_t n) { return n == 0; })) return {};
    return finish_dumps();
}

// What lies under the pieces of a block: its content of before, else the fill value. Beyond the
// array it is always the fill value.
Status Writer::Impl::add_background(std::uint32_t field_index, const writer::OwnedChunk& chunk,
                                    run::Job& job) {
    const writer::FieldState& field = fields[field_index];
    if (chunk.covered && chunk.valid == chunk.inside) return {};
    job.fill = field.dataset->fill;
    if (chunk.covered || !background) return {};
    const Box part{chunk.box.offset, chunk.inside};
    const std::uint64_t bytes = part.extent.count() * size_of(field.dtype);
    auto buffer = pool.take(bytes);
    if (!buffer.ok()) return buffer.status().with_context(job.label);
    auto kept = background({field_index}, chunk.chunk, part, buffer->bytes());
    if (!kept.ok()) return kept.status().with_context(job.label);
    if (!*kept) return {};
    run::Snapshot& snapshot = open_dump->snapshots.emplace_back();
    snapshot.buffer = std::move(*buffer);
    snapshot.budget = &budget;
    snapshot.charged_bytes = bytes;
    budget.charge(bytes);
    job.pieces.insert(job.pieces.begin(), {part, part, snapshot.buffer.data(), &snapshot});
    // What is kept may be off by the whole bound already; it must not be moved once more.
    job.exactly = true;
    job.absolute_bound = 0.0;
    if (chunk.valid == chunk.inside) job.fill.reset();
    return {};
}

// Rank 0, which gets all records: blocks that were written before are left behind in the file.
void Writer::Impl::count_superseded() {
    if (own_tree || rank != 0) return;
    for (const store::ChunkRecord& record : records_to_commit) {
        const auto dump = std::find_if(in_flight.begin(), in_flight.end(),
                                       [&](const auto& d) { return d.dump == record.dump; });
        if (dump == in_flight.end()) continue;  // gathered and counted before
        std::uint64_t& bytes =
            fields[dump->fields[record.dataset]].dataset->stored_bytes[record.chunk];
        totals.superseded_bytes += bytes;
        bytes = record.bytes;
    }
}

}  // namespace caesura
