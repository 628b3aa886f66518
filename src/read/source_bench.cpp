// Reading a whole field of 128 MiB, file in the page cache: H5Dread through the filter plugin, a
// Source with 1 and 2 threads, and what bounds it, one after the other in each round.
//
// The physical limit: with a codec its decode rate times the threads (decode_ms: every chunk from
// memory into memory, nothing else); without one the memory's bandwidth (copy_ms: the field once by
// memcpy; the kernel copies it once, and checking reads it again).
//
// rows: chunks are slabs, whose values follow each other in the field, so that they are decoded in
// place. Cubes are not: each is copied once more.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <hdf5.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>

#include "codec/frame/slabs.hpp"
#include "hdf5/block_codec.hpp"
#include "read/source.hpp"

namespace caesura::read {
namespace {

const Shape k_bench_shape{512, 256, 256};
constexpr const char* k_bench_codecs[] = {"none", "caesura", "caesura:planes"};

std::vector<float> bench_field() {
    std::vector<float> values(k_bench_shape.count());
    std::mt19937 random(1);
    std::normal_distribution<float> noise;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto x = static_cast<float>(i % 256), y = static_cast<float>(i / 256 % 256);
        const auto z = static_cast<float>(i / 65536);
        values[i] = 100 * std::sin(0.02f * x) * std::cos(0.03f * y + 0.01f * z) + noise(random);
    }
    return values;
}

/// The field in a file of its own, and its encoded chunks.
struct BenchFile {
    std::string path;
    std::unique_ptr<BlockCodec> codec;
    std::vector<EncodedBlock> blocks;
    std::size_t chunk_bytes = 0;
    std::string error;

    BenchFile(const char* codec_name, const Shape& chunk) {
        const char* directory = std::getenv("CAESURA_BENCH_DIR");
        path = fmt::format("{}/caesura_source_bench_{}.h5", directory ? directory : "/tmp",
                           ::getpid());
        chunk_bytes = chunk.count() * sizeof(float);
        auto made = make_block_codec({.name = codec_name}, float32, chunk, absolute(0.1));
        if (!made.ok()) {
            error = made.status().message();
            return;
        }
        codec = std::move(*made);
        if (!write(chunk)) error = "HDF5 cannot write " + path;
    }
    ~BenchFile() { std::remove(path.c_str()); }

    bool write(const Shape& chunk) {
        static const std::vector<float> field = bench_field();
        static const bool found = H5PLprepend(CAESURA_BENCH_PLUGINS) >= 0;
        const std::array<hsize_t, 3> dims{k_bench_shape[0], k_bench_shape[1], k_bench_shape[2]};
        const std::array<hsize_t, 3> chunk_dims{chunk[0], chunk[1], chunk[2]};
        const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_chunk(creation, 3, chunk_dims.data());
        for (const FilterSpec& filter : codec->pipeline())
            H5Pset_filter(creation, static_cast<H5Z_filter_t>(filter.id), H5Z_FLAG_MANDATORY,
                          filter.cd_values.size(), filter.cd_values.data());
        const hid_t space = H5Screate_simple(3, dims.data(), nullptr);
        const hid_t dataset =
            H5Dcreate2(file, "rho", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
        bool ok = found && dataset >= 0;
        std::vector<std::byte> values(chunk_bytes);
        const Box all{{0, 0, 0}, k_bench_shape};
        for (std::uint64_t z = 0; ok && z < dims[0]; z += chunk[0])
            for (std::uint64_t y = 0; ok && y < dims[1]; y += chunk[1])
                for (std::uint64_t x = 0; ok && x < dims[2]; x += chunk[2]) {
                    const Box box{{z, y, x}, chunk};
                    copy_box(box, all, reinterpret_cast<const std::byte*>(field.data()), box,
                             values.data(), sizeof(float));
                    auto block = codec->encode(values, chunk);
                    const std::array<hsize_t, 3> offset{z, y, x};
                    ok = block.ok() &&
                         H5Dwrite_chunk(dataset, H5P_DEFAULT, block->filter_mask, offset.data(),
                                        block->bytes.size(), block->bytes.data()) >= 0;
                    if (ok) blocks.push_back(std::move(*block));
                }
        H5Dclose(dataset), H5Sclose(space), H5Pclose(creation);
        return H5Fclose(file) >= 0 && ok;
    }

    bool read_stock(std::span<float> values) const {
        const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
        const hid_t dataset = H5Dopen2(file, "rho", H5P_DEFAULT);
        const bool ok =
            H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0;
        H5Dclose(dataset), H5Fclose(file);
        return ok;
    }

    bool read_ours(std::span<float> values, int threads) const {
        const auto source = Source::open(path);
        return source.ok() && (*source)
                                  ->read(0, {{0, 0, 0}, k_bench_shape},
                                         std::as_writable_bytes(values), {.threads = threads})
                                  .ok();
    }

    bool decode_only(std::span<float> values, int threads) const {
        const auto bytes = std::as_writable_bytes(values);
        return codec::for_each_parallel(blocks.size(), threads,
                                        [&](int, std::uint64_t i) {
                                            return codec->decode(
                                                blocks[i].bytes, blocks[i].filter_mask,
                                                bytes.subspan(i * chunk_bytes, chunk_bytes));
                                        })
            .ok();
    }
};

/// Milliseconds of each thing in each round: of the clock, and of all threads' CPU time ("_cpu"),
/// which a busy machine disturbs less.
class Rounds {
  public:
    template <class Call>
    bool time(const std::string& name, Call call) {
        const double from_ms = now_ms(CLOCK_MONOTONIC);
        const double from_cpu_ms = now_ms(CLOCK_PROCESS_CPUTIME_ID);
        const bool ok = call();
        ms_[name + "_cpu"].push_back(now_ms(CLOCK_PROCESS_CPUTIME_ID) - from_cpu_ms);
        ms_[name].push_back(now_ms(CLOCK_MONOTONIC) - from_ms);
        return ok;
    }
    double median_ms(const std::string& name) const { return median(ms_.at(name)); }
    /// The median over rounds of how much longer one took than the other.
    double ratio(const std::string& one, const std::string& other) const {
        std::vector<double> ratios = ms_.at(one);
        for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] /= ms_.at(other)[i];
        return median(ratios);
    }

