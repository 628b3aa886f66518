// From puts to the shared knowledge of a dump: fields, boxes, value ranges, codecs, pieces.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "writer/assembly.hpp"
#include "writer/sparse_layout.hpp"
#include "writer/wire.hpp"

namespace caesura {
namespace {

// What a bound comes to for a field whose finite values have this range. A field without any spread
// has no range to take a share of: it is stored lossless.
ErrorBound resolve(const ErrorBound& asked, double range) {
    if (!writer::needs_range(asked)) return asked;
    // No value off by more than the root of the mean square that is allowed: a PSNR that is certain
    // without looking at what came out.
    const double share = asked.kind == ErrorBound::Kind::psnr
                             ? std::pow(10.0, -asked.value / 20.0) * (1.0 - 1e-9)
                             : asked.value;
    const double bound = share * range;
    const bool usable = bound > 0.0 && bound <= std::numeric_limits<double>::max();
    return usable ? absolute(bound) : lossless();
}

}  // namespace

bool Writer::Impl::boxes_changed() const {
    for (std::uint32_t f = 0; f < fields.size(); ++f) {
        std::vector<writer::RankBox> before;
        if (fields[f].in_last_dump)
            for (const writer::RankBox& b : fields[f].layout->boxes)
                if (b.rank == rank) before.push_back(b);
        if (open_dump->boxes_of(f, rank) != before) return true;
        if (!before.empty() && fields[f].layout->dims != fields[f].shape) return true;
    }
    return false;
}

// Who puts what: boxes where they changed on any rank, value ranges where a bound needs them.
Status Writer::Impl::exchange_boxes(Assembly& assembly, bool boxes_changed) {
    if (!boxes_changed) {
        bool any_range = false;
        for (std::uint32_t f = 0; f < fields.size(); ++f) {
            if (!fields[f].in_last_dump) continue;
            assembly.fields.emplace_back().field = f;
            any_range |= writer::needs_range(fields[f].bound);
        }
        if (!any_range) return {};
    }
    writer::Packer packer;
    for (std::uint32_t f = 0; f < fields.size(); ++f) {
        double low = std::numeric_limits<double>::infinity(), high = -low;
        for (const std::uint32_t i : open_dump->puts_of(f)) {
            low = std::min(low, open_dump->puts[i].min);
            high = std::max(high, open_dump->puts[i].max);
        }
        packer.put(boxes_changed ? open_dump->boxes_of(f, rank) : std::vector<writer::RankBox>{});
        packer.put(low);
        packer.put(high);
    }
    auto all = comm->allgatherv(packer.bytes());
    if (!all.ok()) {
        comm_failed = true;
        return failed = all.status();
    }
    std::vector<std::vector<writer::RankBox>> boxes(fields.size());
    std::vector<Assembly::FieldDump> ranges(fields.size());
    for (int r = 0; r < size; ++r) {
        writer::Unpacker unpacker((*all)[static_cast<std::size_t>(r)]);
        for (std::uint32_t f = 0; f < fields.size(); ++f) {
            const auto of_rank = unpacker.get_list<writer::RankBox>();
            boxes[f].insert(boxes[f].end(), of_rank.begin(), of_rank.end());
            ranges[f].min = std::min(ranges[f].min, unpacker.get<double>());
            ranges[f].max = std::max(ranges[f].max, unpacker.get<double>());
        }
    }
    if (boxes_changed) {
        if (Status status = lay_out(assembly, std::move(boxes)); !status.ok()) return status;
    }
    for (Assembly::FieldDump& dumped : assembly.fields) {
        dumped.min = ranges[dumped.field].min;
        dumped.max = ranges[dumped.field].max;
    }
    return {};
}

// New layouts where boxes changed. On error no field is changed.
Status Writer::Impl::lay_out(Assembly& assembly, std::vector<std::vector<writer::RankBox>> boxes) {
    std::map<std::uint32_t, writer::Layout> fresh;
    for (std::uint32_t f = 0; f < fields.size(); ++f) {
        if (boxes[f].empty()) continue;
        assembly.fields.emplace_back().field = f;
        const auto& last = fields[f].layout;
        if (last && last->boxes == boxes[f] && last->dims == fields[f].shape) continue;
        if (const auto& dataset = fields[f].dataset) {
            if (dataset->chunk_bytes > 0)
                experience->keep_fitting_chunk(
                    fields[f].name, fields[f].shape,
                    writer::choose_chunk(fields[f].shape, boxes[f], size_of(fields[f].dtype),
                                         dataset->chunk_bytes));
            fresh[f] = writer::make_sparse_layout(
                {fields[f].shape, dataset->chunk, dataset->extendable}, std::move(boxes[f]), rank);
            continue;
        }
        auto layout = writer::make_layout(fields[f].name, fields[f].shape, std::move(boxes[f]),
                                          size_of(fields[f].dtype), options.chunk_bytes, rank);
        if (!layout.ok()) return layout.status();
        fresh[f] = std::move(*layout);
    }
    if (assembly.fields.empty())
        return {StatusCode::invalid_argument,
                fmt::format("iteration {}: the dump is empty; no rank put anything", iteration)};
    for (auto& [f, layout] : fresh) fields[f].layout = std::move(layout);
    for (writer::FieldState& field : fields) field.in_last_dump = false;
    for (const Assembly::FieldDump& dumped : assembly.fields)
        fields[dumped.field].in_last_dump = true;
    // An application may have many datasets and dump each once.
    for (writer::FieldState& field : fields)
        if (field.dataset && !field.in_last_dump) field.layout.reset();
    return {};
}

// Local. The codec of a dataset that the application made is made once, as its pipeline is.
Result<std::shared_ptr<const BlockCodec>> Writer::Impl::codec_of(writer::FieldState& field,
                                                                 const ErrorBound& bound) const {
    auto& dataset = field.dataset;
    if (dataset && dataset->codec && dataset->codec_bound == bound) return dataset->codec;
    const Shape& chunk = dataset ? dataset->chunk : field.layout->chunk;
    auto made = make_block_codec(field.codec, field.dtype, chunk, bound,
                                 {field.tables, writer::counts_tables(rank, size)});
    if (!made.ok())
        return made.status().with_context(fmt::format("field '{}' on rank {}", field.name, rank));
    std::shared_ptr<const BlockCodec> codec = std::move(*made);
    if (dataset) {
        dataset->codec = codec;
        dataset->codec_bound = bound;
    }
    return codec;
}

// Local.
Status Writer::Impl::make_codecs(Assembly& assembly) {
    for (Assembly::FieldDump& dumped : assembly.fields) {
        writer::FieldState& field = fields[dumped.field];
        dumped.bound = resolve(field.bound, dumped.max - dumped.min);
        auto codec = codec_of(field, dumped.bound);
        if (!codec.ok()) return codec.status();
        dumped.codec = std::move(*codec);
    }
    return {};
}

// The pieces of chunks that straddle ranks travel to the chunk's owner, all fields in one exchange.
Status Writer::Impl::move_pieces(Assembly& assembly) {
    bool any = false;
    for (const auto& dumped : assembly.fields) any |= fields[dumped.field].layout->any_moves;
    if (!any) return {};
    std::vector<Communicator::Bytes> send(static_cast<std::size_t>(size));
    for (const auto& dumped : assembly.fields) {
        const writer::FieldState& field = fields[dumped.field];
        const std::size_t value_bytes = size_of(field.dtype);
        for (const writer::Move& move : field.layout->moves) {
            if (move.from != rank) continue;
            const writer::RankBox& source = field.layout->boxes[move.piece.box];
            const writer::Put& put = open_dump->put_of(dumped.field, source.put);
            auto& bytes = send[static_cast<std::size_t>(move.to)];
            const std::size_t at = bytes.size();
            bytes.resize(at + move.piece.part.extent.count() * value_bytes);
            copy_box(move.piece.part, put.box, put.data, move.piece.part, bytes.data() + at,
                     value_bytes);
        }
    }
    auto received = comm->alltoallv(send);
    if (!received.ok()) {
        comm_failed = true;
        return failed = received.status();
    }
    return keep_pieces(assembly, *received);
}

// One snapshot per sender; jobs find their pieces in it in the order of the moves.
Status Writer::Impl::keep_pieces(Assembly& assembly,
                                 const std::vector<Communicator::Bytes>& received) {
    std::vector<std::size_t> at(received.size(), 0);
    std::vector<run::Snapshot*> snapshots(received.size(), nullptr);
    for (std::size_t r = 0; r < received.size(); ++r) {
        if (received[r].empty()) continue;
        auto buffer = pool.take(received[r].size());
        if (!buffer.ok()) return buffer.status();
        snapshots[r] = &open_dump->snapshots.emplace_back();
        snapshots[r]->buffer = std::move(*buffer);
        snapshots[r]->budget = &budget;
        snapshots[r]->charged_bytes = received[r].size();
        budget.charge(received[r].size());
        std::memcpy(snapshots[r]->buffer.data(), received[r].data(), received[r].size());
    }
    for (const auto& dumped : assembly.fields) {
        const writer::FieldState& field = fields[dumped.field];
        for (const writer::Move& move : field.layout->moves) {
            if (move.to != rank) continue;
            const auto from = static_cast<std::size_t>(move.from);
            assembly.received[{dumped.field, move.piece.box, move.piece.part.offset}] = {
                move.piece.part, move.piece.part, snapshots[from]->buffer.data() + at[from],
                snapshots[from]};
            at[from] += move.piece.part.extent.count() * size_of(field.dtype);
        }
    }
    return {};
}

// One job per chunk this rank owns.
Status Writer::Impl::make_jobs(Assembly& assembly) {
    std::size_t n_jobs = 0;
    for (const auto& dumped : assembly.fields) n_jobs += fields[dumped.field].layout->mine.size();
    assembly.task = std::make_unique<run::DumpTask>(n_jobs);
    assembly.task->dump = next_dump;
    assembly.task->iteration = iteration;
    std::size_t next = 0;
    for (std::uint32_t dataset = 0; dataset < assembly.fields.size(); ++dataset) {
        const Assembly::FieldDump& dumped = assembly.fields[dataset];
        const writer::FieldState& field = fields[dumped.field];
        assembly.task->codecs.push_back(dumped.codec);
        for (const writer::OwnedChunk& chunk : field.layout->mine) {
            run::Job& job = assembly.task->jobs[next++];
            job.label = fmt::format("{} #{}", field.name, chunk.chunk);
            job.dataset = dataset;
            job.chunk = chunk.chunk;
            job.dtype = field.dtype;
            job.chunk_box = chunk.box;
            job.valid = chunk.valid;
            job.codec = dumped.codec.get();
            job.absolute_bound =
                dumped.bound.kind == ErrorBound::Kind::absolute ? dumped.bound.value : 0.0;
            for (const writer::LayoutPiece& piece : chunk.pieces) {
                job.pieces.push_back(locate(assembly, dumped.field, piece));
                job.exactly |= must_be_exact(dumped.field, piece);
            }
            if (job.exactly) job.absolute_bound = 0.0;
            assembly.job_fields.push_back(dumped.field);
            if (field.dataset)
                if (Status status = add_background(dumped.field, chunk, job); !status.ok())
                    return status;
        }
    }
    return {};
}

// This rank's own puts say it: another rank does not see how a piece was put.
bool Writer::Impl::must_be_exact(std::uint32_t field, const writer::LayoutPiece& piece) const {
    const writer::RankBox& source = fields[field].layout->boxes[piece.box];
    return source.rank == rank && open_dump->put_of(field, source.put).exactly;
}

run::Piece Writer::Impl::locate(const Assembly& assembly, std::uint32_t field,
                                const writer::LayoutPiece& piece) const {
    const writer::RankBox& source = fields[field].layout->boxes[piece.box];
    if (source.rank != rank) return assembly.received.at({field, piece.box, piece.part.offset});
    const writer::Put& put = open_dump->put_of(field, source.put);
    return {piece.part, put.box, put.data, put.snapshot};
}

}  // namespace caesura
