// The steps of compression one by one, for three ways to code the residuals: S4's Figure 5.
//
//     transit_steps FILE TYPE SHAPE BOUND BLOCK_LAYERS REPEATS THREADS...
//
// FILE holds raw values, C order, TYPE float32 or float64; BOUND is absolute. The field is cut into
// blocks of BLOCK_LAYERS layers. Every step runs on all blocks before the next step begins, so that
// the wall times of the steps add up. Prints one JSON object: for each number of threads and each
// variant the seconds of each step, the fastest of the repeats, so that what others take of the
// cores is in it as little as can be; and the bytes.
//
// Variants: "own": the codec's entropy coder; "zstd" and "deflate": residuals of fixed lengths,
// then that compressor, as caesura@deflate of src/lambda does.
// Source: S4 Figure 5.
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "codec/bound/float_environment.hpp"
#include "codec/entropy/entropy.hpp"
#include "codec/frame/workspace.hpp"
#include "codec/predictors/code_collector.hpp"
#include "lambda/deflate.hpp"

namespace {

using namespace caesura;
using nlohmann::json;

constexpr int k_zstd_level = 3, k_deflate_level = 6;  // zstd's default, caesura@deflate's

[[noreturn]] void fail(const std::string& what) {
    std::cerr << "transit_steps: " << what << "\n";
    std::exit(1);
}

/// What one block needs on its way. Its memory serves every repeat.
template <class T>
struct Block {
    std::span<const T> values;
    Shape shape;
    codec::Workspace workspace;
    codec::Choice choice;
    codec::Quantiser<T> quantiser;
    codec::CodeCollector codes;
    codec::ExactValues<T> exact;
    codec::Output coded;
    std::vector<std::byte> squeezed;
};

template <class T>
constexpr DType k_dtype = sizeof(T) == sizeof(float) ? DType::float32 : DType::float64;

template <class T>
void choose(Block<T>& block, double bound, Mode mode) {
    const TableSet built_in;
    codec::EncodeRequest request;
    request.mode = mode;
    request.header.dtype = k_dtype<T>;
    request.header.shape = block.shape;
    request.header.bound = absolute(bound);
    request.tables = &built_in;
    const auto bytes = std::as_bytes(block.values);
    request.bound = codec::resolve(request.header.bound, bytes, k_dtype<T>, 1);
    block.choice = block.workspace.encoder.predict(bytes, block.shape, request);
    codec::Spots<T> spots;
    spots.look(block.values, block.shape);
    block.quantiser = codec::choose_quantiser(spots.sample(), bound);
}

template <class T>
void predict(Block<T>& block) {
    const codec::FloatEnvironment environment;
    block.codes.clear();
    block.exact.values.clear();
    block.exact.positions.clear();
    codec::CodeWriter writer(block.codes);
    if (block.choice.kind == codec::PartKind::lorenzo) {
        encode_lorenzo(block.values.data(), block.shape, block.quantiser, block.choice.lorenzo,
                       block.workspace.scratch, writer, block.exact);
    } else {
        encode_interpolation(block.values.data(), block.shape, block.quantiser,
                             block.choice.interpolation, block.workspace.scratch, writer,
                             block.exact);
    }
    writer.finish();
}

template <class T>
void code(Block<T>& block, codec::Coding coding) {
    const TableSet built_in;
    const auto encoder = codec::make_entropy_encoder(coding);
    const auto& codes = block.codes.codes();
    block.coded.clear();
    encoder->begin(codes.size(), built_in, nullptr, block.choice.bytes, block.coded);
    alignas(64) std::array<std::uint32_t, codec::k_chunk_values> chunk{};
    for (std::size_t at = 0; at < codes.size(); at += codec::k_chunk_values) {
        const std::size_t n = std::min(codes.size() - at, codec::k_chunk_values);
        std::copy_n(codes.begin() + static_cast<std::ptrdiff_t>(at), n, chunk.begin());
        std::fill(chunk.begin() + static_cast<std::ptrdiff_t>(n), chunk.end(), 0U);
        encoder->put_chunk(chunk.data(), n);
    }
    encoder->finish();
}

template <class T>
void squeeze(Block<T>& block, const std::string& variant) {
    const auto bytes = std::span<const std::byte>(block.coded.bytes());
    if (variant == "deflate") {
        auto made = lambda::deflate(bytes, k_deflate_level);
        if (!made.ok()) fail(made.status().message());
        block.squeezed = std::move(*made);
        return;
    }
    block.squeezed.resize(ZSTD_compressBound(bytes.size()));
    const std::size_t size = ZSTD_compress(block.squeezed.data(), block.squeezed.size(),
                                           bytes.data(), bytes.size(), k_zstd_level);
    if (ZSTD_isError(size) != 0) fail(ZSTD_getErrorName(size));
    block.squeezed.resize(size);
}

/// Wall seconds until the last of the threads has no block left.
template <class T>
double on_all(std::vector<Block<T>>& blocks, int threads,
              const std::function<void(Block<T>&)>& step) {
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t i = next++; i < blocks.size(); i = next++) step(blocks[i]);
    };
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(work);
    work();
    for (std::thread& one : others) one.join();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

