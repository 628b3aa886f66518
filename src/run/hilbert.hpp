// The Hilbert curve through a line, square or cube of cells: where on it a cell lies. Cells that
// follow each other on the curve are neighbours, so what lies near on the curve lies near in space.
//
// The curve is Hamilton's (Compact Hilbert Indices, 2006, algorithm 2). A state is the corner at
// which it enters a sub-cube and the axis along which it leaves it; a table says for two levels of
// sub-cubes at once which part of the curve a cell is in, and the state there.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace caesura::run {

template <int k_axes>
class Hilbert {
  public:
    static_assert(1 <= k_axes && k_axes <= 3);
    static constexpr int k_bits = k_axes == 1 ? 30 : k_axes == 2 ? 14 : 10;  ///< of a coordinate
    static constexpr std::uint32_t k_side = std::uint32_t{1} << k_bits;  ///< cells along an axis
    static constexpr int k_key_bits = k_axes * k_bits;

    /// @param cell  coordinates below k_side.
    static std::uint32_t key(const std::array<std::uint32_t, k_axes>& cell) {
        return key_of(interleaved(cell));
    }
    /// In two steps, the first of which a compiler can vectorise.
    static std::uint32_t interleaved(const std::array<std::uint32_t, k_axes>& cell) {
        if constexpr (k_axes == 1) return cell[0];
        std::uint32_t digits = 0;
        for (int axis = 0; axis < k_axes; ++axis)
            digits |= spread(cell[static_cast<std::size_t>(axis)]) << axis;
        return digits;
    }
    static std::uint32_t key_of(std::uint32_t digits) {
        if constexpr (k_axes == 1) return digits;
        std::uint32_t key = 0, state = 0;
        for (int shift = k_key_bits - 2 * k_axes; shift >= 0; shift -= 2 * k_axes) {
            const std::uint32_t entry =
                k_table[state << (2 * k_axes) | (digits >> shift & (k_entries - 1))];
            key = key << (2 * k_axes) | (entry & (k_entries - 1));
            state = entry >> (2 * k_axes);
        }
        return key;
    }

  private:
    static constexpr std::uint32_t k_corners = 1u << k_axes, k_entries = k_corners * k_corners;
    static constexpr std::uint32_t k_states = k_corners * k_axes;

    /// A bit every k_axes bits.
    static constexpr std::uint32_t spread(std::uint32_t v) {
        if constexpr (k_axes == 2) {
            v = (v | v << 8) & 0x00FF00FF;
            v = (v | v << 4) & 0x0F0F0F0F;
            v = (v | v << 2) & 0x33333333;
            return (v | v << 1) & 0x55555555;
        } else {
            v = (v | v << 16) & 0xFF0000FF;
            v = (v | v << 8) & 0x0F00F00F;
            v = (v | v << 4) & 0xC30C30C3;
            return (v | v << 2) & 0x49249249;
        }
    }
    static constexpr std::uint32_t turned(std::uint32_t corner, std::uint32_t left) {
        left %= k_axes;
        return (corner << left | corner >> (k_axes - left)) & (k_corners - 1);
    }
    static constexpr std::uint32_t gray(std::uint32_t v) { return v ^ v >> 1; }
    static constexpr std::uint32_t gray_inverse(std::uint32_t v) { return v ^ v >> 1 ^ v >> 2; }
    static constexpr std::uint32_t entry_of(std::uint32_t part) {
        return part == 0 ? 0 : gray((part - 1) & ~1u);
    }
    static constexpr std::uint32_t axis_of(std::uint32_t part) {
        if (part == 0) return 0;
        return static_cast<std::uint32_t>(std::countr_one(part % 2 == 0 ? part - 1 : part)) %
               k_axes;
    }
    /// One level: the part of the curve, and the state there in front of it.
    static constexpr std::uint32_t step(std::uint32_t state, std::uint32_t corner) {
        const std::uint32_t enter = state / k_axes, axis = state % k_axes;
        const std::uint32_t part = gray_inverse(turned(corner ^ enter, 2 * k_axes - axis - 1));
        const std::uint32_t next_enter = enter ^ turned(entry_of(part), axis + 1);
        const std::uint32_t next_axis = (axis + axis_of(part) + 1) % k_axes;
        return (next_enter * k_axes + next_axis) << k_axes | part;
    }
    static constexpr auto k_table = [] {
        std::array<std::uint16_t, k_states * k_entries> table{};
        for (std::uint32_t state = 0; state < k_states; ++state)
            for (std::uint32_t digits = 0; digits < k_entries; ++digits) {
                const std::uint32_t first = step(state, digits >> k_axes);
                const std::uint32_t second = step(first >> k_axes, digits & (k_corners - 1));
                const std::uint32_t part =
                    (first & (k_corners - 1)) << k_axes | (second & (k_corners - 1));
                table[state * k_entries + digits] =
                    static_cast<std::uint16_t>((second >> k_axes) << (2 * k_axes) | part);
            }
        return table;
    }();
};

}  // namespace caesura::run
