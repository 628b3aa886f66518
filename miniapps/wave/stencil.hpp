// One cell, one time step of the acoustic wave equation; the same lines on host and GPU.
//
//     u_tt + 2 sigma u_t = v^2 laplace(u)
//
// 2nd order in time, 8th in space. sigma is zero inside and rises towards the sides, where it lets
// waves die: the absorbing boundary.
//
// Invariants: sums in a fixed order; compiled without contraction, host and GPU give the same bits.
#pragma once

#include <math.h>  // fabsf of host and GPU

#include <cstddef>

#if defined(__CUDACC__)
#define WAVE_HOST_DEVICE __host__ __device__
#else
#define WAVE_HOST_DEVICE
#endif

namespace wave {

/// laplace(u) times the spacing squared.
/// @param u  the cell; four more on every side are there. y, z: strides in floats.
WAVE_HOST_DEVICE inline float laplacian(const float* u, std::ptrdiff_t y, std::ptrdiff_t z) {
    constexpr float c0 = -205.0F / 72.0F, c1 = 8.0F / 5.0F, c2 = -1.0F / 5.0F, c3 = 8.0F / 315.0F,
                    c4 = -1.0F / 560.0F;
    const float at1 = ((u[-1] + u[1]) + (u[-y] + u[y])) + (u[-z] + u[z]);
    const float at2 = ((u[-2] + u[2]) + (u[-2 * y] + u[2 * y])) + (u[-2 * z] + u[2 * z]);
    const float at3 = ((u[-3] + u[3]) + (u[-3 * y] + u[3 * y])) + (u[-3 * z] + u[3 * z]);
    const float at4 = ((u[-4] + u[4]) + (u[-4 * y] + u[4 * y])) + (u[-4 * z] + u[4 * z]);
    return 3.0F * c0 * u[0] + ((c1 * at1 + c2 * at2) + (c3 * at3 + c4 * at4));
}

/// What is smaller is nothing. A wave runs ahead of itself in ever smaller numbers; below 1e-38,
/// also as squares, processors take a hundred times as long for them.
constexpr float k_nothing = 1e-18F;

/// The cell's next value.
/// @param before    its value one step ago
/// @param courant2  (v step / spacing)^2
/// @param damping   sigma times the step
WAVE_HOST_DEVICE inline float next(float now, float before, float laplacian, float courant2,
                                   float damping) {
    const float next =
        (2.0F * now - (1.0F - damping) * before + courant2 * laplacian) / (1.0F + damping);
    return fabsf(next) < k_nothing ? 0.0F : next;
}

}  // namespace wave
