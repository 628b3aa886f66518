#include "codec/sampler.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace caesura::codec {
namespace {

constexpr int k_x = 3;

}  // namespace

SampledShape::SampledShape(const Shape& shape) : first_axis(4 - shape.rank()) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
        extent[static_cast<std::size_t>(first_axis + axis)] = shape[axis];
    }
    stride = {extent[1] * extent[2] * extent[3], extent[2] * extent[3], extent[3], 1};
}

std::uint64_t Places::below(std::uint64_t n) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return n == 0 ? 0 : (state_ >> 16) % n;
}

template <class T>
Sampler<T>::Sampler(const T* values, const Shape& shape, const Quantiser<T>& quantiser)
    : values_(values), shape_(shape), quantiser_(quantiser), rows_(k_rows * 5 * k_row_values) {}

template <class T>
void Sampler<T>::copy_row(const T* from, std::uint64_t spacing, std::size_t n, T* to) const {
    if (spacing == 1) {
        std::copy_n(from, n, to);
        return;
    }
    for (std::size_t i = 0; i < n; ++i) to[i] = from[i * spacing];
}

/// The axis whose neighbouring rows follow each other: the innermost one but x, and but `axis` if
/// there is another.
template <class T>
int Sampler<T>::lowest_free_axis(int axis) const {
    for (int a = k_x - 1; a >= 0; --a) {
        if (a != axis && shape_.extent[static_cast<std::size_t>(a)] > 1) return a;
    }
    return -1;
}

template <class T>
std::size_t Sampler<T>::gather(int axis, Places& places, std::uint64_t stratum,
                               std::uint64_t strata, T step, std::size_t& n_rows) {
    const auto along = static_cast<std::size_t>(axis);
    const int next_axis = axis == k_x - 1 ? axis : lowest_free_axis(axis);
    const std::uint64_t half = shape_.extent[along] / 2;
    // Target 2 k + 1; where the axis is long enough, all four neighbours exist.
    std::array<std::uint64_t, 4> at{};
    bool stratified = false;
    for (std::size_t a = 0; a < 4; ++a) {
        if (shape_.extent[a] <= 1) continue;
        std::uint64_t n = a == along ? (half > 4 ? half - 3 : 1) : shape_.extent[a];
        if (static_cast<int>(a) == k_x && a != along) n = n > k_row_values ? n - k_row_values : 1;
        if (a == along && axis == k_x) n = half > k_row_values + 3 ? half - 3 - k_row_values : 1;
        std::uint64_t index = places.below(n);
        if (!stratified && n > 1) {
            index = std::min(n - 1, (stratum * n + index) / strata);
            stratified = true;
        }
        at[a] = a == along ? 2 * (index + (half > 4 ? 1 : 0)) + 1 : index;
    }
    const std::uint64_t next_step = next_axis == axis ? 2 : 1;
    n_rows = 1;
    if (next_axis >= 0) {
        const auto next = static_cast<std::size_t>(next_axis);
        const std::uint64_t reach = (k_rows - 1) * next_step + (next_axis == axis ? 3 : 0);
        if (shape_.extent[next] > at[next] + reach) {
            n_rows = k_rows;
        } else if (at[next] >= reach && next_axis != axis) {
            at[next] -= reach;
            n_rows = k_rows;
        }
    }
    const std::size_t length = static_cast<std::size_t>(
        axis == k_x ? std::min<std::uint64_t>(k_row_values, half - at[k_x] / 2)
                    : std::min<std::uint64_t>(k_row_values, shape_.extent[k_x] - at[k_x]));
    for (std::size_t r = 0; r < n_rows; ++r) {
        auto place = at;
        if (next_axis >= 0) place[static_cast<std::size_t>(next_axis)] += r * next_step;
        const T* row = values_;
        for (std::size_t a = 0; a < 4; ++a) row += place[a] * shape_.stride[a];
        T* out = rows_.data() + r * 5 * k_row_values;
        const auto distance = static_cast<std::ptrdiff_t>(shape_.stride[along]);
        const std::uint64_t spacing = axis == k_x ? 2 : 1;
        const auto available = [&](std::ptrdiff_t offset) {
            const auto target = static_cast<std::ptrdiff_t>(place[along]) + offset;
            const auto last =
                target + (axis == k_x ? 2 * (static_cast<std::ptrdiff_t>(length) - 1) : 0);
            return target >= 0 && last < static_cast<std::ptrdiff_t>(shape_.extent[along]);
        };
        copy_row(row, spacing, length, out);
        const std::ptrdiff_t offsets[4] = {-1, 1, -3, 3};
        for (std::size_t k = 0; k < 4; ++k) {
            // At an edge the neighbour on the other side stands in.
            const std::ptrdiff_t offset = available(offsets[k]) ? offsets[k] : -1;
            T* neighbour = out + (k + 1) * k_row_values;
            copy_row(row + offset * distance, spacing, length, neighbour);
            sample_lattice(neighbour, length, step);
        }
    }
    return length;
}

