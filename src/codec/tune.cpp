#include "codec/tune.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace caesura::codec {
namespace {

/// What serves most fields well, while nothing is known of this one.
void set_fixed_settings(int rank, Choice& choice) {
    choice.lorenzo = LorenzoSettings{};
    choice.interpolation = InterpolationSettings{};
    for (int axis = 0; axis < rank; ++axis) {
        choice.interpolation.order[static_cast<std::size_t>(axis)] =
            static_cast<std::uint8_t>(rank - 1 - axis);
        choice.interpolation.feedback[static_cast<std::size_t>(axis)] = axis == rank - 1 ? 0 : 4;
    }
}

/// Bits of the differences of neighbours on the lattice, in short runs from all over: an upper
/// bound of what a predictor in several dimensions needs, within a factor of two or so.
template <class T>
double bits_per_value(std::span<const T> values, const Quantiser<T>& quantiser) {
    constexpr std::size_t k_run = 64;
    constexpr std::size_t k_runs = 64;
    const std::size_t stride = std::max(k_run, values.size() / k_runs);
    std::uint64_t bits = 0;
    std::uint64_t n = 0;
    for (std::size_t begin = 0; begin + k_run <= values.size(); begin += stride) {
        for (std::size_t i = begin + 1; i < begin + k_run; ++i, ++n) {
            const T steps = std::abs(values[i] - values[i - 1]) / quantiser.step;
            bits += steps < T(1e9) ? std::bit_width(static_cast<std::uint64_t>(steps + T(0.5)))
                                   : 8 * sizeof(T);  // NaN too
        }
    }
    if (n == 0) return 8 * sizeof(T);
    return static_cast<double>(bits) / static_cast<double>(n) + (bits > 0 ? 1.0 : 0.02);
}

}  // namespace

template <class T>
Choice choose(std::span<const T> values, const Shape& shape, const Quantiser<T>& quantiser,
              Mode mode, Coding, const TableSet&) {
    Choice choice;
    const bool lorenzo = mode == Mode::fast || mode == Mode::planes;
    choice.kind = lorenzo ? PartKind::lorenzo : PartKind::interpolation;
    set_fixed_settings(shape.rank(), choice);
    const double bits = bits_per_value(values, quantiser);
    choice.bytes = 128 + static_cast<std::uint64_t>(bits * static_cast<double>(values.size()) / 8);
    return choice;
}

template Choice choose(std::span<const float>, const Shape&, const Quantiser<float>&, Mode, Coding,
                       const TableSet&);
template Choice choose(std::span<const double>, const Shape&, const Quantiser<double>&, Mode,
                       Coding, const TableSet&);

}  // namespace caesura::codec
