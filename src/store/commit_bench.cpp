// What a commit costs: build (HDF5 in memory) and flush, with and without syncs, and read_info.
// The chunks' own bytes are not written here: only their metadata is measured.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/file.hpp"
#include "store/committer.hpp"
#include "store/recover.hpp"
#include "store/region_writer.hpp"

namespace caesura::store {
namespace {

constexpr std::uint64_t k_block_bytes = 100;

std::string bench_path() {
    const char* directory = std::getenv("CAESURA_BENCH_DIR");
    return fmt::format("{}/caesura_store_bench_{}.h5", directory ? directory : "/tmp", ::getpid());
}

DumpManifest manifest_of(std::uint64_t dump, std::uint64_t n_datasets, std::uint64_t n_chunks) {
    DumpManifest manifest;
    manifest.dump = dump;
    for (std::uint64_t i = 0; i < n_datasets; ++i)
        manifest.datasets.push_back({fmt::format("/data/{}/meshes/f{}", dump, i),
                                     float32,
                                     {n_chunks * 64},
                                     {64},
                                     {{32024, true, {1, 2, 3}, "bench"}},
                                     {}});
    return manifest;
}

std::vector<ChunkRecord> records_of(std::uint64_t dump, std::uint64_t n_datasets,
                                    std::uint64_t n_chunks, std::uint64_t& end) {
    std::vector<ChunkRecord> records;
    for (std::uint32_t d = 0; d < n_datasets; ++d)
        for (std::uint64_t c = 0; c < n_chunks; ++c, end += k_block_bytes)
            records.push_back({dump, d, 0, c, end, k_block_bytes, 0});
    end = align_up(end);
    return records;
}

void fail(benchmark::State& state, const Status& status) {
    state.SkipWithError(status.message().c_str());
}

/// One commit of `range(0)` datasets with `range(1)` chunks each into a new file.
void commit(benchmark::State& state) {
    const auto n_datasets = static_cast<std::uint64_t>(state.range(0));
    const auto n_chunks = static_cast<std::uint64_t>(state.range(1));
    const bool durable = state.range(2) != 0;
    const std::string path = bench_path();
    const DumpManifest manifest = manifest_of(0, n_datasets, n_chunks);
    std::uint64_t end = first_region_address();
    const auto records = records_of(0, n_datasets, n_chunks, end);
    std::uint64_t metadata_bytes = 0;
    for (auto _ : state) {
        state.PauseTiming();
        auto shared = SharedFile::create(base::FileSystem::posix(), path, make_run_id());
        if (!shared.ok()) return fail(state, shared.status());
        Committer committer(*shared);
        state.ResumeTiming();
        auto image = committer.build({&manifest, 1}, records, end);
        if (!image.ok()) return fail(state, image.status());
        if (Status s = image->flush(*shared, durable); !s.ok()) return fail(state, s);
        metadata_bytes = image->metadata_bytes();
    }
    state.counters["metadata_bytes"] = static_cast<double>(metadata_bytes);
    std::remove(path.c_str());
}
BENCHMARK(commit)
    ->ArgNames({"datasets", "chunks", "durable"})
    ->ArgsProduct({{1}, {100, 10000, 100000, 1000000}, {0, 1}})
    ->ArgsProduct({{1000}, {100}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// The `range(0)`-th dump of six datasets with 16 chunks each, into one growing file.
void commit_next_dump(benchmark::State& state) {
    const auto before = static_cast<std::uint64_t>(state.range(0));
    const bool durable = state.range(1) != 0;
    const std::string path = bench_path();
    auto shared = SharedFile::create(base::FileSystem::posix(), path, make_run_id());
    if (!shared.ok()) return fail(state, shared.status());
    Committer committer(*shared);
    std::uint64_t end = first_region_address(), dump = 0;
    const auto one = [&](bool sync) -> Status {
        const DumpManifest manifest = manifest_of(dump, 6, 16);
        const auto records = records_of(dump, 6, 16, end);
        auto image = committer.build({&manifest, 1}, records, end);
        if (!image.ok()) return image.status();
        end = image->file_end();
        ++dump;
        return image->flush(*shared, sync);
    };
    while (dump < before)
        if (Status s = one(false); !s.ok()) return fail(state, s);
    for (auto _ : state)
        if (Status s = one(durable); !s.ok()) return fail(state, s);
    std::remove(path.c_str());
}
BENCHMARK(commit_next_dump)
    ->ArgNames({"dumps_before", "durable"})
    ->ArgsProduct({{1, 1000}, {0, 1}})
    ->Iterations(100)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// A file whose blocks really lie there, listed with checksums.
void list_chunks(benchmark::State& state) {
    const auto n_chunks = static_cast<std::uint64_t>(state.range(0));
    const std::string path = bench_path();
    auto shared = SharedFile::create(base::FileSystem::posix(), path, make_run_id());
    if (!shared.ok()) return fail(state, shared.status());
    const DumpManifest manifest = manifest_of(0, 1, n_chunks);
    const std::string text = encode_manifest(manifest);
    const std::vector<std::byte> bytes(k_block_bytes, std::byte{1});
    std::vector<BlockView> blocks;
    for (std::uint64_t c = 0; c < n_chunks; ++c) blocks.push_back({0, 0, c, bytes});
    const std::uint64_t reserve =
        align_up(region_overhead_bytes(n_chunks, text.size()) + n_chunks * k_block_bytes);
    std::vector<ChunkRecord> records;
    RegionWriter region(*shared, {0, 0, first_region_address(), reserve, 0}, text);
    if (Status s = region.write(blocks, records); !s.ok()) return fail(state, s);
    Committer committer(*shared);
    auto image = committer.build({&manifest, 1}, records, first_region_address() + reserve);
    if (!image.ok()) return fail(state, image.status());
    if (Status s = image->flush(*shared, false); !s.ok()) return fail(state, s);
    for (auto _ : state) {
        auto info = read_info(base::FileSystem::posix(), path);
        if (!info.ok()) return fail(state, info.status());
        if (info->datasets.at(0).chunks.size() != n_chunks) state.SkipWithError("chunks missing");
    }
    std::remove(path.c_str());
}
BENCHMARK(list_chunks)->Arg(1000)->Arg(10000)->Arg(100000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace caesura::store

BENCHMARK_MAIN();
