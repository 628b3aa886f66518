#include <cfloat>
#include <cmath>

#include "device/cuda/block.cuh"
#include "device/cuda/reduce_kernels.hpp"

namespace caesura::device::cuda {
namespace {

constexpr unsigned k_reducers = 256;
constexpr std::uint64_t k_counts_stretch = 64 * k_reducers;
constexpr std::uint32_t k_word_bits = 32;
constexpr std::uint64_t k_marks_stretch = k_word_bits * k_reducers;
// Counts that a block of threads keeps to itself until its end: 16 KiB.
constexpr std::uint32_t k_shared_bins = 4092;

__device__ inline bool is_finite(double x) { return x <= DBL_MAX && x >= -DBL_MAX; }

/// Halves of a block's threads take over from each other, until thread 0 has all. A tree whose
/// shape is always the same: so are its sums, to the last bit.
template <class Take>
__device__ void fold(const Take& take) {
    for (unsigned half = k_reducers / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) take(threadIdx.x, threadIdx.x + half);
    }
    __syncthreads();
}

/// The first finite value of a stretch, which deviations are taken from; its length: there is none.
template <class T>
__device__ std::uint32_t first_finite(const T* values, std::uint32_t length) {
    __shared__ std::uint32_t firsts[k_reducers];
    std::uint32_t first = length;
    for (std::uint32_t i = threadIdx.x; i < length && first == length; i += k_reducers)
        if (is_finite(values[i])) first = i;
    firsts[threadIdx.x] = first;
    fold([](unsigned a, unsigned b) {
        if (firsts[b] < firsts[a]) firsts[a] = firsts[b];
    });
    return firsts[0];
}

template <class T>
__global__ void __launch_bounds__(k_reducers) sum_stretches(SumsJob job) {
    __shared__ std::uint32_t finites[k_reducers], nans[k_reducers];
    __shared__ double lows[k_reducers], highs[k_reducers], sums[k_reducers], squares[k_reducers];
    const std::uint64_t begin = blockIdx.x * k_sums_stretch, left = job.count - begin;
    const auto length = static_cast<std::uint32_t>(left < k_sums_stretch ? left : k_sums_stretch);
    const T* const values = reinterpret_cast<const T*>(job.values) + begin;
    const std::uint32_t first = first_finite(values, length);
    const double origin = first < length ? static_cast<double>(values[first]) : 0.0;
    std::uint32_t finite = 0, nan = 0;
    double low = HUGE_VAL, high = -HUGE_VAL, sum = 0.0, square = 0.0;
    for (std::uint32_t i = threadIdx.x; i < length; i += k_reducers) {
        const auto x = static_cast<double>(values[i]);
        if (!is_finite(x)) {
            nan += x != x ? 1 : 0;
            continue;
        }
        ++finite;
        low = x < low ? x : low;
        high = x > high ? x : high;
        const double deviation = x - origin;
        sum += deviation;
        square += deviation * deviation;
    }
    const unsigned me = threadIdx.x;
    finites[me] = finite, nans[me] = nan, lows[me] = low, highs[me] = high;
    sums[me] = sum, squares[me] = square;
    fold([](unsigned a, unsigned b) {
        finites[a] += finites[b];
        nans[a] += nans[b];
        if (lows[b] < lows[a]) lows[a] = lows[b];
        if (highs[b] > highs[a]) highs[a] = highs[b];
        sums[a] += sums[b];
        squares[a] += squares[b];
    });
    if (me == 0)
        job.lines[blockIdx.x] = {finites[0], nans[0], lows[0],   highs[0],
                                 origin,     sums[0], squares[0]};
}

/// Where a value is counted, as the host's histogram says: a guess is off by a bin at most, where
/// rounding moves a value over an edge.
__device__ inline std::uint32_t place_of(double x, const CountsJob& job, double scale) {
    const double low = job.edges[0], high = job.edges[job.bins];
    if (!(x >= low && x <= high)) {
        if (x != x) return job.bins + k_nan;
        if (!is_finite(x)) return job.bins + k_infinite;
        return job.bins + (x < low ? k_below : k_above);
    }
    const std::uint32_t last = job.bins - 1;
    const auto guess = static_cast<std::uint32_t>((x - low) * scale);
    const std::uint32_t bin = guess < last ? guess : last;
    if (x < job.edges[bin]) return bin - 1;
    return bin < last && x >= job.edges[bin + 1] ? bin + 1 : bin;
}

template <class T>
__global__ void __launch_bounds__(k_reducers) count_stretches(CountsJob job) {
    __shared__ std::uint32_t mine[k_shared_bins + k_counts_behind];
    const std::uint32_t places = job.bins + k_counts_behind;
    const bool is_shared = job.bins <= k_shared_bins;
    for (std::uint32_t i = threadIdx.x; is_shared && i < places; i += k_reducers) mine[i] = 0;
    __syncthreads();
    const double scale = job.bins / (job.edges[job.bins] - job.edges[0]);
    const std::uint64_t begin = blockIdx.x * k_counts_stretch, left = job.count - begin;
    const std::uint64_t end = begin + (left < k_counts_stretch ? left : k_counts_stretch);
    const T* const values = reinterpret_cast<const T*>(job.values);
    for (std::uint64_t i = begin + threadIdx.x; i < end; i += k_reducers) {
        const std::uint32_t place = place_of(static_cast<double>(values[i]), job, scale);
        if (is_shared)
            atomicAdd(&mine[place], 1u);
        else
            atomicAdd(&job.counts[place], 1ull);
    }
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; is_shared && i < places; i += k_reducers)
        if (mine[i] > 0) atomicAdd(&job.counts[i], static_cast<unsigned long long>(mine[i]));
}

