// Eisenstein & Hu's no-wiggle spectrum; see power_spectrum.hpp.

#include "power_spectrum.hpp"

#include <cmath>

namespace cosmology {

namespace {
constexpr double k_theta_cmb = 2.7255 / 2.7;  // CMB temperature in units of 2.7 K
}

PowerSpectrum::PowerSpectrum(const CosmologyParameters& parameters) : parameters_(parameters) {
    const double omega_mh2 = parameters.omega_m * parameters.h * parameters.h;
    const double omega_bh2 = parameters.omega_b * parameters.h * parameters.h;
    const double fraction = parameters.omega_b / parameters.omega_m;
    sound_horizon_ =
        44.5 * std::log(9.83 / omega_mh2) / std::sqrt(1.0 + 10.0 * std::pow(omega_bh2, 0.75));
    alpha_ = 1.0 - 0.328 * std::log(431.0 * omega_mh2) * fraction +
             0.38 * std::log(22.3 * omega_mh2) * fraction * fraction;
    const double unnormalised = sigma(8.0 / parameters.h);
    amplitude_ = std::pow(parameters.sigma8 / unnormalised, 2);
}

double PowerSpectrum::transfer(double k) const {
    const double shape = parameters_.omega_m * parameters_.h *
                         (alpha_ + (1.0 - alpha_) / (1.0 + std::pow(0.43 * k * sound_horizon_, 4)));
    const double q = k / parameters_.h * k_theta_cmb * k_theta_cmb / shape;
    const double l0 = std::log(2.0 * std::exp(1.0) + 1.8 * q);
    const double c0 = 14.2 + 731.0 / (1.0 + 62.5 * q);
    return l0 / (l0 + c0 * q * q);
}

double PowerSpectrum::operator()(double k) const {
    const double t = transfer(k);
    return amplitude_ * std::pow(k, parameters_.spectral_index) * t * t;
}

double PowerSpectrum::sigma(double radius) const {
    // Midpoint rule in ln k; the top-hat window ends the integral well before the upper limit.
    constexpr int k_points = 4096;
    const double from = std::log(1e-5), to = std::log(200.0 / radius);
    const double step = (to - from) / k_points;
    double sum = 0.0;
    for (int i = 0; i < k_points; ++i) {
        const double k = std::exp(from + (i + 0.5) * step);
        const double x = k * radius;
        const double window =
            x < 1e-2 ? 1.0 - x * x / 10.0 : 3.0 * (std::sin(x) - x * std::cos(x)) / (x * x * x);
        sum += std::pow(k, 3) * (*this)(k)*window * window;
    }
    const double two_pi_squared = 2.0 * std::acos(-1.0) * std::acos(-1.0);
    return std::sqrt(sum * step / two_pi_squared);
}

}  // namespace cosmology
