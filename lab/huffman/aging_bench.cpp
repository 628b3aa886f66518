// How much larger do a field's dumps get when they are coded with the Huffman tree of an earlier
// dump? As bench/codec/aging.cpp, for S0's coder instead of rANS.
//
//     huffman_aging DIRECTORY FIELD FIRST AGES MODE KIND BOUND
//
// Reads DIRECTORY/FIELD_<FIRST + age>.bin (raw float32 cubes) for age 0..AGES, trains a tree on the
// first, and prints one CSV line per age: the frame's size with a tree trained on that very dump,
// with the first dump's tree and the drift check on, the same with the check off, with a tree of
// its own in every block, and whether the checked blocks carry trees of their own. Every section is
// decoded and compared. MODE fast|strong, KIND absolute|relative.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "caesura/codec.hpp"
#include "huffman/frame_codes.hpp"
#include "huffman/huffman_coder.hpp"

namespace {

using namespace caesura;
using lab::huffman::FrameCodes, lab::huffman::HuffmanCounts, lab::huffman::HuffmanLengths;

/// One dump of the field, and how it is to be coded.
struct Series {
    std::string directory, field;
    int first = 0, ages = 0;
    CompressOptions options;
    ErrorBound bound;
};

/// A dump's codes, and what its frame takes beside them.
struct Dump {
    FrameCodes codes;
    std::size_t raw_bytes = 0, other_bytes = 0;
};

[[noreturn]] void fail(const std::string& message) {
    std::cerr << "huffman_aging: " << message << "\n";
    std::exit(1);
}

std::vector<float> read_cube(const Series& series, int number) {
    const std::string path =
        series.directory + "/" + series.field + "_" + std::to_string(number) + ".bin";
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) fail("cannot read " + path);
    std::vector<float> values(static_cast<std::size_t>(file.tellg()) / sizeof(float));
    file.seekg(0);
    file.read(reinterpret_cast<char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(float)));
    if (!file) fail("cannot read " + path);
    return values;
}

Dump read_dump(const Series& series, int number) {
    const auto values = read_cube(series, number);
    const auto side = static_cast<std::uint64_t>(std::llround(std::cbrt(values.size())));
    if (side * side * side != values.size()) fail("not a cube");
    const auto frame = compress(std::as_bytes(std::span(values)), DType::float32,
                                Shape{side, side, side}, series.bound, series.options);
    if (!frame.ok()) fail(frame.status().message());
    auto codes = lab::huffman::codes_of(*frame, nullptr);
    if (!codes.ok()) fail(codes.status().message());
    const auto other = static_cast<std::size_t>(frame->size() - codes->section_bytes);
    return {std::move(*codes), values.size() * sizeof(float), other};
}

void check_section(std::span<const std::byte> section, const std::vector<std::uint32_t>& codes,
                   const HuffmanLengths& tree) {
    lab::huffman::HuffmanDecoder decoder;
    Status status = decoder.open(section, codes.size(), tree);
    if (!status.ok()) fail(status.message());
    codec::CodeReader reader(decoder);
    for (std::size_t i = 0; i < codes.size(); ++i) {
        if (*reader.take(1) != codes[i]) fail("code " + std::to_string(i) + " came back changed");
    }
    status = decoder.close();
    if (!status.ok()) fail(status.message());
}

/// The frame's size with this tree (all 0: one of its own in every block).
std::size_t code(const Dump& dump, const HuffmanLengths& tree, bool drift_check = true,
                 HuffmanCounts* counts = nullptr, bool* inlined = nullptr) {
    std::size_t bytes = dump.other_bytes;
    for (const auto& codes : dump.codes.slabs) {
        lab::huffman::HuffmanEncoder encoder;
        encoder.set_drift_check(drift_check);
        codec::Output section;
        encoder.begin(tree, counts, section);
        codec::CodeWriter writer(encoder);
        for (const std::uint32_t value : codes) {
            *writer.room() = value;
            writer.advance(1);
        }
        writer.finish();
        const bool own = encoder.finish();
        if (inlined != nullptr) *inlined = *inlined || own;
        check_section(section.bytes(), codes, tree);
        bytes += section.size();
    }
    return bytes;
}

HuffmanLengths train_on(const Dump& dump) {
    HuffmanCounts counts{};
    code(dump, {}, true, &counts);
    return lab::huffman::train(counts);
}

void run(const Series& series) {
    const HuffmanLengths old = train_on(read_dump(series, series.first));
    std::cout << "age,raw,fresh,reused,unchecked,builtin,inlined\n";
    for (int age = 0; age <= series.ages; ++age) {
        const Dump dump = read_dump(series, series.first + age);
        bool inlined = false;
        const std::size_t reused = code(dump, old, true, nullptr, &inlined);
        std::cout << age << ',' << dump.raw_bytes << ',' << code(dump, train_on(dump)) << ','
                  << reused << ',' << code(dump, old, false) << ',' << code(dump, {}) << ','
                  << inlined << "\n";
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() != 7) fail("wants DIRECTORY FIELD FIRST AGES MODE KIND BOUND");
    Series series;
    series.directory = words[0];
    series.field = words[1];
    series.first = std::stoi(words[2]);
    series.ages = std::stoi(words[3]);
    series.options.mode = words[4] == "fast" ? Mode::fast : Mode::strong;
    const double bound = std::stod(words[6]);
    series.bound = words[5] == "relative" ? relative(bound) : absolute(bound);
    run(series);
    return 0;
}