  private:
    static double now_ms(clockid_t clock) {
        timespec now{};
        clock_gettime(clock, &now);
        return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
    }
    static double median(std::vector<double> values) {
        std::sort(values.begin(), values.end());
        return values[values.size() / 2];
    }
    std::map<std::string, std::vector<double>> ms_;
};

void read_whole_field(benchmark::State& state) {
    const char* const codec = k_bench_codecs[state.range(0)];
    const Shape chunk = state.range(1) != 0 ? Shape{128, 128, 128} : Shape{32, 256, 256};
    const BenchFile file(codec, chunk);
    state.SetLabel(fmt::format("{}, {}", codec, state.range(1) != 0 ? "cubes" : "rows"));
    if (!file.error.empty()) return state.SkipWithError(file.error.c_str());
    std::vector<float> values(k_bench_shape.count()), stock(values.size());
    Rounds rounds;
    bool ok = true;
    for (auto _ : state) {
        ok &= rounds.time("stock", [&] { return file.read_stock(stock); });
        for (const int threads : {1, 2}) {
            ok &= rounds.time(fmt::format("read{}", threads),
                              [&] { return file.read_ours(values, threads); });
            ok &= std::memcmp(values.data(), stock.data(), values.size() * sizeof(float)) == 0;
            ok &= rounds.time(fmt::format("decode{}", threads),
                              [&] { return file.decode_only(values, threads); });
        }
        (void)rounds.time("copy", [&] {
            std::memcpy(values.data(), stock.data(), values.size() * sizeof(float));
            return true;
        });
    }
    if (!ok) return state.SkipWithError("a read failed or differs");
    for (const char* name : {"stock", "read1", "read2", "decode1", "decode2", "copy"})
        state.counters[fmt::format("{}_ms", name)] = rounds.median_ms(name);
    for (const char* name : {"stock_cpu", "read1_cpu", "decode1_cpu"})
        state.counters[fmt::format("{}_ms", name)] = rounds.median_ms(name);
    state.counters["stock_over_read1_cpu"] = rounds.ratio("stock_cpu", "read1_cpu");
    state.counters["stock_over_read1"] = rounds.ratio("stock", "read1");
    state.counters["stock_over_read2"] = rounds.ratio("stock", "read2");
    state.counters["read1_over_decode1"] = rounds.ratio("read1", "decode1");
    state.counters["read2_over_decode2"] = rounds.ratio("read2", "decode2");
}
BENCHMARK(read_whole_field)
    ->ArgNames({"codec", "cubes"})
    ->ArgsProduct({{0, 1, 2}, {0, 1}})
    ->Iterations(9)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace caesura::read
