#include "hdf5/filter/grid.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace caesura::hdf5 {
namespace {

/// Powers of two beyond this overflow a double with what they are multiplied by.
constexpr Fineness k_uniform_limit = 1000;
/// Added to a double between 0 and itself, and taken away again, it leaves the nearest integer.
constexpr double k_lift = 4503599627370496.0;  // 2^52

int digits_of(DType dtype) {
    switch (dtype) {
        case DType::float16:
            return 11;
        case DType::bfloat16:
            return 8;
        case DType::float32:
            return std::numeric_limits<float>::digits;
        default:
            return std::numeric_limits<double>::digits;
    }
}

template <class T>
struct Uniform {
    explicit Uniform(Fineness fineness)
        : scale(std::ldexp(1.0, fineness)),
          step(std::ldexp(1.0, -fineness)),
          limit(std::ldexp(1.0, std::numeric_limits<T>::digits - 1 - fineness)) {}

    T operator()(T value) const {
        const double magnitude = std::abs(static_cast<double>(value));
        const auto nearest = static_cast<T>(((magnitude * scale + k_lift) - k_lift) * step);
        // From the limit on the type has no values between the grid's.
        if (!(magnitude < limit) || !std::isfinite(nearest) || magnitude == 0.0) return value;
        return value < T{0} && nearest != T{0} ? -nearest : nearest;
    }

    double scale;
    double step;
    double limit;
};

template <class T>
T to_significant(T value, Fineness kept) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const int dropped = std::numeric_limits<T>::digits - kept;
    if (dropped <= 0 || !std::isnormal(value)) return value;
    const Bits bits = std::bit_cast<Bits>(value);
    const Bits half = Bits{1} << (dropped - 1);
    const Bits even = (bits >> dropped) & 1U;
    const Bits nearest = (bits + (half - 1) + even) >> dropped << dropped;
    const T result = std::bit_cast<T>(nearest);
    return std::isfinite(result) ? result : value;
}

}  // namespace

Grid grid_of(const ErrorBound& bound, Fineness fineness, DType dtype) {
    if (bound.kind == ErrorBound::Kind::pointwise_relative)
        return fineness < 1 || fineness >= digits_of(dtype)
                   ? Grid{}
                   : Grid{Grid::Kind::significant, fineness};
    if (fineness > k_uniform_limit || fineness < -k_uniform_limit) return {};
    return {Grid::Kind::uniform, fineness};
}

template <class T>
T rounded(T value, const Grid& grid) {
    if (grid.kind == Grid::Kind::uniform) return Uniform<T>(grid.fineness)(value);
    if (grid.kind == Grid::Kind::significant) return to_significant(value, grid.fineness);
    return value;
}

template <class T>
void round_all(std::span<T> values, const Grid& grid) {
    if (grid.kind == Grid::Kind::uniform) {
        const Uniform<T> round(grid.fineness);
        for (T& value : values) value = round(value);
    } else if (grid.kind == Grid::Kind::significant) {
        for (T& value : values) value = to_significant(value, grid.fineness);
    }
}

Fineness coarsest_with(double value) {
    int exponent = 0;
    constexpr int k_digits = std::numeric_limits<double>::digits;
    const double fraction = std::frexp(std::abs(value), &exponent);  // 0.5 to 1
    const auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, k_digits));
    return k_digits - exponent - std::countr_zero(mantissa);
}

template float rounded(float, const Grid&);
template double rounded(double, const Grid&);
template void round_all(std::span<float>, const Grid&);
template void round_all(std::span<double>, const Grid&);

}  // namespace caesura::hdf5
