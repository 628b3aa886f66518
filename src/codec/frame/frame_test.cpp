// Headers and layouts: what is written is read back; everything else is an error that says why.
#include "codec/frame/frame.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "codec/frame/byte_io.hpp"

namespace caesura::codec {
namespace {

using Bytes = std::vector<std::byte>;

FrameHeader header_of(const Shape& shape, bool slabs = false) {
    FrameHeader header;
    header.dtype = DType::float64;
    header.shape = shape;
    header.bound = pointwise_relative(1e-3);
    header.slabs = slabs;
    return header;
}

/// A frame whose parts hold `part_bytes` arbitrary bytes each.
Bytes frame_of(const FrameHeader& header, const Slabs& slabs,
               const std::vector<std::size_t>& part_bytes) {
    Output frame;
    write_header(header, frame);
    if (header.slabs) write_slab_table(slabs, frame);
    for (std::size_t i = 0; i < part_bytes.size(); ++i) {
        const Bytes part(part_bytes[i], static_cast<std::byte>(i + 1));
        frame.append(part);
        if (header.slabs) set_part(frame.bytes(), header, i, part.size(), part_checksum(part, i));
    }
    EXPECT_TRUE(seal(frame.bytes()).ok());
    return frame.take();
}

TEST(Frame, the_bytes_of_a_header_are_those_of_the_format) {
    // Goal: pin version 1. A change here is a change of the format.
    FrameHeader header;
    header.shape = Shape{2, 3, 258};
    header.bound = absolute(0.5);
    header.checksum = false;
    Output bytes;
    write_header(header, bytes);
    const unsigned char expected[] = {0x8a, 'C', 'F', 'R', 1, 0, 1,    0x31,  // magic .. rank, kind
                                      0,    0,   0,   0,   0, 0, 0,    0,     // checksum
                                      0,    0,   0,   0,   0, 0, 0xe0, 0x3f,  // 0.5
                                      2,    0,   0,   0,   0, 0, 0,    0,     // extents
                                      3,    0,   0,   0,   0, 0, 0,    0,     //
                                      2,    1,   0,   0,   0, 0, 0,    0};
    ASSERT_EQ(bytes.size(), sizeof expected);
    EXPECT_EQ(0, std::memcmp(bytes.data(), expected, sizeof expected));
}

TEST(Frame, headers_come_back_as_they_were) {
    for (int rank = 1; rank <= 4; ++rank) {
        for (const bool checksum : {false, true}) {
            FrameHeader header = header_of(Shape::filled(rank, 7));
            header.checksum = checksum;
            const Bytes frame = frame_of(header, Slabs::one(header.shape), {5});
            const auto layout = read_layout(frame);
            ASSERT_TRUE(layout.ok()) << layout.status().message();
            EXPECT_EQ(layout->header.shape, header.shape);
            EXPECT_EQ(layout->header.bound, header.bound);
            EXPECT_EQ(layout->header.dtype, header.dtype);
            EXPECT_EQ(layout->header.checksum, checksum);
            EXPECT_EQ(layout->parts.size(), 1u);
            EXPECT_EQ(layout->parts[0].size(), 5u);
            EXPECT_EQ(header.header_bytes(), frame.size() - 5);
        }
    }
}

TEST(Frame, slabs_come_back_in_order) {
    const Shape shape{3, 10, 4};
    const auto slabs = Slabs::make(shape, {1, 4});
    ASSERT_TRUE(slabs.ok());
    ASSERT_EQ(slabs->count(), 9u);
    const Bytes frame = frame_of(header_of(shape, true), *slabs, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    const auto layout = read_layout(frame);
    ASSERT_TRUE(layout.ok()) << layout.status().message();
    EXPECT_EQ(layout->slabs.cut(), slabs->cut());
    for (std::size_t i = 0; i < 9; ++i) {
        EXPECT_EQ(layout->parts[i].size(), i + 1);
        EXPECT_EQ(layout->parts[i][0], static_cast<std::byte>(i + 1));
    }
}

TEST(Frame, every_truncation_and_addition_is_an_error) {
    const Shape shape{3, 10, 4};
    const Bytes frame = frame_of(header_of(shape, true), *Slabs::make(shape, {0, 1}), {3, 4, 5});
    for (std::size_t length = 0; length < frame.size(); ++length) {
        const auto layout = read_layout(std::span(frame).first(length));
        EXPECT_EQ(layout.status().code(), StatusCode::insufficient_data) << length;
    }
    Bytes longer = frame;
    longer.push_back(std::byte{0});
    EXPECT_EQ(read_layout(longer).status().code(), StatusCode::corrupt);
}

/// Does anything tell that the frame is not as it was written?
bool holds(const Bytes& frame) {
    const auto layout = read_layout(frame);
    if (!layout.ok()) return false;
    if (!layout->header.checksum) return true;
    bool good = verify_checksum(frame, *layout).ok();
    for (std::size_t i = 0; i < layout->part_checksums.size(); ++i)
        good = good && verify_part(*layout, i).ok();
    return good;
}

TEST(Frame, every_changed_bit_changes_a_checksum_or_the_layout) {
    const Shape shape{3, 10, 4};
    for (const bool cut : {false, true}) {
        const Slabs slabs = cut ? *Slabs::make(shape, {0, 1}) : Slabs::one(shape);
        const auto sizes = cut ? std::vector<std::size_t>{3, 4, 5} : std::vector<std::size_t>{12};
        Bytes frame = frame_of(header_of(shape, cut), slabs, sizes);
        for (std::size_t bit = 0; bit < 8 * frame.size(); ++bit) {
            const auto mask = static_cast<std::byte>(1U << (bit % 8));
            frame[bit / 8] ^= mask;
            EXPECT_FALSE(holds(frame)) << bit;
            frame[bit / 8] ^= mask;
        }
        EXPECT_TRUE(holds(frame));
    }
}

TEST(Frame, parts_that_change_places_are_noticed) {
    // Goal: the same bytes under another slab's number are an error.
    const Shape shape{2, 10, 4};
    const FrameHeader header = header_of(shape, true);
    Bytes frame = frame_of(header, *Slabs::make(shape, {0, 1}), {4, 4});
    std::swap_ranges(frame.end() - 8, frame.end() - 4, frame.end() - 4);
    EXPECT_FALSE(holds(frame));
    EXPECT_NE(part_checksum(std::span(frame).last(4), 0),
              part_checksum(std::span(frame).last(4), 1));
}

TEST(Frame, impossible_headers_say_what_is_wrong) {
    const auto status_with = [](std::size_t at, unsigned value) {
        FrameHeader header = header_of(Shape{4, 5});
        header.checksum = false;
        Bytes frame = frame_of(header, Slabs::one(header.shape), {9});
        frame[at] = static_cast<std::byte>(value);
        return read_layout(frame).status();
    };
    EXPECT_EQ(status_with(0, 'x').code(), StatusCode::corrupt);
    EXPECT_EQ(status_with(4, 7).code(), StatusCode::unsupported);
    EXPECT_NE(status_with(4, 7).message().find("version 7"), std::string::npos);
    EXPECT_EQ(status_with(4, 6).code(),
              StatusCode::corrupt);                            // of missing values, and it has none
    EXPECT_EQ(status_with(4, 3).code(), StatusCode::corrupt);  // of integers, and it has floats
    EXPECT_EQ(status_with(4, 4).code(), StatusCode::corrupt);  // of bool and 16 bits
    EXPECT_EQ(status_with(6, 0x81).code(), StatusCode::corrupt);  // float32 is not widened
    EXPECT_EQ(status_with(4, 0).code(), StatusCode::unsupported);
    EXPECT_EQ(status_with(5, 4).code(), StatusCode::corrupt);               // flags
    EXPECT_EQ(status_with(6, 3).code(), StatusCode::corrupt);               // type
    EXPECT_EQ(status_with(7, 0x25).code(), StatusCode::corrupt);            // kind of bound
    EXPECT_EQ(status_with(7, 0x53).code(), StatusCode::insufficient_data);  // 5 axes
    EXPECT_EQ(status_with(7, 0x03).code(), StatusCode::corrupt);            // no axis
    EXPECT_EQ(status_with(23, 0xff).code(), StatusCode::corrupt);           // a negative bound
    EXPECT_EQ(status_with(24, 0).code(), StatusCode::corrupt);              // extent 0
    EXPECT_EQ(status_with(31, 0x80).code(), StatusCode::corrupt);           // 2^63 rows
}

TEST(Frame, a_slab_table_larger_than_the_frame_takes_no_memory) {
    FrameHeader header = header_of(Shape{std::uint64_t{1} << 40}, true);
    Output frame;
    write_header(header, frame);
    ByteWriter(frame).u32(0).u64(1);  // thickness 1: 2^40 slabs
    frame.append_zeros(1000);
    EXPECT_EQ(read_layout(frame.bytes()).status().code(), StatusCode::insufficient_data);
}

}  // namespace
}  // namespace caesura::codec
