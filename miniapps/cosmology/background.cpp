// Growth and ages by Simpson's rule; see background.hpp.

#include "background.hpp"

#include <cmath>

namespace cosmology {

namespace {

constexpr double k_hubble_time_s = 3.0856775814913673e17;  // 1/H0 for h = 1

/// Simpson's rule on n (even) intervals.
template <class F>
double integrate(double from, double to, int n, F&& f) {
    const double step = (to - from) / n;
    double sum = f(from) + f(to);
    for (int i = 1; i < n; ++i) sum += (i % 2 == 1 ? 4.0 : 2.0) * f(from + i * step);
    return sum * step / 3.0;
}

}  // namespace

Background::Background(const CosmologyParameters& parameters) : parameters_(parameters) {
    growth_norm_ = 1.0 / (hubble(1.0) * growth_integral(1.0));
}

double Background::hubble(double a) const {
    return std::sqrt(parameters_.omega_m / (a * a * a) + 1.0 - parameters_.omega_m);
}

double Background::growth_integral(double a) const {
    // With u = sqrt(x) the integrand 2 u / (x E)^3 goes to zero as u^4: no singularity at x = 0.
    return integrate(0.0, std::sqrt(a), 512, [&](double u) {
        const double x = u * u;
        const double x_e_squared = parameters_.omega_m + (1.0 - parameters_.omega_m) * x * x * x;
        return 2.0 * std::pow(u, 4) / (x_e_squared * std::sqrt(x_e_squared));
    });
}

double Background::growth(double a) const { return growth_norm_ * hubble(a) * growth_integral(a); }

double Background::growth_momentum(double a) const {
    // dD/da = norm * (E'(a) I(a) + E(a) / (a E)^3), times a^3 E.
    const double e = hubble(a);
    const double slope = -1.5 * parameters_.omega_m / (std::pow(a, 4) * e);
    return growth_norm_ * (std::pow(a, 3) * e * slope * growth_integral(a) + 1.0 / e);
}

double Background::age_s(double a) const {
    const double ages = integrate(0.0, std::sqrt(a), 512, [&](double u) {
        const double x = u * u;  // da / (a E) = 2 u^2 / sqrt(Omega_m + (1 - Omega_m) x^3) du
        const double lambda = (1.0 - parameters_.omega_m) * x * x * x;
        return 2.0 * u * u / std::sqrt(parameters_.omega_m + lambda);
    });
    return ages * k_hubble_time_s / parameters_.h;
}

double Background::kick(double a_force, double a0, double a1) const {
    return (growth_momentum(a1) - growth_momentum(a0)) /
           (1.5 * parameters_.omega_m * growth(a_force));
}

double Background::drift(double a_momentum, double a0, double a1) const {
    return (growth(a1) - growth(a0)) / growth_momentum(a_momentum);
}

double Background::linear_momentum(double a) const {
    return growth_momentum(a) / (1.5 * parameters_.omega_m * growth(a));
}

}  // namespace cosmology
