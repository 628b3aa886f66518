// Where a wavefield lies: a box of cells with a rim of zeros, x fastest.
//
// Invariants:
//  - The rim is k_reach cells wide on every side and stays zero, so that no stencil asks where it
//    is.
//  - Cell (z, y, x) counts from the box, without the rim; z is depth.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wave {

constexpr int k_reach = 4;  ///< of an 8th-order stencil

struct Grid {
    int nz = 0, ny = 0, nx = 0;  ///< without the rim
    float spacing_m = 10.0F;
    float step_s = 1e-3F;
    int sponge = 16;  ///< cells of absorbing boundary, on every side

    std::ptrdiff_t row() const { return nx + 2 * k_reach; }
    std::ptrdiff_t plane() const { return row() * (ny + 2 * k_reach); }
    std::size_t cells() const { return static_cast<std::size_t>(plane() * (nz + 2 * k_reach)); }
    std::ptrdiff_t at(int z, int y, int x) const {
        return (z + k_reach) * plane() + (y + k_reach) * row() + x + k_reach;
    }
};

/// A rectangle of cells at one depth: a source, or the receivers.
struct Plane {
    int z = 0, y = 0, ny = 1, x = 0, nx = 1;
    std::size_t points() const {
        return static_cast<std::size_t>(ny) * static_cast<std::size_t>(nx);
    }
};

}  // namespace wave
