#include "nvcomp/nvcomp_coder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/parcel.hpp"

namespace caesura::device::cuda {
namespace {

constexpr std::uint64_t k_room_alignment = 256;

std::uint64_t whole(std::uint64_t bytes, std::uint64_t of) { return (bytes + of - 1) / of * of; }

/// Arrays one after the other in pinned memory, each at whole 16 bytes.
class Arrays {
  public:
    explicit Arrays(std::byte* begin) : begin_(begin) {}
    template <class T>
    T* take(std::uint64_t count) {
        T* const array = reinterpret_cast<T*>(begin_ + used_);
        used_ += whole(count * sizeof(T), 16);
        return array;
    }

  private:
    std::byte* begin_;
    std::uint64_t used_ = 0;
};

}  // namespace

// --------------------------------------------------------------------------------- what it takes

Result<std::unique_ptr<NvcompCoder>> NvcompCoder::create(const CudaOptions& options,
                                                         cudaStream_t stream, cudaMemPool_t pool) {
    std::unique_ptr<NvcompCoder> coder(new NvcompCoder(stream, pool));
    if (Status status = coder->begin(options); !status.ok()) return status;
    return coder;
}

Status NvcompCoder::begin(const CudaOptions& options) {
    Result<std::unique_ptr<Nvcomp>> library = Nvcomp::load(options.coder, options.nvcomp);
    if (!library.ok()) return library.status();
    library_ = *std::move(library);
    Result<std::unique_ptr<Packer>> packer = Packer::create(Coder::packed, stream_);
    if (!packer.ok()) return packer.status();
    packer_ = *std::move(packer);
    const auto to_compress = library_->compress_alignment();
    if (!to_compress.ok()) return to_compress.status();
    const auto to_decompress = library_->decompress_alignment();
    if (!to_decompress.ok()) return to_decompress.status();
    to_compress_ = *to_compress;
    to_decompress_ = *to_decompress;
    for (const std::uint64_t wanted :
         {to_compress_.to, to_compress_.scratch, to_decompress_.from, to_decompress_.to})
        if (wanted == 0 || wanted > nvcomp::k_alignment)
            return {StatusCode::unsupported,
                    fmt::format("nvCOMP {}, {}: memory aligned to {}, {} are known",
                                library_->version(), to_string(options.coder), wanted,
                                nvcomp::k_alignment)};
    const auto most = library_->most_bytes(nvcomp::k_chunk_bytes);
    if (!most.ok()) return most.status();
    slot_bytes_ = whole(*most, k_room_alignment);
    return plan_batches(options.work_bytes);
}

/// As many chunks at once as work_bytes have room for, and at least one.
Status NvcompCoder::plan_batches(std::uint64_t work_bytes) {
    constexpr std::uint64_t k_most_chunks = std::uint64_t{1} << 20;  // 64 GiB
    for (std::uint64_t chunks = 1; chunks <= k_most_chunks; chunks *= 2) {
        const auto scratch =
            library_->compress_scratch_bytes(chunks, nvcomp::k_chunk_bytes, stream_);
        if (!scratch.ok()) return scratch.status();
        if (chunks > 1 && chunks * slot_bytes_ + *scratch > work_bytes) break;
        // More chunks never need less, as far as the cap is concerned.
        const std::uint64_t before = batches_.empty() ? 0 : batches_.back().scratch_bytes;
        batches_.push_back({chunks, std::max(*scratch, before)});
    }
    return {};
}

NvcompCoder::Layout NvcompCoder::lay_out(std::uint64_t pieces, std::uint64_t bytes,
                                         std::uint64_t chunks) const {
    Layout layout;
    layout.batch = batches_.back();
    for (const Batch& batch : batches_)
        if (batch.chunks >= chunks) {
            layout.batch = batch;
            break;
        }
    std::uint64_t at = parcel_table_bytes(pieces) + nvcomp::frames_bytes_at_most(pieces, bytes);
    const auto take = [&at](std::uint64_t room) {
        const std::uint64_t begin = whole(at, k_room_alignment);
        at = begin + room;
        return begin;
    };
    const std::uint64_t count = layout.batch.chunks;
    layout.pieces = take(pieces * sizeof(NvcompPiece));
    layout.outcome = take(sizeof(NvcompOutcome));
    for (std::uint64_t* array : {&layout.ends, &layout.from, &layout.bytes})
        *array = take(8 * chunks);
    for (std::uint64_t* array : {&layout.to, &layout.to_bytes, &layout.statuses})
        *array = take(8 * count);
    layout.slots = take(count * slot_bytes_);
    layout.scratch = take(layout.batch.scratch_bytes);
    layout.end = at;
    return layout;
}

std::uint64_t NvcompCoder::parcel_bytes(std::uint64_t pieces, std::uint64_t bytes) const {
    // Every piece may begin a chunk of its own.
    return lay_out(pieces, bytes, bytes / nvcomp::k_chunk_bytes + pieces).end;
}

// ------------------------------------------------------------------------------------ compressing

Status NvcompCoder::fill_job(std::span<const std::span<const std::byte>> pieces,
                             const Content& content, std::span<std::byte> parcel, NvcompJob& job) {
    job.value_bytes = static_cast<std::uint32_t>(size_of(content.dtype));
    job.coder = static_cast<std::uint8_t>(library_->coder());
    job.library = library_->version_number();
    job.piece_count = pieces.size();
    const std::uint64_t wanted = std::max<std::uint64_t>(to_compress_.from, job.value_bytes);
    std::uint64_t raw_bytes = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (Status status = validate(content, pieces[i].size(), library_->coder()); !status.ok())
            return status.with_context(fmt::format("piece {}", i));
        if (pieces[i].empty() || !is_aligned(pieces[i].data(), wanted))
            return {StatusCode::invalid_argument,
                    fmt::format("piece {} of {} bytes is empty or not aligned to {}", i,
                                pieces[i].size(), wanted)};
        pinned_.as<NvcompPiece>()[i] = {reinterpret_cast<const unsigned char*>(pieces[i].data()),
                                        pieces[i].size(), job.chunks};
        raw_bytes += pieces[i].size();
        job.chunks += nvcomp::chunks_of(pieces[i].size(), job.value_bytes);
    }
    const Layout at = lay_out(pieces.size(), raw_bytes, job.chunks);
    if (parcel.size() < at.end || !is_aligned(parcel.data(), k_room_alignment))
        return {StatusCode::invalid_argument,
                fmt::format("a parcel of {} bytes, aligned to {}, is needed for {} pieces of "
                            "together {}; this has {}",
                            parcel_bytes(pieces.size(), raw_bytes), k_room_alignment, pieces.size(),
                            raw_bytes, parcel.size())};
    auto* const room = reinterpret_cast<unsigned char*>(parcel.data());
    job.parcel = room;
    job.pieces = reinterpret_cast<NvcompPiece*>(room + at.pieces);
    job.outcome = reinterpret_cast<NvcompOutcome*>(room + at.outcome);
    job.ends = reinterpret_cast<std::uint64_t*>(room + at.ends);
    job.from = reinterpret_cast<const void**>(room + at.from);
    job.bytes = reinterpret_cast<std::uint64_t*>(room + at.bytes);
    job.to = reinterpret_cast<void**>(room + at.to);
    job.to_bytes = reinterpret_cast<std::uint64_t*>(room + at.to_bytes);
    job.statuses = reinterpret_cast<std::int32_t*>(room + at.statuses);
    job.slots = room + at.slots;
    job.slot_bytes = slot_bytes_;
    job.batch_chunks = at.batch.chunks;
    job.scratch = room + at.scratch;
    job.scratch_bytes = at.batch.scratch_bytes;
    return {};
}

