// From puts to the shared knowledge of a dump: fields, boxes, value ranges, codecs, pieces.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/wire.hpp"
#include "writer/assembly.hpp"
#include "writer/partial_layout.hpp"
#include "writer/particle_patches.hpp"
#include "writer/place_particles.hpp"
#include "writer/sparse_layout.hpp"

namespace caesura::writer {
namespace {

void widen(std::span<Composition::Range> ranges, std::span<const Composition::Range> by) {
    for (std::size_t i = 0; i < ranges.size() && i < by.size(); ++i) {
        ranges[i].min = std::min(ranges[i].min, by[i].min);
        ranges[i].max = std::max(ranges[i].max, by[i].max);
    }
}

/// In units of the field, where one number says it.
double units_of(const ErrorBound& bound) {
    return bound.kind == ErrorBound::Kind::absolute ? bound.value : 0.0;
}

/// For the field's attributes.
void loosen(std::vector<double>& loosest, std::span<const ErrorBound> bounds) {
    loosest.resize(bounds.size());
    for (std::size_t i = 0; i < bounds.size(); ++i)
        loosest[i] = std::max(loosest[i], bounds[i].value);
}

}  // namespace

// What this rank's puts say. Where they overlap, each is looked at by itself.
Assembly::Coordinates Assembly::coordinates_in(std::uint32_t f) const {
    const FieldState& field = parts_.fields[f];
    const auto puts = dump_.puts_of(f);
    Coordinates known{!puts.empty() && field.dataset->told_exact, field.may_be_axis(), {}};
    if (!known.may_be_axis) return known;
    std::vector<const Put*> sorted;
    for (const std::uint32_t i : puts) sorted.push_back(&dump_.puts[i]);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](auto* a, auto* b) { return a->box.offset[0] < b->box.offset[0]; });
    std::uint64_t end = 0;
    for (const Put* const put : sorted) {
        if (put->box.offset[0] >= end)
            known.order.add(put->order);
        else
            known.order.join(put->order);
        end = std::max(end, put->box.offset[0] + put->box.extent[0]);
    }
    return known;
}

void Assembly::unite(Coordinates& all, const Coordinates& one) {
    all.told = all.told || one.told;
    all.may_be_axis = one.may_be_axis;
    all.order.join(one.order);
}

