#include "shot.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "earth.hpp"

namespace wave {
namespace {

Grid small_grid(int n, float velocity) {
    Grid grid;
    grid.nz = grid.ny = grid.nx = n;
    grid.sponge = 10;
    grid.step_s = stable_step_s(grid.spacing_m, velocity);
    return grid;
}

std::vector<float> uniform(const Grid& grid, float velocity) {
    return std::vector<float>(
        static_cast<std::size_t>(grid.nz * grid.ny) * static_cast<std::size_t>(grid.nx), velocity);
}

float largest(const std::vector<float>& values) {
    float most = 0.0F;
    for (const float v : values) most = std::max(most, std::abs(v));
    return most;
}

Shot small_shot() { return {{12, 20, 1, 15, 1}, {12, 10, 20, 10, 20}, 15.0F, 150}; }

std::vector<float> heard_by(Machine& machine, const Medium& earth, const Shot& shot) {
    std::vector<float> heard(static_cast<std::size_t>(shot.steps) * shot.receivers.points());
    machine.download(heard, model_shot(machine, earth, shot).get());
    return heard;
}

TEST(Wave, travels_as_the_exact_solution_says) {
    // u_tt = v^2 (laplace(u) + f), f = w(t) / h^2 in one cell: u = h w(t - r / v) / (4 pi r).
    constexpr float velocity = 2000.0F, frequency = 12.0F;
    Grid grid = small_grid(88, velocity);
    grid.sponge = 22;  // more than a wavelength; what it sends back is most of the difference
    const auto machine = make_host_machine(1);
    const Medium medium = make_medium(*machine, grid, uniform(grid, velocity));
    const int middle = grid.nz / 2, away = 14;
    Shot shot{
        {middle, middle, 1, middle, 1}, {middle, middle, 1, middle + away, 1}, frequency, 220};
    const Floats traces = model_shot(*machine, medium, shot);
    const float r = static_cast<float>(away) * grid.spacing_m;
    const float scale = grid.spacing_m / (4.0F * std::numbers::pi_v<float> * r);
    for (int n = 0; n < shot.steps; ++n) {
        const float t = static_cast<float>(n + 1) * grid.step_s - r / velocity;
        EXPECT_NEAR(traces.get()[n], scale * ricker(t, frequency), 0.04F * scale) << "step " << n;
    }
}

TEST(Wave, dies_at_the_sides) {
    constexpr float velocity = 2000.0F;
    const Grid grid = small_grid(48, velocity);
    const auto machine = make_host_machine(1);
    const Medium medium = make_medium(*machine, grid, uniform(grid, velocity));
    const int middle = grid.nz / 2;
    const Plane all{middle, grid.sponge, 28, grid.sponge, 28};
    const Shot shot{{middle, middle, 1, middle, 1}, all, 15.0F, 600};
    const Floats traces = model_shot(*machine, medium, shot);
    std::vector<float> early(200 * all.points()), late(100 * all.points());
    machine->download(early, traces.get());
    machine->download(late, traces.get() + 500 * all.points());
    EXPECT_LT(largest(late), 0.01F * largest(early));
    EXPECT_GT(largest(early), 0.0F);
}

TEST(Wave, has_the_same_bits_however_many_threads) {
    const Grid grid = small_grid(40, k_fastest_m_per_s);
    const Shot shot = small_shot();
    std::vector<std::vector<float>> heard;
    for (const int threads : {1, 2, 5}) {
        const auto machine = make_host_machine(threads);
        const Medium earth = make_medium(*machine, grid, earth_velocity(grid));
        heard.push_back(heard_by(*machine, earth, shot));
    }
    EXPECT_GT(largest(heard[0]), 0.0F);
    EXPECT_EQ(heard[0], heard[1]);
    EXPECT_EQ(heard[0], heard[2]);
}

/// A picture of three arrays, at the host.
std::vector<std::vector<float>> migrated(Machine& machine, const Medium& smooth, const Shot& shot,
                                         const Floats& data) {
    const std::size_t cells = smooth.grid.cells();
    Image image{machine.make(cells), machine.make(cells), machine.make(cells)};
    migrate_shot(machine, smooth, shot, data.get(), {}, image);
    std::vector<std::vector<float>> all;
    for (const Floats& floats : {image.image, image.source_power, image.receiver_power}) {
        all.emplace_back(cells);
        machine.download(all.back(), floats.get());
    }
    return all;
}

TEST(Wave, has_the_same_bits_on_a_gpu_as_on_the_host) {
    std::unique_ptr<Machine> gpu;
    try {
        gpu = make_gpu_machine();
    } catch (const std::runtime_error& error) {
        GTEST_SKIP() << error.what();
    }
    const auto host = make_host_machine(1);
    const Grid grid = small_grid(40, k_fastest_m_per_s);
    const Shot shot = small_shot();
    std::vector<std::vector<std::vector<float>>> found;
    for (Machine* machine : {host.get(), gpu.get()}) {
        const Medium earth = make_medium(*machine, grid, earth_velocity(grid));
        const Medium smooth =
            make_medium(*machine, grid, smooth_velocity(grid, earth_velocity(grid), 5));
        found.push_back(migrated(*machine, smooth, shot, model_shot(*machine, earth, shot)));
    }
    EXPECT_EQ(found[0], found[1]);
}

TEST(Migration, shows_a_reflector_where_it_is) {
    Grid grid = small_grid(60, 3000.0F);
    grid.ny = 44;
    std::vector<float> velocity = uniform(grid, 2000.0F);
    constexpr int reflector = 38;
    std::fill(velocity.begin() + reflector * grid.ny * grid.nx, velocity.end(), 3000.0F);
    const auto machine = make_host_machine(2);
    const Medium earth = make_medium(*machine, grid, velocity);
    const Medium smooth = make_medium(*machine, grid, uniform(grid, 2000.0F));
    const Shot shot{{12, 22, 1, 30, 1}, {12, 10, 24, 10, 40}, 25.0F, 280};
    const Floats data = model_shot(*machine, earth, shot);
    const std::vector<float> image = migrated(*machine, smooth, shot, data)[0];
    // Second differences in depth: a reflector is thin, what waves on one way leave is not.
    const auto sharp = [&](int z) {
        const float* at = image.data() + grid.at(z, 22, 30);
        return std::abs(at[-grid.plane()] - 2.0F * at[0] + at[grid.plane()]);
    };
    // From a wavelength below source and receivers on: near them everything is bright.
    int brightest = 22;
    for (int z = 22; z < 50; ++z)
        if (sharp(z) > sharp(brightest)) brightest = z;
    EXPECT_NEAR(brightest, reflector, 2);
}

}  // namespace
}  // namespace wave