Status NvcompCoder::give_batches(NvcompJob job) {
    for (job.first = 0; job.first < job.chunks; job.first += job.batch_chunks) {
        job.count = std::min(job.batch_chunks, job.chunks - job.first);
        NvcompBatch batch;
        batch.chunks = job.count;
        batch.chunk_bytes = nvcomp::k_chunk_bytes;
        batch.value_bytes = job.value_bytes;
        batch.from = job.from + job.first;
        batch.bytes = job.bytes + job.first;
        batch.to = job.to;
        batch.to_bytes = job.to_bytes;
        batch.statuses = job.statuses;
        batch.scratch = job.scratch;
        batch.scratch_bytes = job.scratch_bytes;
        if (Status status = library_->compress(batch, stream_); !status.ok()) return status;
        if (Status status = status_of(gather_nvcomp(job, stream_), "gathering chunks");
            !status.ok())
            return status;
    }
    return {};
}

/// All of it; what the GPU makes of it is known when the stream is idle.
Status NvcompCoder::give(const NvcompJob& job, NvcompOutcome* outcome) {
    cudaError_t code =
        cudaMemcpyAsync(const_cast<NvcompPiece*>(job.pieces), pinned_.data(),
                        job.piece_count * sizeof(NvcompPiece), cudaMemcpyHostToDevice, stream_);
    if (code == cudaSuccess) code = begin_nvcomp(job, stream_);
    if (code != cudaSuccess) return status_of(code, "compressing");
    if (Status status = give_batches(job); !status.ok()) return status;
    code = end_nvcomp(job, stream_);
    if (code == cudaSuccess)
        code =
            cudaMemcpyAsync(outcome, job.outcome, sizeof *outcome, cudaMemcpyDeviceToHost, stream_);
    return status_of(code, "compressing");
}

