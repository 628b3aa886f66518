// Speed and ratio of codecs on raw blocks: one thread, thread CPU time, medians, codecs
// interleaved.
//
//   codec_bench <rank> <extents...> <repeats> <codec>[/word,word,...] ... -- <file> <bound> ...
//
// Prints one CSV line per block and codec: compression with and without verification.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "hdf5/block_codec.hpp"

namespace {

using caesura::BlockCodec;
using caesura::CodecSpec;
using caesura::EncodedBlock;
using caesura::Shape;

double thread_cpu_s() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

std::vector<std::byte> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    std::vector<std::byte> bytes(file ? static_cast<std::size_t>(file.tellg()) : 0);
    file.seekg(0);
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return bytes;
}

CodecSpec parse_codec(const std::string& text, bool verify) {
    CodecSpec spec;
    const std::size_t slash = text.find('/');
    spec.name = text.substr(0, slash);
    spec.verify = verify;
    if (slash == std::string::npos) return spec;
    for (const char* word = text.c_str() + slash + 1; *word;) {
        char* end = nullptr;
        spec.cd_values.push_back(static_cast<unsigned>(std::strtoul(word, &end, 10)));
        word = *end == ',' ? end + 1 : end;
    }
    return spec;
}

struct Timing {
    std::vector<double> plain_s, verified_s, decode_s;
    EncodedBlock block;
};

bool measure_once(const std::string& codec_text, const std::vector<std::byte>& raw,
                  const Shape& shape, double bound, Timing& timing) {
    std::vector<std::byte> decoded(raw.size());
    for (const bool verify : {false, true}) {
        auto codec = caesura::make_block_codec(parse_codec(codec_text, verify), caesura::float32,
                                               shape, caesura::absolute(bound));
        if (!codec.ok()) {
            fmt::print(stderr, "{}\n", codec.status().message());
            return false;
        }
        const double begin_s = thread_cpu_s();
        auto block = (*codec)->encode(raw, shape);
        const double end_s = thread_cpu_s();
        if (!block.ok()) return false;
        (verify ? timing.verified_s : timing.plain_s).push_back(end_s - begin_s);
        const double begin_decode_s = thread_cpu_s();
        if (!(*codec)->decode(block->bytes, block->filter_mask, decoded).ok()) return false;
        timing.decode_s.push_back(thread_cpu_s() - begin_decode_s);
        if (verify) timing.block = std::move(*block);
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    const auto dashes = std::find(words.begin(), words.end(), "--");
    if (words.size() < 5 || dashes == words.end()) {
        fmt::print(stderr,
                   "usage: {} <rank> <extents...> <repeats> <codec>... -- "
                   "<file> <bound> ...\n",
                   argv[0]);
        return 2;
    }
    std::size_t next = 0;
    std::vector<std::uint64_t> extents(std::stoul(words[next++]));
    for (auto& extent : extents) extent = std::stoul(words[next++]);
    const Shape shape{std::span<const std::uint64_t>(extents)};
    const int repeats = std::stoi(words[next++]);
    const std::vector<std::string> codecs(words.begin() + static_cast<std::ptrdiff_t>(next),
                                          dashes);
    fmt::print(
        "block,bound,codec,ratio,compress_MB_per_s,compress_verified_MB_per_s,"
        "decompress_MB_per_s,max_error_over_bound,fell_back\n");
    for (auto file = dashes + 1; file + 1 < words.end(); file += 2) {
        const std::vector<std::byte> raw = read_file(*file);
        const double bound = std::stod(*(file + 1));
        if (raw.size() != shape.count() * 4) {
            fmt::print(stderr, "{} has {} bytes\n", *file, raw.size());
            return 1;
        }
        std::vector<Timing> timings(codecs.size());
        for (int repeat = 0; repeat < repeats; ++repeat) {
            for (std::size_t i = 0; i < codecs.size(); ++i) {
                if (!measure_once(codecs[i], raw, shape, bound, timings[i])) return 1;
            }
        }
        const double raw_mb = 1e-6 * static_cast<double>(raw.size());
        for (std::size_t i = 0; i < codecs.size(); ++i) {
            const Timing& t = timings[i];
            fmt::print("{},{},{},{:.2f},{:.0f},{:.0f},{:.0f},{:.3f},{}\n", *file, bound, codecs[i],
                       static_cast<double>(raw.size()) / static_cast<double>(t.block.bytes.size()),
                       raw_mb / median(t.plain_s), raw_mb / median(t.verified_s),
                       raw_mb / median(t.decode_s), t.block.max_error / bound,
                       t.block.fell_back ? 1 : 0);
        }
        std::fflush(stdout);
    }
    return 0;
}
