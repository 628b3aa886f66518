// What users type and what lies in files means what docs/reference/filter_parameters.md says.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "hdf5/filter/filter.hpp"

namespace caesura::hdf5 {
namespace {

using Words = std::vector<unsigned>;

TEST(CdValues, nothing_said_is_lossless) {
    const auto settings = parse_cd_values({});
    ASSERT_TRUE(settings.ok()) << settings.status().message();
    EXPECT_EQ(settings->bound, lossless());
    EXPECT_FALSE(settings->complete());
}

TEST(CdValues, user_form_is_mode_kind_mantissa_exponent) {
    const struct {
        Words words;
        Mode mode;
        ErrorBound bound;
    } k_cases[] = {
        {{0, 1, 1, 3}, Mode::automatic, absolute(1e-3)},
        {{1, 1, 25}, Mode::fast, absolute(25)},
        {{2, 2, 5, 4}, Mode::strong, relative(5e-4)},
        {{3, 3, 123, 5}, Mode::planes, pointwise_relative(1.23e-3)},
        {{4, 1, 1, 3}, Mode::regions, absolute(1e-3)},
        {{0, 4, 80, 0}, Mode::automatic, psnr(80)},
        {{0, 1, 7, 300}, Mode::automatic, absolute(7e-300)},
        {{0, 1, 4294967295U, 40}, Mode::automatic, absolute(4294967295e-40)},
        {{2}, Mode::strong, lossless()},
        {{1, 0, 5}, Mode::fast, lossless()},
    };
    for (const auto& one : k_cases) {
        SCOPED_TRACE(fmt::format("{}", one.words));
        const auto settings = parse_cd_values(one.words);
        ASSERT_TRUE(settings.ok()) << settings.status().message();
        EXPECT_EQ(settings->mode, one.mode);
        EXPECT_EQ(settings->bound, one.bound);  // the very double that the literal is
    }
}

TEST(CdValues, what_cannot_be_meant_is_refused) {
    const Words k_cases[] = {{5},          {0, 1},         {0, 5, 1, 3},    {0, 1, 0, 3},
                             {0, 2, 2, 0}, {0, 4, 400, 0}, {0, 1, 1, 3, 0}, {0, 1, 1, 4000000000U},
                             {17, 1, 1, 3}};
    for (const Words& words : k_cases) {
        SCOPED_TRACE(fmt::format("{}", words));
        const auto settings = parse_cd_values(words);
        ASSERT_FALSE(settings.ok());
        EXPECT_EQ(settings.status().code(), StatusCode::corrupt);
    }
}

const TableSet& trained_set() {
    static const TableSet set = [] {
        TableStatistics statistics;
        std::vector<float> values(40000);
        std::mt19937 random(7);
        std::normal_distribution<float> noise;
        for (float& value : values) value = noise(random);
        CompressOptions options;
        options.statistics = &statistics;
        const auto bytes = std::as_bytes(std::span(values));
        EXPECT_TRUE(compress(bytes, float32, {40000}, absolute(1e-3), options).ok());
        return statistics.train();
    }();
    EXPECT_NE(set.id(), 0U);
    return set;
}

Settings random_settings(std::mt19937_64& random) {
    const auto below = [&](std::uint64_t n) { return static_cast<unsigned>(random() % n); };
    Settings settings;
    settings.mode = static_cast<Mode>(below(5));
    settings.checksum = below(2) == 0;
    const ErrorBound k_bounds[] = {
        lossless(),     absolute(0.1),
        relative(1e-7), pointwise_relative(0.3),
        psnr(99.5),     absolute(std::numeric_limits<double>::denorm_min())};
    settings.bound = k_bounds[below(std::size(k_bounds))];
    settings.element = static_cast<Element>(below(6));
    const std::uint32_t k_bytes[] = {0, 4, 8, 1 + below(100000), 2, 2};
    settings.element_bytes = k_bytes[static_cast<std::size_t>(settings.element)];
    if (settings.element != Element::unknown && settings.element != Element::bytes)
        settings.big_endian = below(2) == 0;
    if (settings.element_bytes > 0) {
        const std::size_t rank = below(33);
        while (settings.chunk.size() < rank) settings.chunk.push_back(1 + below(2));
        if (settings.chunk_bytes() == 0) settings.chunk.assign(rank, 1);
    }
    if (below(2) == 0) settings.tables = trained_set();
    const bool is_float =
        settings.element != Element::unknown && settings.element != Element::bytes;
    if (is_float && settings.bound.kind != ErrorBound::Kind::lossless && below(2) == 0)
        settings.fill = random() >> (64 - 8 * settings.element_bytes);
    return settings;
}

TEST(CdValues, that_name_the_huffman_stage_are_refused_by_name) {
    Settings settings;
    settings.bound = absolute(0.1);
    auto words = to_cd_values(settings);
    ASSERT_TRUE(words.ok()) << words.status().message();
    (*words)[1] |= 1U << 8;
    const Status status = parse_cd_values(*words).status();
    EXPECT_EQ(status.code(), StatusCode::unsupported);
    EXPECT_NE(status.message().find("Huffman"), std::string::npos) << status.message();
}

TEST(CdValues, words_of_the_full_form_are_pinned) {
    Settings settings;
    settings.mode = Mode::strong;
    settings.bound = relative(5e-4);
    settings.element = Element::float64;
    settings.element_bytes = 8;
    settings.big_endian = true;
    settings.chunk = {64, 32};
    const auto words = to_cd_values(settings);
    ASSERT_TRUE(words.ok()) << words.status().message();
    EXPECT_EQ(fmt::format("{:x}", fmt::join(*words, " ")),
              "cae5f101 2 2 d2f1a9fc 3f40624d 102 8 2 40 20 0");
}

TEST(CdValues, of_16_bit_floats_have_a_version_that_older_plugins_refuse) {
    for (const DType dtype : {float16, bfloat16}) {
        const auto settings = settings_of(dtype, {64}, absolute(0.5), Mode::fast, TableSet());
        Words words = *to_cd_values(settings);
        EXPECT_EQ(words[0], 0xCAE5F102U);
        EXPECT_EQ(*parse_cd_values(words), settings);
        words[0] = 0xCAE5F101U;
        EXPECT_EQ(parse_cd_values(words).status().code(), StatusCode::corrupt);
    }
    Words words = *to_cd_values(settings_of(float32, {64}, lossless(), Mode::fast, TableSet()));
    words[0] = 0xCAE5F102U;
    EXPECT_EQ(parse_cd_values(words).status().code(), StatusCode::corrupt);
}

TEST(CdValues, full_form_comes_back_as_it_was) {
    for (unsigned seed = 0; seed < 100; ++seed) {
        SCOPED_TRACE(fmt::format("seed {}", seed));
        std::mt19937_64 random(seed);
        const Settings settings = random_settings(random);
        const auto words = to_cd_values(settings);
        ASSERT_TRUE(words.ok()) << words.status().message();
        EXPECT_LE(words->size(), 9 + 32 + k_table_set_limit_bytes / 4 + 2);
        const auto again = parse_cd_values(*words);
        ASSERT_TRUE(again.ok()) << again.status().message();
        EXPECT_EQ(*again, settings);
    }
}

TEST(CdValues, with_a_fill_value_have_a_version_that_older_plugins_refuse) {
    Settings settings = settings_of(float32, {64}, relative(0.5), Mode::fast, TableSet());
    settings.fill = 0xc479c000;  // -999
    Words words = *to_cd_values(settings);
    EXPECT_EQ(fmt::format("{:x}", fmt::join(words, " ")),
              "cae5f103 1 2 0 3fe00000 1 4 1 40 0 c479c000 0");
    EXPECT_EQ(*parse_cd_values(words), settings);
    words.back() = 1;  // more bits than a value has
    EXPECT_EQ(parse_cd_values(words).status().code(), StatusCode::corrupt);
    settings.bound = lossless();
    EXPECT_EQ(to_cd_values(settings).status().code(), StatusCode::invalid_argument);
}

// Whatever the words, the answer is settings that can be written again, or an error.
TEST(CdValues, any_words_are_settings_or_an_error) {
    int accepted = 0;
    int refused = 0;
    for (unsigned seed = 0; seed < 3000; ++seed) {
        SCOPED_TRACE(fmt::format("seed {}", seed));
        std::mt19937_64 random(seed);
        Words words = *to_cd_values(random_settings(random));
        const std::size_t at = 1 + random() % (words.size() - 1);
        if (seed % 3 == 0) words.resize(at);
        if (seed % 3 == 1) words[at] = static_cast<unsigned>(random() % 40);
        if (seed % 3 == 2) words[at] ^= 1U << (random() % 32);
        const auto settings = parse_cd_values(words);
        settings.ok() ? ++accepted : ++refused;
        if (!settings.ok()) continue;
        const auto again = to_cd_values(*settings);
        ASSERT_TRUE(again.ok()) << again.status().message();
        EXPECT_EQ(*parse_cd_values(*again), *settings);
    }
    EXPECT_GT(accepted, 50);
    EXPECT_GT(refused, 500);
}

TEST(CdValues, a_later_version_is_unsupported_and_says_so) {
    Words words = *to_cd_values(Settings{});
    words[0] += 3;
    const auto settings = parse_cd_values(words);
    ASSERT_FALSE(settings.ok());
    EXPECT_EQ(settings.status().code(), StatusCode::unsupported);
    EXPECT_NE(settings.status().message().find("newer libh5caesura"), std::string::npos);
}

TEST(CdValues, chunks_hdf5_cannot_have_are_refused) {
    Settings settings = settings_of(float64, {1U << 30, 1}, absolute(1), Mode::fast, TableSet());
    EXPECT_EQ(to_cd_values(settings).status().code(), StatusCode::invalid_argument);
    settings.chunk.assign(33, 1);
    EXPECT_EQ(to_cd_values(settings).status().code(), StatusCode::invalid_argument);
    settings.chunk.assign(32, 1);
    EXPECT_TRUE(to_cd_values(settings).ok());
    settings.bound = absolute(0);
    EXPECT_EQ(to_cd_values(settings).status().code(), StatusCode::invalid_argument);
}

}  // namespace
}  // namespace caesura::hdf5
