#include "device/parcel.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace caesura::device {
namespace {

constexpr unsigned k_parcel_seed = 3;

std::vector<std::byte> random_bytes(std::mt19937_64& random, std::size_t n) {
    std::vector<std::byte> bytes(n);
    const bool empty_mostly = random() % 2 == 0;
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(empty_mostly && random() % 8 > 0 ? 0 : random());
    return bytes;
}

TEST(Parcel, every_piece_comes_back_alone_whatever_they_are) {
    std::mt19937_64 random(k_parcel_seed);
    for (int round = 0; round < 100; ++round) {
        const Coder coder = round % 2 == 0 ? Coder::codec : Coder::packed;
        std::vector<std::vector<std::byte>> raw;
        std::uint64_t bytes = 0;
        for (std::size_t i = 0, n = 1 + random() % 8; i < n; ++i) {
            raw.push_back(random_bytes(random, 1 + random() % 5000));
            bytes += raw.back().size();
        }
        const std::vector<std::span<const std::byte>> pieces(raw.begin(), raw.end());
        std::vector<std::byte> parcel(parcel_bytes_at_most(pieces.size(), bytes, coder));
        const auto packed = pack(pieces, {}, parcel, coder);
        ASSERT_TRUE(packed.ok()) << packed.status().message() << " seed " << k_parcel_seed;
        parcel.resize(*packed);
        for (std::size_t i = pieces.size(); i-- > 0;) {
            std::vector<std::byte> piece(raw[i].size());
            ASSERT_TRUE(unpack(parcel, i, piece).ok());
            EXPECT_EQ(piece, raw[i]) << "seed " << k_parcel_seed << " round " << round;
        }
        std::vector<std::byte> none(1);
        EXPECT_EQ(unpack(parcel, pieces.size(), none).code(), StatusCode::invalid_argument);
    }
}

/// A wave with what a codec must not touch among its values.
template <class T>
std::vector<T> wave(std::mt19937_64& random, std::size_t n) {
    std::vector<T> values(n);
    const double step = 1e-3 * static_cast<double>(1 + random() % 50);
    for (std::size_t i = 0; i < n; ++i)
        values[i] = static_cast<T>(3.0 * std::sin(step * static_cast<double>(i)) +
                                   1e-3 * static_cast<double>(random() % 100));
    values[random() % n] = std::numeric_limits<T>::quiet_NaN();
    values[random() % n] = std::numeric_limits<T>::infinity();
    values[random() % n] = std::numeric_limits<T>::max();
    values[random() % n] = T{-0.0};
    return values;
}

template <class T>
void expect_within(const std::vector<T>& made, const std::vector<T>& back, double bound) {
    for (std::size_t i = 0; i < made.size(); ++i) {
        if (std::isfinite(made[i]))
            ASSERT_LE(std::abs(static_cast<double>(back[i]) - static_cast<double>(made[i])), bound)
                << "value " << i;
        else
            ASSERT_EQ(std::memcmp(&made[i], &back[i], sizeof(T)), 0) << "value " << i;
    }
}

template <class T>
void pack_with_a_bound(DType dtype, unsigned seed, Coder coder) {
    std::mt19937_64 random(seed);
    for (const double bound : {1e-1, 1e-3, 1e-5})
        for (const Shape& shape :
             {Shape{5000}, Shape{50, 61}, Shape{17, 18, 19}, Shape{3, 4, 50, 6}}) {
            SCOPED_TRACE("seed " + std::to_string(seed) + " shape " + to_string(shape));
            const std::vector<T> first = wave<T>(random, shape.count());
            const std::vector<T> second = wave<T>(random, shape.count());
            const std::vector<std::span<const std::byte>> pieces = {
                std::as_bytes(std::span(first)), std::as_bytes(std::span(second))};
            std::vector<std::byte> parcel(parcel_bytes_at_most(2, 2 * pieces[0].size(), coder));
            const auto bytes = pack(pieces, {dtype, shape, absolute(bound)}, parcel, coder);
            ASSERT_TRUE(bytes.ok()) << bytes.status().message();
            EXPECT_LT(*bytes, 2 * pieces[0].size());
            parcel.resize(*bytes);
            std::vector<T> back(shape.count());
            ASSERT_TRUE(unpack(parcel, 1, std::as_writable_bytes(std::span(back))).ok());
            expect_within(second, back, bound);
            ASSERT_TRUE(unpack(parcel, 0, std::as_writable_bytes(std::span(back))).ok());
            expect_within(first, back, bound);
        }
}

TEST(Parcel, with_a_bound_every_finite_value_lies_within_it_and_all_else_is_as_it_was) {
    for (const Coder coder : {Coder::codec, Coder::packed}) {
        pack_with_a_bound<float>(float32, k_parcel_seed + 2, coder);
        pack_with_a_bound<double>(float64, k_parcel_seed + 3, coder);
    }
}

TEST(Parcel, contents_that_cannot_be_are_refused_by_name) {
    const std::vector<std::byte> raw(400);
    const std::vector<std::span<const std::byte>> pieces = {raw};
    std::vector<std::byte> parcel(parcel_bytes_at_most(1, 400));
    const auto refused = [&](const Content& content) { return pack(pieces, content, parcel); };
    EXPECT_TRUE(refused({float32, {10, 10}, absolute(1e-3)}).ok());
    EXPECT_TRUE(refused({float64, {50}, lossless()}).ok());
    const Status other = refused({float64, {10, 10}, absolute(1e-3)}).status();
    EXPECT_EQ(other.code(), StatusCode::invalid_argument);
    EXPECT_NE(other.message().find("[10, 10] values of float64 are 800 bytes"), std::string::npos)
        << other.message();
    EXPECT_EQ(refused({float32, {}, absolute(1e-3)}).status().code(), StatusCode::invalid_argument);
    EXPECT_EQ(refused({float32, {100}, absolute(-1.0)}).status().code(),
              StatusCode::invalid_argument);
    EXPECT_EQ(refused({float32, {100}, relative(1e-3)}).status().code(), StatusCode::unsupported);
}

TEST(Parcel, cut_off_or_flipped_anywhere_it_is_an_error_or_says_the_same) {
    std::mt19937_64 random(k_parcel_seed + 1);
    const auto first = random_bytes(random, 300), second = random_bytes(random, 200);
    const std::vector<std::span<const std::byte>> pieces = {first, second};
    std::vector<std::byte> parcel(parcel_bytes_at_most(2, 500));
    parcel.resize(*pack(pieces, {}, parcel));
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