// Who puts what: boxes where they changed on any rank, value ranges where a bound needs them.
Status Assembly::exchange_boxes(bool boxes_changed) {
    for (FieldState& field : parts_.fields)
        if (field.particles) field.particles->is_put = false;
    if (!boxes_changed) {
        bool any_range = false;
        for (std::uint32_t f = 0; f < parts_.fields.size(); ++f) {
            if (!parts_.fields[f].in_last_dump) continue;
            dumped_.emplace_back().field = f;
            any_range |= parts_.fields[f].ranges() > 0 || is_for_fields(parts_.fields[f]);
        }
        if (!any_range) return {};
    }
    base::Packer packer;
    for (std::uint32_t f = 0; f < parts_.fields.size(); ++f) {
        std::vector<Composition::Range> mine(parts_.fields[f].ranges());
        for (const std::uint32_t i : dump_.puts_of(f)) widen(mine, dump_.puts[i].ranges);
        packer.put(boxes_changed ? dump_.boxes_of(f, rank_) : std::vector<RankBox>{});
        packer.put(mine);
        if (parts_.fields[f].masks()) {
            const Seen seen = seen_of(f);
            packer.put(seen.suspects);
            packer.put(seen.declared);
            packer.put(seen.bulk);
        }
        if (says_where(parts_.fields[f])) packer.put(places_of(f));
        if (is_for_fields(parts_.fields[f])) packer.put(coordinates_in(f));
    }
    auto all = parts_.session.comm->allgatherv(packer.bytes());
    if (!all.ok()) return parts_.round.lost(all.status());
    std::vector<std::vector<RankBox>> boxes(parts_.fields.size());
    std::vector<std::vector<Composition::Range>> ranges(parts_.fields.size());
    std::vector<Coordinates> known(parts_.fields.size());
    std::vector<Seen> seen(parts_.fields.size());
    for (int r = 0; r < size_; ++r) {
        base::Unpacker unpacker((*all)[static_cast<std::size_t>(r)]);
        for (std::uint32_t f = 0; f < parts_.fields.size(); ++f) {
            const auto of_rank = unpacker.get_list<RankBox>();
            boxes[f].insert(boxes[f].end(), of_rank.begin(), of_rank.end());
            ranges[f].resize(parts_.fields[f].ranges());
            widen(ranges[f], unpacker.get_list<Composition::Range>());
            if (parts_.fields[f].masks()) {
                Seen theirs;
                theirs.suspects = unpacker.get_list<std::uint64_t>();
                theirs.declared = unpacker.get_list<std::uint64_t>();
                theirs.bulk = unpacker.get<Composition::Range>();
                seen[f].unite(theirs);
            }
            if (says_where(parts_.fields[f]))
                places_[f].push_back(unpacker.get<Composition::Range>());
            if (is_for_fields(parts_.fields[f])) unite(known[f], unpacker.get<Coordinates>());
        }
    }
    if (Status status = leave_out_suspects(seen, ranges); !status.ok()) return status;
    if (boxes_changed) {
        if (Status status = lay_out(std::move(boxes)); !status.ok()) return status;
    }
    for (FieldDump& dumped : dumped_) {
        dumped.ranges = std::move(ranges[dumped.field]);
        if (auto& dataset = parts_.fields[dumped.field].dataset; dataset && dataset->for_fields)
            dataset->kept_exact = known[dumped.field].answer();
        dumped.bulk = seen[dumped.field].bulk;
    }
    unite_ranges();
    return {};
}

Composition::Range Assembly::places_of(std::uint32_t field) const {
    Composition::Range all;
    for (const std::uint32_t i : dump_.puts_of(field)) widen({&all, 1}, {&dump_.puts[i].places, 1});
    return all;
}

// Levels of a mesh are datasets of their own, and a bound is one of a component's range over all.
void Assembly::unite_ranges() {
    const auto for_wholes = [&](auto&& call) {
        for (FieldDump& dumped : dumped_) {
            const Composition* const parts = parts_.fields[dumped.field].composition();
            if (parts == nullptr || parts->whole().empty()) continue;
            for (std::size_t c = 0; c < dumped.ranges.size(); ++c)
                call(dumped.ranges[c],
                     parts_.fields.range_of(parts->whole(), parts->components()[c].name));
        }
    };
    for_wholes([](auto& own, auto& all) { widen({&all, 1}, {&own, 1}); });
    for_wholes([](auto& own, auto& all) { own = all; });
}

// Records get the shape of this dump, and their puts the places that they have in it.
Status Assembly::place_particles(std::vector<std::vector<RankBox>>& boxes) {
    if (Status placed = writer::place_particles(parts_.fields, boxes); !placed.ok()) return placed;
    for (std::uint32_t f = 0; f < parts_.fields.size(); ++f) {
        if (!parts_.fields[f].particles) continue;
        for (const RankBox& one : boxes[f])
            if (one.rank == rank_) dump_.put_of(f, one.put).box = one.box;
        if (parts_.fields[f].particles->is_index) number_particles(f);
    }
    return {};
}

