// Integers of every family without loss: ratio, that of bit shuffle and zstd, and speed of a core.
//
//     integer_bench [--benchmark_filter=REGEX] [--benchmark_format=json]
//
// Blocks of 8 MiB. estimate_error: of the size foretold, as a share.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdlib>

#include "codec/integers/integer_families.hpp"
#include "codec/integers/integer_peer.hpp"

namespace caesura::codec {
namespace {

constexpr std::size_t k_block_bytes = std::size_t{8} << 20;

struct Block {
    std::vector<std::byte> bytes;
    Shape shape;
    std::vector<std::byte> frame;
};

Shape shape_of(const std::string& name, std::size_t n) {
    if (name == "grid") return {n / 512, 512};
    if (name == "blobs" && n == 1U << 23) return {n};
    return {n};
}

Block make_block(const std::string& name, DType dtype) {
    const std::size_t n = k_block_bytes / size_of(dtype);
    Block block{as_bytes_of(family(name, n, 1), dtype), shape_of(name, n), {}};
    auto frame = compress(block.bytes, dtype, block.shape, lossless());
    if (!frame.ok()) std::abort();
    block.frame = std::move(*frame);
    return block;
}

void compress_integers(benchmark::State& state, const std::string& name, DType dtype) {
    const Block block = make_block(name, dtype);
    std::vector<std::byte> room(block.bytes.size() + k_frame_overhead_bytes);
    for (auto _ : state)
        benchmark::DoNotOptimize(compress_into(room, block.bytes, dtype, block.shape, lossless()));
    const auto raw = static_cast<double>(block.bytes.size());
    const auto found = static_cast<double>(block.frame.size());
    const auto foretold = estimate(block.bytes, dtype, block.shape, lossless());
    const auto peer = [&](std::size_t block_bytes) {
        return raw / static_cast<double>(peer_bytes(block.bytes, size_of(dtype), block_bytes));
    };
    state.counters["ratio"] = raw / found;
    state.counters["peer_ratio"] = peer(8192);
    state.counters["peer_ratio_whole"] = peer(k_block_bytes);
    state.counters["estimate_error"] = static_cast<double>(foretold->bytes) / found - 1;
    state.SetBytesProcessed(static_cast<std::int64_t>(raw) * state.iterations());
}

void decompress_integers(benchmark::State& state, const std::string& name, DType dtype) {
    const Block block = make_block(name, dtype);
    std::vector<std::byte> values(block.bytes.size());
    for (auto _ : state) benchmark::DoNotOptimize(decompress(block.frame, values));
    if (values != block.bytes) state.SkipWithError("the values have not come back");
    state.SetBytesProcessed(static_cast<std::int64_t>(values.size()) * state.iterations());
}

/// What no codec can exceed: the block is read and written.
void copy_block(benchmark::State& state) {
    const Block block = make_block("noise", DType::uint64);
    std::vector<std::byte> values(block.bytes.size());
    for (auto _ : state) {
        std::copy(block.bytes.begin(), block.bytes.end(), values.begin());
        benchmark::DoNotOptimize(values.data());
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(values.size()) * state.iterations());
}
BENCHMARK(copy_block);

}  // namespace
}  // namespace caesura::codec

int main(int argc, char** argv) {
    using namespace caesura;
    for (const std::string& name : codec::family_names()) {
        for (const DType dtype : {DType::uint8, DType::int32, DType::uint64}) {
            const std::string of = name + "/" + std::string(to_string(dtype));
            benchmark::RegisterBenchmark(("compress/" + of).c_str(), codec::compress_integers, name,
                                         dtype);
            benchmark::RegisterBenchmark(("decompress/" + of).c_str(), codec::decompress_integers,
                                         name, dtype);
        }
    }
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
}