template <class T>
void Sampler<T>::explore_pass(int axis, int n_places, std::vector<PassSettings>& choices,
                              std::vector<double>& rough) {
    const T step = quantiser_.step;
    Places places(static_cast<std::uint64_t>(axis) + 1);
    rough.assign(choices.size(), 0.0);
    double counted = 0;
    for (int p = 0; p < n_places; ++p) {
        std::size_t n_rows = 0;
        const std::size_t n = gather(axis, places, static_cast<std::uint64_t>(p),
                                     static_cast<std::uint64_t>(n_places), step, n_rows);
        for (std::size_t c = 0; c < choices.size(); ++c) {
            residual_.fill(0);
            std::size_t used = 0;
            for (std::size_t r = 0; r < n_rows; ++r) {
                const T* row = rows_.data() + r * 5 * k_row_values;
                const SampledRow<T> sampled{row,
                                            row + k_row_values,
                                            row + 2 * k_row_values,
                                            row + 3 * k_row_values,
                                            row + 4 * k_row_values,
                                            n};
                std::uint32_t* codes = codes_ + (n_rows > 1 && r == 0 ? 0 : used);
                sample_interpolation(sampled, step, choices[c].cubic,
                                     static_cast<T>(choices[c].feedback) / T{16}, residual_.data(),
                                     codes);
                if (n_rows == 1 || r > 0) used += n;
            }
            const std::size_t whole = (used + 63) / 64 * 64;
            std::fill(codes_ + used, codes_ + whole, 0U);
            rough[c] += rough_bits(summarise_chunk(codes_, whole), used);
            if (c == 0) counted += static_cast<double>(used);
        }
    }
    for (double& bits : rough) bits /= std::max(counted, 1.0);
}

// ------------------------------------------------------------------------------ Lorenzo

/// Rows at a place and one below it along every subset of the axes but x, each with the value
/// before it: indices_[(corner * k_rows + row) * (k_row_values + 1)].
template <class T>
std::size_t Sampler<T>::gather_indices(Places& places, std::uint64_t stratum, std::uint64_t strata,
                                       std::size_t& n_rows) {
    std::array<std::uint64_t, 4> at{};
    bool stratified = false;
    for (std::size_t a = 0; a < 4; ++a) {
        const std::uint64_t extent = shape_.extent[a];
        if (extent <= 1) continue;
        std::uint64_t n = extent - 1;  // the lowest neighbour exists
        if (static_cast<int>(a) == k_x) n = extent > k_row_values + 1 ? extent - k_row_values : 1;
        std::uint64_t index = places.below(n);
        if (!stratified && n > 1) {
            index = std::min(n - 1, (stratum * n + index) / strata);
            stratified = true;
        }
        at[a] = index + 1;
    }
    const std::size_t length = static_cast<std::size_t>(std::min<std::uint64_t>(
        k_row_values, shape_.extent[k_x] - std::min<std::uint64_t>(at[k_x], shape_.extent[k_x])));
    n_rows = 1;
    if (shape_.extent[2] > at[2] + k_rows - 1) n_rows = k_rows;
    constexpr std::size_t k_pitch = k_row_values + 1;
    indices_.resize(8 * k_rows * k_pitch);
    scratch_.resize(2 * k_pitch);
    for (std::size_t corner = 0; corner < 8; ++corner) {
        bool exists = true;
        std::uint64_t offset = 0;
        for (std::size_t a = 0; a < 3; ++a) {
            const bool below = (corner >> a & 1U) != 0;
            exists = exists && !(below && shape_.extent[a] <= 1);
            offset += (at[a] - (below && exists ? 1 : 0)) * shape_.stride[a];
        }
        for (std::size_t r = 0; r < n_rows && exists; ++r) {
            const T* row = values_ + offset + r * shape_.stride[2] + at[k_x];
            std::int32_t* out = indices_.data() + (corner * k_rows + r) * k_pitch;
            if (shape_.extent[k_x] > 1) {
                sample_indices(row - 1, length + 1, quantiser_.step, out);
            } else {
                sample_indices(row, 1, quantiser_.step, out + 1);
            }
        }
    }
    return std::max<std::size_t>(length, 1);
}

