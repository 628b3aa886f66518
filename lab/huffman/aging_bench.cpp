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
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "caesura/codec.hpp"
#include "codec/aging_series.hpp"
#include "huffman/frame_codes.hpp"
#include "huffman/huffman_coder.hpp"

namespace {

using namespace caesura;
using bench::cube_shape, bench::fail, bench::read_cube;
using Series = bench::DumpSeries;
using lab::huffman::FrameCodes, lab::huffman::HuffmanCounts, lab::huffman::HuffmanLengths;

/// A dump's codes, and what its frame takes beside them.
struct Dump {
    FrameCodes codes;
    std::size_t raw_bytes = 0, other_bytes = 0;
};

Dump read_dump(const Series& series, int number) {
    const auto values = read_cube(series, number);
    const auto frame = compress(std::as_bytes(std::span(values)), DType::float32,
                                cube_shape(values.size()), series.bound, series.options);
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
    run(bench::series_of(argc, argv));
    return 0;
}
