#include "device/parcel.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace caesura::device {
namespace {

constexpr unsigned k_seed = 3;

std::vector<std::byte> random_bytes(std::mt19937_64& random, std::size_t n) {
    std::vector<std::byte> bytes(n);
    const bool empty_mostly = random() % 2 == 0;
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(empty_mostly && random() % 8 > 0 ? 0 : random());
    return bytes;
}

TEST(Parcel, every_piece_comes_back_alone_whatever_they_are) {
    std::mt19937_64 random(k_seed);
    for (int round = 0; round < 50; ++round) {
        std::vector<std::vector<std::byte>> raw;
        std::uint64_t bytes = 0;
        for (std::size_t i = 0, n = 1 + random() % 8; i < n; ++i) {
            raw.push_back(random_bytes(random, 1 + random() % 5000));
            bytes += raw.back().size();
        }
        const std::vector<std::span<const std::byte>> pieces(raw.begin(), raw.end());
        std::vector<std::byte> parcel(parcel_bytes_at_most(pieces.size(), bytes));
        const auto packed = pack(pieces, parcel);
        ASSERT_TRUE(packed.ok()) << packed.status().message() << " seed " << k_seed;
        parcel.resize(*packed);
        for (std::size_t i = pieces.size(); i-- > 0;) {
            std::vector<std::byte> piece(raw[i].size());
            ASSERT_TRUE(unpack(parcel, i, piece).ok());
            EXPECT_EQ(piece, raw[i]) << "seed " << k_seed << " round " << round;
        }
        std::vector<std::byte> none(1);
        EXPECT_EQ(unpack(parcel, pieces.size(), none).code(), StatusCode::invalid_argument);
    }
}

TEST(Parcel, cut_off_or_flipped_anywhere_it_is_an_error_or_says_the_same) {
    std::mt19937_64 random(k_seed + 1);
    const auto first = random_bytes(random, 300), second = random_bytes(random, 200);
    const std::vector<std::span<const std::byte>> pieces = {first, second};
    std::vector<std::byte> parcel(parcel_bytes_at_most(2, 500));
    parcel.resize(*pack(pieces, parcel));
    std::vector<std::byte> piece(second.size());
    for (std::size_t n = 0; n < parcel.size(); ++n)
        EXPECT_FALSE(unpack(std::span(parcel).first(n), 1, piece).ok()) << n;
    for (std::size_t n = 0; n < parcel.size(); ++n) {
        parcel[n] ^= std::byte{0x10};
        const bool ok = unpack(parcel, 1, piece).ok();
        EXPECT_TRUE(!ok || piece == second) << n;
        parcel[n] ^= std::byte{0x10};
    }
}

}  // namespace
}  // namespace caesura::device
