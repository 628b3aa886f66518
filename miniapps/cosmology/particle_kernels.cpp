// The particle kernels of the host; see particle_kernels.hpp.

#include "particle_kernels.hpp"

#include <cmath>

namespace cosmology {

void deposit_mass(const SlabExtent& slab, const Particles& particles, float mass, float* density) {
    const int n = slab.n();
    const auto row = static_cast<std::ptrdiff_t>(n) + 2;
    const std::ptrdiff_t plane = row * n;
    float* const origin = density + (k_potential_below - slab.lo()) * plane;
    const float *x = particles.x(0), *y = particles.x(1), *z = particles.x(2);
    const std::size_t count = particles.count();
    for (std::size_t i = 0; i < count; ++i) {
        const int ix = static_cast<int>(x[i]), iy = static_cast<int>(y[i]);
        const int iz = static_cast<int>(z[i]);
        const float fx = x[i] - static_cast<float>(ix), fy = y[i] - static_cast<float>(iy);
        const float fz = z[i] - static_cast<float>(iz);
        const float gx = (1.0f - fx) * mass, hx = fx * mass, gy = 1.0f - fy, gz = 1.0f - fz;
        // Column n of a row is padding of the FFT: it takes what belongs to column 0 (below).
        float* a = origin + ix * plane + iy * row + iz;
        float* b = a + (iy + 1 == n ? row - plane : row);
        a[0] += gx * gy * gz;
        a[1] += gx * gy * fz;
        b[0] += gx * fy * gz;
        b[1] += gx * fy * fz;
        a[plane] += hx * gy * gz;
        a[plane + 1] += hx * gy * fz;
        b[plane] += hx * fy * gz;
        b[plane + 1] += hx * fy * fz;
    }
    for (int ix = slab.lo(); ix <= slab.hi(); ++ix) {
        for (int iy = 0; iy < n; ++iy) {
            float* r = origin + ix * plane + iy * row;
            r[0] += r[n];
            r[n] = 0.0f;
        }
    }
}

namespace {

template <bool with_moments>
void kick_particles(const SlabExtent& slab, Particles& particles, const Float4* gradient,
                    KickFactors factors, float mass, Float4* moments) {
    const int n = slab.n();
    const std::ptrdiff_t row = n, plane = row * n;
    const std::ptrdiff_t origin = (k_node_below - slab.lo()) * plane;
    const float *x = particles.x(0), *y = particles.x(1), *z = particles.x(2);
    float *px = particles.p(0), *py = particles.p(1), *pz = particles.p(2);
    const std::size_t count = particles.count();
    for (std::size_t i = 0; i < count; ++i) {
        const int ix = static_cast<int>(x[i]), iy = static_cast<int>(y[i]);
        const int iz = static_cast<int>(z[i]);
        const float fx = x[i] - static_cast<float>(ix), fy = y[i] - static_cast<float>(iy);
        const float fz = z[i] - static_cast<float>(iz);
        const float gx = 1.0f - fx, gy = 1.0f - fy, gz = 1.0f - fz;
        const std::ptrdiff_t a = origin + ix * plane + iy * row + iz;
        const std::ptrdiff_t to_y = iy + 1 == n ? row - plane : row;
        const std::ptrdiff_t to_z = iz + 1 == n ? 1 - row : 1;
        const std::ptrdiff_t node[8] = {
            a,         a + to_z,         a + to_y,         a + to_y + to_z,
            a + plane, a + plane + to_z, a + plane + to_y, a + plane + to_y + to_z};
        const float w[8] = {gx * gy * gz, gx * gy * fz, gx * fy * gz, gx * fy * fz,
                            fx * gy * gz, fx * gy * fz, fx * fy * gz, fx * fy * fz};
        Float4 g = gradient[node[0]] * w[0];
        for (int c = 1; c < 8; ++c) g += gradient[node[c]] * w[c];
        const Float4 p = Float4{px[i], py[i], pz[i], 1.0f} - factors.to_now * g;
        if constexpr (with_moments) {
            const Float4 m = p * mass;  // the gradient's fourth lane is 0, so m[3] = mass
            for (int c = 0; c < 8; ++c) moments[node[c]] += m * w[c];
        }
        px[i] = p[0] - factors.on * g[0];
        py[i] = p[1] - factors.on * g[1];
        pz[i] = p[2] - factors.on * g[2];
    }
}

}  // namespace

void kick(const SlabExtent& slab, Particles& particles, const std::vector<Float4>& gradient,
          KickFactors factors, float mass, std::vector<Float4>* moments) {
    if (moments) {
        kick_particles<true>(slab, particles, gradient.data(), factors, mass, moments->data());
    } else {
        kick_particles<false>(slab, particles, gradient.data(), factors, mass, nullptr);
    }
}

void drift(int n, Particles& particles, float factor) {
    const auto side = static_cast<float>(n);
    const float inverse = 1.0f / side;
    for (int axis = 0; axis < 3; ++axis) {
        float* x = particles.x(axis);
        const float* p = particles.p(axis);
        const std::size_t count = particles.count();
        for (std::size_t i = 0; i < count; ++i) {
            float moved = x[i] + factor * p[i];
            moved -= side * std::floor(moved * inverse);
            // Rounding may land on the edges themselves, which are one point of the box.
            x[i] = moved >= 0.0f && moved < side ? moved : 0.0f;
        }
    }
}

}  // namespace cosmology
