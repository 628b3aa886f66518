// Goal: the curve goes from cell to neighbouring cell; the order found is one of the particles of
// each stretch, whatever their values are, follows places where that pays, and leaves what is given
// where it does not; memory and readers are given back.
#include "run/particle_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <random>

#include "run/hilbert.hpp"

namespace caesura::run {
namespace {

template <int k_axes>
void expect_steps_of_one_cell(std::uint32_t side) {
    using Curve = Hilbert<k_axes>;
    using Cell = std::array<std::uint32_t, k_axes>;
    std::vector<std::pair<std::uint32_t, Cell>> cells;
    Cell cell{};
    for (;;) {
        cells.emplace_back(Curve::key(cell), cell);
        std::size_t axis = 0;
        while (axis < k_axes && ++cell[axis] == side) cell[axis++] = 0;
        if (axis == k_axes) break;
    }
    std::sort(cells.begin(), cells.end());
    for (std::size_t i = 1; i < cells.size(); ++i) {
        ASSERT_EQ(cells[i].first, cells[i - 1].first + 1);
        int steps = 0;
        for (std::size_t a = 0; a < k_axes; ++a)
            steps += std::abs(static_cast<int>(cells[i].second[a]) -
                              static_cast<int>(cells[i - 1].second[a]));
        ASSERT_EQ(steps, 1) << "after " << i << " cells of " << k_axes << " axes";
    }
}

TEST(Hilbert, goes_from_each_cell_to_a_neighbour) {
    expect_steps_of_one_cell<1>(1000);
    expect_steps_of_one_cell<2>(256);
    expect_steps_of_one_cell<3>(32);
}

/// Records of a chunk that begins at particle 1000, each put in one or more pieces.
struct Chunk {
    static constexpr std::uint64_t k_begin = 1000;
    base::BufferPool pool;
    base::MemoryBudget budget;
    explicit Chunk(std::uint64_t limit_bytes = std::uint64_t{1} << 40) : budget(limit_bytes) {}
    std::vector<std::vector<double>> values;
    std::vector<ParticleOrder::Record> records;
    std::list<Snapshot> snapshots;

