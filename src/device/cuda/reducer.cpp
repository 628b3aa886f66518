#include "device/cuda/reducer.hpp"

#include <fmt/format.h>

#include <cstring>

#include "base/invalid.hpp"
#include "device/cuda/reduce_kernels.hpp"

namespace caesura::device::cuda {
namespace {

static_assert(k_sums_stretch == k_stretch_values);

Status check(std::span<const std::byte> values, DType dtype, std::span<std::byte> room,
             std::uint64_t needed_bytes) {
    const std::uint64_t value_bytes = size_of(dtype);
    if (values.empty() || values.size() % value_bytes != 0 ||
        !is_aligned(values.data(), value_bytes))
        return base::invalid(fmt::format("{} bytes are no values of {} bytes, or not aligned",
                                         values.size(), value_bytes));
    if (room.size() < needed_bytes || !is_aligned(room.data(), 8))
        return base::invalid(fmt::format("room of {} bytes, aligned to 8, is needed; this has {}",
                                         needed_bytes, room.size()));
    return {};
}

}  // namespace

/// After an error too: what was given to the stream before still uses our memory and the caller's.
cudaError_t Reducer::end_of(cudaError_t given) {
    const cudaError_t done = cudaStreamSynchronize(stream_);
    return given != cudaSuccess ? given : done;
}

Result<std::vector<StretchSums>> Reducer::sums(std::span<const std::byte> values, DType dtype,
                                               std::span<std::byte> room) {
    const std::uint64_t bytes = sums_bytes(values.size(), dtype);
    if (Status status = check(values, dtype, room, bytes); !status.ok()) return status;
    if (Status status = pinned_.grow(bytes); !status.ok()) return status;
    SumsJob job;
    job.values = reinterpret_cast<const unsigned char*>(values.data());
    job.value_bytes = static_cast<std::uint32_t>(size_of(dtype));
    job.count = values.size() / job.value_bytes;
    job.lines = reinterpret_cast<SumsLine*>(room.data());
    cudaError_t code = sum(job, stream_);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(pinned_.data(), job.lines, bytes, cudaMemcpyDeviceToHost, stream_);
    code = end_of(code);
    if (code != cudaSuccess) return status_of(code, "summing up values");
    std::vector<StretchSums> all;
    const auto* const lines = pinned_.as<SumsLine>();
    for (std::uint64_t i = 0; i < bytes / sizeof(SumsLine); ++i)
        all.push_back({std::min(k_sums_stretch, job.count - i * k_sums_stretch), lines[i].finite,
                       lines[i].nan, lines[i].low, lines[i].high, lines[i].origin, lines[i].sum,
                       lines[i].squares});
    return all;
}

Result<RangeCounts> Reducer::counts(std::span<const std::byte> values, DType dtype,
                                    std::span<const double> edges, std::span<std::byte> room) {
    if (edges.size() < 2 || edges.size() > k_most_edges)
        return base::invalid(fmt::format("{} edges; give 2 to {}", edges.size(), k_most_edges));
    const std::uint64_t bins = edges.size() - 1, bytes = counts_bytes(bins);
    if (Status status = check(values, dtype, room, bytes); !status.ok()) return status;
    if (Status status = pinned_.grow(bytes); !status.ok()) return status;
    std::memcpy(pinned_.data(), edges.data(), edges.size_bytes());
    const std::uint64_t counted_bytes = bytes - edges.size_bytes();
    std::byte* const counted = pinned_.data() + edges.size_bytes();
    std::memset(counted, 0, counted_bytes);
    CountsJob job;
    job.values = reinterpret_cast<const unsigned char*>(values.data());
    job.value_bytes = static_cast<std::uint32_t>(size_of(dtype));
    job.count = values.size() / job.value_bytes;
    job.bins = static_cast<std::uint32_t>(bins);
    job.edges = reinterpret_cast<const double*>(room.data());
    job.counts = reinterpret_cast<unsigned long long*>(room.data() + edges.size_bytes());
    cudaError_t code =
        cudaMemcpyAsync(room.data(), pinned_.data(), bytes, cudaMemcpyHostToDevice, stream_);
    if (code == cudaSuccess) code = count(job, stream_);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(counted, job.counts, counted_bytes, cudaMemcpyDeviceToHost, stream_);
    code = end_of(code);
    if (code != cudaSuccess) return status_of(code, "counting values");
    std::vector<std::uint64_t> all(bins + k_counts_behind);
    std::memcpy(all.data(), counted, counted_bytes);
    RangeCounts found{
        {}, all[bins + k_below], all[bins + k_above], all[bins + k_nan], all[bins + k_infinite]};
    all.resize(bins);
    found.bins = std::move(all);
    return found;
}

Result<std::vector<std::uint64_t>> Reducer::marks(std::span<const std::byte> values, DType dtype,
                                                  double threshold, std::span<std::byte> room) {
    const std::uint64_t bytes = marks_bytes(values.size(), dtype);
    if (Status status = check(values, dtype, room, bytes); !status.ok()) return status;
    if (Status status = pinned_.grow(bytes); !status.ok()) return status;
    MarksJob job;
    job.values = reinterpret_cast<const unsigned char*>(values.data());
    job.value_bytes = static_cast<std::uint32_t>(size_of(dtype));
    job.count = values.size() / job.value_bytes;
    job.threshold = threshold;
    job.words = reinterpret_cast<std::uint32_t*>(room.data());
    const std::uint64_t written_bytes = (job.count + 31) / 32 * sizeof(std::uint32_t);
    cudaError_t code = mark(job, stream_);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(pinned_.data(), job.words, written_bytes, cudaMemcpyDeviceToHost,
                               stream_);
    code = end_of(code);
    if (code != cudaSuccess) return status_of(code, "marking values");
    std::vector<std::uint64_t> marks(bytes / sizeof(std::uint64_t));
    std::memcpy(marks.data(), pinned_.data(), written_bytes);
    return marks;
}

}  // namespace caesura::device::cuda
