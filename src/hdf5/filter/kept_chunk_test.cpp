// Chunks with kept values: what is written is read, and wrong bytes are errors.
#include "hdf5/filter/kept_chunk.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "hdf5/filter/filter.hpp"

namespace caesura::hdf5 {
namespace {

Settings settings_with_fill(std::uint32_t n) {
    Settings settings;
    settings.element = Element::float32;
    settings.element_bytes = 4;
    settings.chunk = {n};
    settings.bound = absolute(0.01);
    settings.fill = 0;
    return settings;
}

std::vector<std::byte> some_chunk(std::uint32_t n) {
    std::vector<float> values(n);
    for (std::uint32_t i = 0; i < n; ++i)
        values[i] = i % 50 == 3 ? 0.0F : 3.0F + 0.001F * static_cast<float>(i * i % 71);
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

TEST(KeptChunk, any_changed_byte_is_an_error) {
    constexpr std::uint32_t k_n = 2000;
    const Settings settings = settings_with_fill(k_n);
    const auto stored = encode_chunk(settings, some_chunk(k_n), Fineness{11});
    ASSERT_TRUE(stored.ok()) << stored.status().message();
    const auto kept = read_kept_chunk(*stored);
    ASSERT_TRUE(kept.ok()) << kept.status().message();
    EXPECT_FALSE(kept->runs.empty());
    std::vector<std::byte> chunk(4 * k_n);
    ASSERT_TRUE(decode_chunk(settings, *stored, chunk).ok());
    for (unsigned seed = 0; seed < 3000; ++seed) {
        SCOPED_TRACE(fmt::format("seed {}", seed));
        std::mt19937_64 random(seed);
        auto broken = *stored;
        if (seed % 3 == 0)
            broken.resize(random() % broken.size());
        else
            broken[seed % 3 == 1 ? seed % 44 : random() % broken.size()] ^=
                static_cast<std::byte>(1 + random() % 255);
        EXPECT_FALSE(decode_chunk(settings, broken, chunk).ok());
    }
}

TEST(KeptChunk, of_a_later_version_is_unsupported) {
    auto stored = encode_chunk(settings_with_fill(100), some_chunk(100)).value();
    stored[4] = std::byte{2};
    EXPECT_EQ(read_kept_chunk(stored).status().code(), StatusCode::unsupported);
}

TEST(KeptChunk, in_a_dataset_of_other_values_is_an_error) {
    const auto stored = encode_chunk(settings_with_fill(100), some_chunk(100)).value();
    for (const DType dtype : {DType::float64, DType::uint32, DType::bfloat16}) {
        const Settings other = settings_of(dtype, {100}, lossless(), Mode::automatic, TableSet());
        std::vector<std::byte> chunk(static_cast<std::size_t>(other.chunk_bytes()));
        EXPECT_EQ(decode_chunk(other, stored, chunk).code(), StatusCode::corrupt);
    }
    std::vector<std::byte> longer(404);
    EXPECT_EQ(decode_chunk(settings_with_fill(101), stored, longer).code(), StatusCode::corrupt);
}

TEST(KeptChunk, runs_outside_of_the_chunk_are_an_error) {
    const std::vector<KeptRun> beyond = {{90, 11}}, overflowing = {{0xffffffffU, 0xffffffffU}};
    const std::vector<std::byte> values(11 * 4);
    for (const auto& runs : {beyond, overflowing}) {
        const auto stored = write_kept_chunk({}, runs, values, 4, true).value();
        std::vector<std::byte> chunk(400);
        EXPECT_EQ(put_kept(read_kept_chunk(stored).value(), 4, chunk).code(), StatusCode::corrupt);
    }
}

}  // namespace
}  // namespace caesura::hdf5
