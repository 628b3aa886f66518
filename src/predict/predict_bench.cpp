// Cost of sampling one block of 128^3 float32 (8.39 MB). Target: under 2 ms, cold caches included.
#include <benchmark/benchmark.h>

#include "predict/fields.hpp"

namespace caesura::predict {
namespace {

void sample(benchmark::State& state, const ErrorBound& bound) {
    const auto field = smooth_field<float>({128, 128, 128}, 4, 1);
    // Each round samples another copy, so that the block is not in the cache: it never is when the
    // application has just computed it and its neighbours.
    std::vector<std::vector<float>> copies(12, field);
    const Box box{{0, 0, 0}, {128, 128, 128}};
    std::size_t round = 0;
    for (auto _ : state) {
        const auto* data = reinterpret_cast<const std::byte*>(copies[round++ % 12].data());
        benchmark::DoNotOptimize(sample_block(data, float32, box, box, bound).bits_per_value);
    }
}
BENCHMARK_CAPTURE(sample, lossless, lossless());
BENCHMARK_CAPTURE(sample, coarse, absolute(0.1));
BENCHMARK_CAPTURE(sample, fine, absolute(1e-4));

}  // namespace
}  // namespace caesura::predict