Result<std::uint64_t> NvcompCoder::compress(std::span<const std::span<const std::byte>> pieces,
                                            const Content& content, std::span<std::byte> parcel) {
    if (pieces.empty()) return Status{StatusCode::invalid_argument, "no pieces to compress"};
    const std::uint64_t lines_bytes = whole(pieces.size() * sizeof(NvcompPiece), 16);
    if (Status status = pinned_.grow(lines_bytes + sizeof(NvcompOutcome)); !status.ok())
        return status;
    NvcompJob job;
    if (Status status = fill_job(pieces, content, parcel, job); !status.ok()) return status;
    auto* const outcome = reinterpret_cast<NvcompOutcome*>(pinned_.data() + lines_bytes);
    const Status status = give(job, outcome);
    // After an error too: the stream may still read what is pinned.
    const Status done = status_of(cudaStreamSynchronize(stream_), "compressing");
    if (!status.ok()) return status;
    if (!done.ok()) return done;
    if (outcome->status != 0)
        return Status{StatusCode::io, fmt::format("nvCOMP {}, {}: a chunk was not compressed: {}",
                                                  library_->version(), to_string(library_->coder()),
                                                  library_->status_text(outcome->status))};
    if (outcome->too_large != 0)
        return Status{StatusCode::io,
                      fmt::format("nvCOMP {}, {}: a chunk came to more than the {} bytes it had "
                                  "named",
                                  library_->version(), to_string(library_->coder()), slot_bytes_)};
    return outcome->parcel_bytes;
}

// ---------------------------------------------------------------------------------- decompressing

Status NvcompCoder::decompress(std::span<const std::byte> parcel, std::uint64_t index,
                               std::span<std::byte> piece) {
    const auto frame = packer_->frame_of(parcel, index);
    if (!frame.ok()) return frame.status();
    // If it is the frame of such a piece, that is its header and all its lines.
    const std::uint64_t table_bytes = nvcomp::line_begin(nvcomp::chunks_of(piece.size(), 4));
    const auto begin =
        packer_->look(frame->data(), std::min<std::uint64_t>(frame->size(), table_bytes));
    if (!begin.ok()) return begin.status();
    if (!nvcomp::is_frame(*begin)) return packer_->decompress(parcel, index, piece);
    const Status status = unpack(*begin, *frame, piece);
    return status.ok() ? status : status.with_context(fmt::format("piece {}", index));
}

Status NvcompCoder::unpack(std::span<const std::byte> begin, std::span<const std::byte> frame,
                           std::span<std::byte> piece) {
    const Result<nvcomp::Header> header = nvcomp::read_header(begin, frame.size());
    if (!header.ok()) return header.status();
    if (const auto made_by = static_cast<Coder>(header->coder); made_by != library_->coder())
        return {StatusCode::unsupported,
                fmt::format("coder {} made it; this device has {}", to_string(made_by),
                            to_string(library_->coder()))};
    if (piece.size() != header->raw_bytes)
        return {StatusCode::invalid_argument,
                fmt::format("{} bytes, there is room for {}", header->raw_bytes, piece.size())};
    const auto chunks = nvcomp::read_chunks(*header, begin);
    if (!chunks.ok()) return chunks.status();
    const std::uint64_t wanted = std::max<std::uint64_t>(to_decompress_.to, 8);
    const std::byte* const body = frame.data() + nvcomp::body_begin(header->chunks, header->shift);
    if (!is_aligned(piece.data(), wanted) || !is_aligned(body, nvcomp::k_alignment))
        return {StatusCode::invalid_argument,
                fmt::format("{} restores into memory aligned to {}, from a parcel aligned to {}; "
                            "restore into memory of its own and copy",
                            to_string(library_->coder()), wanted, nvcomp::k_alignment)};
    if (Status status = look_at(*chunks, frame, piece); !status.ok()) return status;
    if (Status status = decompress_chunks(*chunks, frame, piece, header->value_bytes); !status.ok())
        return status;
    if (header->tail_bytes == 0) return {};
    cudaError_t code =
        cudaMemcpyAsync(piece.data() + piece.size() - header->tail_bytes, &header->tail,
                        header->tail_bytes, cudaMemcpyDefault, stream_);
    if (code == cudaSuccess) code = cudaStreamSynchronize(stream_);
    return status_of(code, "decompressing");
}

