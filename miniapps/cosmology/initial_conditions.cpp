// Gaussian modes -> displacements -> particles; see initial_conditions.hpp.

#include "initial_conditions.hpp"

#include <cmath>
#include <numbers>

#include "fft.hpp"

namespace cosmology {

namespace {

/// SplitMix64's finaliser: a bijection of 64 bits in which every bit depends on every bit.
std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

double unit_interval(std::uint64_t bits) {  // (0, 1]
    return (static_cast<double>(bits >> 11) + 1.0) * 0x1.0p-53;
}

int signed_frequency(int index, int n) { return index <= n / 2 ? index : index - n; }

}  // namespace

std::array<double, 2> mode_amplitude(std::uint64_t seed, int kx, int ky, int kz) {
    const bool conjugate = kz < 0 || (kz == 0 && (ky < 0 || (ky == 0 && kx < 0)));
    const int sign = conjugate ? -1 : 1;
    std::uint64_t state = mix(seed);
    for (const int k : {sign * kx, sign * ky, sign * kz})
        state = mix(state ^ static_cast<std::uint64_t>(static_cast<std::uint32_t>(k)));
    const double radius = std::sqrt(-2.0 * std::log(unit_interval(mix(state))));
    const double angle = 2.0 * std::numbers::pi * unit_interval(mix(state + 1));
    return {radius * std::cos(angle), sign * radius * std::sin(angle)};
}

namespace {

/// Fill `fft.modes()` with psi_axis(k) = i k_axis / k^2 delta(k), in mesh cells at D = 1.
void fill_displacement_modes(const InitialConditions& ic, const PowerSpectrum& power,
                             const Slab& lattice, SlabFft& fft, int axis) {
    const int n = ic.particles, nk = n / 2 + 1;
    const double fundamental = 2.0 * std::numbers::pi / ic.box_mpc;
    const double cells_per_mpc = ic.mesh / ic.box_mpc;
    const double volume = std::pow(ic.box_mpc, 3);
    auto* mode = fft.modes().data();
    for (int iy = lattice.lo(); iy < lattice.hi(); ++iy) {
        for (int ix = 0; ix < n; ++ix) {
            for (int iz = 0; iz < nk; ++iz, ++mode) {
                *mode = 0.0f;
                // Nyquist modes have no direction of their own; the mean does not move.
                if (2 * ix == n || 2 * iy == n || 2 * iz == n || (ix == 0 && iy == 0 && iz == 0))
                    continue;
                const int k[3] = {signed_frequency(ix, n), signed_frequency(iy, n), iz};
                const double k2 = double(k[0]) * k[0] + double(k[1]) * k[1] + double(k[2]) * k[2];
                const double rms = std::sqrt(power(fundamental * std::sqrt(k2)) / (2.0 * volume));
                const auto [re, im] = mode_amplitude(ic.seed, k[0], k[1], k[2]);
                const double psi = k[axis] / (k2 * fundamental) * rms * cells_per_mpc;
                *mode = Complex(static_cast<float>(-im * psi), static_cast<float>(re * psi));
            }
        }
    }
}

}  // namespace

Particles make_particles(const InitialConditions& ic, const Background& background,
                         const PowerSpectrum& power, const Slab& slab) {
    const Slab lattice(ic.particles, slab.comm());
    SlabFft fft(lattice);
    std::vector<float> psi(static_cast<std::size_t>(lattice.planes()) * fft.plane_floats());
    const auto n = static_cast<std::size_t>(ic.particles);
    const double spacing = static_cast<double>(ic.mesh) / ic.particles;
    const double side = ic.mesh;
    const double growth = background.growth(ic.a), momentum = background.growth_momentum(ic.a);

    Particles particles;
    particles.have_ids = ic.ids;
    particles.resize(static_cast<std::size_t>(lattice.planes()) * n * n);
    for (int axis = 0; axis < 3; ++axis) {
        fill_displacement_modes(ic, power, lattice, fft, axis);
        fft.backward_lines();
        fft.transpose_backward(psi.data());
        fft.backward_planes(psi.data());
        std::size_t i = 0;
        for (int ix = 0; ix < lattice.planes(); ++ix) {
            for (std::size_t iy = 0; iy < n; ++iy) {
                const float* row = psi.data() + static_cast<std::size_t>(ix) * fft.plane_floats() +
                                   iy * static_cast<std::size_t>(fft.row_floats());
                for (std::size_t iz = 0; iz < n; ++iz, ++i) {
                    const double index[3] = {static_cast<double>(lattice.lo() + ix),
                                             static_cast<double>(iy), static_cast<double>(iz)};
                    // Half a spacing off the mesh nodes, where CIC is smooth in the displacement.
                    double x = (index[axis] + 0.5) * spacing + growth * row[iz];
                    x -= side * std::floor(x / side);
                    const auto wrapped = static_cast<float>(x);
                    particles.x(axis)[i] = wrapped < static_cast<float>(side) ? wrapped : 0.0f;
                    particles.p(axis)[i] = static_cast<float>(momentum * row[iz]);
                }
            }
        }
    }
    for (std::size_t i = 0; i < particles.ids.size(); ++i)
        particles.ids[i] = static_cast<std::size_t>(lattice.lo()) * n * n + i;
    Migration migration(slab);
    migration.pack(particles);
    migration.exchange(particles);
    return particles;
}

}  // namespace cosmology