// New layouts where boxes changed. On error no field is changed, but shapes of records may be.
Status Assembly::lay_out(std::vector<std::vector<RankBox>> boxes) {
    if (Status placed = place_particles(boxes); !placed.ok()) return placed;
    std::map<std::uint32_t, Layout> fresh;
    std::map<std::uint32_t, std::size_t> widest;  // by species: a layout takes the boxes away
    for (std::uint32_t s = 0; s < parts_.fields.species.size(); ++s)
        widest[s] = widest_record_bytes(parts_.fields, s, boxes);
    for (std::uint32_t f = 0; f < parts_.fields.size(); ++f) {
        if (boxes[f].empty()) continue;
        dumped_.emplace_back().field = f;
        const auto& last = parts_.fields[f].layout;
        Shape ordered;  // another record may have come, or gone
        if (is_ordered(parts_.fields[f]))
            ordered = ordered_chunk(boxes[f], widest[parts_.fields[f].particles->species],
                                    parts_.session.options.chunk_bytes);
        if (last && last->boxes == boxes[f] && last->dims == parts_.fields[f].shape &&
            (ordered.rank() == 0 || last->chunk == ordered))
            continue;
        if (const auto& dataset = parts_.fields[f].dataset) {
            if (dataset->chunk_bytes > 0)
                parts_.session.experience->keep_fitting_chunk(
                    parts_.fields[f].name, parts_.fields[f].shape,
                    choose_chunk(parts_.fields[f].shape, boxes[f], size_of(parts_.fields[f].dtype),
                                 dataset->chunk_bytes));
            fresh[f] =
                make_sparse_layout({parts_.fields[f].shape, dataset->chunk, dataset->extendable},
                                   std::move(boxes[f]), rank_);
            continue;
        }
        const bool partial = parts_.fields[f].is_partial();
        const std::size_t value_bytes = size_of(parts_.fields[f].dtype);
        std::uint64_t target_bytes = parts_.session.options.chunk_bytes;
        if (parts_.fields[f].particles)
            target_bytes = particle_chunk_bytes(boxes[f], value_bytes, target_bytes);
        auto layout = ordered.rank() > 0
                          ? make_layout_of(parts_.fields[f].name, parts_.fields[f].shape, boxes[f],
                                           ordered, rank_)
                          : (partial ? make_partial_layout : make_layout)(
                                parts_.fields[f].name, parts_.fields[f].shape, std::move(boxes[f]),
                                value_bytes, target_bytes, rank_);
        if (!layout.ok()) return layout.status();
        fresh[f] = std::move(*layout);
    }
    if (dumped_.empty() && std::none_of(parts_.fields.begin(), parts_.fields.end(),
                                        [](const auto& field) { return field.is_put_empty(); }))
        return {StatusCode::invalid_argument,
                fmt::format("iteration {}: the dump is empty; no rank put anything",
                            parts_.session.iteration)};
    for (auto& [f, layout] : fresh) parts_.fields[f].layout = std::move(layout);
    for (FieldState& field : parts_.fields) field.in_last_dump = false;
    for (const FieldDump& dumped : dumped_) parts_.fields[dumped.field].in_last_dump = true;
    // An application may have many datasets and dump each once.
    for (FieldState& field : parts_.fields)
        if (field.dataset && !field.in_last_dump) field.layout.reset();
    return {};
}

const Shape& Assembly::chunk_of(const FieldState& field) {
    return field.dataset ? field.dataset->chunk : field.layout->chunk;
}

// Local. The codec of a dataset that the application made is made once, as its pipeline is.
Result<std::shared_ptr<const BlockCodec>> Assembly::codec_of(FieldState& field,
                                                             const ErrorBound& bound) const {
    auto& dataset = field.dataset;
    if (dataset && dataset->codec && dataset->codec_bound == bound &&
        dataset->codec_missing == field.missing)
        return dataset->codec;
    auto made = make_block_codec(field.codec, field.dtype, chunk_of(field), bound,
                                 {field.tables, counts_tables(rank_, size_), field.missing});
    if (!made.ok())
        return made.status().with_context(fmt::format("field '{}' on rank {}", field.name, rank_));
    std::shared_ptr<const BlockCodec> codec = std::move(*made);
    if (dataset) {
        dataset->codec = codec;
        dataset->codec_bound = bound;
        dataset->codec_missing = field.missing;
    }
    return codec;
}

