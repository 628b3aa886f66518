// What functions on data cost: bytes of values per second, on one core, beside reading memory.
//
// Fields of 64 MiB, beyond the caches, unless the argument says otherwise; `memory` is the limit.
#include <benchmark/benchmark.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "lambda/chain.hpp"

namespace caesura::lambda {
namespace {

/// Smooth waves and some noise; a share of the values is 0, as in fields with voids.
template <class T>
const std::vector<T>& field(std::size_t n, double zeros) {
    static std::vector<T> values;
    static double made_with = -1.0;
    if (values.size() == n && made_with == zeros) return values;
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> share(0.0, 1.0);
    values.resize(n);
    for (std::size_t i = 0; i < n; ++i)
        values[i] =
            share(random) < zeros
                ? T{0}
                : static_cast<T>(std::sin(1e-3 * static_cast<double>(i)) + 0.01 * share(random));
    made_with = zeros;
    return values;
}

template <class T>
RegionView cube(const std::vector<T>& values) {
    const auto n = static_cast<std::uint64_t>(std::llround(std::cbrt(double(values.size()))));
    RegionView region;
    region.object = "rho";
    region.dtype = sizeof(T) == 4 ? float32 : float64;
    region.shape = Shape{n, n, n};
    region.box = {Shape{0, 0, 0}, region.shape};
    region.values = std::as_bytes(std::span(values));
    return region;
}

void count_bytes(benchmark::State& state, std::size_t bytes) {
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

template <class T>
void memory(benchmark::State& state) {
    const auto& values = field<T>(256 * 256 * 256, 0.0);
    const auto* words = reinterpret_cast<const std::uint64_t*>(values.data());
    const std::size_t n = values.size() * sizeof(T) / 8;
    for (auto _ : state) {
        std::uint64_t sum[4] = {};
        for (std::size_t i = 0; i < n; i += 4)
            for (std::size_t k = 0; k < 4; ++k) sum[k] ^= words[i + k];
        benchmark::DoNotOptimize(sum);
    }
    count_bytes(state, values.size() * sizeof(T));
}
BENCHMARK(memory<float>)->Unit(benchmark::kMillisecond);

template <class T>
void analysis(benchmark::State& state, const std::string& call, std::size_t side, double zeros) {
    const Registry registry;
    const auto& values = field<T>(side * side * side, zeros);
    for (auto _ : state) benchmark::DoNotOptimize(registry.run(call, cube(values)).ok());
    count_bytes(state, values.size() * sizeof(T));
}

/// With a key, for encryption.
Operator an_operator() {
    const std::string path = std::filesystem::temp_directory_path() /
                             ("caesura_bench_key_" + std::to_string(::getpid()));
    std::ofstream(path) << std::string(Key::k_bytes, 'k');
    ::chmod(path.c_str(), 0600);
    const auto key = Key::read(path);
    std::filesystem::remove(path);
    return {key.ok() ? *key : nullptr};
}

void chain(benchmark::State& state, const std::string& text, bool back) {
    const Registry registry;
    static const Operator by = an_operator();
    const auto& values = field<float>(128 * 128 * 128, 0.0);
    const RegionView region = cube(values);
    const auto made = Chain::make(registry, text, by);
    const auto bytes = made->apply(region);
    for (auto _ : state) {
        if (back)
            benchmark::DoNotOptimize(restore(registry, *bytes, region, by).ok());
        else
            benchmark::DoNotOptimize(made->apply(region).ok());
    }
    count_bytes(state, region.values.size());
    state.counters["ratio"] =
        static_cast<double>(region.values.size()) / static_cast<double>(bytes->size());
}

void merge_states(benchmark::State& state, const std::string& call) {
    const Registry registry;
    const auto& values = field<float>(128 * 128 * 128, 0.0);
    auto part = registry.start(call);
    if (!part->add(cube(values)).ok()) state.SkipWithError("add");
    const auto bytes = part->bytes();
    for (auto _ : state) {
        auto into = registry.parse_state(bytes);
        benchmark::DoNotOptimize(into->merge(*part).ok());
    }
    state.counters["state_bytes"] = static_cast<double>(bytes.size());
}

const int registered = [] {
    const auto add = [](const std::string& name, auto&& run) {
        benchmark::RegisterBenchmark(name.c_str(), run)->Unit(benchmark::kMillisecond);
    };
    const std::vector<std::string> calls = {"stats",
                                            "histogram(bins=64, low=-1.5, high=1.5)",
                                            "histogram(bins=64)",
                                            "entropy",
                                            "quantiles",
                                            "clusters(above=0.95)"};
    for (const std::string& call : calls) {
        add(call + " float32", [call](auto& s) { analysis<float>(s, call, 256, 0.0); });
        add(call + " float64", [call](auto& s) { analysis<double>(s, call, 202, 0.0); });
    }
    add("entropy float32, 90 % zeros", [](auto& s) { analysis<float>(s, "entropy", 256, 0.9); });
    add("spectrum float32, 128^3", [](auto& s) { analysis<float>(s, "spectrum", 128, 0.0); });
    for (const std::string text :
         {"caesura(bound=1e-3)", "caesura@deflate(bound=1e-3)", "lossless", "shuffle",
          "shuffle | zstd", "shuffle | deflate", "zstd", "aead"})
        for (const bool back : {false, true})
            add(text + (back ? " back" : ""), [text, back](auto& s) { chain(s, text, back); });
    for (const std::string call : {"stats", "entropy", "quantiles"})
        add("merge " + call, [call](auto& s) { merge_states(s, call); });
    return 0;
}();

}  // namespace
}  // namespace caesura::lambda
