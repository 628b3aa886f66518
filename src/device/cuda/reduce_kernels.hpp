// What an analysis needs of values that lie in a GPU: sums of short stretches, counts between
// edges, or which are above a threshold. A block of threads for each stretch.
//
// Invariants: C++17 and no headers of ours: nvcc compiles it too. Compiled and linked, not yet run
// on a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace caesura::device::cuda {

/// Of one stretch; as device::StretchSums.
struct SumsLine {
    std::uint64_t finite, nan;
    double low, high, origin, sum, squares;
};

inline constexpr std::uint64_t k_sums_stretch = 4096;

struct SumsJob {
    const unsigned char* values = nullptr;  ///< in the device, aligned as values are
    std::uint64_t count = 0;                ///< at least 1
    std::uint32_t value_bytes = 4;
    SumsLine* lines = nullptr;  ///< [count / k_sums_stretch, rounded up], in the device
};
/// Gives the work to the stream.
cudaError_t sum(const SumsJob& job, cudaStream_t stream);

/// Behind the bins' counts.
enum CountsBehind : std::uint32_t { k_below, k_above, k_nan, k_infinite, k_counts_behind };

struct CountsJob {
    const unsigned char* values = nullptr;  ///< as in SumsJob
    std::uint64_t count = 0;
    std::uint32_t value_bytes = 4;
    std::uint32_t bins = 1;
    const double* edges = nullptr;         ///< [bins + 1], ascending, in the device
    unsigned long long* counts = nullptr;  ///< [bins + k_counts_behind], in the device; added to
};
cudaError_t count(const CountsJob& job, cudaStream_t stream);

struct MarksJob {
    const unsigned char* values = nullptr;  ///< as in SumsJob
    std::uint64_t count = 0;
    std::uint32_t value_bytes = 4;
    double threshold = 0.0;
    std::uint32_t* words = nullptr;  ///< [count / 32, rounded up], in the device; a bit a value
};
cudaError_t mark(const MarksJob& job, cudaStream_t stream);

}  // namespace caesura::device::cuda