    void add(std::vector<double> record, const ErrorBound& bound, bool is_position,
             std::uint64_t pieces = 1) {
        const auto& kept = values.emplace_back(std::move(record));
        ParticleOrder::Record made{float64, bound, is_position};
        const std::uint64_t n = kept.size();
        for (std::uint64_t p = 0; p < pieces; ++p) {
            const std::uint64_t begin = n * p / pieces, end = n * (p + 1) / pieces;
            if (begin == end) continue;
            const Box box{{k_begin + begin}, {end - begin}};
            made.pieces.push_back({box, box,
                                   reinterpret_cast<const std::byte*>(kept.data() + begin),
                                   &snapshots.emplace_back()});
        }
        records.push_back(std::move(made));
    }
    std::vector<std::uint32_t> order(std::vector<std::uint64_t> stretches) {
        ParticleOrder found(records, std::move(stretches), budget);
        found.join();
        ParticleOrder::Held own;
        const auto order = found.find(pool, own);
        EXPECT_TRUE(order.ok());
        const std::vector<std::uint32_t> copy(order->begin(), order->end());
        EXPECT_EQ(budget.held_bytes(), 4 * copy.size());
        found.leave();
        EXPECT_EQ(budget.held_bytes(), 0u);
        for (const Snapshot& one : snapshots) EXPECT_EQ(one.readers.load(), 0u);
        return copy;
    }
};

std::vector<double> random_places(std::mt19937& random, std::uint64_t count) {
    std::uniform_real_distribution<double> place(-3.0, 5.0);
    std::vector<double> values(count);
    for (double& value : values) value = place(random);
    return values;
}

double mean_step(const std::vector<double>& values, const std::vector<std::uint32_t>& order) {
    double sum = 0.0;
    for (std::size_t i = 1; i < order.size(); ++i)
        sum += std::abs(values[order[i]] - values[order[i - 1]]);
    return sum / static_cast<double>(order.size());
}

TEST(ParticleOrder, brings_near_what_lies_near) {
    for (const int axes : {1, 2, 3}) {
        std::mt19937 random(static_cast<unsigned>(axes));
        Chunk chunk;
        for (int a = 0; a < axes; ++a)
            chunk.add(random_places(random, 20'000), absolute(1e-3), true, a == 1 ? 7 : 1);
        const auto order = chunk.order({1000, 21'000});
        ASSERT_EQ(order.size(), 20'000u);
        for (int a = 0; a < axes; ++a)
            EXPECT_LT(mean_step(chunk.values[static_cast<std::size_t>(a)], order),
                      axes == 3 ? 0.4 : 0.1);
    }
}

// Keys and numbers twice, the order, and the record that lies in pieces: more than there is room
// for, and taken all the same.
TEST(ParticleOrder, tells_the_budget_what_it_takes_and_finds_the_same_where_that_is_full) {
    std::vector<std::uint32_t> with_room;
    for (const std::uint64_t limit_bytes : {std::uint64_t{1} << 40, std::uint64_t{1}}) {
        std::mt19937 random(1);
        Chunk chunk(limit_bytes);
        chunk.add(random_places(random, 20'000), absolute(1e-3), true, 7);
        chunk.add(random_places(random, 20'000), absolute(1e-3), true);
        const auto order = chunk.order({1000, 21'000});
        ASSERT_EQ(order.size(), 20'000u);
        EXPECT_EQ(chunk.budget.peak_bytes(), 20'000u * (2 * 8 + 4 + 8));
        if (with_room.empty()) with_room = order;
        EXPECT_EQ(order, with_room);
    }
}

TEST(ParticleOrder, keeps_particles_in_their_stretch_whatever_their_values_are) {
    for (unsigned seed = 1; seed <= 200; ++seed) {
        std::mt19937 random(seed);
        Chunk chunk;
        const std::uint64_t n = 1 + random() % 3000;
        const double odd[] = {std::nan(""), HUGE_VAL, -HUGE_VAL, 1e308, -1e308, 0.0, 5e-324};
        for (int a = 0; a < 1 + static_cast<int>(seed % 4); ++a) {
            auto values = random_places(random, n);
            const bool often = random() % 3 == 0;
            for (double& value : values)
                if (random() % (often ? 2 : 200) == 0) value = odd[random() % std::size(odd)];
            chunk.add(std::move(values), seed % 5 == 0 ? lossless() : absolute(0.01), true,
                      1 + random() % 4);
        }
        std::vector<std::uint64_t> stretches = {1000, 1000 + n};
        for (unsigned cuts = random() % 4; cuts > 0; --cuts)
            stretches.push_back(1000 + random() % (n + 1));
        std::sort(stretches.begin(), stretches.end());
        const auto order = chunk.order(stretches);
        if (order.empty()) continue;
        ASSERT_EQ(order.size(), n);
        for (std::size_t s = 0; s + 1 < stretches.size(); ++s) {
            const auto begin = static_cast<std::ptrdiff_t>(stretches[s] - 1000);
            const auto end = static_cast<std::ptrdiff_t>(stretches[s + 1] - 1000);
            std::vector<std::uint32_t> part(order.begin() + begin, order.begin() + end);
            std::sort(part.begin(), part.end());
            for (std::size_t i = 0; i < part.size(); ++i)
                ASSERT_EQ(part[i], static_cast<std::uint32_t>(begin) + i) << "seed " << seed;
        }
    }
}

TEST(ParticleOrder, stays_as_given_where_another_record_would_lose_more) {
    std::mt19937 random(3);
    const std::uint64_t n = 30'000;
    std::vector<double> number(n);
    for (std::uint64_t i = 0; i < n; ++i) number[i] = 17.0 * static_cast<double>(i);
    Chunk chunk;
    chunk.add(random_places(random, n), absolute(1e-3), true);
    EXPECT_EQ(chunk.order({1000, 1000 + n}).size(), n);
    chunk.add(number, lossless(), false);
    EXPECT_TRUE(chunk.order({1000, 1000 + n}).empty());
}

TEST(ParticleOrder, stays_as_given_where_that_is_along_a_line) {
    std::vector<double> x(10'000), y(10'000);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1e-3 * static_cast<double>(i), y[i] = 2.0;
    Chunk chunk;
    chunk.add(x, absolute(1e-4), true);
    chunk.add(y, absolute(1e-4), true);
    EXPECT_TRUE(chunk.order({1000, 11'000}).empty());
}

}  // namespace
}  // namespace caesura::run
