// The six fields; see fields.hpp.

#include "fields.hpp"

#include <algorithm>
#include <cmath>

namespace cosmology {

namespace {

constexpr double k_smoothing_length_mpc = 0.08;  // comoving, of gas at 10^4 K around z = 3
constexpr double k_redshift_reionisation = 8.0;
// mu m_p / (3 k_B): the temperature of gas whose bulk speed (cm/s) turns into heat.
constexpr double k_kelvin_per_speed_squared = 0.59 * 1.67262e-24 / (3.0 * 1.38065e-16);
constexpr double k_critical_density_si = 1.87834e-26;  // kg/m^3 for h = 1
// Convergent flow shocks where matter has collapsed; below this density (in means) it does not.
constexpr float k_shock_density = 5.0f;
// Weight of linear theory's velocity, as a density in units of the mean: it decides only where the
// particles' own mass is far below this.
constexpr float k_linear_weight = 0.02f;

}  // namespace

std::array<FieldInfo, k_field_count> field_infos(const CosmologyParameters& cosmology,
                                                 double bound_scale) {
    const double critical = k_critical_density_si * cosmology.h * cosmology.h;
    const std::array<double, 7> density = {-3, 1, 0, 0, 0, 0, 0}, kelvin = {0, 0, 0, 0, 1, 0, 0};
    const std::array<double, 7> speed = {1, 0, -1, 0, 0, 0, 0};
    const double dark = critical * (cosmology.omega_m - cosmology.omega_b);
    return {FieldInfo{"baryon_density", 0.2 * bound_scale, critical * cosmology.omega_b, density},
            FieldInfo{"dark_matter_density", 0.4 * bound_scale, dark, density},
            FieldInfo{"temperature", 1e3 * bound_scale, 1.0, kelvin},
            FieldInfo{"velocity_x", 2e5 * bound_scale, 0.01, speed},
            FieldInfo{"velocity_y", 2e5 * bound_scale, 0.01, speed},
            FieldInfo{"velocity_z", 2e5 * bound_scale, 0.01, speed}};
}

double mean_temperature(double a) {
    const double one_plus_z = 1.0 / a;
    const double decoupling = 138.0;
    const double adiabatic = one_plus_z > decoupling
                                 ? 2.7255 * one_plus_z
                                 : 2.7255 * one_plus_z * one_plus_z / decoupling;
    return adiabatic + 0.5e4 * (1.0 + std::tanh(k_redshift_reionisation + 1.0 - one_plus_z));
}

Fields::Fields(const Slab& slab, double box_mpc) : slab_(slab), box_mpc_(box_mpc) {
    const auto n = static_cast<std::size_t>(slab.n());
    for (auto& field : values_) field.resize(static_cast<std::size_t>(slab.planes()) * n * n);
}

int Fields::smoothing_passes() const {
    const double cells = k_smoothing_length_mpc * slab_.n() / box_mpc_;
    return std::clamp(static_cast<int>(std::lround(2.0 * cells * cells)), 1, 8);
}

void Fields::take_dark_matter(const float* density) {
    const auto n = static_cast<std::size_t>(slab_.n());
    const std::size_t rows = static_cast<std::size_t>(slab_.planes()) * n;
    const float* own = density + k_potential_below * n * (n + 2);
    for (std::size_t row = 0; row < rows; ++row)
        std::copy_n(own + row * (n + 2), n, values_[k_dark_matter_density].data() + row * n);
}

void Fields::smooth_in_plane(std::vector<Float4>& moments) const {
    const auto n = static_cast<std::size_t>(slab_.n());
    std::vector<Float4> first_row(n), above(n);
    for (std::size_t plane = 0; plane < static_cast<std::size_t>(slab_.planes()); ++plane) {
        Float4* base = moments.data() + (plane + k_node_below) * n * n;
        for (std::size_t y = 0; y < n; ++y) {  // along z, within each row
            Float4* r = base + y * n;
            const Float4 first = r[0];
            Float4 previous = r[n - 1];
            for (std::size_t z = 0; z + 1 < n; ++z) {
                const Float4 here = r[z];
                r[z] = 0.25f * (previous + r[z + 1]) + 0.5f * here;
                previous = here;
            }
            r[n - 1] = 0.25f * (previous + first) + 0.5f * r[n - 1];
        }
        std::copy_n(base, n, first_row.begin());  // along y, row by row
        std::copy_n(base + (n - 1) * n, n, above.begin());
        for (std::size_t y = 0; y < n; ++y) {
            Float4* r = base + y * n;
            const Float4* below = y + 1 < n ? r + n : first_row.data();
            for (std::size_t z = 0; z < n; ++z) {
                const Float4 here = r[z];
                r[z] = 0.25f * (above[z] + below[z]) + 0.5f * here;
                above[z] = here;
            }
        }
    }
}

void Fields::smooth_across(std::vector<Float4>& moments) const {
    const auto n = static_cast<std::size_t>(slab_.n());
    const std::size_t plane = n * n;
    std::vector<Float4> previous(moments.begin(),
                                 moments.begin() + static_cast<std::ptrdiff_t>(plane));
    for (std::size_t i = 1; i <= static_cast<std::size_t>(slab_.planes()); ++i) {
        Float4* here = moments.data() + i * plane;
        for (std::size_t c = 0; c < plane; ++c) {
            const Float4 old = here[c];
            here[c] = 0.25f * (previous[c] + here[c + plane]) + 0.5f * old;
            previous[c] = old;
        }
    }
}

void Fields::finish_gas(std::vector<Float4>& moments, const std::vector<Float4>& gradient,
                        const Background& background, double a) {
    const int n = slab_.n();
    const auto row = static_cast<std::ptrdiff_t>(n);
    const std::ptrdiff_t plane = row * n;
    // 1. Moments become velocity (cm/s) and density, ghosts included: the divergence needs them.
    const double cell_mpc = box_mpc_ / n;
    const auto to_speed =
        static_cast<float>(1e5 * 100.0 * background.parameters().h * cell_mpc / a);
    const auto linear = static_cast<float>(-background.linear_momentum(a)) * k_linear_weight;
    for (std::size_t i = 0; i < moments.size(); ++i) {
        const float mass = moments[i][3];
        Float4 v = (moments[i] + linear * gradient[i]) * (to_speed / (mass + k_linear_weight));
        v[3] = mass;
        moments[i] = v;
    }
    // 2. Each own node's outputs.
    const auto t0 = static_cast<float>(mean_temperature(a));
    const auto shock = static_cast<float>(k_kelvin_per_speed_squared);
    std::size_t out = 0;
    for (int ix = 0; ix < slab_.planes(); ++ix) {
        for (int iy = 0; iy < n; ++iy) {
            const Float4* r = moments.data() + (ix + k_node_below) * plane + iy * row;
            const Float4* up = r + (iy + 1 == n ? row - plane : row);
            const Float4* down = r + (iy == 0 ? plane - row : -row);
            for (int iz = 0; iz < n; ++iz, ++out) {
                const float dx = r[iz + plane][0] - r[iz - plane][0];
                const float dy = up[iz][1] - down[iz][1];
                const float dz = r[iz + 1 == n ? 0 : iz + 1][2] - r[iz == 0 ? n - 1 : iz - 1][2];
                const float inflow = std::max(0.0f, -0.5f * (dx + dy + dz));
                const float rho = r[iz][3];
                // rho^0.625, the late-time slope (Hui & Gnedin 1997), by square roots alone.
                const float half = std::sqrt(rho), eighth = std::sqrt(std::sqrt(half));
                values_[k_baryon_density][out] = rho;
                const float collapsed = rho * rho / (rho * rho + k_shock_density * k_shock_density);
                values_[k_temperature][out] =
                    t0 * half * eighth + collapsed * shock * inflow * inflow;
                values_[k_velocity_x][out] = r[iz][0];
                values_[k_velocity_y][out] = r[iz][1];
                values_[k_velocity_z][out] = r[iz][2];
            }
        }
    }
}

}  // namespace cosmology