/// Codes of one row, differenced along `axes`.
template <class T>
void Sampler<T>::difference(unsigned axes, std::size_t n, std::size_t row, std::uint32_t* codes) {
    constexpr std::size_t k_pitch = k_row_values + 1;
    const auto corner_row = [&](std::size_t corner) {
        return indices_.data() + (corner * k_rows + row) * k_pitch;
    };
    std::int32_t* sum = scratch_.data();
    std::fill_n(sum, n + 1, 0);
    const unsigned outer = axes & 7U;
    for (unsigned corner = 0; corner < 8; ++corner) {
        if ((corner & ~outer) != 0) continue;
        std::int32_t* term = corner_row(corner);
        if (std::popcount(corner) % 2 == 0) {
            // sum + term as sum - (0 - term)
            std::int32_t* negative = scratch_.data() + k_pitch;
            std::fill_n(negative, n + 1, 0);
            sample_difference(negative, term, n + 1, negative);
            sample_difference(sum, negative, n + 1, sum);
        } else {
            sample_difference(sum, term, n + 1, sum);
        }
    }
    if ((axes >> k_x & 1U) != 0) {
        sample_zigzag_differences(sum, n, codes);
    } else {
        sample_zigzag(sum + 1, n, codes);
    }
}

template <class T>
std::array<double, 16> Sampler<T>::explore_lorenzo(int n_places) {
    std::array<double, 16> rough;
    rough.fill(std::numeric_limits<double>::infinity());
    Places places(5);
    unsigned possible = 0;
    for (std::size_t a = 0; a < 4; ++a) possible |= (shape_.extent[a] > 1 ? 1U : 0U) << a;
    double counted = 0;
    for (int p = 0; p < n_places; ++p) {
        std::size_t n_rows = 0;
        const std::size_t n = gather_indices(places, static_cast<std::uint64_t>(p),
                                             static_cast<std::uint64_t>(n_places), n_rows);
        counted += static_cast<double>(n * n_rows);
        for (unsigned axes = 1; axes < 16; ++axes) {
            if ((axes & ~possible) != 0) continue;
            if (p == 0) rough[axes] = 0;
            for (std::size_t r = 0; r < n_rows; ++r) difference(axes, n, r, codes_ + r * n);
            const std::size_t used = n * n_rows;
            const std::size_t whole = (used + 63) / 64 * 64;
            std::fill(codes_ + used, codes_ + whole, 0U);
            rough[axes] += rough_bits(summarise_chunk(codes_, whole), used);
        }
    }
    for (double& bits : rough) bits /= std::max(counted, 1.0);
    return rough;
}

template <class T>
void Sampler<T>::measure_lorenzo(unsigned axes, int n_places, bool planes, CodeCost& cost) {
    Places places(6);
    for (int p = 0; p < n_places; ++p) {
        std::size_t n_rows = 0;
        const std::size_t n = gather_indices(places, static_cast<std::uint64_t>(p),
                                             static_cast<std::uint64_t>(n_places), n_rows);
        for (std::size_t r = 0; r < n_rows; ++r) difference(axes, n, r, codes_ + r * n);
        const std::size_t used = n * n_rows;
        const double share =
            static_cast<double>(shape_.count()) / n_places / static_cast<double>(used);
        const auto weight = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(share * 16));
        if (planes) {
            cost.add_planes(codes_, used, weight);
        } else {
            cost.add(codes_, used, weight);
        }
    }
}

template class Sampler<float>;
template class Sampler<double>;

}  // namespace caesura::codec