Status NvcompCoder::look_at(std::span<const nvcomp::Chunk> chunks, std::span<const std::byte> frame,
                            std::span<std::byte> piece) {
    if (chunks.empty()) return {};
    if (Status s = pinned_.grow(chunks.size_bytes() + 64); !s.ok()) return s;
    Arrays arrays(pinned_.data());
    auto* const damaged = arrays.take<std::uint32_t>(1);
    auto* const lines = arrays.take<NvcompChunk>(chunks.size());
    *damaged = 0;
    for (std::size_t c = 0; c < chunks.size(); ++c) {
        const nvcomp::Chunk& chunk = chunks[c];
        std::byte* const raw = chunk.is_raw() ? piece.data() + chunk.raw_offset : nullptr;
        lines[c] = {reinterpret_cast<const unsigned char*>(frame.data() + chunk.offset),
                    chunk.bytes, chunk.checksum, reinterpret_cast<unsigned char*>(raw)};
    }
    cudaError_t code = look_nvcomp({lines, chunks.size(), damaged}, stream_);
    if (code == cudaSuccess) code = cudaStreamSynchronize(stream_);
    if (code != cudaSuccess) return status_of(code, "looking at chunks");
    if (*static_cast<volatile std::uint32_t*>(damaged) == 0) return {};
    return {StatusCode::corrupt, "a chunk that nvCOMP compressed is damaged"};
}

Status NvcompCoder::decompress_chunks(std::span<const nvcomp::Chunk> chunks,
                                      std::span<const std::byte> frame, std::span<std::byte> piece,
                                      std::uint64_t value_bytes) {
    if (Status s = pinned_.grow(chunks.size() * 64 + 128); !s.ok()) return s;
    Arrays arrays(pinned_.data());
    auto* const from = arrays.take<const void*>(chunks.size());
    auto* const to = arrays.take<void*>(chunks.size());
    auto* const bytes = arrays.take<std::uint64_t>(chunks.size());
    auto* const room_bytes = arrays.take<std::uint64_t>(chunks.size());
    auto* const to_bytes = arrays.take<std::uint64_t>(chunks.size());
    auto* const statuses = arrays.take<std::int32_t>(chunks.size());
    NvcompBatch batch;
    for (const nvcomp::Chunk& chunk : chunks) {
        if (chunk.is_raw()) continue;
        from[batch.chunks] = frame.data() + chunk.offset;
        to[batch.chunks] = piece.data() + chunk.raw_offset;
        bytes[batch.chunks] = chunk.bytes;
        room_bytes[batch.chunks] = chunk.raw_bytes;
        to_bytes[batch.chunks] = 0;
        statuses[batch.chunks++] = -1;
    }
    if (batch.chunks == 0) return {};
    batch.chunk_bytes = nvcomp::k_chunk_bytes;
    batch.value_bytes = value_bytes;
    batch.from = from;
    batch.bytes = bytes;
    batch.to = to;
    batch.room_bytes = room_bytes;
    batch.to_bytes = to_bytes;
    batch.statuses = statuses;
    if (Status status = decompress_batch(batch); !status.ok()) return status;
    for (std::uint64_t i = 0; i < batch.chunks; ++i)
        if (statuses[i] != 0 || to_bytes[i] != room_bytes[i])
            return {StatusCode::corrupt,
                    fmt::format("nvCOMP {}, {}: {} bytes of a chunk of {}, status {}",
                                library_->version(), to_string(library_->coder()), to_bytes[i],
                                room_bytes[i], library_->status_text(statuses[i]))};
    return {};
}

/// Waits until it is done.
Status NvcompCoder::decompress_batch(NvcompBatch& batch) {
    const auto scratch =
        library_->decompress_scratch_bytes(batch.chunks, batch.chunk_bytes, stream_);
    if (!scratch.ok()) return scratch.status();
    batch.scratch_bytes = *scratch;
    if (*scratch > 0)
        if (Status status = status_of(
                cudaMallocFromPoolAsync(&batch.scratch, *scratch, pool_, stream_), "scratch");
            !status.ok())
            return status;
    const Status status = library_->decompress(batch, stream_);
    const cudaError_t freed =
        batch.scratch == nullptr ? cudaSuccess : cudaFreeAsync(batch.scratch, stream_);
    const cudaError_t done = cudaStreamSynchronize(stream_);
    if (!status.ok()) return status;
    return status_of(done != cudaSuccess ? done : freed, "decompressing");
}

}  // namespace caesura::device::cuda
