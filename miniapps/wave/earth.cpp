#include "earth.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace wave {
namespace {

float velocity_at(float d, float e, float s) {
    constexpr float turn = 2.0F * std::numbers::pi_v<float>;
    const auto square = [](float x) { return x * x; };
    if (square((d - 0.55F) / 0.13F) + square((s - 0.58F) / 0.17F) + square((e - 0.5F) / 0.35F) <
        1.0F)
        return k_fastest_m_per_s;
    if (d < 0.30F + 0.03F * std::cos(turn * s) + 0.02F * std::cos(turn * e))
        return k_slowest_m_per_s;
    if (d < 0.52F + 0.06F * (s - 0.5F)) return 2200.0F;
    if (d < 0.76F + 0.02F * std::sin(turn * s)) return 2600.0F;
    return 3200.0F;
}

/// Means over 2 radius + 1 values along one axis; beyond the ends the last value goes on.
void average_line(float* line, std::ptrdiff_t stride, int count, int radius,
                  std::vector<double>& sums) {
    sums.assign(static_cast<std::size_t>(count) + 1, 0.0);
    for (int i = 0; i < count; ++i)
        sums[static_cast<std::size_t>(i) + 1] =
            sums[static_cast<std::size_t>(i)] + line[i * stride];
    const double first = line[0], last = line[(count - 1) * stride];
    for (int i = 0; i < count; ++i) {
        const int from = i - radius, to = i + radius + 1;
        const int inside_from = std::max(from, 0), inside_to = std::min(to, count);
        const double sum = sums[static_cast<std::size_t>(inside_to)] -
                           sums[static_cast<std::size_t>(inside_from)] +
                           first * (inside_from - from) + last * (to - inside_to);
        line[i * stride] = static_cast<float>(sum / (to - from));
    }
}

void average(const Grid& grid, std::vector<float>& field, int radius) {
    const std::ptrdiff_t row = grid.nx, plane = row * grid.ny;
    std::vector<double> sums;
    for (int z = 0; z < grid.nz; ++z)
        for (int y = 0; y < grid.ny; ++y)
            average_line(field.data() + z * plane + y * row, 1, grid.nx, radius, sums);
    for (int z = 0; z < grid.nz; ++z)
        for (int x = 0; x < grid.nx; ++x)
            average_line(field.data() + z * plane + x, row, grid.ny, radius, sums);
    for (std::ptrdiff_t i = 0; i < plane; ++i)
        average_line(field.data() + i, plane, grid.nz, radius, sums);
}

}  // namespace

std::vector<float> earth_velocity(const Grid& grid) {
    std::vector<float> velocity;
    velocity.reserve(static_cast<std::size_t>(grid.nz) * static_cast<std::size_t>(grid.ny) *
                     static_cast<std::size_t>(grid.nx));
    const auto middle = [](int cell, int cells) {
        return (static_cast<float>(cell) + 0.5F) / static_cast<float>(cells);
    };
    for (int z = 0; z < grid.nz; ++z)
        for (int y = 0; y < grid.ny; ++y)
            for (int x = 0; x < grid.nx; ++x)
                velocity.push_back(
                    velocity_at(middle(z, grid.nz), middle(y, grid.ny), middle(x, grid.nx)));
    return velocity;
}

std::vector<float> smooth_velocity(const Grid& grid, const std::vector<float>& velocity,
                                   int radius) {
    std::vector<float> smooth = velocity;
    for (float& v : smooth) v = 1.0F / v;
    for (int pass = 0; pass < 3; ++pass) average(grid, smooth, radius);
    for (float& v : smooth) v = 1.0F / v;
    return smooth;
}

float stable_step_s(float spacing_m, float fastest_m_per_s) {
    // The most that the stencil makes of a wave: all weights of one axis, by their size.
    constexpr double one_axis = 205.0 / 72.0 + 2.0 * (8.0 / 5 + 1.0 / 5 + 8.0 / 315 + 1.0 / 560);
    return static_cast<float>(0.9 * 2.0 / std::sqrt(3.0 * one_axis) * spacing_m / fastest_m_per_s);
}

}  // namespace wave
