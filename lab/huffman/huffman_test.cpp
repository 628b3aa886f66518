// The Huffman coder of S0: trees are optimal, broken ones are refused, what a shared tree does not
// know is escaped, any codes come back, and a decoder survives any section.
#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "codec/entropy/rans_section.hpp"
#include "codec/test_arrays.hpp"
#include "huffman/frame_codes.hpp"
#include "huffman/huffman_coder.hpp"

namespace caesura::lab::huffman {
namespace {

using codec::CodeReader, codec::CodeWriter, codec::Output, codec::put_leb128, codec::smooth_array;
using Codes = std::vector<std::uint32_t>;

/// The fewest bits that any codes of at most k_longest_code bits need for these weights: all ways
/// to give each level of the tree some leaves, heaviest first.
std::uint64_t fewest_bits(std::vector<std::uint64_t> weights) {
    constexpr std::uint64_t k_never = ~std::uint64_t{0} / 2;
    std::sort(weights.rbegin(), weights.rend());
    const std::size_t n = weights.size();
    std::vector<std::uint64_t> left(n + 1);
    for (std::size_t i = n; i-- > 0;) left[i] = left[i + 1] + weights[i];
    // best[nodes][placed]: of the levels from here down.
    using Level = std::vector<std::vector<std::uint64_t>>;
    Level best(n + 1, std::vector<std::uint64_t>(n + 1, k_never));
    for (std::size_t placed = 0; placed <= n; ++placed) best[n - placed][placed] = 0;
    for (unsigned level = k_longest_code; level-- > 0;) {
        Level here(n + 1, std::vector<std::uint64_t>(n + 1, k_never));
        for (std::size_t placed = 0; placed <= n; ++placed) {
            for (std::size_t nodes = 0; nodes + placed <= n; ++nodes) {
                for (std::size_t leaves = 0; leaves <= nodes; ++leaves) {
                    const std::size_t children = 2 * (nodes - leaves), after = placed + leaves;
                    if (children + after > n) continue;
                    here[nodes][placed] =
                        std::min(here[nodes][placed], left[after] + best[children][after]);
                }
            }
        }
        best = std::move(here);
    }
    return best[1][0];
}

TEST(HuffmanTree, no_tree_of_limited_codes_is_shorter) {
    constexpr unsigned k_seed = 23;
    SCOPED_TRACE(testing::Message() << "seed " << k_seed);
    std::mt19937_64 random(k_seed);
    for (int round = 0; round < 60; ++round) {
        HuffmanCounts counts{};
        const std::size_t n = 1 + random() % 35;
        std::vector<std::uint64_t> weights;
        std::uint64_t a = 1, b = 1;
        for (std::size_t s = 0; s < n; ++s) {
            // Fibonacci numbers make the deepest trees, powers nearly so.
            const std::uint64_t deep = b;
            b += a;
            a = deep;
            counts[13 * s] = round % 3 == 0   ? deep
                             : round % 3 == 1 ? std::uint64_t{1} << (random() % 30)
                                              : 1 + random() % 1000;
            weights.push_back(counts[13 * s]);
        }
        weights.push_back(1);
        const HuffmanLengths lengths = make_lengths(counts, 1);
        ASSERT_TRUE(is_tree(lengths)) << "round " << round;
        counts[k_huffman_escape] = 1;
        std::uint64_t bits = 0;
        for (unsigned s = 0; s < k_huffman_symbols; ++s) bits += counts[s] * lengths[s];
        EXPECT_EQ(bits, fewest_bits(weights)) << "round " << round << ", " << n << " symbols";
    }
}

TEST(HuffmanTree, every_number_of_symbols_makes_prefix_codes) {
    std::mt19937_64 random(29);
    for (std::size_t n = 0; n <= k_huffman_escape; n += 1 + n / 5) {
        HuffmanCounts counts{};
        for (std::size_t s = 0; s < n; ++s) counts[s] = random() >> (8 + random() % 56);
        const HuffmanLengths lengths = make_lengths(counts, 0);
        ASSERT_TRUE(is_tree(lengths)) << n;
        const HuffmanCodes codes = canonical_codes(lengths);
        // Where each code lies among words of 15 bits; no two may meet.
        std::vector<bool> taken(std::size_t{1} << k_longest_code);
        for (unsigned s = 0; s < k_huffman_symbols; ++s) {
            if (lengths[s] == 0) continue;
            const unsigned free_bits = k_longest_code - lengths[s];
            for (std::size_t w = 0; w < std::size_t{1} << free_bits; ++w) {
                const std::size_t word = (std::size_t{codes[s]} << free_bits) + w;
                ASSERT_LT(word, taken.size());
                ASSERT_FALSE(taken[word]) << "symbol " << s << " of " << n;
                taken[word] = true;
            }
        }
        EXPECT_EQ(std::count(taken.begin(), taken.end(), true), 1 << k_longest_code);
    }
}

TEST(HuffmanTree, symbols_hold_every_code) {
    std::mt19937 random(31);
    for (int i = 0; i < 100000; ++i) {
        const auto code = static_cast<std::uint32_t>(random()) >> (random() % 32);
        const unsigned symbol = huffman_symbol(code);
        ASSERT_LT(symbol, k_huffman_escape);
        ASSERT_GE(code, huffman_base(symbol)) << code;
        ASSERT_LT(code - huffman_base(symbol), std::uint64_t{1} << huffman_raw_bits(symbol))
            << code;
    }
}

TEST(HuffmanTree, travels_as_bytes) {
    std::mt19937 random(37);
    for (int round = 0; round < 50; ++round) {
        HuffmanCounts counts{};
        const unsigned share = 1 + random() % 40;
        for (auto& count : counts) count = random() % share == 0 ? 1 + random() % 10000 : 0;
        counts[k_huffman_escape] = 0;
        counts[0] = 7;
        const HuffmanLengths tree = train(counts);
        EXPECT_EQ(tree, make_lengths(counts, expected_escapes(counts)));
        const auto bytes = tree_bytes(tree);
        EXPECT_LE(bytes.size(), 300U);
        const auto parsed = parse_tree(bytes);
        ASSERT_TRUE(parsed.ok()) << parsed.status().message();
        EXPECT_EQ(*parsed, tree);
    }
    EXPECT_FALSE(is_tree(train(HuffmanCounts{})));
}

TEST(HuffmanTree, that_is_none_is_refused_by_parse) {
    HuffmanCounts counts{};
    for (unsigned s = 0; s < 40; ++s) counts[s] = 1 + s * s;
    const HuffmanLengths good = make_lengths(counts, 1);
    ASSERT_TRUE(parse_tree(tree_bytes(good)).ok());
    for (unsigned s = 0; s < 60; ++s) {
        HuffmanLengths over = good, under = good;
        over[s] = good[s] == 0 ? 15 : static_cast<std::uint8_t>(good[s] - 1);
        under[s] = good[s] == 0 ? 1 : static_cast<std::uint8_t>(good[s] + 1);
        EXPECT_EQ(parse_tree(tree_bytes(over)).status().code(), StatusCode::corrupt);
        EXPECT_EQ(parse_tree(tree_bytes(under)).status().code(), StatusCode::corrupt);
    }
    HuffmanLengths no_escape{};
    no_escape[0] = no_escape[1] = 1;
    EXPECT_FALSE(parse_tree(tree_bytes(no_escape)).ok());
    EXPECT_FALSE(parse_tree(tree_bytes(HuffmanLengths{})).ok());
}

std::vector<std::byte> encode(const Codes& codes, const HuffmanLengths& shared,
                              HuffmanCounts* counts, bool* own, bool drift_check = true) {
    HuffmanEncoder encoder;
    encoder.set_drift_check(drift_check);
    Output section;
    encoder.begin(shared, counts, section);
    CodeWriter writer(encoder);
    for (const std::uint32_t code : codes) {
        *writer.room() = code;
        writer.advance(1);
    }
    writer.finish();
    *own = encoder.finish();
    return section.take();
}

Result<Codes> decode(std::span<const std::byte> section, std::size_t n,
                     const HuffmanLengths& shared) {
    HuffmanDecoder decoder;
    if (Status status = decoder.open(section, n, shared); !status.ok()) return status;
    CodeReader reader(decoder);
    Codes codes(n);
    for (std::uint32_t& code : codes) code = *reader.take(1);
    if (Status status = decoder.close(); !status.ok()) return status;
    return codes;
}

TEST(Huffman, codes_a_shared_tree_does_not_know_are_escaped) {
    std::mt19937 random(41);
    std::vector<std::uint32_t> seen(50000), block;
    for (auto& code : seen) code = random() % 10;
    block = seen;
    for (int i = 0; i < 150; ++i) block[random() % block.size()] = 300 + random() % 100;
    for (int i = 0; i < 150; ++i) block[random() % block.size()] = static_cast<unsigned>(random());
    HuffmanCounts counts{};
    bool own = false;
    encode(seen, {}, &counts, &own);
    EXPECT_TRUE(own);  // nothing to share yet
    const HuffmanLengths tables = train(counts);
    for (const bool drift_check : {false, true}) {
        const auto section = encode(block, tables, nullptr, &own, drift_check);
        EXPECT_EQ(own, drift_check);  // 300 escapes of some 46 bits are more than 1 % and a tree
        const auto back = decode(section, block.size(), tables);
        ASSERT_TRUE(back.ok()) << back.status().message();
        EXPECT_EQ(*back, block);
        EXPECT_EQ(decode(section, block.size(), {}).ok(), own);
    }
    const auto again = encode(seen, tables, nullptr, &own);
    EXPECT_FALSE(own);
    EXPECT_EQ(decode(again, seen.size(), tables).value(), seen);
}

TEST(Huffman, any_streams_with_a_right_tree_decode_or_are_refused) {
    std::mt19937 random(43);
    int refused = 0;
    for (int round = 0; round < 400; ++round) {
        HuffmanCounts counts{};
        const unsigned step = 1 + random() % 100;
        for (unsigned s = 0; s < k_huffman_escape; s += step) {
            counts[s] = std::uint64_t{1} << (random() % 30);
        }
        const HuffmanLengths tables = train(counts);
        Output section;
        section.push_back(std::byte{0});
        std::vector<std::size_t> sizes(4);
        for (auto& size : sizes) put_leb128(section, size = random() % 600);
        const std::size_t bytes = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
        for (std::size_t i = 0; i < bytes; ++i) section.push_back(std::byte(random() % 256));
        if (!decode(section.take(), random() % 5000, tables).ok()) ++refused;
    }
    EXPECT_GT(refused, 390);
}

TEST(Huffman, bytes_are_the_same_everywhere) {
    std::vector<std::uint32_t> codes(30000);
    std::uint64_t state = 1;
    for (auto& code : codes) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        code = static_cast<std::uint32_t>(state >> 33) >> ((state >> 20) % 31);
    }
    bool own = false;
    const auto section = encode(codes, {}, nullptr, &own);
    EXPECT_EQ(section.size(), 71966U);
    EXPECT_EQ(XXH3_64bits(section.data(), section.size()), 13455927068637741286U);
}

/// Sequences as predictors make them, and worse.
Codes make_codes(std::mt19937& random, std::size_t n) {
    Codes codes(n);
    const unsigned kind = random() % 4, bits = random() % 32;
    std::geometric_distribution<std::uint32_t> small(0.02 + 0.9 * (random() % 100) / 100.0);
    for (std::size_t i = 0; i < n; ++i) {
        const bool wild = kind == 1 || (kind == 2 && random() % 100 == 0);
        codes[i] = kind == 0                        ? 0
                   : wild                           ? static_cast<std::uint32_t>(random()) >> bits
                   : kind == 3 && i / 4096 % 2 == 0 ? 0
                                                    : small(random);
    }
    return codes;
}

TEST(Huffman, any_codes_come_back_with_any_tree) {
    constexpr unsigned k_seed = 20261120;
    SCOPED_TRACE(testing::Message() << "seed " << k_seed);
    std::mt19937 random(k_seed);
    HuffmanCounts counts{};
    HuffmanLengths shared{};
    bool own = false;
    for (int round = 0; round < 200; ++round) {
        const std::size_t n = round % 10 == 0 ? random() % 300000 : random() % 5000;
        const Codes codes = make_codes(random, n);
        const auto section = encode(codes, shared, &counts, &own);
        const auto back = decode(section, n, shared);
        ASSERT_TRUE(back.ok()) << "round " << round << ": " << back.status().message();
        ASSERT_EQ(*back, codes) << "round " << round << ", " << n << " codes";
        if (round % 20 == 19) shared = train(counts);
    }
}

TEST(Huffman, broken_sections_are_errors_or_other_codes_but_never_a_crash) {
    std::mt19937 random(11);
    int refused = 0;
    bool own = false;
    for (int round = 0; round < 300; ++round) {
        const Codes codes = make_codes(random, 1 + random() % 6000);
        const auto whole = encode(codes, {}, nullptr, &own);
        for (int hit = 0; hit < 6; ++hit) {
            auto section = whole;
            if (hit % 3 == 0) section.resize(random() % section.size());
            for (int i = 0; i < hit && !section.empty(); ++i) {
                section[random() % section.size()] ^= static_cast<std::byte>(1U << random() % 8);
            }
            // In memory of its own, so that a sanitizer sees the first byte past it.
            const std::vector<std::byte> exact(section.begin(), section.end());
            if (!decode(exact, codes.size(), {}).ok()) ++refused;
        }
    }
    EXPECT_GT(refused, 600);  // every truncation, for a start
}

TEST(Huffman, random_bytes_are_no_section) {
    std::mt19937 random(13);
    for (int round = 0; round < 3000; ++round) {
        std::vector<std::byte> section(random() % 400);
        for (auto& byte : section) byte = static_cast<std::byte>(random());
        if (!section.empty()) section[0] &= std::byte{3};
        static_cast<void>(decode(section, random() % 3000, {}));
    }
}

/// What a smooth field's frame holds in codes, by Huffman and back, dump for dump: the first with a
/// tree of its own, the others with the one trained before.
template <class T>
void expect_fields_round_trip(Mode mode) {
    const DType dtype = sizeof(T) == 4 ? DType::float32 : DType::float64;
    const Shape shape{40, 41, 42};
    CompressOptions options;
    options.mode = mode;
    HuffmanCounts counts{};
    HuffmanLengths shared{};
    for (unsigned dump = 0; dump < 3; ++dump) {
        const auto values = smooth_array<T>(shape, 3);
        const auto frame =
            compress(std::as_bytes(std::span(values)), dtype, shape, absolute(1e-3), options);
        ASSERT_TRUE(frame.ok()) << frame.status().message();
        const auto coded = codes_of(*frame, nullptr);
        ASSERT_TRUE(coded.ok()) << coded.status().message();
        ASSERT_EQ(coded->slabs.size(), 1U);
        const Codes& codes = coded->slabs.front();
        ASSERT_EQ(codes.size(), shape.count());
        EXPECT_GT(coded->section_bytes, frame->size() / 2);
        EXPECT_LT(coded->section_bytes, frame->size());
        bool own = false;
        const auto section = encode(codes, shared, &counts, &own);
        EXPECT_EQ(own, dump == 0);
        EXPECT_LT(section.size(), 2 * coded->section_bytes);
        EXPECT_EQ(decode(section, codes.size(), shared).value(), codes);
        shared = train(counts);
    }
}

TEST(Huffman, fields_of_both_types_and_modes_round_trip_with_and_without_shared_trees) {
    for (const Mode mode : {Mode::fast, Mode::strong}) {
        expect_fields_round_trip<float>(mode);
        expect_fields_round_trip<double>(mode);
    }
}

}  // namespace
}  // namespace caesura::lab::huffman
