// What is different where the datasets are an application's: their pipelines are fixed before any
// value is known, and blocks keep what nobody puts.
#include <fmt/format.h>

#include <algorithm>

#include "base/all_ranks.hpp"
#include "writer/assembly.hpp"

namespace caesura::writer {

// Our own frames say what bound they keep; the pipeline says what was asked for, so that whoever
// writes more, through the filter or after opening the file again, knows it. Other codecs must do
// with a pipeline that no range of values changes.
Status fix_pipeline(FieldState& field) {
    const auto made = [&](const ErrorBound& bound) {
        return make_block_codec(field.codec, field.dtype, field.dataset->chunk, bound,
                                {field.tables});
    };
    const ErrorBound asked = tightest_bound(field.options.bound_map, field.bound);
    const bool ranged = needs_range(asked);
    auto codec = made(ranged ? lossless() : asked);
    if (!codec.ok()) return codec.status().with_context("dataset " + field.name);
    const auto pipeline = (*codec)->pipeline();
    field.dataset->pipeline = {pipeline.begin(), pipeline.end()};
    field.dataset->creation_values = (*codec)->creation_values();
    if (!ranged) return {};
    if (caesura_mode(field.codec)) {
        auto filter = filter_before_range(field.codec, field.dtype, field.dataset->chunk, asked,
                                          field.tables);
        if (!filter.ok()) return filter.status().with_context("dataset " + field.name);
        field.dataset->creation_values = {filter->cd_values};
        field.dataset->pipeline = {std::move(*filter)};
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
Status Assembly::finish_what_is_needed() {
    const ledger::Book& book = parts_.ledger.book();
    if (book.committed() == book.next_dump() || !parts_.background) return {};
    bool possible = false;
    std::uint32_t needed = 0;
    for (const FieldDump& dumped : dumped_) {
        const FieldState& field = parts_.fields[dumped.field];
        if (field.dataset->dumps_end <= book.committed() || !field.layout->may_be_open) continue;
        possible = true;
        for (const OwnedChunk& chunk : field.layout->mine) needed |= !chunk.covered;
    }
    if (!possible) return {};
    const auto all = base::from_all(*parts_.session.comm, needed);
    if (!all.ok()) return parts_.round.lost(all.status());
    if (std::all_of(all->begin(), all->end(), [](std::uint32_t n) { return n == 0; })) return {};
    return parts_.finish_dumps();
}

// What lies under the pieces of a block: its content of before, else the fill value. Beyond the
// array it is always the fill value.
Status Assembly::add_background(std::uint32_t field_index, const OwnedChunk& chunk, run::Job& job) {
    const FieldState& field = parts_.fields[field_index];
    if (chunk.covered && chunk.valid == chunk.inside) return {};
    job.fill = field.dataset->fill;
    if (chunk.covered || !parts_.background) return {};
    const Box part{chunk.box.offset, chunk.inside};
    const std::uint64_t bytes = part.extent.count() * size_of(field.dtype);
    auto buffer = parts_.session.pool.take(bytes);
    if (!buffer.ok()) return buffer.status().with_context(job.label);
    auto kept = parts_.background({field_index}, chunk.chunk, part, buffer->bytes());
    if (!kept.ok()) return kept.status().with_context(job.label);
    if (!*kept) return {};
    run::Snapshot& snapshot = dump_.snapshots.emplace_back();
    snapshot.buffer = std::move(*buffer);
    snapshot.budget = &parts_.session.budget;
    snapshot.charged_bytes = bytes;
    parts_.session.budget.charge(bytes);
    job.pieces.insert(job.pieces.begin(), {part, part, snapshot.buffer.data(), &snapshot});
    // What is kept may be off by the whole bound already; it must not be moved once more.
    job.exactly = true;
    job.absolute_bound = 0.0;
    if (chunk.valid == chunk.inside) job.fill.reset();
    return {};
}

}  // namespace caesura::writer
