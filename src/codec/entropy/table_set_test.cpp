// Table sets and statistics as values: they survive the way through bytes, refuse broken ones, and
// say the same on every machine.
#include <gtest/gtest.h>
#include <xxhash.h>

#include <random>

#include "caesura/codec.hpp"
#include "codec/entropy/entropy.hpp"
#include "codec/entropy/table_training.hpp"

namespace caesura {
namespace {

TableStatistics some_statistics(unsigned seed) {
    std::mt19937 random(seed);
    TableStatistics statistics;
    for (auto& count : TableTraining::counts(statistics)) {
        count = random() % 4 == 0 ? 0 : std::uint64_t{1} << (random() % 24);
    }
    return statistics;
}

TEST(TableSet, survives_the_way_through_its_bytes) {
    for (unsigned seed = 0; seed < 50; ++seed) {
        const TableSet set = some_statistics(seed).train();
        ASSERT_LE(set.bytes().size(), k_table_set_limit_bytes);
        const Result<TableSet> back = TableSet::parse(set.bytes());
        ASSERT_TRUE(back.ok()) << back.status().message();
        EXPECT_EQ(*back, set);
        EXPECT_EQ(back->id(), set.id());
        EXPECT_NE(set.id(), 0U);
    }
    EXPECT_EQ(TableSet().id(), 0U);
    EXPECT_TRUE(TableSet().bytes().empty());
    EXPECT_EQ(*TableSet::parse({}), TableSet());
}

TEST(TableSet, refuses_every_truncation_and_every_changed_byte) {
    const TableSet set = some_statistics(3).train();
    const std::vector<std::byte> whole(set.bytes().begin(), set.bytes().end());
    for (std::size_t n = 1; n < whole.size(); ++n) {
        EXPECT_FALSE(TableSet::parse(std::span(whole).first(n)).ok()) << n;
    }
    for (std::size_t i = 0; i < whole.size(); ++i) {
        std::vector<std::byte> broken = whole;
        broken[i] ^= std::byte{0x10};
        EXPECT_FALSE(TableSet::parse(broken).ok()) << i;
    }
}

TEST(TableStatistics, add_up_and_survive_the_way_through_their_bytes) {
    TableStatistics sum;
    EXPECT_TRUE(sum.empty());
    EXPECT_EQ(sum.train(), TableSet());
    for (unsigned seed = 0; seed < 3; ++seed) sum.add(some_statistics(seed));
    const Result<TableStatistics> back = TableStatistics::parse(sum.bytes());
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(back->train(), sum.train());
    EXPECT_FALSE(back->empty());
    auto broken = sum.bytes();
    broken[20] ^= std::byte{1};
    EXPECT_EQ(TableStatistics::parse(broken).status().code(), StatusCode::corrupt);
}

/// The same structure, saying that it is of the Huffman stage, and with a checksum that is right.
std::vector<std::byte> of_huffman(std::span<const std::byte> bytes) {
    std::vector<std::byte> changed(bytes.begin(), bytes.end());
    changed[2] = std::byte{codec::k_huffman_stage};
    const std::size_t body = changed.size() - 4;
    const auto sum = static_cast<std::uint32_t>(XXH3_64bits(changed.data(), body));
    for (unsigned i = 0; i < 4; ++i) {
        changed[body + i] = static_cast<std::byte>((sum >> (8 * i)) & 0xffU);
    }
    return changed;
}

TEST(TableStatistics, and_sets_of_the_huffman_stage_are_refused_by_name) {
    const TableStatistics statistics = some_statistics(1);
    for (const Status& status : {TableSet::parse(of_huffman(statistics.train().bytes())).status(),
                                 TableStatistics::parse(of_huffman(statistics.bytes())).status()}) {
        EXPECT_EQ(status.code(), StatusCode::unsupported);
        EXPECT_NE(status.message().find("Huffman"), std::string::npos) << status.message();
    }
}

TEST(TableStatistics, trained_tables_are_valid_and_no_worse_than_the_built_in_ones) {
    for (unsigned seed = 0; seed < 50; ++seed) {
        const TableStatistics statistics = some_statistics(seed);
        const auto frequencies = codec::frequencies_of(statistics.train());
        for (unsigned t = 0; t < codec::k_tables; ++t) {
            ASSERT_TRUE(codec::valid_frequencies(frequencies[t])) << "table " << t;
            const std::span counts(TableTraining::counts(statistics).data() + 16 * t, 16);
            EXPECT_LE(codec::coded_bits_q16(counts, frequencies[t]),
                      codec::coded_bits_q16(counts, codec::builtin_frequencies(t)))
                << "table " << t << ", seed " << seed;
        }
    }
}

}  // namespace
}  // namespace caesura
