// Codes go in, the same codes come out, whatever they are, on every instruction set with the same
// bytes; and a decoder survives any section.
#include "codec/entropy/entropy.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <array>
#include <cmath>
#include <cstring>
#include <random>

#include "codec/entropy/adaptive_cost.hpp"
#include "codec/entropy/rans_format.hpp"
#include "codec/frame/aligned_buffer.hpp"
#include "codec/test_targets.hpp"

namespace caesura::codec {
namespace {

using Codes = std::vector<std::uint32_t>;

std::vector<std::byte> encode(Coding coding, const Codes& codes, const TableSet& tables,
                              TableStatistics* statistics = nullptr, bool* own = nullptr) {
    const auto encoder = make_entropy_encoder(coding);
    Output section;
    encoder->begin(codes.size(), tables, statistics, codes.size(), section);
    CodeWriter writer(*encoder);
    for (std::size_t i = 0; i < codes.size(); i += 333) {
        const std::size_t n = std::min<std::size_t>(333, codes.size() - i);
        std::memcpy(writer.room(), codes.data() + i, n * sizeof(std::uint32_t));
        writer.advance(n);
    }
    writer.finish();
    const bool carries_tables = encoder->finish();
    if (own != nullptr) *own = carries_tables;
    return section.take();
}

/// The codes of a section, or why not.
Result<Codes> decode(Coding coding, std::span<const std::byte> section, std::size_t n,
                     const TableSet& tables) {
    const auto decoder = make_entropy_decoder(coding);
    if (Status status = decoder->open(section, n, tables); !status.ok()) return status;
    CodeReader reader(*decoder);
    Codes codes(n);
    for (std::size_t i = 0; i < n; i += 777) {
        const std::size_t run = std::min<std::size_t>(777, n - i);
        std::memcpy(codes.data() + i, reader.take(run), run * sizeof(std::uint32_t));
    }
    if (Status status = decoder->close(); !status.ok()) return status;
    return codes;
}

/// Sequences as predictors make them, and worse.
Codes make_codes(std::mt19937& random, std::size_t n) {
    Codes codes(n);
    const int kind = static_cast<int>(random() % 8);
    std::geometric_distribution<std::uint32_t> small(0.02 + 0.9 * (random() % 100) / 100.0);
    const unsigned bits = random() % 32;
    const unsigned share = 1 + random() % 300;
    for (auto& code : codes) {
        switch (kind) {
            case 0:
                code = 0;
                break;
            case 1:
                code = small(random);
                break;
            case 2:
                code = static_cast<std::uint32_t>(random()) >> bits;
                break;
            case 3:
                code = random() % share == 0 ? 1 + random() % 2 : 0;
                break;
            case 4:
                code = random() % share == 0 ? k_exact_code : small(random);
                break;
            case 5:
                code = static_cast<std::uint32_t>(random()) >> (random() % 32);
                break;
            case 6:
                code = small(random) << (bits % 20);
                break;
            default:
                code = (&code - codes.data()) / 4096 % 2 == 0 ? 0 : small(random);
        }
    }
    return codes;
}

class EntropyOf : public testing::TestWithParam<Coding> {};

TEST_P(EntropyOf, any_codes_come_back_with_any_tables) {
    constexpr unsigned k_seed = 20261120;
    SCOPED_TRACE(testing::Message() << "seed " << k_seed);
    std::mt19937 random(k_seed);
    TableStatistics statistics;
    TableSet tables;
    for (int round = 0; round < 200; ++round) {
        const std::size_t n = round % 10 == 0 ? random() % 300000 : random() % 5000;
        const Codes codes = make_codes(random, n);
        const auto section = encode(GetParam(), codes, tables, &statistics);
        const Result<Codes> back = decode(GetParam(), section, n, tables);
        ASSERT_TRUE(back.ok()) << "round " << round << ": " << back.status().message();
        ASSERT_EQ(*back, codes) << "round " << round << ", " << n << " codes";
        if (round % 20 == 19) tables = statistics.train();
    }
}

TEST_P(EntropyOf, every_instruction_set_writes_the_same_bytes_and_reads_them) {
    constexpr unsigned k_seed = 7;
    std::mt19937 random(k_seed);
    for (int round = 0; round < 24; ++round) {
        const Codes codes = make_codes(random, 1 + random() % 20000);
        std::vector<std::byte> reference;
        for_each_target([&](const char* name) {
            const auto section = encode(GetParam(), codes, {});
            if (reference.empty()) reference = section;
            const Result<Codes> back = decode(GetParam(), reference, codes.size(), {});
            EXPECT_EQ(section, reference) << name << ", round " << round;
            ASSERT_TRUE(back.ok()) << name << ": " << back.status().message();
            EXPECT_EQ(*back, codes) << name << ", round " << round;
        });
    }
}

TEST_P(EntropyOf, broken_sections_are_errors_or_other_codes_but_never_a_crash) {
    constexpr unsigned k_seed = 11;
    std::mt19937 random(k_seed);
    int refused = 0;
    for (int round = 0; round < 300; ++round) {
        const Codes codes = make_codes(random, 1 + random() % 6000);
        auto section = encode(GetParam(), codes, {});
        const std::vector<std::byte> whole = section;
        for (int hit = 0; hit < 6; ++hit) {
            section = whole;
            if (hit % 3 == 0) {
                section.resize(random() % section.size());
            } else {
                for (int i = 0; i < hit; ++i) {
                    section[random() % section.size()] ^=
                        static_cast<std::byte>(1U << random() % 8);
                }
            }
            // In memory of its own, so that a sanitizer sees the first byte past it.
            const std::vector<std::byte> exact(section.begin(), section.end());
            if (!decode(GetParam(), exact, codes.size(), {}).ok()) ++refused;
        }
    }
    EXPECT_GT(refused, 600);  // every truncation, for a start
}

TEST_P(EntropyOf, random_bytes_are_no_section) {
    std::mt19937 random(13);
    for (int round = 0; round < 3000; ++round) {
        std::vector<std::byte> section(random() % 400);
        for (auto& byte : section) byte = static_cast<std::byte>(random());
        if (!section.empty()) section[0] &= std::byte{3};
        if (section.size() > 1) section[1] &= std::byte{15};
        static_cast<void>(decode(GetParam(), section, random() % 3000, {}));
    }
}

// Goal: what a sample is said to cost is what the coder writes, when the sample is the block.
TEST(AdaptiveCost, of_all_codes_is_what_they_take) {
    constexpr unsigned k_seed = 20261126;
    SCOPED_TRACE(testing::Message() << "seed " << k_seed);
    std::mt19937 random(k_seed);
    for (int round = 0; round < 60; ++round) {
        const Codes codes = make_codes(random, 20000 + random() % 100000);
        AdaptiveCost cost;
        for (std::size_t i = 0; i < codes.size(); i += k_chunk_values)
            cost.add(codes.data() + i, std::min(k_chunk_values, codes.size() - i), 1);
        const auto bytes = static_cast<double>(encode(Coding::adaptive, codes, {}).size());
        EXPECT_NEAR(cost.bytes(1.0, true), bytes, 0.005 * bytes + 16) << "round " << round;
        EXPECT_NEAR(cost.bytes(1.0, false), bytes, 0.01 * bytes + 16) << "round " << round;
    }
}

std::string name_of(const testing::TestParamInfo<Coding>& test) {
    if (test.param == Coding::adaptive) return "adaptive";
    return test.param == Coding::rans ? "rans" : "planes";
}

INSTANTIATE_TEST_SUITE_P(Codings, EntropyOf,
                         testing::Values(Coding::rans, Coding::planes, Coding::adaptive), name_of);

TEST(Rans, comes_within_three_percent_of_the_entropy_of_its_own_tables) {
    std::mt19937 random(17);
    std::geometric_distribution<std::uint32_t> geometric(0.25);
    Codes codes(1 << 20);
    std::vector<double> counts(200);
    for (auto& code : codes) {
        code = std::min<std::uint32_t>(geometric(random), 199);
        ++counts[code];
    }
    double bits = 0;
    for (const double n : counts) {
        if (n > 0) bits -= n * std::log2(n / static_cast<double>(codes.size()));
    }
    TableStatistics statistics;
    encode(Coding::rans, codes, {}, &statistics);
    const TableSet tables = statistics.train();
    EXPECT_LE(static_cast<double>(encode(Coding::rans, codes, tables).size()), 1.03 * bits / 8);
}

TEST(Rans, a_block_the_shared_tables_do_not_fit_carries_its_own) {
    std::mt19937 random(19);
    Codes codes(100000), other(100000);
    for (auto& code : codes) code = 3 + random() % 3;  // level 3, but never 0, 1 or 2
    for (auto& code : other) code = random() % 9;
    TableStatistics of_codes, of_other;
    encode(Coding::rans, codes, {}, &of_codes);
    encode(Coding::rans, other, {}, &of_other);
    bool own = true;
    encode(Coding::rans, codes, of_codes.train(), nullptr, &own);
    EXPECT_FALSE(own);
    const auto section = encode(Coding::rans, codes, of_other.train(), nullptr, &own);
    EXPECT_TRUE(own);
    const Result<Codes> back = decode(Coding::rans, section, codes.size(), {});  // needs no set
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(*back, codes);
}

}  // namespace
}  // namespace caesura::codec
