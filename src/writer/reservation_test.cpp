#include "writer/reservation.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <random>

#include "store/region_writer.hpp"

namespace caesura::writer {
namespace {

constexpr unsigned k_reservation_seed = 20221115;
constexpr std::uint64_t k_page = 4096;

std::uint64_t used_by(const Wanted& wanted, std::size_t i) {
    return static_cast<std::uint64_t>(wanted.blocks[i].mean) + store::region_overhead_bytes(1, 0) -
           store::region_overhead_bytes(0, 0);
}

Wanted random_blocks(std::mt19937& random, std::size_t n) {
    Wanted wanted;
    for (std::size_t i = 0; i < n; ++i) {
        const double mean = 1e4 * std::exp(5.0 * std::generate_canonical<double, 32>(random));
        wanted.blocks.push_back({mean, 0.02 * mean, 0.0});
        wanted.most_bytes.push_back(8u << 20);
    }
    return wanted;
}

// Goal: every block has a place; the blocks planned for a kept stretch fit into it with their
// margins; no stretch is lost; fresh space holds the rest.
TEST(Reservation, plans_fit_and_lose_nothing) {
    RecordProperty("seed", static_cast<int>(k_reservation_seed));
    std::mt19937 random(k_reservation_seed + 1);
    for (int round = 0; round < 200; ++round) {
        Wanted wanted = random_blocks(random, random() % 40);
        wanted.manifest_bytes = round % 2 ? 3000 : 0;
        wanted.alignment = round % 3 ? 4096 : 1 << 20;
        std::vector<Extent> free;
        std::uint64_t at = 65536, free_bytes = 0;
        for (std::size_t i = random() % 30; i > 0; --i) {
            const Extent extent{at, (1 + random() % 400) * k_page};
            at = extent.end() + k_page;
            free_bytes += extent.bytes;
            free.push_back(extent);
        }
        const Reservation got = reserve(free, wanted);
        for (const auto* list : {&got.kept, &got.rest})
            for (const Extent& extent : *list) free_bytes -= extent.bytes;
        EXPECT_EQ(free_bytes, 0u);
        EXPECT_EQ(got.fresh_bytes % wanted.alignment, 0u);
        std::vector<std::uint64_t> used(got.kept.size() + 1, store::region_overhead_bytes(0, 0));
        if (wanted.manifest_bytes > 0) {
            ASSERT_LE(got.manifest_region, got.kept.size());
            used[got.manifest_region] += wanted.manifest_bytes;
        }
        ASSERT_EQ(got.regions.size(), wanted.blocks.size());
        for (std::size_t i = 0; i < got.regions.size(); ++i) {
            ASSERT_LE(got.regions[i], got.kept.size());
            used[got.regions[i]] += used_by(wanted, i);
        }
        for (std::size_t r = 0; r < got.kept.size(); ++r) ASSERT_LE(used[r], got.kept[r].bytes);
        const bool needs_fresh = used.back() > store::region_overhead_bytes(0, 0);
        ASSERT_GE(got.fresh_bytes, needs_fresh ? used.back() : 0);
    }
}

// Goal: a stretch is filled nearly to the brim when there are blocks to choose from: what stays
// empty is mostly the blocks' own margins (6 % here), not half a block.
TEST(Reservation, fills_stretches_tightly) {
    RecordProperty("seed", static_cast<int>(k_reservation_seed));
    std::mt19937 random(k_reservation_seed + 2);
    double kept = 0.0, used = 0.0;
    for (int round = 0; round < 100; ++round) {
        Wanted wanted = random_blocks(random, 24);
        const Extent extent{65536, 150 * k_page + random() % 100 * k_page};
        const Reservation got = reserve({extent}, wanted);
        ASSERT_EQ(got.kept.size(), 1u);
        kept += static_cast<double>(extent.bytes);
        for (std::size_t i = 0; i < 24; ++i)
            if (got.regions[i] == 0) used += static_cast<double>(used_by(wanted, i));
    }
    RecordProperty("filled", std::to_string(used / kept));
    EXPECT_GT(used / kept, 0.90);
}

// Goal: slots lie one behind the other in fresh space, each R_space times its prediction, and take
// nothing of what is free.
TEST(Reservation, slots_are_fixed_places) {
    Wanted wanted;
    wanted.policy = Reserve::slots;
    wanted.blocks = {{100'000.0, 5'000.0, 0.0}, {10'001.0, 0.0, 0.0}, {300'000.0, 0.0, 0.0}};
    wanted.most_bytes = {1u << 20, 20'000, 310'000};
    wanted.manifest_bytes = 1001;
    const Reservation got = reserve({{65536, 1u << 20}}, wanted);
    EXPECT_TRUE(got.kept.empty());
    EXPECT_EQ(got.rest.size(), 1u);
    EXPECT_EQ(got.regions, (std::vector<std::uint32_t>{0, 0, 0}));
    ASSERT_EQ(got.slots.size(), 4u);
    EXPECT_EQ(got.slots[0], 128u + 1008u + 4u * 8u);
    EXPECT_EQ(got.slots[1] - got.slots[0], 64u + 125'000u);
    EXPECT_EQ(got.slots[2] - got.slots[1], 64u + 12'504u);   // 12,502 in whole words
    EXPECT_EQ(got.slots[3] - got.slots[2], 64u + 310'000u);  // no more than the values
    EXPECT_EQ(got.fresh_bytes, (got.slots[3] + k_page - 1) / k_page * k_page);
}

// Goal: predictions that are no numbers reserve the raw bytes and are never planned into a stretch
// that would not hold them.
TEST(Reservation, survives_absurd_predictions) {
    const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
    for (const Reserve policy : {Reserve::regions, Reserve::slots})
        for (const double mean : {nan, inf, 1e300}) {
            Wanted wanted;
            wanted.policy = policy;
            wanted.blocks.assign(3, {mean, nan, inf});
            wanted.most_bytes.assign(3, 100'000);
            const Reservation got = reserve({{65536, 16 * k_page}}, wanted);
            EXPECT_GE(got.fresh_bytes, 300'000u);
            EXPECT_LT(got.fresh_bytes, 310'000u);
            EXPECT_EQ(got.rest.size(), 1u);
        }
}

TEST(Reservation, of_nothing_is_nothing) {
    const Reservation got = reserve({{65536, k_page}}, Wanted{});
    EXPECT_EQ(got.fresh_bytes, 0u);
    EXPECT_EQ(got.rest.size(), 1u);
}

}  // namespace
}  // namespace caesura::writer