// Local.
Status Assembly::make_codecs() {
    for (FieldDump& dumped : dumped_) {
        FieldState& field = parts_.fields[dumped.field];
        const auto range = [&](std::size_t i) {
            return i < dumped.ranges.size() ? dumped.ranges[i] : Composition::Range{};
        };
        if (const Composition* const parts = field.composition(); parts != nullptr) {
            for (std::size_t c = 0; c < parts->components().size(); ++c)
                dumped.bounds.push_back(resolve(parts->components()[c].bound, range(c)));
        } else {
            dumped.bound = resolve(field.bound, range(0));
            warn_of_stretched_range(dumped);
        }
        if (field.dataset) {
            const bool parts = field.composition() != nullptr;
            const std::span<const ErrorBound> kept =
                parts ? std::span<const ErrorBound>(dumped.bounds) : std::span(&dumped.bound, 1);
            const std::vector<ErrorBound> exact(kept.size(), lossless());
            loosen(field.dataset->loosest, field.is_kept_exact() ? exact : kept);
        }
        auto codec = codec_of(field, codec_bound(dumped));
        if (!codec.ok()) return codec.status();
        dumped.codec = std::move(*codec);
    }
    return {};
}

namespace {

/// Where a piece begins behind `bytes` of others: codecs and the service want aligned values, and
/// the piece before may be an odd number of bytes.
constexpr std::size_t place_behind(std::size_t bytes) {
    constexpr std::size_t k_alignment = 16;
    return (bytes + k_alignment - 1) / k_alignment * k_alignment;
}

}  // namespace

// The pieces of chunks that straddle ranks travel to the chunk's owner, all fields in one exchange.
Status Assembly::move_pieces() {
    bool any = false;
    for (const auto& dumped : dumped_) any |= parts_.fields[dumped.field].layout->any_moves;
    if (!any) return {};
    std::vector<Communicator::Bytes> send(static_cast<std::size_t>(size_));
    for (const auto& dumped : dumped_) {
        const FieldState& field = parts_.fields[dumped.field];
        const std::size_t value_bytes = size_of(field.dtype);
        for (const Move& move : field.layout->moves) {
            if (move.from != rank_) continue;
            const RankBox& source = field.layout->boxes[move.piece.box];
            const Put& put = dump_.put_of(dumped.field, source.put);
            auto& bytes = send[static_cast<std::size_t>(move.to)];
            const std::size_t at = place_behind(bytes.size());
            bytes.resize(at + move.piece.part.extent.count() * value_bytes);
            copy_box(move.piece.part, put.box, put.data, move.piece.part, bytes.data() + at,
                     value_bytes);
        }
    }
    auto received = parts_.session.comm->alltoallv(send);
    if (!received.ok()) return parts_.round.lost(received.status());
    return keep_pieces(*received);
}

// One snapshot per sender; jobs find their pieces in it in the order of the moves.
Status Assembly::keep_pieces(const std::vector<Communicator::Bytes>& received) {
    std::vector<std::size_t> at(received.size(), 0);
    std::vector<run::Snapshot*> snapshots(received.size(), nullptr);
    for (std::size_t r = 0; r < received.size(); ++r) {
        if (received[r].empty()) continue;
        auto buffer = parts_.session.pool.take(received[r].size());
        if (!buffer.ok()) return buffer.status();
        snapshots[r] = &dump_.snapshots.emplace_back();
        snapshots[r]->buffer = std::move(*buffer);
        snapshots[r]->budget = &parts_.session.budget;
        snapshots[r]->charged_bytes = received[r].size();
        parts_.session.budget.charge(received[r].size());
        std::memcpy(snapshots[r]->buffer.data(), received[r].data(), received[r].size());
    }
    for (const auto& dumped : dumped_) {
        const FieldState& field = parts_.fields[dumped.field];
        for (const Move& move : field.layout->moves) {
            if (move.to != rank_) continue;
            const auto from = static_cast<std::size_t>(move.from);
            at[from] = place_behind(at[from]);
            received_[{dumped.field, move.piece.box, move.piece.part.offset}] = {
                move.piece.part, move.piece.part, snapshots[from]->buffer.data() + at[from],
                snapshots[from]};
            at[from] += move.piece.part.extent.count() * size_of(field.dtype);
        }
    }
    return {};
}