/// Neighbouring threads read neighbouring values, and few of them are above: so bits are put
/// together in the block's own memory, and written a word a thread.
template <class T>
__global__ void __launch_bounds__(k_reducers) mark_stretches(MarksJob job) {
    __shared__ std::uint32_t words[k_reducers];
    words[threadIdx.x] = 0;
    __syncthreads();
    const std::uint64_t begin = blockIdx.x * k_marks_stretch, left = job.count - begin;
    const auto length = static_cast<std::uint32_t>(left < k_marks_stretch ? left : k_marks_stretch);
    const T* const values = reinterpret_cast<const T*>(job.values) + begin;
    for (std::uint32_t i = threadIdx.x; i < length; i += k_reducers)
        if (static_cast<double>(values[i]) > job.threshold)  // each bit once: to add is to set it
            atomicAdd(&words[i / k_word_bits], 1u << (i % k_word_bits));
    __syncthreads();
    if (threadIdx.x * k_word_bits < length)
        job.words[begin / k_word_bits + threadIdx.x] = words[threadIdx.x];
}

/// @return  0: more than a launch has.
unsigned blocks_of(std::uint64_t count, std::uint64_t stretch) {
    const std::uint64_t blocks = (count + stretch - 1) / stretch;
    return blocks <= 0x7FFFFFFF ? static_cast<unsigned>(blocks) : 0;
}

}  // namespace

cudaError_t sum(const SumsJob& job, cudaStream_t stream) {
    const unsigned blocks = blocks_of(job.count, k_sums_stretch);
    if (blocks == 0) return cudaErrorInvalidValue;
    return launch(job.value_bytes == 4 ? sum_stretches<float> : sum_stretches<double>, blocks,
                  k_reducers, job, stream);
}

cudaError_t count(const CountsJob& job, cudaStream_t stream) {
    const unsigned blocks = blocks_of(job.count, k_counts_stretch);
    if (blocks == 0) return cudaErrorInvalidValue;
    return launch(job.value_bytes == 4 ? count_stretches<float> : count_stretches<double>, blocks,
                  k_reducers, job, stream);
}

cudaError_t mark(const MarksJob& job, cudaStream_t stream) {
    const unsigned blocks = blocks_of(job.count, k_marks_stretch);
    if (blocks == 0) return cudaErrorInvalidValue;
    return launch(job.value_bytes == 4 ? mark_stretches<float> : mark_stretches<double>, blocks,
                  k_reducers, job, stream);
}

}  // namespace caesura::device::cuda
