// Parts: heads and sections come back as written; positions, masks, gaps and overrides keep every
// bit; wrong numbers in a head are errors that say which.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "codec/bound/exact_values.hpp"
#include "codec/bound/gaps.hpp"
#include "codec/frame/frame.hpp"
#include "codec/test_arrays.hpp"

namespace caesura::codec {
namespace {

using Bytes = std::vector<std::byte>;

PartHeader some_header(PartKind kind, bool overrides) {
    PartHeader header;
    header.kind = kind;
    header.coding = Coding::planes;
    header.logarithm = overrides;
    header.overrides = overrides;
    header.centre = overrides ? -17 : 0;
    header.step = 0.5;
    header.bound = 0.25;
    header.table_set_id = 0x123456789abcdef0;
    header.exact_count = 5;
    header.override_count = overrides ? 3 : 0;
    header.lorenzo.axes = 5;
    header.interpolation.order = {2, 0, 1, 0};
    header.interpolation.feedback = {1, 2, 15, 0};
    header.interpolation.cubic = 3;
    header.interpolation.alpha = 33;
    header.interpolation.beta = 64;
    return header;
}

/// A part whose section s holds s + 1 bytes of value s; those that are written.
Bytes some_part(const PartHeader& header) {
    Output out;
    out.append(Bytes(3, std::byte{0xee}));  // parts are appended
    PartHeader first = header;
    first.exact_count = 0;  // known only at the end
    PartWriter part(first, out);
    for (std::size_t s = 0; s < (header.overrides ? k_sections : 3); ++s) {
        if (s == 1) continue;  // left out: empty
        out.append(Bytes(s + 1, static_cast<std::byte>(s)));
        part.end_section(static_cast<Section>(s));
    }
    part.finish(header);
    const auto part_bytes = out.bytes().subspan(3);
    return {part_bytes.begin(), part_bytes.end()};
}

TEST(Part, heads_and_sections_come_back) {
    const Shape shape{3, 4, 5};
    for (const PartKind kind : {PartKind::lorenzo, PartKind::interpolation}) {
        for (const bool overrides : {false, true}) {
            const PartHeader header = some_header(kind, overrides);
            const Bytes bytes = some_part(header);
            const auto part = read_part(bytes, shape);
            ASSERT_TRUE(part.ok()) << part.status().message();
            EXPECT_EQ(part->header.kind, kind);
            EXPECT_EQ(part->header.coding, header.coding);
            EXPECT_EQ(part->header.logarithm, overrides);
            EXPECT_EQ(part->header.overrides, overrides);
            EXPECT_EQ(part->header.centre, header.centre);
            EXPECT_EQ(part->header.step, header.step);
            EXPECT_EQ(part->header.bound, header.bound);
            EXPECT_EQ(part->header.table_set_id, header.table_set_id);
            EXPECT_EQ(part->header.exact_count, header.exact_count);
            EXPECT_EQ(part->header.override_count, header.override_count);
            if (kind == PartKind::lorenzo) {
                EXPECT_EQ(part->header.lorenzo.axes, 5);
            } else {
                EXPECT_EQ(part->header.interpolation.order, header.interpolation.order);
                EXPECT_EQ(part->header.interpolation.feedback, header.interpolation.feedback);
                EXPECT_EQ(part->header.interpolation.cubic, 3);
                EXPECT_EQ(part->header.interpolation.alpha, 33);
                EXPECT_EQ(part->header.interpolation.beta, 64);
            }
            for (std::size_t s = 0; s < k_sections; ++s) {
                const bool written = s != 1 && (overrides || s < 3);
                EXPECT_EQ(part->sections[s].size(), written ? s + 1 : 0);
                if (written) {
                    EXPECT_EQ(part->sections[s][0], static_cast<std::byte>(s));
                }
            }
        }
    }
}

TEST(Part, wrong_numbers_in_a_head_are_corrupt) {
    const Shape shape{3, 4, 5};
    const Bytes good = some_part(some_header(PartKind::interpolation, true));
    ASSERT_TRUE(read_part(good, shape).ok());
    const auto with = [&](std::size_t at, std::vector<unsigned> values) {
        Bytes bytes = good;
        for (std::size_t i = 0; i < values.size(); ++i)
            bytes[at + i] = static_cast<std::byte>(values[i]);
        return read_part(bytes, shape).status().code();
    };
    EXPECT_EQ(with(0, {9}), StatusCode::corrupt);            // kind
    EXPECT_EQ(with(1, {4}), StatusCode::corrupt);            // coding
    EXPECT_EQ(with(1, {1}), StatusCode::unsupported);        // Huffman, which was one once
    EXPECT_EQ(with(2, {8}), StatusCode::corrupt);            // flags
    EXPECT_EQ(with(2, {2}), StatusCode::corrupt);            // a logarithm without overrides
    EXPECT_EQ(with(3, {1}), StatusCode::corrupt);            // reserved
    EXPECT_EQ(with(4, {61}), StatusCode::corrupt);           // more exact values than values
    EXPECT_EQ(with(15, {0xff}), StatusCode::corrupt);        // a negative step
    EXPECT_EQ(with(22, {0xf0, 0x7f}), StatusCode::corrupt);  // an infinite bound
    EXPECT_EQ(with(32, {3}), StatusCode::corrupt);           // axis 3 of 3
    EXPECT_EQ(with(43, {1}), StatusCode::corrupt);           // past the settings
    EXPECT_EQ(with(50, {0}), StatusCode::corrupt);           // centre
    EXPECT_EQ(with(52, {61}), StatusCode::corrupt);          // overrides
    EXPECT_EQ(with(63, {0x80}), StatusCode::corrupt);        // a section of 2^63 bytes
    for (std::size_t length = 1; length < good.size(); ++length)
        EXPECT_FALSE(read_part(std::span(good).first(length), shape).ok());
}

TEST(Part, slabs_with_more_values_than_positions_reach_are_corrupt) {
    PartHeader header = some_header(PartKind::interpolation, true);
    header.interpolation.order = {0, 1, 0, 0};
    const Bytes part = some_part(header);
    EXPECT_TRUE(read_part(part, Shape{2, (1U << 30) - 1}).ok());
    for (const Shape& shape : {Shape{2, 1U << 30}, Shape{1, std::uint64_t{1} << 60}})
        EXPECT_EQ(read_part(part, shape).status().code(), StatusCode::corrupt);
}

TEST(ExactValues, positions_come_back_and_runs_cost_nothing) {
    std::mt19937 random(1);
    LosslessPacker packer;
    LosslessUnpacker unpacker;
    for (const unsigned gap : {1U, 2U, 1000U}) {
        std::vector<std::uint32_t> positions;
        std::uint32_t at = random() % gap;
        for (int i = 0; i < 20000; ++i, at += 1 + random() % gap) positions.push_back(at);
        Output out;
        pack_positions(positions, packer, out);
        const Bytes section = out.take();
        if (gap == 1) {
            EXPECT_LT(section.size(), 200u);
        }
        std::vector<std::uint32_t> back;
        EXPECT_TRUE(unpack_positions(section, positions.size(), at, unpacker, back).ok());
        EXPECT_EQ(back, positions);
        EXPECT_EQ(
            unpack_positions(section, positions.size(), positions.back(), unpacker, back).code(),
            StatusCode::corrupt);  // the last one is outside
    }
    Output twice;
    pack_positions(std::vector<std::uint32_t>{7, 7}, packer, twice);
    std::vector<std::uint32_t> back;
    EXPECT_EQ(unpack_positions(twice.bytes(), 2, 100, unpacker, back).code(), StatusCode::corrupt);
}

template <class T>
void expect_gaps_taken_out() {
    const Shape shape{5000};
    const auto smooth = smooth_array<T>(shape, 1);
    const T bound = T(1e-3);
    EXPECT_FALSE(has_many_gaps<T>(smooth, bound));
    const T gaps[] = {std::numeric_limits<T>::quiet_NaN(), -std::numeric_limits<T>::infinity(),
                      T(1e30)};
    auto values = smooth;
    std::vector<std::uint32_t> expected;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i % 100 >= 30 && i != 4999) continue;
        values[i] = gaps[i / 100 % 3];
        expected.push_back(static_cast<std::uint32_t>(i));
    }
    EXPECT_TRUE(has_many_gaps<T>(values, bound));
    FilledSlab<T> slab;
    slab.fill(values, bound);
    EXPECT_EQ(std::vector<std::uint32_t>(slab.positions().begin(), slab.positions().end()),
              expected);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const T kept = slab.values()[i];
        EXPECT_LE(std::abs(kept), T(2));
        if (i % 100 >= 30 && i != 4999) {
            EXPECT_EQ(kept, values[i]);
        }
    }
}

TEST(Gaps, are_found_and_filled_with_what_was_before_them) {
    expect_gaps_taken_out<float>();
    expect_gaps_taken_out<double>();
}

}  // namespace
}  // namespace caesura::codec
