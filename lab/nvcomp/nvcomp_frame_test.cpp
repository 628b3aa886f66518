// Goal: a frame of nvCOMP's coders is read as nvcomp_format.hpp says, and whatever is damaged or
// forged in it is an error or leaves every chunk within frame and piece.
#include "nvcomp/nvcomp_frame.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "device/parcel.hpp"

namespace caesura::device::nvcomp {
namespace {

constexpr unsigned k_nvcomp_frame_seed = 11;
using Bytes = std::vector<std::byte>;

struct Made {
    Header header;
    std::vector<Line> lines;
    Bytes body;  ///< what is in it is not looked at here

    Bytes frame() const {
        Bytes bytes(frame_bytes(header.chunks, header.shift, header.body_bytes));
        std::memcpy(bytes.data(), &header, sizeof header);
        for (std::size_t i = 0; i < lines.size(); ++i)
            std::memcpy(bytes.data() + line_begin(i), &lines[i], sizeof lines[i]);
        std::copy(
            body.begin(), body.end(),
            bytes.begin() + static_cast<std::ptrdiff_t>(body_begin(header.chunks, header.shift)));
        return bytes;
    }
    void seal() { header.checksum = header_checksum(header); }
};

/// Of pieces of random sizes; chunks shrink to a random size, some not at all.
Made random_frame(std::mt19937_64& random) {
    Made made;
    Header& header = made.header;
    header.coder = static_cast<std::uint8_t>(2 + random() % 5);
    header.value_bytes = random() % 2 == 0 ? 4 : 8;
    header.raw_bytes = 1 + random() % (5 * k_chunk_bytes);
    header.tail_bytes = static_cast<std::uint8_t>(header.raw_bytes % header.value_bytes);
    header.chunks = static_cast<std::uint32_t>(chunks_of(header.raw_bytes, header.value_bytes));
    header.shift = random() % 2 == 0 ? 0 : 8;
    std::uint64_t at = 0;
    for (std::uint64_t c = 0; c < header.chunks; ++c) {
        const std::uint64_t raw = chunk_raw_bytes(header.raw_bytes, header.value_bytes, c);
        const std::uint64_t bytes = random() % 3 == 0 ? raw : 1 + random() % raw;
        const std::uint64_t own = random();
        made.lines.push_back({at + bytes, chunk_checksum_seed(c, at, at + bytes) + own});
        at = filled_up(at + bytes);
    }
    header.body_bytes = at;
    made.body.assign(at, std::byte{0x5a});
    made.seal();
    return made;
}

/// @return what reading says; if it succeeds, that everything lies where it may.
Status read(const Bytes& frame) {
    const auto header = read_header(frame, frame.size());
    if (!header.ok()) return header.status();
    const auto chunks = read_chunks(*header, frame);
    if (!chunks.ok()) return chunks.status();
    std::uint64_t raw = 0;
    for (const Chunk& chunk : *chunks) {
        EXPECT_LE(chunk.offset, frame.size());
        EXPECT_LE(chunk.bytes, frame.size() - chunk.offset);
        EXPECT_EQ(chunk.raw_offset, raw);
        EXPECT_LE(chunk.bytes, chunk.raw_bytes);
        EXPECT_GT(chunk.bytes, 0u);
        // Of the last word too, which checksums read whole.
        EXPECT_LE(chunk.offset + (chunk.bytes + 3) / 4 * 4, frame.size());
        raw += chunk.raw_bytes;
    }
    EXPECT_EQ(raw + header->tail_bytes, header->raw_bytes);
    return {};
}

TEST(NvcompFrame, is_read_as_it_was_written) {
    std::mt19937_64 random(k_nvcomp_frame_seed);
    for (int round = 0; round < 200; ++round) {
        const Made made = random_frame(random);
        const Bytes frame = made.frame();
        ASSERT_TRUE(is_frame(frame));
        const auto header = read_header(frame, frame.size());
        ASSERT_TRUE(header.ok()) << header.status().message() << " seed " << k_nvcomp_frame_seed;
        EXPECT_EQ(std::memcmp(&*header, &made.header, sizeof made.header), 0);
        const auto chunks = read_chunks(*header, std::span(frame).first(table_bytes(*header)));
        ASSERT_TRUE(chunks.ok()) << chunks.status().message() << " seed " << k_nvcomp_frame_seed;
        for (std::size_t c = 0; c < chunks->size(); ++c) {
            const std::uint64_t begin = c == 0 ? 0 : filled_up(made.lines[c - 1].end_bytes);
            EXPECT_EQ((*chunks)[c].offset, body_begin(header->chunks, header->shift) + begin);
            EXPECT_EQ((*chunks)[c].bytes, made.lines[c].end_bytes - begin);
            EXPECT_EQ(
                (*chunks)[c].checksum,
                made.lines[c].checksum - chunk_checksum_seed(c, begin, made.lines[c].end_bytes));
        }
        EXPECT_TRUE(read(frame).ok());
        EXPECT_LE(parcel_table_bytes(1) + frame.size(),
                  parcel_table_bytes(1) + frames_bytes_at_most(1, made.header.raw_bytes));
    }
}

TEST(NvcompFrame, every_damaged_bit_of_the_header_is_told) {
    std::mt19937_64 random(k_nvcomp_frame_seed + 1);
    const Bytes frame = random_frame(random).frame();
    for (std::size_t bit = 0; bit < 8 * sizeof(Header); ++bit) {
        Bytes damaged = frame;
        damaged[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
        EXPECT_FALSE(read(damaged).ok()) << "bit " << bit;
    }
}

/// A line that is damaged names other places, or a checksum that the chunk does not have.
TEST(NvcompFrame, every_damaged_bit_of_a_line_changes_what_the_chunk_must_add_up_to) {
    std::mt19937_64 random(k_nvcomp_frame_seed + 2);
    for (int round = 0; round < 20; ++round) {
        const Made made = random_frame(random);
        const Bytes frame = made.frame();
        const auto right = read_chunks(made.header, frame);
        ASSERT_TRUE(right.ok());
        for (std::size_t bit = 8 * line_begin(0); bit < 8 * line_begin(made.header.chunks); ++bit) {
            Bytes damaged = frame;
            damaged[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
            if (!read(damaged).ok()) continue;
            const auto chunks = read_chunks(made.header, damaged);
            const std::size_t c = (bit / 8 - line_begin(0)) / sizeof(Line);
            EXPECT_NE((*chunks)[c].checksum, (*right)[c].checksum) << "bit " << bit;
        }
    }
}

TEST(NvcompFrame, cut_off_anywhere_it_is_an_error) {
    std::mt19937_64 random(k_nvcomp_frame_seed + 3);
    const Bytes frame = random_frame(random).frame();
    for (std::size_t bytes = 0; bytes < frame.size(); bytes += bytes < 200 ? 1 : 997) {
        const Bytes cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(bytes));
        EXPECT_FALSE(read(cut).ok()) << bytes;
    }
    Bytes longer = frame;
    longer.resize(frame.size() + 16);
    EXPECT_FALSE(read(longer).ok());
}

/// Whoever forges a header makes its checksum right, too.
TEST(NvcompFrame, forged_numbers_never_lead_outside) {
    std::mt19937_64 random(k_nvcomp_frame_seed + 4);
    const std::uint64_t numbers[] = {0,          1,          7,          8,          15,
                                     16,         65535,      65536,      65537,      1u << 20,
                                     0x7fffffff, 0x80000000, 0xffffffff, 1ull << 32, 1ull << 48,
                                     1ull << 63, ~0ull,      ~0ull - 15, ~0ull - 64};
    int accepted = 0;
    for (int round = 0; round < 2'000; ++round) {
        Made made = random_frame(random);
        Bytes frame = made.frame();
        Header& header = made.header;
        const std::uint64_t number = numbers[random() % std::size(numbers)] + random() % 3 - 1;
        switch (random() % 9) {
            case 0:
                header.raw_bytes = number;
                break;
            case 1:
                header.body_bytes = number;
                break;
            case 2:
                header.chunks = static_cast<std::uint32_t>(number);
                break;
            case 3:
                header.shift = static_cast<std::uint32_t>(number);
                break;
            case 4:
                header.value_bytes = static_cast<std::uint8_t>(number);
                break;
            case 5:
                header.tail_bytes = static_cast<std::uint8_t>(number);
                break;
            case 6:
                header.chunk_bytes = static_cast<std::uint32_t>(number);
                break;
            case 7:
                header.coder = static_cast<std::uint8_t>(number);
                break;
            default:
                if (!made.lines.empty())
                    std::memcpy(frame.data() + line_begin(random() % made.lines.size()), &number,
                                sizeof number);
        }
        made.seal();
        std::memcpy(frame.data(), &header, sizeof header);
        accepted += read(frame).ok();
    }
    EXPECT_GT(accepted, 0);  // numbers that are right by chance
    EXPECT_LT(accepted, 1'000);
}

TEST(NvcompFrame, the_host_does_not_unpack_it_and_says_who_does) {
    std::mt19937_64 random(k_nvcomp_frame_seed + 5);
    const Made made = random_frame(random);
    const Bytes frame = made.frame();
    Bytes parcel(parcel_table_bytes(1));
    const std::uint64_t bytes = frame.size();
    write_table(std::span(&bytes, 1), parcel);
    parcel.insert(parcel.end(), frame.begin(), frame.end());
    Bytes piece(made.header.raw_bytes);
    const Status status = unpack(parcel, 0, piece);
    EXPECT_EQ(status.code(), StatusCode::unsupported);
    EXPECT_NE(status.message().find("nvCOMP"), std::string::npos);
    EXPECT_EQ(pack({}, {}, parcel, Coder::nvcomp_lz4).status().code(), StatusCode::unsupported);
}

}  // namespace
}  // namespace caesura::device::nvcomp