template <class T>
json measure(std::vector<Block<T>>& blocks, double bound, int threads, int repeats) {
    json rows = json::array();
    std::map<std::string, std::map<std::string, std::vector<double>>> seconds;
    std::map<std::string, std::size_t> stored;
    for (int repeat = 0; repeat <= repeats; ++repeat) {  // the first one warms up
        for (const std::string variant : {"own", "zstd", "deflate"}) {
            const bool own = variant == "own";
            const auto coding = own ? codec::Coding::rans : codec::Coding::planes;
            const Mode mode = own ? Mode::automatic : Mode::planes;
            const auto time = [&](const char* name, const std::function<void(Block<T>&)>& step) {
                const double took_s = on_all<T>(blocks, threads, step);
                if (repeat > 0) seconds[variant][name].push_back(took_s);
            };
            time("choose", [&](Block<T>& block) { choose(block, bound, mode); });
            time("predict", [](Block<T>& block) { predict(block); });
            time("code", [&](Block<T>& block) { code(block, coding); });
            if (!own) time("lossless", [&](Block<T>& block) { squeeze(block, variant); });
            stored[variant] = 0;
            for (const Block<T>& block : blocks)
                stored[variant] += (own ? block.coded.size() : block.squeezed.size()) +
                                   block.exact.values.size() * (sizeof(T) + 4);
        }
    }
    for (const auto& [variant, steps] : seconds) {
        json row = {{"variant", variant}, {"threads", threads}, {"bytes", stored[variant]}};
        for (const auto& [name, all] : steps)
            row[name + "_s"] = *std::min_element(all.begin(), all.end());
        rows.push_back(row);
    }
    return rows;
}

template <class T>
json of_field(std::ifstream& file, const Shape& shape, const std::vector<std::string>& words) {
    std::vector<T> values(shape.count());
    file.read(reinterpret_cast<char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(T)));
    if (!file) fail("the file is shorter than its shape says");
    const auto layers = std::stoull(words[5]);
    const std::size_t layer_values = shape.count() / shape[0];
    std::vector<Block<T>> blocks((shape[0] + layers - 1) / layers);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        blocks[i].shape = shape;
        blocks[i].shape[0] = std::min<std::uint64_t>(layers, shape[0] - i * layers);
        blocks[i].values =
            std::span<const T>(values).subspan(i * layers * layer_values, blocks[i].shape.count());
    }
    json rows = json::array();
    for (std::size_t i = 7; i < words.size(); ++i) {
        const json of_threads =
            measure(blocks, std::stod(words[4]), std::stoi(words[i]), std::stoi(words[6]));
        rows.insert(rows.end(), of_threads.begin(), of_threads.end());
    }
    return {{"raw_bytes", values.size() * sizeof(T)}, {"blocks", blocks.size()}, {"rows", rows}};
}

Shape parse_shape(const std::string& text) {
    std::vector<std::uint64_t> extents;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t used = 0;
        extents.push_back(std::stoull(text.substr(at), &used));
        at += used + 1;
    }
    return Shape(extents);
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv, argv + argc);
    if (words.size() < 8) fail("FILE TYPE SHAPE BOUND BLOCK_LAYERS REPEATS THREADS...");
    std::ifstream file(words[1], std::ios::binary);
    const Shape shape = parse_shape(words[3]);
    const json found = words[2] == "float64" ? of_field<double>(file, shape, words)
                                             : of_field<float>(file, shape, words);
    std::cout << found.dump(1) << "\n";
    return 0;
}
