// Cost of one plan. Target on a laptop core: 32 jobs and 20 obstacles per lane well under 100 us,
// 1,000 jobs under 20 ms.
#include <benchmark/benchmark.h>

#include "plan/instances.hpp"

namespace caesura::plan {
namespace {

void plan(benchmark::State& state, Algorithm algorithm) {
    const auto in = InstanceMaker(7, 0.0).make(static_cast<std::size_t>(state.range(0)),
                                               static_cast<std::size_t>(state.range(1)), 0.0);
    for (auto _ : state) {
        auto result = schedule(algorithm, in.jobs, in.obstacles);
        benchmark::DoNotOptimize(result->end_s);
    }
    state.SetLabel(std::string(to_string(algorithm)));
}

void verify(benchmark::State& state) {
    const auto in = InstanceMaker(7, 0.0).make(static_cast<std::size_t>(state.range(0)),
                                               static_cast<std::size_t>(state.range(1)), 0.0);
    const auto made = schedule(Algorithm::ext_johnson_backfill, in.jobs, in.obstacles);
    for (auto _ : state) benchmark::DoNotOptimize(check(*made, in.jobs, in.obstacles).ok());
}

#define CAESURA_SIZES ->Args({32, 20})->Args({200, 50})->Args({1000, 100})->Args({1000, 1000})
BENCHMARK_CAPTURE(plan, ext_johnson_backfill, Algorithm::ext_johnson_backfill) CAESURA_SIZES;
BENCHMARK_CAPTURE(plan, generation_list_backfill, Algorithm::generation_list_backfill)
CAESURA_SIZES;
BENCHMARK_CAPTURE(plan, insertion_backfill, Algorithm::insertion_backfill) CAESURA_SIZES;
BENCHMARK(verify) CAESURA_SIZES;

}  // namespace
}  // namespace caesura::plan
