// A piece of the earth's crust by formula: layers and a body like salt.
//
// In fractions of the box, d down, e across (y), s along (x):
//     above   d < 0.30 + 0.03 cos(2 pi s) + 0.02 cos(2 pi e)           1800 m/s
//     then    d < 0.52 + 0.06 (s - 0.5)                                2200 m/s
//     then    d < 0.76 + 0.02 sin(2 pi s)                              2600 m/s
//     below                                                            3200 m/s
//     salt    ((d - 0.55) / 0.13)^2 + ((s - 0.58) / 0.17)^2 + ((e - 0.5) / 0.35)^2 < 1
//                                                                      4200 m/s
// Invariants: pure functions.
#pragma once

#include <vector>

#include "grid.hpp"

namespace wave {

constexpr float k_fastest_m_per_s = 4200.0F, k_slowest_m_per_s = 1800.0F;

/// Velocity in m/s, [nz, ny, nx] without the rim.
std::vector<float> earth_velocity(const Grid& grid);

/// What is known before the reflections are: slowness averaged over boxes of 2 radius + 1 cells
/// three times, so that next to nothing in it reflects.
std::vector<float> smooth_velocity(const Grid& grid, const std::vector<float>& velocity,
                                   int radius);

/// The longest step with which nothing grows without end, times 0.9, in s.
float stable_step_s(float spacing_m, float fastest_m_per_s);

}  // namespace wave
