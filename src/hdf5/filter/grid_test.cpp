// Grids: rounding is idempotent, no value moves further than half a step, and grids are nested.
#include "hdf5/filter/grid.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

namespace caesura::hdf5 {
namespace {

template <class T, class Bits>
void check_grids(DType dtype, unsigned seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937_64 random(seed);
    for (int run = 0; run < 20000; ++run) {
        const T value = std::bit_cast<T>(static_cast<Bits>(random()));
        const Fineness fineness = static_cast<Fineness>(random() % 300) - 150;
        const Grid grid = grid_of(absolute(1), fineness, dtype);
        const T once = rounded(value, grid);
        if (std::isnan(value)) {
            EXPECT_EQ(std::bit_cast<Bits>(once), std::bit_cast<Bits>(value));
            continue;
        }
        EXPECT_TRUE(is_on(once, grid));
        EXPECT_EQ(std::signbit(once) && once == 0, std::signbit(value) && value == 0);
        if (!std::isfinite(value)) continue;
        const double error = std::abs(static_cast<double>(once) - static_cast<double>(value));
        EXPECT_LE(error, std::ldexp(0.5, -fineness));
        EXPECT_TRUE(is_on(once, grid_of(absolute(1), fineness + 7, dtype)));
        if (once != 0 && once != value) {
            EXPECT_LE(coarsest_with(once), fineness);
        }

        const Grid digits =
            grid_of(pointwise_relative(0.1), 1 + static_cast<int>(random() % 23), dtype);
        const T kept = rounded(value, digits);
        EXPECT_TRUE(is_on(kept, digits));
        const double moved = std::abs(static_cast<double>(kept) - static_cast<double>(value));
        EXPECT_LE(moved, std::ldexp(std::abs(static_cast<double>(value)), -digits.fineness));
    }
}

TEST(Grid, rounding_twice_is_rounding_once_and_moves_values_by_half_a_step) {
    check_grids<float, std::uint32_t>(DType::float32, 1);
    check_grids<double, std::uint64_t>(DType::float64, 2);
}

TEST(Grid, of_a_value_is_the_coarsest_that_it_lies_on) {
    EXPECT_EQ(coarsest_with(300.0), -2);  // 75 times 4
    EXPECT_EQ(coarsest_with(-0.75), 2);
    EXPECT_EQ(coarsest_with(0x1p-1074), 1074);
    EXPECT_EQ(coarsest_with(0x1p1023), -1023);
}

TEST(Grid, that_is_finer_than_its_type_holds_all_values) {
    EXPECT_EQ(grid_of(pointwise_relative(0.1), 8, DType::bfloat16).kind, Grid::Kind::none);
    EXPECT_EQ(grid_of(pointwise_relative(0.1), 7, DType::bfloat16).kind, Grid::Kind::significant);
    EXPECT_EQ(grid_of(absolute(0.1), k_finest, DType::float64).kind, Grid::Kind::none);
}

}  // namespace
}  // namespace caesura::hdf5
