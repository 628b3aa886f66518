#include <chrono>

#include "device/cuda/block.cuh"
#include "device/cuda/pack_kernels.hpp"

namespace caesura::device::cuda {
namespace {

using namespace codec::packed;

constexpr unsigned k_threads = k_chunk_groups;  // of a chunk
constexpr unsigned k_layout_threads = 1024;

// ---------------------------------------------------------------------------------------- packing

/// The values of this block's chunk, and of this thread's group in it.
template <class T>
struct Chunk {
    __device__ Chunk(const unsigned char* all, std::uint64_t raw_bytes, std::uint64_t chunk) {
        const std::uint64_t first = chunk * k_chunk_values, left = raw_bytes / sizeof(T) - first;
        values = reinterpret_cast<const T*>(all) + first;
        count = static_cast<std::uint32_t>(left < k_chunk_values ? left : k_chunk_values);
        groups = (count + k_group_values - 1) / k_group_values;
        raw_words = count * (sizeof(T) / 4);
        const std::uint32_t mine = threadIdx.x * k_group_values;
        group = values + mine;
        group_count = mine >= count                   ? 0
                      : count - mine < k_group_values ? count - mine
                                                      : k_group_values;
    }
    const T* values;
    const T* group;
    std::uint32_t count, groups, raw_words, group_count;
};

/// Words of this thread's group, its descriptor among them; 0 where it has none.
template <class T>
__device__ std::uint32_t measure_group(const Chunk<T>& chunk, const PackRule& rule,
                                       std::uint32_t& descriptor) {
    NoWords nowhere;
    descriptor = 0;
    if (chunk.group_count == 0) return 0;
    descriptor = encode_group(chunk.group, chunk.group_count, rule, nowhere);
    return 1 + group_words(descriptor, sizeof(T));
}

template <class T>
__global__ void __launch_bounds__(k_threads) measure_chunks(PackJob job) {
    const PackPiece& piece = job.pieces[piece_of(job, blockIdx.x)];
    const Chunk<T> chunk(piece.values, piece.raw_bytes, blockIdx.x - piece.first_chunk);
    std::uint32_t descriptor = 0;
    const std::uint64_t words =
        sum_of_all<k_threads>(measure_group(chunk, pack_rule(job.bound), descriptor));
    if (threadIdx.x == 0) job.ends[blockIdx.x] = words < chunk.raw_words ? words : chunk.raw_words;
}

/// Words of all chunks before one.
__device__ std::uint64_t words_before(const PackJob& job, std::uint64_t chunk) {
    return chunk == 0 ? 0 : job.ends[chunk - 1];
}

__device__ std::uint64_t end_chunk(const PackJob& job, std::uint64_t piece) {
    return piece + 1 < job.piece_count ? job.pieces[piece + 1].first_chunk : job.chunks;
}

__device__ void write_header(const PackJob& job, const PackPiece& piece, std::uint64_t body_words) {
    PackedHeader header;
    header.value_bytes = static_cast<std::uint8_t>(job.value_bytes);
    header.tail_bytes = static_cast<std::uint8_t>(piece.raw_bytes % job.value_bytes);
    header.raw_bytes = piece.raw_bytes;
    header.bound = job.bound;
    header.body_words = body_words;
    for (std::uint32_t i = 0; i < header.tail_bytes; ++i)
        header.tail |=
            static_cast<std::uint64_t>(piece.values[piece.raw_bytes - header.tail_bytes + i])
            << (8 * i);
    header.checksum = header_checksum(header);
    memcpy(job.parcel + piece.frame_offset, &header, sizeof header);
}

/// One block of threads: where each chunk ends, where each frame begins, table and headers.
__global__ void __launch_bounds__(k_layout_threads) lay_out(PackJob job) {
    __shared__ std::uint64_t shared[k_layout_threads];
    const unsigned last = k_layout_threads - 1;
    std::uint64_t so_far = 0;
    for (std::uint64_t base = 0; base < job.chunks; base += k_layout_threads) {
        const std::uint64_t chunk = base + threadIdx.x;
        const std::uint64_t words = chunk < job.chunks ? job.ends[chunk] : 0;
        const std::uint64_t end = so_far + sum_up_to_mine(words, shared);
        if (chunk < job.chunks) job.ends[chunk] = end;
        so_far += shared[last];
    }
    __syncthreads();
    auto* const table = reinterpret_cast<std::uint64_t*>(job.parcel);
    std::uint64_t offset = 8 * (1 + job.piece_count);
    for (std::uint64_t base = 0; base < job.piece_count; base += k_layout_threads) {
        const std::uint64_t p = base + threadIdx.x;
        std::uint64_t bytes = 0, words = 0;
        if (p < job.piece_count) {
            const std::uint64_t first = job.pieces[p].first_chunk, end = end_chunk(job, p);
            words = words_before(job, end) - words_before(job, first);
            bytes = packed_bytes(end - first, words);
        }
        const std::uint64_t end_offset = offset + sum_up_to_mine(bytes, shared);
        if (p < job.piece_count) {
            job.pieces[p].frame_offset = end_offset - bytes;
            table[1 + p] = bytes;
            write_header(job, job.pieces[p], words);
        }
        offset += shared[last];
    }
    if (threadIdx.x == 0) {
        table[0] = job.piece_count;
        job.ends[job.chunks] = offset;
    }
}

/// Words go to memory, and into a checksum.
struct WordsOut {
    static constexpr bool k_wants_words = true;
    __device__ void operator()(std::uint32_t word) {
        words[at] = word;
        sum += checksum_part(word, at);
        ++at;
    }
    std::uint32_t* words;
    std::uint64_t at;
    std::uint64_t sum;
};

template <class T>
__global__ void __launch_bounds__(k_threads) write_chunks(PackJob job) {
    __shared__ std::uint64_t shared[k_threads];
    const PackPiece& piece = job.pieces[piece_of(job, blockIdx.x)];
    const std::uint64_t c = blockIdx.x - piece.first_chunk;
    const Chunk<T> chunk(piece.values, piece.raw_bytes, c);
    const std::uint64_t base = words_before(job, piece.first_chunk);
    const std::uint64_t begin = words_before(job, blockIdx.x) - base;
    const std::uint64_t end = job.ends[blockIdx.x] - base;
    const std::uint64_t chunks = chunks_of(piece.raw_bytes, sizeof(T));
    unsigned char* const frame = job.parcel + piece.frame_offset;
    auto* const words = reinterpret_cast<std::uint32_t*>(frame + body_begin(chunks)) + begin;
    WordsOut out{words, 0, 0};
    if (end - begin == chunk.raw_words) {  // no smaller: the values as they are
        const auto* const raw = reinterpret_cast<const std::uint32_t*>(chunk.values);
        for (out.at = threadIdx.x; out.at < chunk.raw_words; out.at += k_threads - 1)
            out(raw[out.at]);
    } else {
        const PackRule rule = pack_rule(job.bound);
        std::uint32_t descriptor = 0;
        const std::uint32_t mine = measure_group(chunk, rule, descriptor);
        const std::uint64_t payload = mine > 0 ? mine - 1 : 0;
        const std::uint64_t before = sum_up_to_mine(payload, shared) - payload;
        if (mine > 0) {
            out.at = threadIdx.x;
            out(descriptor);
            out.at = chunk.groups + before;
            encode_group(chunk.group, chunk.group_count, rule, out);
        }
    }
    const std::uint64_t sum = sum_of_all<k_threads>(out.sum);
    if (threadIdx.x != 0) return;
    PackedChunk line;
    line.end_words = end;
    line.checksum = chunk_checksum_seed(c, begin, end) + sum;
    memcpy(frame + body_begin(c), &line, sizeof line);
    if (c + 1 == chunks && end % 2 == 1) words[end - begin] = 0;  // what fills up the last 8 bytes
}

// -------------------------------------------------------------------------------------- unpacking

template <class T>
__global__ void __launch_bounds__(k_threads) unpack_chunks(UnpackJob job) {
    __shared__ std::uint64_t shared[k_threads];
    const std::uint64_t c = blockIdx.x, chunks = gridDim.x;
    const Chunk<T> chunk(job.values, job.header.raw_bytes, c);
    PackedChunk before, line;
    if (c > 0) memcpy(&before, job.frame + body_begin(c - 1), sizeof before);
    memcpy(&line, job.frame + body_begin(c), sizeof line);
    const std::uint64_t begin = before.end_words, end = line.end_words;
    // The same for all threads: either all go on, or none. The last chunk ends where the words do.
    bool ok = begin <= end && end <= job.header.body_words &&
              (c + 1 < chunks || end == job.header.body_words);
    const auto* const words =
        reinterpret_cast<const std::uint32_t*>(job.frame + body_begin(chunks)) + begin;
    const std::uint64_t count = ok ? end - begin : 0;
    std::uint64_t sum = 0;
    for (std::uint64_t i = threadIdx.x; i < count; i += k_threads)
        sum += checksum_part(words[i], i);
    sum = sum_of_all<k_threads>(sum);
    ok = ok && line.checksum == sum + chunk_checksum_seed(c, begin, end);
    T* const group = const_cast<T*>(chunk.group);
    if (ok && count == chunk.raw_words) {
        auto* const raw = reinterpret_cast<std::uint32_t*>(const_cast<T*>(chunk.values));
        for (std::uint64_t i = threadIdx.x; i < count; i += k_threads) raw[i] = words[i];
        return;
    }
    const bool has_group = ok && threadIdx.x < chunk.groups && threadIdx.x < count;
    const std::uint32_t descriptor = has_group ? words[threadIdx.x] : 0;
    const std::uint64_t mine = group_words(descriptor, sizeof(T));
    const std::uint64_t up_to_mine = sum_up_to_mine(mine, shared);
    ok = ok && chunk.groups + shared[k_threads - 1] == count;
    ok = __syncthreads_and(ok && is_descriptor(descriptor, sizeof(T)));
    if (ok && has_group)
        decode_group(descriptor, words + chunk.groups + up_to_mine - mine,
                     pack_rule(job.header.bound), chunk.group_count, group);
    if (!ok && threadIdx.x == 0) *static_cast<volatile std::uint32_t*>(job.damaged) = 1;
}

__device__ std::uint64_t clock_ns() {
#ifdef __CUDA_ARCH__
    std::uint64_t now = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
#else  // compiled for the host by the tests (on_host/kernels.hpp)
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                      std::chrono::nanoseconds(1));
#endif
}

__global__ void stay_busy(std::uint64_t nanoseconds) {
    const std::uint64_t begin = clock_ns();
    while (clock_ns() - begin < nanoseconds) {
    }
}

template <class T>
cudaError_t pack_values(const PackJob& job, cudaStream_t stream) {
    const auto chunks = static_cast<unsigned>(job.chunks);
    cudaError_t code = cudaSuccess;
    if (chunks > 0) code = launch(measure_chunks<T>, chunks, k_threads, job, stream);
    if (code == cudaSuccess) code = launch(lay_out, 1, k_layout_threads, job, stream);
    if (code == cudaSuccess && chunks > 0)
        code = launch(write_chunks<T>, chunks, k_threads, job, stream);
    return code;
}

}  // namespace

cudaError_t pack(const PackJob& job, cudaStream_t stream) {
    if (job.chunks > 0x7FFFFFFF) return cudaErrorInvalidValue;  // 256 TB
    return job.value_bytes == 4 ? pack_values<float>(job, stream)
                                : pack_values<double>(job, stream);
}

cudaError_t unpack(const UnpackJob& job, cudaStream_t stream) {
    const std::uint64_t chunks = chunks_of(job.header.raw_bytes, job.header.value_bytes);
    if (chunks > 0x7FFFFFFF) return cudaErrorInvalidValue;
    if (chunks == 0) return cudaSuccess;
    return launch(job.header.value_bytes == 4 ? unpack_chunks<float> : unpack_chunks<double>,
                  static_cast<unsigned>(chunks), k_threads, job, stream);
}

cudaError_t busy(double seconds, cudaStream_t stream) {
    return launch(stay_busy, 1, 1, static_cast<std::uint64_t>(seconds * 1e9), stream);
}

}  // namespace caesura::device::cuda
