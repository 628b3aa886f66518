// What a live image costs: the application's metadata calls in memory, and its commits. Beside it
// the same calls on a file of stock HDF5 (its serial driver), with a flush and a close.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "base/file.hpp"
#include "store/hdf5_handle.hpp"
#include "store/live_image.hpp"
#include "store/shared_file.hpp"

namespace caesura::store {
namespace {

std::string bench_path() {
    const char* directory = std::getenv("CAESURA_BENCH_DIR");
    return fmt::format("{}/caesura_live_bench_{}.h5", directory ? directory : "/tmp", ::getpid());
}

void fail(benchmark::State& state, const Status& status) {
    state.SkipWithError(status.message().c_str());
}

/// `n` small datasets with attributes, in a group of their own.
bool make_tree(hid_t file, int step, std::int64_t n_datasets, std::int64_t n_attributes) {
    const Handle group(H5Gcreate2(file, fmt::format("/step_{}", step).c_str(), H5P_DEFAULT,
                                  H5P_DEFAULT, H5P_DEFAULT),
                       H5Gclose);
    const Handle dcpl(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_alloc_time(dcpl.get(), H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(dcpl.get(), H5D_FILL_TIME_NEVER);
    const hsize_t n = 16;
    const Handle space(H5Screate_simple(1, &n, nullptr), H5Sclose);
    const Handle scalar(H5Screate(H5S_SCALAR), H5Sclose);
    bool ok = group.ok();
    for (std::int64_t d = 0; d < n_datasets; ++d) {
        const Handle dataset(
            H5Dcreate2(group.get(), fmt::format("dataset_{}", d).c_str(), H5T_IEEE_F32LE,
                       space.get(), H5P_DEFAULT, dcpl.get(), H5P_DEFAULT),
            H5Dclose);
        for (std::int64_t a = 0; a < n_attributes; ++a) {
            const Handle attribute(
                H5Acreate2(dataset.get(), fmt::format("attribute_{}", a).c_str(), H5T_STD_I64LE,
                           scalar.get(), H5P_DEFAULT, H5P_DEFAULT),
                H5Aclose);
            ok = ok && H5Awrite(attribute.get(), H5T_NATIVE_INT64, &a) >= 0;
        }
    }
    return ok;
}

class Stopwatch {
  public:
    double lap_ms() {
        const auto now = std::chrono::steady_clock::now();
        const double ms = std::chrono::duration<double, std::milli>(now - from_).count();
        from_ = now;
        return ms;
    }

  private:
    std::chrono::steady_clock::time_point from_ = std::chrono::steady_clock::now();
};

/// One live file; every iteration makes a tree more and commits it.
void live_commit(benchmark::State& state) {
    const bool durable = state.range(2) != 0;
    const std::string path = bench_path();
    auto shared = SharedFile::create(base::FileSystem::posix(), path, make_run_id());
    if (!shared.ok()) return fail(state, shared.status());
    auto image = LiveImage::make(*shared);
    if (!image.ok()) return fail(state, image.status());
    const Handle fcpl(H5Pcreate(H5P_FILE_CREATE), H5Pclose),
        fapl(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    if (Status s = LiveImage::prepare_creation(fcpl.get()); !s.ok()) return fail(state, s);
    if (Status s = (*image)->set_driver(fapl.get()); !s.ok()) return fail(state, s);
    const Handle file(H5Fcreate("live", H5F_ACC_TRUNC, fcpl.get(), fapl.get()), H5Fclose);
    double calls_ms = 0, h5flush_ms = 0, build_ms = 0, flush_ms = 0, metadata_bytes = 0;
    std::uint64_t step = 0;
    for (auto _ : state) {
        Stopwatch watch;
        if (!make_tree(file.get(), static_cast<int>(step), state.range(0), state.range(1)))
            return state.SkipWithError("HDF5");
        calls_ms += watch.lap_ms();
        H5Fflush(file.get(), H5F_SCOPE_GLOBAL);
        h5flush_ms += watch.lap_ms();
        auto commit = (*image)->commit({&step, 1}, 0);
        if (!commit.ok()) return fail(state, commit.status());
        build_ms += watch.lap_ms();
        if (Status s = commit->flush(*shared, durable); !s.ok()) return fail(state, s);
        if (Status s = (*image)->committed(); !s.ok()) return fail(state, s);
        flush_ms += watch.lap_ms();
        metadata_bytes += static_cast<double>(commit->metadata_bytes());
        ++step;
    }
    using benchmark::Counter;
    state.counters["calls_ms"] = Counter(calls_ms, Counter::kAvgIterations);
    state.counters["h5fflush_ms"] = Counter(h5flush_ms, Counter::kAvgIterations);
    state.counters["build_ms"] = Counter(build_ms, Counter::kAvgIterations);
    state.counters["flush_ms"] = Counter(flush_ms, Counter::kAvgIterations);
    state.counters["metadata_bytes"] = Counter(metadata_bytes, Counter::kAvgIterations);
    std::remove(path.c_str());
}
BENCHMARK(live_commit)
    ->ArgNames({"datasets", "attributes", "durable"})
    ->ArgsProduct({{1000}, {20}, {0, 1}})
    ->Args({1, 1, 0})
    ->Iterations(20)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// The same calls on stock HDF5's serial driver, v110 format, flushed after every tree.
void stock_flush(benchmark::State& state) {
    const std::string path = bench_path();
    const Handle fapl(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_libver_bounds(fapl.get(), H5F_LIBVER_V110, H5F_LIBVER_LATEST);
    const Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, fapl.get()), H5Fclose);
    double calls_ms = 0, h5flush_ms = 0;
    int step = 0;
    for (auto _ : state) {
        Stopwatch watch;
        if (!make_tree(file.get(), step++, state.range(0), state.range(1)))
            return state.SkipWithError("HDF5");
        calls_ms += watch.lap_ms();
        H5Fflush(file.get(), H5F_SCOPE_GLOBAL);
        h5flush_ms += watch.lap_ms();
    }
    using benchmark::Counter;
    state.counters["calls_ms"] = Counter(calls_ms, Counter::kAvgIterations);
    state.counters["h5fflush_ms"] = Counter(h5flush_ms, Counter::kAvgIterations);
    std::remove(path.c_str());
}
BENCHMARK(stock_flush)
    ->ArgNames({"datasets", "attributes"})
    ->Args({1000, 20})
    ->Args({1, 1})
    ->Iterations(20)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace caesura::store
