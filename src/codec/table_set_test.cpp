// Table sets and statistics as values: they survive the way through bytes, refuse broken ones, and
// say the same on every machine.
#include <gtest/gtest.h>

#include <random>

#include "caesura/codec.hpp"
#include "codec/table_training.hpp"

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
    for (unsigned seed = 0; seed < 3; ++seed) ASSERT_TRUE(sum.add(some_statistics(seed)).ok());
    const Result<TableStatistics> back = TableStatistics::parse(sum.bytes());
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(back->train(), sum.train());
    EXPECT_FALSE(back->empty());
    auto broken = sum.bytes();
    broken[20] ^= std::byte{1};
    EXPECT_EQ(TableStatistics::parse(broken).status().code(), StatusCode::corrupt);
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
