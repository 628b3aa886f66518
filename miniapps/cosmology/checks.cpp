// Measuring and judging; see checks.hpp.

#include "checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cosmology {

namespace {

constexpr double k_linear_rms = 0.25, k_growth_tolerance = 0.05, k_least_span = 2.0;
constexpr double k_mass_tolerance = 1e-5, k_momentum_tolerance = 1e-3;

}  // namespace

void measure_density(const Slab& slab, const float* density, Diagnostics& out) {
    const auto n = static_cast<std::size_t>(slab.n());
    out.mass = 0;
    for (std::size_t row = 0; row < static_cast<std::size_t>(slab.planes()) * n; ++row) {
        for (std::size_t i = 0; i < n; ++i) out.mass += density[row * (n + 2) + i];
    }
}

void measure_power(const Slab& slab, const std::vector<Complex>& modes, Diagnostics& out) {
    const int n = slab.n();
    // The largest scales, on which mesh forces are exact to about 1 %.
    const int limit = std::clamp(n * n / 400, 1, 8);
    const int reach = static_cast<int>(std::sqrt(limit));
    out.low_power = 0;
    for (int iy = slab.lo(); iy < slab.hi(); ++iy) {
        const int ky = iy <= n / 2 ? iy : iy - n;
        for (int kx = -reach; kx <= reach; ++kx) {
            for (int kz = 0; kz <= reach; ++kz) {
                const int k2 = kx * kx + ky * ky + kz * kz;
                if (k2 == 0 || k2 > limit) continue;
                const auto row = static_cast<std::size_t>((iy - slab.lo()) * n + (kx + n) % n);
                const auto mode =
                    modes[row * static_cast<std::size_t>(n / 2 + 1) + static_cast<std::size_t>(kz)];
                out.low_power += std::norm(std::complex<double>(mode)) * (kz == 0 ? 1.0 : 2.0);
            }
        }
    }
}

void measure_particles(const Particles& particles, Diagnostics& out) {
    out.particles = static_cast<double>(particles.count());
    for (int axis = 0; axis < 3; ++axis) {
        double sum = 0, absolute = 0;
        for (std::size_t i = 0; i < particles.count(); ++i) {
            sum += particles.p(axis)[i];
            absolute += std::abs(particles.p(axis)[i]);
        }
        out.momentum[static_cast<std::size_t>(axis)] = sum;
        out.momentum_absolute[static_cast<std::size_t>(axis)] = absolute;
    }
}

void measure_fields(const Fields& fields, Diagnostics& out) {
    out.gas_mass = out.bad_values = 0;
    for (int field = 0; field < k_field_count; ++field) {
        const bool positive = field <= k_temperature;
        for (const float value : fields[field]) {
            if (!std::isfinite(value) || (positive && value < 0.0f)) ++out.bad_values;
            if (field == k_baryon_density) out.gas_mass += value;
        }
    }
}

Checks::Checks(const Background& background, int grid, int particles, double sigma_spacing,
               MPI_Comm comm)
    : background_(background),
      nodes_(std::pow(grid, 3)),
      particles_(std::pow(particles, 3)),
      sigma_spacing_(sigma_spacing),
      comm_(comm) {}

void Checks::expect(bool holds, int step, const std::string& what) {
    if (!holds) violations_.push_back(fmt::format("step {}: {}", step, what));
}

void Checks::add(int step, const Diagnostics& local, bool with_fields) {
    enum {
        k_mass,
        k_power,
        k_count,
        k_momentum,
        k_absolute = k_momentum + 3,
        k_gas = k_absolute + 3,
        k_bad,
        k_sums
    };
    std::array<double, k_sums> sum = {local.mass, local.low_power, local.particles};
    std::copy(local.momentum.begin(), local.momentum.end(), sum.begin() + k_momentum);
    std::copy(local.momentum_absolute.begin(), local.momentum_absolute.end(),
              sum.begin() + k_absolute);
    sum[k_gas] = local.gas_mass;
    sum[k_bad] = local.bad_values;
    MPI_Allreduce(MPI_IN_PLACE, sum.data(), static_cast<int>(sum.size()), MPI_DOUBLE, MPI_SUM,
                  comm_);
    expect(
        std::abs(sum[k_mass] / nodes_ - 1.0) <= k_mass_tolerance, step,
        fmt::format("the mean density is {:.8f}, not 1: deposit loses mass", sum[k_mass] / nodes_));
    expect(sum[k_count] == particles_, step,
           fmt::format("{:.0f} particles, not {:.0f}: migration loses them", sum[k_count],
                       particles_));
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const double share =
            std::abs(sum[k_momentum + axis]) / std::max(sum[k_absolute + axis], 1e-300);
        expect(share <= k_momentum_tolerance, step,
               fmt::format("total momentum along axis {} is {:.2e} of its absolute sum: forces are "
                           "not antisymmetric",
                           axis, share));
    }
    if (with_fields) {
        expect(std::abs(sum[k_gas] / nodes_ - 1.0) <= k_mass_tolerance, step,
               fmt::format("the mean baryon density is {:.8f}, not 1", sum[k_gas] / nodes_));
        expect(sum[k_bad] == 0, step,
               fmt::format("{:.0f} field values are not finite or not positive", sum[k_bad]));
    }

    if (background_.growth(local.a) * sigma_spacing_ > k_linear_rms) return;
    if (step == 0) {
        first_a_ = local.a;
        first_power_ = sum[k_power];
        return;
    }
    const double growth = std::pow(background_.growth(local.a) / background_.growth(first_a_), 2);
    if (first_power_ == 0) return;  // the first step was not linear either
    const double departure = sum[k_power] / first_power_ / growth - 1.0;
    linear_span_ = local.a / first_a_;
    if (std::abs(departure) > std::abs(worst_growth_)) worst_growth_ = departure;
    expect(std::abs(departure) <= k_growth_tolerance, step,
           fmt::format("large-scale power grew {:.3f} times linear theory since the first step",
                       1.0 + departure));
}

std::vector<std::string> Checks::violations() const {
    auto all = violations_;
    if (linear_span_ < k_least_span)
        all.push_back(
            fmt::format("growth was comparable with linear theory over a factor {:.2f} in "
                        "a only: start earlier (--z-init) or take more steps (--steps)",
                        linear_span_));
    return all;
}

}  // namespace cosmology
