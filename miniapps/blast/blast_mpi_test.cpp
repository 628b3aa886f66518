// Goal: the run is what it claims to be (mass and energy conserved, levels nested, boxes unequal
// and moving, the same bits on any number of ranks), and the file has what the run had: with a
// bound within it, and the fill value wherever a level has no box. Launched on 1, 2 and 4 ranks;
// each test runs on all of them.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "caesura/reader.hpp"
#include "output.hpp"
#include "run.hpp"

namespace blast {
namespace {

constexpr double k_bound = 2e-3;
constexpr int k_grid = 24, k_steps = 12;

Options small_run() {
    Options options;
    options.grid = k_grid;
    options.steps = k_steps;
    options.regrid_every = 2;
    options.dump_every = 4;
    options.bound = k_bound;
    return options;  // the front is far from the walls at the end: level 1 has a part of the domain
}

/// A name that runs of other numbers of ranks do not use.
std::string file_name(const std::string& codec) {
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return "blast_" + codec + "_" + std::to_string(ranks) + ".h5";
}

using Boxes = std::array<std::vector<Box>, k_levels>;
using Dumps = std::map<int, Boxes>;

Dumps run_with(const std::string& codec, RunResult& result) {
    Options options = small_run();
    options.codec = codec;
    options.output = file_name(codec);
    Dumps dumps;
    result = run(options, MPI_COMM_WORLD, [&](int step, const Hierarchy& hierarchy) {
        for (int l = 0; l < k_levels; ++l)
            dumps[step][static_cast<std::size_t>(l)] = hierarchy.level(l).layout.boxes;
    });
    return dumps;
}

std::vector<float> all_values(const caesura::Reader& reader, const std::string& name, int step) {
    const auto field = reader.find(name, static_cast<std::uint64_t>(step));
    EXPECT_TRUE(field.ok()) << field.status().message();
    if (!field.ok()) return {};
    const auto& shape = reader.fields()[*field].shape;
    std::vector<float> values(shape[0] * shape[1] * shape[2]);
    const auto status =
        reader.read(*field, {{0, 0, 0}, shape}, std::as_writable_bytes(std::span(values)));
    EXPECT_TRUE(status.ok()) << status.message();
    return values;
}

/// 1 in the boxes, 0 elsewhere.
std::vector<char> mask_of(const std::vector<Box>& boxes, int n) {
    std::vector<char> mask(static_cast<std::size_t>(n) * n * n);
    for (const Box& box : boxes)
        for_each(box, [&](int i, int j, int k) {
            mask[(static_cast<std::size_t>(i) * n + j) * n + k] = 1;
        });
    return mask;
}

TEST(Blast, conserves_mass_and_energy_while_nested_levels_follow_the_front) {
    RunResult result;
    const Dumps dumps = run_with("none", result);
    EXPECT_LT(std::abs(result.mass_drift), 1e-12);
    EXPECT_LT(std::abs(result.energy_drift), 1e-12);
    EXPECT_TRUE(result.nested);
    EXPECT_GE(result.regrids, 3);
    EXPECT_NE(dumps.at(0)[2], dumps.at(k_steps)[2]);
    for (const auto& [step, boxes] : dumps)
        for (std::size_t l = 1; l < k_levels; ++l) {
            std::set<Cell> sizes;
            for (const Box& box : boxes[l])
                sizes.insert({box.extent(0), box.extent(1), box.extent(2)});
            if (step > 0) {
                EXPECT_GE(sizes.size(), 2u) << "step " << step << " level " << l;
            }
        }
    std::filesystem::remove(file_name("none"));
}

TEST(Blast, has_the_same_bits_on_all_ranks_together_and_on_one) {
    Hierarchy together(small_run(), MPI_COMM_WORLD), alone(small_run(), MPI_COMM_SELF);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int step = 1; step <= 5; ++step) {
        for (Hierarchy* each : {&together, &alone}) {
            each->step();
            if (step % 2 == 0) each->regrid();
        }
    }
    std::size_t compared = 0;
    for (int l = 0; l < k_levels; ++l) {
        const Level &a = together.level(l), &b = alone.level(l);
        ASSERT_EQ(a.layout.boxes, b.layout.boxes);
        for (std::size_t p = 0; p < a.patches.size(); ++p) {
            if (a.layout.owners[p] != rank) continue;
            for (int c = 0; c < k_components; ++c)
                for_each(a.layout.boxes[p], [&](int i, int j, int k) {
                    EXPECT_EQ(a.patches[p].at(c, i, j, k), b.patches[p].at(c, i, j, k));
                    ++compared;
                });
        }
    }
    EXPECT_GT(compared, 0u);
}

TEST(Blast, file_has_the_levels_within_the_bound_and_the_fill_value_outside_the_boxes) {
    RunResult plain_result, result;
    run_with("none", plain_result);
    const Dumps dumps = run_with("caesura", result);
    EXPECT_LT(result.stored_bytes, 0.5 * result.raw_bytes);
    const auto plain = caesura::Reader::open(file_name("none"));
    const auto lossy = caesura::Reader::open(file_name("caesura"));
    ASSERT_TRUE(plain.ok() && lossy.ok());
    ASSERT_EQ(dumps.size(), 4u);
    for (const auto& [step, boxes] : dumps)
        for (int l = 0; l < k_levels; ++l)
            for (const std::string quantity : {"density", "pressure"}) {
                SCOPED_TRACE(field_name(quantity, l) + " of step " + std::to_string(step));
                const auto expected = all_values(**plain, field_name(quantity, l), step);
                const auto values = all_values(**lossy, field_name(quantity, l), step);
                const auto mask = mask_of(boxes[static_cast<std::size_t>(l)], k_grid << l);
                ASSERT_EQ(values.size(), mask.size());
                ASSERT_EQ(expected.size(), mask.size());
                std::size_t wrong = 0, in_boxes = 0;
                for (std::size_t i = 0; i < values.size(); ++i) {
                    const float off = std::abs(values[i] - expected[i]);
                    if (mask[i])
                        wrong += !(off <= k_bound) || expected[i] <= 0.0f;
                    else
                        wrong += values[i] != k_fill_value || expected[i] != k_fill_value;
                    in_boxes += mask[i] != 0;
                }
                EXPECT_EQ(wrong, 0u);
                EXPECT_GT(in_boxes, 0u);
                EXPECT_EQ(in_boxes == values.size(), l == 0);
            }
    const auto field = (*lossy)->find("density_lvl2", k_steps);
    ASSERT_TRUE(field.ok());
    EXPECT_EQ((*lossy)->fields()[*field].grid_spacing, std::vector<double>(3, 1.0 / (4 * k_grid)));
    MPI_Barrier(MPI_COMM_WORLD);
    for (const std::string codec : {"none", "caesura"}) std::filesystem::remove(file_name(codec));
}

}  // namespace
}  // namespace blast
