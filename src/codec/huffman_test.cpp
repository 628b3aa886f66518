// The Huffman stage beyond what every stage promises: trees are optimal, broken ones are refused,
// what a shared tree does not know is escaped, and frames name their stage.
#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "codec/huffman_coder.hpp"
#include "codec/rans_section.hpp"
#include "codec/table_training.hpp"
#include "codec/test_arrays.hpp"

namespace caesura::codec {
namespace {

using Counts = std::array<std::uint64_t, k_huffman_symbols>;

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
        Counts counts{};
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
        Counts counts{};
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

TableStatistics statistics_of(const Counts& counts) {
    TableStatistics statistics(Entropy::huffman);
    std::copy(counts.begin(), counts.end(), TableTraining::counts(statistics).begin());
    return statistics;
}

TEST(HuffmanTree, travels_in_a_table_set_and_its_counts_do_too) {
    std::mt19937 random(37);
    for (int round = 0; round < 50; ++round) {
        Counts counts{};
        const unsigned share = 1 + random() % 40;
        for (auto& count : counts) count = random() % share == 0 ? 1 + random() % 10000 : 0;
        counts[k_huffman_escape] = 0;
        counts[0] = 7;
        const TableStatistics statistics = statistics_of(counts);
        const auto again = TableStatistics::parse(statistics.bytes());
        ASSERT_TRUE(again.ok()) << again.status().message();
        EXPECT_EQ(again->entropy(), Entropy::huffman);
        const TableSet set = again->train();
        EXPECT_EQ(set, statistics.train());
        EXPECT_LE(set.bytes().size(), 300U);
        const auto parsed = TableSet::parse(set.bytes());
        ASSERT_TRUE(parsed.ok()) << parsed.status().message();
        EXPECT_EQ(parsed->entropy(), Entropy::huffman);
        EXPECT_EQ(parsed->id(), set.id());
        EXPECT_EQ(lengths_of(*parsed), make_lengths(counts, expected_escapes(counts)));
        EXPECT_FALSE(TableStatistics(Entropy::rans).add(statistics).ok());
    }
    EXPECT_EQ(TableStatistics(Entropy::huffman).train(), TableSet());
}

TEST(HuffmanTree, that_is_none_is_refused_by_parse) {
    Counts counts{};
    for (unsigned s = 0; s < 40; ++s) counts[s] = 1 + s * s;
    const HuffmanLengths good = make_lengths(counts, 1);
    ASSERT_TRUE(TableSet::parse(table_set_bytes(good)).ok());
    for (unsigned s = 0; s < 60; ++s) {
        HuffmanLengths over = good, under = good;
        over[s] = good[s] == 0 ? 15 : static_cast<std::uint8_t>(good[s] - 1);
        under[s] = good[s] == 0 ? 1 : static_cast<std::uint8_t>(good[s] + 1);
        EXPECT_EQ(TableSet::parse(table_set_bytes(over)).status().code(), StatusCode::corrupt);
        EXPECT_EQ(TableSet::parse(table_set_bytes(under)).status().code(), StatusCode::corrupt);
    }
    HuffmanLengths no_escape{};
    no_escape[0] = no_escape[1] = 1;
    EXPECT_FALSE(TableSet::parse(table_set_bytes(no_escape)).ok());
    EXPECT_FALSE(TableSet::parse(table_set_bytes(HuffmanLengths{})).ok());
}

std::vector<std::byte> encode(const std::vector<std::uint32_t>& codes, const TableSet& tables,
                              TableStatistics* statistics, bool* own, bool drift_check = true) {
    HuffmanEncoder encoder;
    encoder.set_drift_check(drift_check);
    Output section;
    encoder.begin(codes.size(), tables, statistics, 0, section);
    CodeWriter writer(encoder);
    for (const std::uint32_t code : codes) {
        *writer.room() = code;
        writer.advance(1);
    }
    writer.finish();
    *own = encoder.finish();
    return section.take();
}

Result<std::vector<std::uint32_t>> decode(std::span<const std::byte> section, std::size_t n,
                                          const TableSet& tables) {
    HuffmanDecoder decoder;
    if (Status status = decoder.open(section, n, tables); !status.ok()) return status;
    CodeReader reader(decoder);
    std::vector<std::uint32_t> codes(n);
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
    TableStatistics statistics(Entropy::huffman);
    bool own = false;
    encode(seen, {}, &statistics, &own);
    EXPECT_TRUE(own);  // nothing to share yet
    const TableSet tables = statistics.train();
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
        Counts counts{};
        const unsigned step = 1 + random() % 100;
        for (unsigned s = 0; s < k_huffman_escape; s += step) {
            counts[s] = std::uint64_t{1} << (random() % 30);
        }
        const TableSet tables = statistics_of(counts).train();
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

template <class T>
void expect_frames_round_trip(Mode mode) {
    const DType dtype = sizeof(T) == 4 ? DType::float32 : DType::float64;
    const Shape shape{40, 41, 42};
    CompressOptions options;
    options.mode = mode;
    options.entropy = Entropy::huffman;
    TableStatistics statistics(Entropy::huffman);
    TableSet tables;
    for (unsigned dump = 0; dump < 3; ++dump) {
        const auto values = smooth_array<T>(shape, 3);
        const auto bytes = std::as_bytes(std::span(values));
        options.tables = dump == 0 ? nullptr : &tables;
        options.statistics = &statistics;
        const auto frame = compress(bytes, dtype, shape, absolute(1e-3), options);
        ASSERT_TRUE(frame.ok()) << frame.status().message();
        const auto info = read_frame_info(*frame);
        ASSERT_TRUE(info.ok());
        ASSERT_FALSE(info->stored_exactly);
        EXPECT_EQ(info->entropy, Entropy::huffman);
        EXPECT_EQ(info->mode, mode);
        EXPECT_EQ(info->inline_tables, dump == 0);
        EXPECT_EQ(info->table_set_id, dump == 0 ? 0 : tables.id());
        std::vector<T> back(values.size());
        const auto target = std::as_writable_bytes(std::span(back));
        const Status status = decompress(*frame, target, options.tables);
        ASSERT_TRUE(status.ok()) << status.message();
        for (std::size_t i = 0; i < values.size(); ++i) {
            ASSERT_LE(std::abs(static_cast<double>(values[i]) - static_cast<double>(back[i])),
                      1e-3);
        }
        if (dump > 0) {
            EXPECT_EQ(decompress(*frame, target).code(), StatusCode::invalid_argument);
        }
        const auto expected = estimate(bytes, dtype, shape, absolute(1e-3), options);
        ASSERT_TRUE(expected.ok());
        EXPECT_LT(expected->bytes, 2 * frame->size());
        EXPECT_GT(expected->bytes, frame->size() / 2);
        tables = statistics.train();
    }
}

TEST(Huffman, frames_of_both_types_and_modes_round_trip_with_and_without_shared_trees) {
    for (const Mode mode : {Mode::fast, Mode::strong}) {
        expect_frames_round_trip<float>(mode);
        expect_frames_round_trip<double>(mode);
    }
}

TEST(Huffman, tables_and_statistics_of_the_other_stage_are_refused_by_name) {
    const Shape shape{30, 30, 30};
    const auto values = smooth_array<float>(shape, 5);
    const auto bytes = std::as_bytes(std::span(values));
    for (const Entropy stage : {Entropy::rans, Entropy::huffman}) {
        TableStatistics statistics(stage);
        CompressOptions options;
        options.entropy = stage;
        options.statistics = &statistics;
        ASSERT_TRUE(compress(bytes, DType::float32, shape, absolute(1e-3), options).ok());
        const TableSet tables = statistics.train();
        ASSERT_EQ(tables.entropy(), stage);
        CompressOptions other;
        other.entropy = stage == Entropy::rans ? Entropy::huffman : Entropy::rans;
        other.tables = &tables;
        const auto frame = compress(bytes, DType::float32, shape, absolute(1e-3), other);
        EXPECT_EQ(frame.status().code(), StatusCode::invalid_argument);
        EXPECT_NE(frame.status().message().find("huffman"), std::string::npos);
        EXPECT_NE(frame.status().message().find("rans"), std::string::npos);
        other.tables = nullptr;
        other.statistics = &statistics;
        EXPECT_EQ(compress(bytes, DType::float32, shape, absolute(1e-3), other).status().code(),
                  StatusCode::invalid_argument);
    }
}

TEST(Huffman, without_drift_check_frames_of_either_stage_keep_tables_that_do_not_fit) {
    const Shape shape{40, 40, 40};
    const auto values = smooth_array<float>(shape, 7);
    const auto bytes = std::as_bytes(std::span(values));
    for (const Entropy stage : {Entropy::rans, Entropy::huffman}) {
        TableStatistics statistics(stage);
        CompressOptions options;
        options.mode = Mode::fast;
        options.entropy = stage;
        options.statistics = &statistics;
        ASSERT_TRUE(compress(bytes, DType::float32, shape, absolute(2e-2), options).ok());
        const TableSet coarse = statistics.train();
        options.statistics = nullptr;
        options.tables = &coarse;
        std::size_t sizes[2];
        for (const bool check : {true, false}) {
            options.drift_check = check;
            const auto frame = compress(bytes, DType::float32, shape, absolute(2e-4), options);
            ASSERT_TRUE(frame.ok()) << frame.status().message();
            const auto info = read_frame_info(*frame);
            ASSERT_TRUE(info.ok());
            EXPECT_EQ(info->inline_tables, check);
            EXPECT_EQ(info->table_set_id, check ? 0 : coarse.id());
            std::vector<float> back(values.size());
            EXPECT_TRUE(decompress(*frame, std::as_writable_bytes(std::span(back)), &coarse).ok());
            sizes[check ? 1 : 0] = frame->size();
        }
        EXPECT_LT(sizes[1], sizes[0]);
    }
}

}  // namespace
}  // namespace caesura::codec