// One job per chunk this rank owns.
Status Assembly::make_jobs() {
    std::size_t n_jobs = 0;
    for (const auto& dumped : dumped_) n_jobs += parts_.fields[dumped.field].layout->mine.size();
    task_ = std::make_unique<run::DumpTask>(n_jobs);
    task_->dump = parts_.ledger.book().next_dump();
    task_->iteration = parts_.session.iteration;
    std::size_t next = 0;
    for (std::uint32_t dataset = 0; dataset < dumped_.size(); ++dataset) {
        const FieldDump& dumped = dumped_[dataset];
        const FieldState& field = parts_.fields[dumped.field];
        task_->codecs.push_back(dumped.codec);
        const bool too_many = field.missing.size() > codec::k_most_missing;
        if (parts_.session.elsewhere())
            task_->recipes.push_back({field.codec,
                                      field.dtype,
                                      chunk_of(field),
                                      codec_bound(dumped),
                                      {field.tables, counts_tables(rank_, size_),
                                       too_many ? codec::ValueBits{} : field.missing}});
        for (const OwnedChunk& chunk : field.layout->mine) {
            run::Job& job = task_->jobs[next++];
            job.label = fmt::format("{} #{}", field.name, chunk.chunk);
            job.dataset = dataset;
            job.chunk = chunk.chunk;
            job.dtype = field.dtype;
            job.chunk_box = chunk.box;
            job.valid = chunk.valid;
            job.codec = dumped.codec.get();
            job.absolute_bound = units_of(dumped.bound);
            job.exactly = field.is_kept_exact();
            for (const LayoutPiece& piece : chunk.pieces) {
                job.pieces.push_back(locate(dumped.field, piece));
                job.exactly |= must_be_exact(dumped.field, piece);
            }
            job.exactly |= too_many;  // no mask could tell them apart
            if (job.exactly) job.absolute_bound = 0.0;
            job_fields_.push_back(dumped.field);
            if (field.dataset)
                if (Status status = add_background(dumped.field, chunk, job); !status.ok())
                    return status;
            if (field.is_partial() && !(chunk.covered && field.has_bound_map()))
                leave_open(dumped, chunk.covered, job);
            else
                divide(dumped, job);
        }
    }
    order_jobs();
    return {};
}

// Into the arrays of which a block consists, each with the bound of its quantity.
void Assembly::divide(const FieldDump& dumped, run::Job& job) const {
    if (parts_.fields[dumped.field].has_bound_map()) return hold_to_map(dumped, job);
    const Composition* const composition = parts_.fields[dumped.field].composition();
    if (composition == nullptr) return;
    job.parts = composition->parts({job.chunk_box.offset, job.valid});
    job.bundled = composition->bundles();
    job.absolute_bound = 1.0;  // errors come as shares of each array's own
    for (codec::BundlePart& part : job.parts) {
        part.as_it_is = composition->components()[part.component].as_it_is;
        part.bound = job.exactly ? lossless() : dumped.bounds[part.component];
    }
}

// This rank's own puts say it: another rank does not see how a piece was put.
bool Assembly::must_be_exact(std::uint32_t field, const LayoutPiece& piece) const {
    const RankBox& source = parts_.fields[field].layout->boxes[piece.box];
    return source.rank == rank_ && dump_.put_of(field, source.put).exactly;
}

run::PutPart Assembly::locate(std::uint32_t field, const LayoutPiece& piece) const {
    const RankBox& source = parts_.fields[field].layout->boxes[piece.box];
    if (source.rank != rank_) return received_.at({field, piece.box, piece.part.offset});
    const Put& put = dump_.put_of(field, source.put);
    return {piece.part, put.box, put.data, put.snapshot};
}

}  // namespace caesura::writer
