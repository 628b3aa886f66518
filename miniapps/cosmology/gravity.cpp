// Gravity on the mesh; see gravity.hpp.

#include "gravity.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace cosmology {

void solve_poisson(const Slab& slab, double omega_m, std::vector<Complex>& modes) {
    const int n = slab.n(), nk = n / 2 + 1;
    std::vector<float> sine_squared(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) {
        const double s = std::sin(std::numbers::pi * i / n);
        sine_squared[static_cast<std::size_t>(i)] = static_cast<float>(4.0 * s * s);
    }
    const auto norm = static_cast<float>(-1.5 * omega_m / std::pow(n, 3));
    auto* mode = modes.data();
    for (int iy = slab.lo(); iy < slab.hi(); ++iy) {
        for (int ix = 0; ix < n; ++ix) {
            const float xy = sine_squared[static_cast<std::size_t>(iy)] +
                             sine_squared[static_cast<std::size_t>(ix)];
            for (int iz = 0; iz < nk; ++iz)
                mode[iz] *=
                    norm / std::max(xy + sine_squared[static_cast<std::size_t>(iz)], 1e-20f);
            mode += nk;
        }
    }
    if (slab.lo() == 0) modes[0] = 0.0f;  // the mean exerts no force
}

void compute_gradient(const Slab& slab, const float* potential, std::vector<Float4>& gradient) {
    const int n = slab.n();
    const auto row = static_cast<std::ptrdiff_t>(n) + 2;
    const std::ptrdiff_t plane = row * n;
    const float c1 = 2.0f / 3.0f, c2 = -1.0f / 12.0f;
    const float* const origin = potential + (k_potential_below - slab.lo()) * plane;
    auto* out = gradient.data();
    std::vector<float> padded(static_cast<std::size_t>(n) + 4);
    const auto wrapped = [n](int i) { return (i + n) % n; };
    for (int ix = slab.lo() - k_node_below; ix < slab.hi() + k_node_above; ++ix) {
        for (int iy = 0; iy < n; ++iy, out += n) {
            const float* r = origin + ix * plane + iy * row;
            const float* yp1 = r + (wrapped(iy + 1) - iy) * row;
            const float* yp2 = r + (wrapped(iy + 2) - iy) * row;
            const float* ym1 = r + (wrapped(iy - 1) - iy) * row;
            const float* ym2 = r + (wrapped(iy - 2) - iy) * row;
            std::copy(r, r + n, padded.begin() + 2);
            padded[0] = r[n - 2];
            padded[1] = r[n - 1];
            padded[static_cast<std::size_t>(n) + 2] = r[0];
            padded[static_cast<std::size_t>(n) + 3] = r[1];
            const float* pz = padded.data() + 2;
            for (int iz = 0; iz < n; ++iz) {
                const float gx = c1 * (r[iz + plane] - r[iz - plane]) +
                                 c2 * (r[iz + 2 * plane] - r[iz - 2 * plane]);
                const float gy = c1 * (yp1[iz] - ym1[iz]) + c2 * (yp2[iz] - ym2[iz]);
                const float gz = c1 * (pz[iz + 1] - pz[iz - 1]) + c2 * (pz[iz + 2] - pz[iz - 2]);
                out[iz] = Float4{gx, gy, gz, 0.0f};
            }
        }
    }
}

}  // namespace cosmology
