#include "device/cuda/block.cuh"
#include "nvcomp/nvcomp_kernels.hpp"

namespace caesura::device::cuda {
namespace {

using namespace nvcomp;

constexpr unsigned k_threads = 256;

// ---------------------------------------------------------------------------- where things lie

__device__ std::uint64_t chunks_before(const NvcompJob& job, std::uint64_t piece) {
    return piece < job.piece_count ? job.pieces[piece].first_chunk : job.chunks;
}

/// Of all bodies, up to a chunk.
__device__ std::uint64_t bytes_before(const NvcompJob& job, std::uint64_t chunk) {
    return chunk == 0 ? 0 : job.ends[chunk - 1];
}

/// Where a piece's frame begins: behind the table and the frames before.
__device__ std::uint64_t frame_begin(const NvcompJob& job, std::uint64_t piece) {
    const std::uint64_t chunks = chunks_before(job, piece);
    return 8 * (1 + job.piece_count) + piece * frame_bytes(0, shift_of(job.piece_count), 0) +
           chunks * sizeof(Line) + bytes_before(job, chunks);
}

// ------------------------------------------------------------------------------- compressing

__global__ void __launch_bounds__(k_threads) fill_arrays(NvcompJob job) {
    const std::uint64_t i = std::uint64_t{blockIdx.x} * k_threads + threadIdx.x;
    if (i < job.chunks) {
        const NvcompPiece& piece = job.pieces[piece_of(job, i)];
        const std::uint64_t chunk = i - piece.first_chunk;
        job.from[i] = piece.raw + chunk * k_chunk_bytes;
        job.bytes[i] = chunk_raw_bytes(piece.raw_bytes, job.value_bytes, chunk);
    }
    if (i < job.batch_chunks) job.to[i] = job.slots + i * job.slot_bytes;
    if (i == 0) *job.outcome = NvcompOutcome{};
}

/// One block of threads: what is stored of each chunk of the batch, and where it ends.
__global__ void __launch_bounds__(k_threads) lay_out_batch(NvcompJob job) {
    __shared__ std::uint64_t shared[k_threads];
    std::uint64_t so_far = job.outcome->body_bytes;
    for (std::uint64_t base = 0; base < job.count; base += k_threads) {
        const std::uint64_t i = base + threadIdx.x;
        std::uint64_t stored = 0;
        if (i < job.count) {
            const std::uint64_t raw = job.bytes[job.first + i], came_to = job.to_bytes[i];
            if (job.statuses[i] != 0) job.outcome->status = job.statuses[i];
            if (came_to > job.slot_bytes) job.outcome->too_large = 1;
            stored = came_to > 0 && came_to < raw ? came_to : raw;
            job.to_bytes[i] = stored;
        }
        const std::uint64_t end = so_far + sum_up_to_mine(filled_up(stored), shared);
        if (i < job.count) job.ends[job.first + i] = end;
        so_far += shared[k_threads - 1];
    }
    __syncthreads();
    if (threadIdx.x == 0) job.outcome->body_bytes = so_far;
}

/// A word of memory that is aligned to 4, and zeros beyond its end.
__device__ std::uint32_t word_at(const unsigned char* memory, std::uint64_t bytes,
                                 std::uint64_t word) {
    if (4 * word + 4 <= bytes) return reinterpret_cast<const std::uint32_t*>(memory)[word];
    std::uint32_t made = 0;
    for (std::uint64_t i = 4 * word; i < bytes; ++i)
        made |= static_cast<std::uint32_t>(memory[i]) << (8 * (i % 4));
    return made;
}

/// A block of threads for each chunk: it goes to its place, and its line is written.
__global__ void __launch_bounds__(k_threads) gather_chunks(NvcompJob job) {
    const std::uint64_t i = blockIdx.x, chunk = job.first + i;
    const std::uint64_t p = piece_of(job, chunk), first = job.pieces[p].first_chunk;
    const std::uint64_t begin = bytes_before(job, chunk) - bytes_before(job, first);
    const std::uint64_t bytes = job.to_bytes[i], end = begin + bytes;
    const bool is_raw = bytes == job.bytes[chunk];
    const auto* const from =
        static_cast<const unsigned char*>(is_raw ? job.from[chunk] : job.to[i]);
    unsigned char* const frame = job.parcel + frame_begin(job, p);
    const std::uint64_t chunks = chunks_before(job, p + 1) - first;
    auto* const to = reinterpret_cast<std::uint32_t*>(
        frame + body_begin(chunks, shift_of(job.piece_count)) + begin);
    std::uint64_t sum = 0;
    for (std::uint64_t word = threadIdx.x; word < filled_up(bytes) / 4; word += k_threads) {
        const std::uint32_t value = word_at(from, bytes, word);
        to[word] = value;
        if (4 * word < bytes) sum += checksum_part(value, word);
    }
    sum = sum_of_all<k_threads>(sum);
    if (threadIdx.x != 0) return;
    Line line;
    line.end_bytes = end;
    line.checksum = chunk_checksum_seed(chunk - first, begin, end) + sum;
    memcpy(frame + line_begin(chunk - first), &line, sizeof line);
}

__device__ void write_header(const NvcompJob& job, std::uint64_t p) {
    const NvcompPiece& piece = job.pieces[p];
    const std::uint64_t end_chunk = chunks_before(job, p + 1);
    Header header;
    header.coder = job.coder;
    header.value_bytes = static_cast<std::uint8_t>(job.value_bytes);
    header.tail_bytes = static_cast<std::uint8_t>(piece.raw_bytes % job.value_bytes);
    header.raw_bytes = piece.raw_bytes;
    header.body_bytes = bytes_before(job, end_chunk) - bytes_before(job, piece.first_chunk);
    for (std::uint32_t i = 0; i < header.tail_bytes; ++i)
        header.tail |=
            static_cast<std::uint64_t>(piece.raw[piece.raw_bytes - header.tail_bytes + i])
            << (8 * i);
    header.chunks = static_cast<std::uint32_t>(end_chunk - piece.first_chunk);
    header.library = job.library;
    header.shift = shift_of(job.piece_count);
    header.checksum = header_checksum(header);
    unsigned char* const frame = job.parcel + frame_begin(job, p);
    memcpy(frame, &header, sizeof header);
    const std::uint64_t bytes = frame_bytes(header.chunks, header.shift, header.body_bytes);
    for (std::uint32_t i = 0; i < header.shift; ++i) {
        frame[line_begin(header.chunks) + i] = 0;
        frame[bytes - 1 - i] = 0;
    }
    memcpy(job.parcel + 8 * (1 + p), &bytes, sizeof bytes);
}

/// The table and the headers.
__global__ void __launch_bounds__(k_threads) write_headers(NvcompJob job) {
    const std::uint64_t p = std::uint64_t{blockIdx.x} * k_threads + threadIdx.x;
    if (p < job.piece_count) write_header(job, p);
    if (p != 0) return;
    memcpy(job.parcel, &job.piece_count, sizeof job.piece_count);
    job.outcome->parcel_bytes = frame_begin(job, job.piece_count);
}

// ------------------------------------------------------------------------ before decompressing

/// A block of threads for each chunk.
__global__ void __launch_bounds__(k_threads) look_at_chunks(NvcompLook look) {
    const NvcompChunk chunk = look.chunks[blockIdx.x];
    const auto* const words = reinterpret_cast<const std::uint32_t*>(chunk.data);
    auto* const raw = reinterpret_cast<std::uint32_t*>(chunk.raw);
    std::uint64_t sum = 0;
    // What fills up the last word is in the frame, too. A raw chunk is whole words.
    for (std::uint64_t word = threadIdx.x; 4 * word < chunk.bytes; word += k_threads) {
        sum += checksum_part(words[word], word);
        if (raw != nullptr) raw[word] = words[word];
    }
    sum = sum_of_all<k_threads>(sum);
    if (threadIdx.x == 0 && sum != chunk.checksum)
        *static_cast<volatile std::uint32_t*>(look.damaged) = 1;
}

cudaError_t blocks_for(std::uint64_t threads, unsigned& blocks) {
    if (threads > std::uint64_t{0x7FFFFFFF} * k_threads) return cudaErrorInvalidValue;
    blocks = static_cast<unsigned>((threads + k_threads - 1) / k_threads);
    return cudaSuccess;
}

}  // namespace

cudaError_t begin_nvcomp(const NvcompJob& job, cudaStream_t stream) {
    const std::uint64_t threads = job.chunks > job.batch_chunks ? job.chunks : job.batch_chunks;
    unsigned blocks = 0;
    const cudaError_t code = blocks_for(threads > 0 ? threads : 1, blocks);
    return code == cudaSuccess ? launch(fill_arrays, blocks, k_threads, job, stream) : code;
}

cudaError_t gather_nvcomp(const NvcompJob& job, cudaStream_t stream) {
    if (job.count == 0) return cudaSuccess;
    if (job.count > 0x7FFFFFFF) return cudaErrorInvalidValue;
    const cudaError_t code = launch(lay_out_batch, 1, k_threads, job, stream);
    if (code != cudaSuccess) return code;
    return launch(gather_chunks, static_cast<unsigned>(job.count), k_threads, job, stream);
}

cudaError_t end_nvcomp(const NvcompJob& job, cudaStream_t stream) {
    unsigned blocks = 0;
    const cudaError_t code = blocks_for(job.piece_count, blocks);
    return code == cudaSuccess ? launch(write_headers, blocks, k_threads, job, stream) : code;
}

cudaError_t look_nvcomp(const NvcompLook& look, cudaStream_t stream) {
    if (look.count == 0) return cudaSuccess;
    if (look.count > 0x7FFFFFFF) return cudaErrorInvalidValue;
    return launch(look_at_chunks, static_cast<unsigned>(look.count), k_threads, look, stream);
}

}  // namespace caesura::device::cuda
