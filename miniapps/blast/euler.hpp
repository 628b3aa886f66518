// The equations of an ideal gas (gamma = 1.4), first order in space and time, with Rusanov's flux:
// coarse but stable, and positive.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace blast {

constexpr int k_components = 5;  ///< density, momentum along three axes, energy
constexpr double k_gamma = 1.4;

using State = std::array<double, k_components>;

inline double pressure(const State& u) {
    return (k_gamma - 1.0) * (u[4] - 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) / u[0]);
}

/// The fastest signal along an axis.
inline double signal_speed(const State& u, int axis) {
    return std::abs(u[static_cast<std::size_t>(axis) + 1] / u[0]) +
           std::sqrt(k_gamma * pressure(u) / u[0]);
}

inline State physical_flux(const State& u, int axis) {
    const std::size_t normal = static_cast<std::size_t>(axis) + 1;
    const double velocity = u[normal] / u[0], p = pressure(u);
    State f;
    for (std::size_t c = 0; c < f.size(); ++c) f[c] = u[c] * velocity;
    f[normal] += p;
    f[4] += p * velocity;
    return f;
}

/// Through a face from `low` to `high`. Of mass nothing passes between a state and its mirror
/// image.
inline State numerical_flux(const State& low, const State& high, int axis) {
    const State f = physical_flux(low, axis), g = physical_flux(high, axis);
    const double speed = std::max(signal_speed(low, axis), signal_speed(high, axis));
    State flux;
    for (std::size_t c = 0; c < flux.size(); ++c)
        flux[c] = 0.5 * (f[c] + g[c]) - 0.5 * speed * (high[c] - low[c]);
    return flux;
}

/// At the start: a hot sphere in a cold gas at rest, whose density falls off slowly along x.
inline State initial_state(double x, double y, double z) {
    const double r2 = (x - 0.42) * (x - 0.42) + (y - 0.47) * (y - 0.47) + (z - 0.5) * (z - 0.5);
    const double density = 1.2 - 0.4 * x, p = r2 < 0.13 * 0.13 ? 20.0 : 0.1;
    return {density, 0.0, 0.0, 0.0, p / (k_gamma - 1.0)};
}

}  // namespace blast
