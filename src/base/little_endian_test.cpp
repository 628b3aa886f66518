#include "base/little_endian.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace caesura::base {
namespace {

using Record = ByteWriter<FixedRoom>;

// Goal: the lowest byte lies first, and what was written is read in the same order.
TEST(LittleEndian, is_written_lowest_byte_first_and_read_back) {
    std::vector<std::byte> memory(32, std::byte{0xee});
    const std::array tail{std::byte{7}, std::byte{8}};
    Record writer(memory);
    writer.u8(1).u32(0x05040302).u64(0x0d0c0b0a09080706).f64(-2.5).bytes(tail).pad_to(30);
    EXPECT_EQ(writer.at(), 30U);
    for (std::size_t i = 0; i < 13; ++i) EXPECT_EQ(std::to_integer<std::size_t>(memory[i]), i + 1);
    EXPECT_EQ(memory[29], std::byte{0});
    EXPECT_EQ(memory[30], std::byte{0xee});
    ByteReader reader(memory);
    EXPECT_EQ(reader.u8(), 1);
    EXPECT_EQ(reader.u32(), 0x05040302U);
    EXPECT_EQ(reader.u64(), 0x0d0c0b0a09080706U);
    EXPECT_EQ(reader.f64(), -2.5);
    EXPECT_EQ(reader.bytes(2)[1], std::byte{8});
    EXPECT_EQ(reader.at(), 23U);
    EXPECT_EQ(reader.rest().size(), 9U);
    reader.skip_to(1);
    EXPECT_EQ(reader.u32(), 0x05040302U);
    EXPECT_FALSE(reader.ended_early());
}

// Goal: a reader never leaves its bytes: zeros, nothing afterwards, and it says so.
TEST(LittleEndian, past_the_end_gives_zeros_and_is_said) {
    const std::vector<std::byte> memory(6, std::byte{0xff});
    const std::vector<void (*)(ByteReader&)> ways = {
        [](ByteReader& in) { EXPECT_EQ(in.u64(), 0U); },
        [](ByteReader& in) { EXPECT_TRUE(in.bytes(7).empty()); },
        [](ByteReader& in) { EXPECT_TRUE(in.bytes(~std::uint64_t{0}).empty()); },
        [](ByteReader& in) { in.skip_to(7); },
        [](ByteReader& in) {
            std::array<std::byte, 7> target{std::byte{1}};
            in.bytes(target);
            EXPECT_EQ(target, (std::array<std::byte, 7>{}));
        }};
    for (const auto& read_too_far : ways) {
        ByteReader reader(memory);
        EXPECT_FALSE(reader.ended_early());
        read_too_far(reader);
        EXPECT_TRUE(reader.ended_early());
        EXPECT_EQ(reader.u8(), 0);
        EXPECT_TRUE(reader.rest().empty());
    }
}

}  // namespace
}  // namespace caesura::base
