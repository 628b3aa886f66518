// Which fields each message has, in which order: the one place, for both directions.
//
// Each fields(io, message) calls io once for each field. Io is FieldWriter (the message is const
// then) or FieldReader. What is put here changes the byte form: k_protocol_version goes up.
#pragma once

#include "transit/fields.hpp"

namespace caesura::transit {

template <class Io, class T>
using Of = typename Io::template Of<T>;

// ------------------------------------------------------------------- parts of messages

template <class Io>
void extents(Io& io, Of<Io, Box>& box, int axes) {
    io.shape(box.offset, axes);
    io.shape(box.extent, axes);
}

template <class Io>
void fields(Io& io, Of<Io, ErrorBound>& bound) {
    using K = ErrorBound::Kind;
    io.one_of(bound.kind, K::lossless, K::psnr, "bound");
    if (bound.kind != K::lossless) io.f64(bound.value);
}

template <class Io>
void fields(Io& io, Of<Io, DType>& dtype) {
    io.one_of(dtype, DType::float32, DType::complex128, "dtype");
}

/// How an array of a block lies among the others.
enum class PartLies : std::uint8_t { behind_others = 0, taking_turns = 1, in_canvas = 2 };

template <class Io>
void fields(Io& io, Of<Io, codec::BundlePart>& part) {
    int axes = part.shape.rank();
    io.axes(axes);
    io.shape(part.shape, axes);
    fields(io, part.bound);
    io.u32(part.component);
    io.flag(part.as_it_is, "as_it_is");
    PartLies lies = part.offset.rank() > 0 ? PartLies::in_canvas
                    : part.interleaved     ? PartLies::taking_turns
                                           : PartLies::behind_others;
    io.one_of(lies, PartLies::behind_others, PartLies::in_canvas, "lies");
    if constexpr (Io::k_reads) part.interleaved = lies == PartLies::taking_turns;
    if (lies == PartLies::in_canvas) io.shape(part.offset, axes);
}
inline constexpr std::size_t k_least_part_bytes = 1 + 8 + 1 + 4 + 2;

template <class Io>
void fields(Io& io, Of<Io, store::RegionWriter::Place>& place) {
    io.i32(place.rank);
    io.u64(place.dump);
    io.u64(place.address);
    io.u64(place.bytes);
    io.u64(place.previous);
}
inline constexpr std::size_t k_place_bytes = 4 + 4 * 8;

template <class Io>
void fields(Io& io, Of<Io, CodecSpec>& spec) {
    io.text(spec.name, k_name_limit_bytes, "codec name");
    io.list(spec.cd_values, k_cd_values_limit, 4, "cd_values", [&](auto& value) { io.u32(value); });
    io.optional(spec.verify, "verify", [&](auto& verify) { io.flag(verify, "verify"); });
}

template <class Io>
void fields(Io& io, Of<Io, DatasetCodec>& codec) {
    fields(io, codec.spec);
    fields(io, codec.dtype);
    int axes = codec.chunk.rank();
    io.axes(axes);
    io.shape(codec.chunk, axes);
    fields(io, codec.bound);
    io.tables(codec.tables);
    io.flag(codec.gather, "gather");
    io.list(codec.missing, codec::k_most_missing, 8, "missing", [&](auto& bits) { io.u64(bits); });
}
inline constexpr std::size_t k_least_codec_bytes = 4 + 4 + 1 + 1 + 1 + 8 + 1 + 4 + 1 + 4;

template <class Io>
void fields(Io& io, Of<Io, store::ChunkRecord>& record) {
    io.u64(record.dump);
    io.u32(record.dataset);
    io.u32(record.filter_mask);
    io.u64(record.chunk);
    io.u64(record.address);
    io.u64(record.bytes);
    io.u64(record.checksum);
}
inline constexpr std::size_t k_record_bytes = 2 * 4 + 5 * 8;

/// All shapes of a block have the same number of axes, which is sent once.
template <class Io>
void fields(Io& io, Of<Io, Piece>& piece, int axes) {
    extents(io, piece.part, axes);
    extents(io, piece.source_box, axes);
    io.one_of(piece.source, Source::arena, Source::payload, "source");
    io.u64(piece.offset);
}
inline constexpr std::size_t k_least_piece_bytes = 4 * 8 + 1 + 8;

// ------------------------------------------------------------------- client: session

template <class Io>
void fields(Io& io, Of<Io, Hello>& m) {
    io.magic();
    io.version(m.version);
    io.note(m.application, k_name_limit_bytes, "application");
    io.i32(m.rank);
    io.i32(m.size);
    io.fixed(m.host.boot);
    io.u64(m.host.pid_namespace);
    io.u64(m.host.ipc_namespace);
    io.u64(m.budget_bytes);
    io.f64(m.weight);
}

template <class Io>
void fields(Io& io, Of<Io, Share>& m) {
    io.fixed(m.key.nonce);
    io.i64(m.key.process);
    io.i32(m.key.descriptor);
    io.u64(m.key.bytes);
}

template <class Io>
void fields(Io&, Of<Io, Heartbeat>&) {}
template <class Io>
void fields(Io&, Of<Io, Bye>&) {}

// --------------------------------------------------------------------- client: files

template <class Io>
void fields(Io& io, Of<Io, OpenFile>& m) {
    using Mode = base::FileSystem::Mode;
    static_assert(static_cast<int>(Mode::read) == 0 && static_cast<int>(Mode::read_write) == 1 &&
                  static_cast<int>(Mode::create) == 2);
    using Locking = base::FileLocking;
    static_assert(static_cast<int>(Locking::off) == 0 && static_cast<int>(Locking::on) == 1 &&
                  static_cast<int>(Locking::best_effort) == 2 &&
                  static_cast<int>(Locking::yielding) == 3);
    io.u64(m.request);
    io.text(m.path, k_path_limit_bytes, "path");
    io.one_of(m.mode, Mode::read, Mode::create, "mode");
    io.one_of(m.locking, Locking::off, Locking::yielding, "locking");
}

/// How every request on an open file begins.
template <class Io, class M>
void file_request(Io& io, M& m) {
    io.u64(m.request);
    io.u32(m.file);
}

template <class Io>
void fields(Io& io, Of<Io, CloseFile>& m) {
    file_request(io, m);
}

template <class Io>
void fields(Io& io, Of<Io, WriteFile>& m) {
    file_request(io, m);
    io.u64(m.offset);
    io.flag(m.early, "early");
    io.u64(m.payload_bytes);
}

template <class Io>
void fields(Io& io, Of<Io, ReadFile>& m) {
    file_request(io, m);
    io.u64(m.offset);
    io.u64(m.bytes);
}

template <class Io>
void fields(Io& io, Of<Io, SyncFile>& m) {
    file_request(io, m);
}

template <class Io>
void fields(Io& io, Of<Io, TruncateFile>& m) {
    file_request(io, m);
    io.u64(m.bytes);
}

template <class Io>
void fields(Io& io, Of<Io, SizeOfFile>& m) {
    file_request(io, m);
}

template <class Io>
void fields(Io& io, Of<Io, LockFile>& m) {
    file_request(io, m);
    io.flag(m.exclusive, "exclusive");
}

template <class Io>
void fields(Io& io, Of<Io, UnlockFile>& m) {
    file_request(io, m);
}

template <class Io>
void fields(Io& io, Of<Io, SyncDirectory>& m) {
    io.u64(m.request);
    io.text(m.path, k_path_limit_bytes, "path");
}

// --------------------------------------------------------------------- client: dumps

template <class Io>
void fields(Io& io, Of<Io, BeginDump>& m) {
    io.u64(m.request);
    io.u64(m.dump);
    io.u32(m.file);
    io.u64(m.iteration);
    io.u32(m.n_jobs);
    io.list(m.places, k_places_limit, k_place_bytes, "places",
            [&](auto& place) { fields(io, place); });
    io.text(m.manifest, k_manifest_limit_bytes, "manifest");
    io.u32(m.manifest_region);
    io.flag(m.durable, "durable");
    io.list(m.slots, k_blocks_limit + 1, 8, "slots", [&](auto& slot) { io.u64(slot); });
    io.optional(m.spill, "spill", [&](auto& place) { fields(io, place); });
    io.list(m.codecs, k_codecs_limit, k_least_codec_bytes, "codecs",
            [&](auto& codec) { fields(io, codec); });
    io.f64(m.due_in_s);
}

template <class Io>
void fields(Io& io, Of<Io, Block>& m) {
    io.u64(m.dump);
    io.u32(m.job);
    io.note(m.label, k_label_limit_bytes, "label", true);
    io.u32(m.dataset);
    io.u64(m.chunk);
    fields(io, m.dtype);
    int axes = m.valid.rank();
    io.axes(axes);
    extents(io, m.chunk_box, axes);
    io.shape(m.valid, axes);
    io.list(m.pieces, k_pieces_limit, k_least_piece_bytes, "pieces",
            [&](auto& piece) { fields(io, piece, axes); });
    io.optional(m.fill, "fill", [&](auto& value) { io.fixed(value); });
    io.u32(m.codec);
    io.list(m.parts, k_parts_limit, k_least_part_bytes, "parts",
            [&](auto& part) { fields(io, part); });
    io.flag(m.bundled, "bundled");
    io.flag(m.exactly, "exactly");
    io.f64(m.absolute_bound);
    io.u32(m.region);
    io.u32(m.slot);
    io.f64(m.expected_compress_s);
    io.u64(m.payload_bytes);
}

template <class Io>
void fields(Io& io, Of<Io, StoredBlock>& m) {
    io.u64(m.dump);
    io.u32(m.job);
    io.note(m.label, k_label_limit_bytes, "label", true);
    io.u32(m.dataset);
    io.u64(m.chunk);
    io.u32(m.filter_mask);
    io.u32(m.region);
    io.u32(m.slot);
    io.u64(m.payload_bytes);
}

template <class Io, class M>
void dump_request(Io& io, M& m) {
    io.u64(m.request);
    io.u64(m.dump);
}

template <class Io>
void fields(Io& io, Of<Io, FinishDump>& m) {
    dump_request(io, m);
}
template <class Io>
void fields(Io& io, Of<Io, EndSpill>& m) {
    dump_request(io, m);
}
template <class Io>
void fields(Io& io, Of<Io, DropDump>& m) {
    dump_request(io, m);
}

template <class Io>
void fields(Io& io, Of<Io, PressBlock>& m) {
    io.u64(m.request);
    fields(io, m.codec);
    int axes = m.valid.rank();
    io.axes(axes);
    io.shape(m.valid, axes);
    io.flag(m.exactly, "exactly");
    io.u64(m.payload_bytes);
}

// --------------------------------------------------------------------------- service

template <class Io>
void fields(Io& io, Of<Io, Welcome>& m) {
    io.magic();
    io.version(m.version);
    io.u64(m.credits_bytes);
    io.f64(m.lease_s);
    io.u64(m.limits.block_bytes);
    io.u64(m.limits.io_bytes);
    io.u32(m.limits.files);
    io.u32(m.limits.dumps);
    io.flag(m.shares_memory, "shares_memory");
}

template <class Io>
void fields(Io& io, Of<Io, Refusal>& m) {
    io.status(m.status);
}

template <class Io>
void fields(Io&, Of<Io, ServiceHeartbeat>&) {}
template <class Io>
void fields(Io&, Of<Io, Draining>&) {}

template <class Io>
void fields(Io& io, Of<Io, Answer>& m) {
    io.u64(m.request);
    io.status(m.status);
    io.u64(m.number);
    io.u64(m.payload_bytes);
}

template <class Io>
void fields(Io& io, Of<Io, Taken>& m) {
    io.u64(m.dump);
    io.u32(m.job);
}

template <class Io>
void fields(Io& io, Of<Io, Credit>& m) {
    io.u64(m.bytes);
}

template <class Io>
void fields(Io& io, Of<Io, BlockResult>& m) {
    io.u64(m.dump);
    io.u32(m.job);
    io.one_of(m.state, BlockState::written, BlockState::overflowed, "state");
    io.u64(m.stored_bytes);
    io.u32(m.filter_mask);
    io.optional(m.max_error, "max_error", [&](auto& error) { io.f64(error); });
    io.flag(m.fell_back, "fell_back");
    io.flag(m.stored_raw, "stored_raw");
    io.f64(m.compress_s);
    io.bytes(m.statistics, k_statistics_limit_bytes, "statistics");
    io.note(m.device, k_name_limit_bytes, "device");
    io.u64(m.payload_bytes);
}

template <class Io>
void fields(Io& io, Of<Io, Finished>& m) {
    io.u64(m.request);
    io.status(m.status);
    io.list(m.records, k_blocks_limit, k_record_bytes, "records",
            [&](auto& record) { fields(io, record); });
    io.list(m.tails, k_places_limit, 16, "tails", [&](auto& tail) {
        io.u64(tail.address);
        io.u64(tail.bytes);
    });
    io.u64(m.used_end);
    io.flag(m.is_whole, "is_whole");
}

template <class Io>
void fields(Io& io, Of<Io, PressedBlock>& m) {
    io.u64(m.request);
    io.status(m.status);
    io.u32(m.filter_mask);
    io.optional(m.max_error, "max_error", [&](auto& error) { io.f64(error); });
    io.flag(m.fell_back, "fell_back");
    io.f64(m.compress_s);
    io.f64(m.utilisation);
    io.bytes(m.statistics, k_statistics_limit_bytes, "statistics");
    io.note(m.device, k_name_limit_bytes, "device");
    io.u64(m.payload_bytes);
}

}  // namespace caesura::transit
