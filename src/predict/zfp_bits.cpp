// Steps of the published algorithm, in the order they are taken: one exponent for the block, the
// decorrelating transform on integers, coefficients by total degree, bit planes by group testing.
//
// Invariants:
//  - No bit plane is ever formed. In plane k the coder writes one bit for each of the first N
//    coefficients (those up to the last with a bit at k or above), one more for each that becomes
//    significant behind all earlier ones, and one that says "no more" if any coefficient is left.
//    So the lengths of the coefficients in bits suffice, in one pass from the last to the first.
#include "predict/zfp_bits.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "predict/places.hpp"

namespace caesura::predict {
namespace {

constexpr std::uint64_t k_side = 4;
constexpr std::size_t k_most_values = 256;  // 4^4

template <class T>
struct Format;
template <>
struct Format<float> {
    using Int = std::int32_t;
    using UInt = std::uint32_t;
    static constexpr int k_int_bits = 32;
    static constexpr int k_exponent_bits = 8;
    static constexpr int k_exponent_bias = 127;
    static constexpr UInt k_negabinary = 0xaaaaaaaau;
};
template <>
struct Format<double> {
    using Int = std::int64_t;
    using UInt = std::uint64_t;
    static constexpr int k_int_bits = 64;
    static constexpr int k_exponent_bits = 11;
    static constexpr int k_exponent_bias = 1023;
    static constexpr UInt k_negabinary = 0xaaaaaaaaaaaaaaaaull;
};

constexpr std::size_t values_of(int rank) { return std::size_t{1} << (2 * rank); }

// The transform of a line of four values by lifting: rounded multiples of
// 1/16 [4 4 4 4; 5 1 -1 -5; -4 4 4 -4; -2 6 -6 2].
template <class Int>
void transform_line(Int* p, std::size_t stride) {
    Int x = p[0], y = p[stride], z = p[2 * stride], w = p[3 * stride];
    x = (x + w) >> 1;
    w -= x;
    z = (z + y) >> 1;
    y -= z;
    x = (x + z) >> 1;
    z -= x;
    w = (w + y) >> 1;
    y -= w;
    w += y >> 1;
    y -= w >> 1;
    p[0] = x;
    p[stride] = y;
    p[2 * stride] = z;
    p[3 * stride] = w;
}

template <class Int, int rank>
void transform(Int* block) {
    constexpr std::size_t values = values_of(rank);
    for (std::size_t stride = 1; stride < values; stride *= k_side)
        for (std::size_t outer = 0; outer < values; outer += k_side * stride)
            for (std::size_t inner = 0; inner < stride; ++inner)
                transform_line(block + outer + inner, stride);
}

// Coefficients by the sum of their indices, then by the sum of squares.
template <int rank>
std::array<std::uint8_t, values_of(rank)> coefficient_order() {
    std::array<std::uint8_t, values_of(rank)> order{};
    std::array<int, values_of(rank)> key{};
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = static_cast<std::uint8_t>(i);
        int degree = 0, squares = 0;
        for (std::size_t rest = i; rest > 0; rest /= k_side) {
            const auto index = static_cast<int>(rest % k_side);
            degree += index;
            squares += index * index;
        }
        key[i] = 64 * degree + squares;
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint8_t a, std::uint8_t b) { return key[a] < key[b]; });
    return order;
}

// The lengths of a block's transformed integers, in the order they are coded.
template <class T, int rank>
std::array<std::uint8_t, values_of(rank)> lengths_of(const typename Format<T>::Int* block) {
    using UInt = typename Format<T>::UInt;
    static const std::array<std::uint8_t, values_of(rank)> order = coefficient_order<rank>();
    std::array<std::uint8_t, values_of(rank)> lengths;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        const auto value = static_cast<UInt>(block[order[i]]);
        const UInt negabinary = (value + Format<T>::k_negabinary) ^ Format<T>::k_negabinary;
        lengths[i] = static_cast<std::uint8_t>(std::bit_width(negabinary));
    }
    return lengths;
}

int exponent_of(double value) {
    int exponent = 0;
    std::frexp(value, &exponent);
    return exponent;
}

template <class T, int rank>
std::uint32_t block_bits(const T* block, int lowest_exponent) {
    using Int = typename Format<T>::Int;
    constexpr std::size_t values = values_of(rank);
    T largest = 0;
    for (std::size_t i = 0; i < values; ++i) largest = std::max(largest, std::fabs(block[i]));
    const int exponent = largest > 0 ? std::max(exponent_of(static_cast<double>(largest)),
                                                1 - Format<T>::k_exponent_bias)
                                     : -Format<T>::k_exponent_bias;
    const int planes =
        std::clamp(exponent - lowest_exponent + 2 * (rank + 1), 0, Format<T>::k_int_bits);
    if (planes == 0 || exponent == -Format<T>::k_exponent_bias) return 1;
    std::array<Int, values> integers;
    const int shift = Format<T>::k_int_bits - 2 - exponent;
    const T scale = std::ldexp(T{1}, shift);
    if (std::isfinite(scale)) {
        for (std::size_t i = 0; i < values; ++i) integers[i] = static_cast<Int>(scale * block[i]);
    } else {  // values near the smallest there are
        for (std::size_t i = 0; i < values; ++i)
            integers[i] = static_cast<Int>(std::ldexp(block[i], shift));
    }
    transform<Int, rank>(integers.data());
    return 1 + Format<T>::k_exponent_bits +
           zfp_embedded_bits(lengths_of<T, rank>(integers.data()), Format<T>::k_int_bits,
                             Format<T>::k_int_bits - planes);
}

template <class T>
std::uint32_t block_bits(const T* block, int rank, int lowest_exponent) {
    switch (rank) {
        case 1:
            return block_bits<T, 1>(block, lowest_exponent);
        case 2:
            return block_bits<T, 2>(block, lowest_exponent);
        case 3:
            return block_bits<T, 3>(block, lowest_exponent);
        default:
            return block_bits<T, 4>(block, lowest_exponent);
    }
}

// Where the blocks lie. Axes of one value are left out; the last axis is the one of rows.
struct Grid {
    int rank = 0;
    std::array<std::uint64_t, k_max_rank> stride{}, extent{}, blocks{};
    std::uint64_t first = 0;  // index of the part's first value
    std::uint64_t all_blocks = 1;
};

Grid make_grid(const Box& array_box, const Box& part) {
    Grid grid;
    std::array<std::uint64_t, k_max_rank> strides{};
    std::uint64_t stride = 1;
    for (int axis = part.extent.rank() - 1; axis >= 0; --axis) {
        strides[static_cast<std::size_t>(axis)] = stride;
        grid.first += stride * (part.offset[axis] - array_box.offset[axis]);
        stride *= array_box.extent[axis];
    }
    const int last = part.extent.rank() - 1;
    for (int axis = 0; axis <= last; ++axis) {
        const std::uint64_t extent = part.extent[axis];
        if (extent == 1 && !(axis == last && grid.rank == 0)) continue;
        const auto a = static_cast<std::size_t>(grid.rank++);
        grid.stride[a] = strides[static_cast<std::size_t>(axis)];
        grid.extent[a] = extent;
        grid.blocks[a] = (extent + k_side - 1) / k_side;
        grid.all_blocks *= grid.blocks[a];
    }
    return grid;
}

// Which of the valid values of a row stands for place i: 0 .. valid - 1, then the padding that ZFP
// makes of short rows.
std::uint64_t padded(std::uint64_t i, std::uint64_t valid) {
    constexpr std::uint64_t k_source[k_side][k_side] = {
        {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 1, 1, 0}, {0, 1, 2, 0}};
    return valid >= k_side ? i : k_source[valid][i];
}

template <class T>
void read_block(const std::byte* data, const Grid& grid,
                const std::array<std::uint64_t, k_max_rank>& at, T* block) {
    std::array<std::array<std::uint64_t, k_side>, k_max_rank> step{};
    bool whole = true;
    for (std::size_t a = 0; a < static_cast<std::size_t>(grid.rank); ++a) {
        const std::uint64_t begin = k_side * at[a];
        const std::uint64_t valid = std::min(k_side, grid.extent[a] - begin);
        whole = whole && valid == k_side;
        for (std::uint64_t i = 0; i < k_side; ++i)
            step[a][i] = (begin + padded(i, valid)) * grid.stride[a];
    }
    const auto last = static_cast<std::size_t>(grid.rank - 1);
    const std::size_t rows = values_of(grid.rank) / k_side;
    const bool dense = whole && grid.stride[last] == 1;
    for (std::size_t row = 0; row < rows; ++row) {
        std::uint64_t index = grid.first;
        std::size_t rest = row;
        for (std::size_t a = last; a-- > 0; rest /= k_side) index += step[a][rest % k_side];
        T* target = block + row * k_side;
        if (dense) {
            std::memcpy(target, data + (index + step[last][0]) * sizeof(T), k_side * sizeof(T));
            continue;
        }
        for (std::size_t i = 0; i < k_side; ++i)
            std::memcpy(target + i, data + (index + step[last][i]) * sizeof(T), sizeof(T));
    }
}

template <class T>
ZfpSample sample(const std::byte* data, const Grid& grid, double tolerance) {
    const int lowest_exponent = exponent_of(tolerance) - 1;
    std::array<T, k_most_values> block;
    const std::size_t values = values_of(grid.rank);
    ZfpSample result;
    result.of_blocks = grid.all_blocks;
    double bits = 0.0;
    const auto look = [&](const std::array<std::uint64_t, k_max_rank>& at) {
        read_block(data, grid, at, block.data());
        T sum = 0;
        for (std::size_t i = 0; i < values; ++i)
            sum += block[i] * T{0};  // NaN if any is not finite
        ++result.blocks;
        if (sum == 0)
            bits += block_bits(block.data(), grid.rank, lowest_exponent);
        else
            result.finite = false;
    };
    std::array<std::uint64_t, k_max_rank> at{};
    if (grid.all_blocks <= k_zfp_blocks) {
        for (std::uint64_t i = 0; i < grid.all_blocks; ++i) {
            std::uint64_t rest = i;
            for (std::size_t a = static_cast<std::size_t>(grid.rank); a-- > 0;
                 rest /= grid.blocks[a])
                at[a] = rest % grid.blocks[a];
            look(at);
        }
    } else {
        for (std::uint64_t i = 0; i < k_zfp_blocks; ++i) {
            for (int a = 0; a < grid.rank; ++a)
                at[static_cast<std::size_t>(a)] =
                    place(i, a, grid.rank, grid.blocks[static_cast<std::size_t>(a)]);
            look(at);
        }
    }
    std::uint64_t extent = 1;
    for (std::size_t a = 0; a < static_cast<std::size_t>(grid.rank); ++a) extent *= grid.extent[a];
    result.bits_per_value = bits / static_cast<double>(result.blocks) *
                            static_cast<double>(grid.all_blocks) / static_cast<double>(extent);
    return result;
}

}  // namespace

std::uint32_t zfp_embedded_bits(std::span<const std::uint8_t> lengths, int int_bits, int lowest) {
    const auto size = static_cast<int>(lengths.size());
    int reached = lowest;  // planes below are accounted for
    int bits = 0;
    for (int i = size - 1; i >= 0; --i) {
        const int length = lengths[static_cast<std::size_t>(i)];
        if (length < reached || length <= lowest) continue;
        ++bits;  // it becomes significant behind all earlier ones
        const int first = i + 1;
        bits += (length - reached) * (first + (first < size ? 1 : 0));
        reached = length;
    }
    // In its own plane the last coefficient needs no bit of its own: only it can be the one.
    if (lengths.back() > lowest) --bits;
    return static_cast<std::uint32_t>(bits + int_bits - reached);
}

template <class T>
std::uint32_t zfp_block_bits(const T* block, int rank, double tolerance) {
    return block_bits(block, rank, exponent_of(tolerance) - 1);
}
template std::uint32_t zfp_block_bits(const float*, int, double);
template std::uint32_t zfp_block_bits(const double*, int, double);

ZfpSample zfp_sample(const std::byte* data, DType dtype, const Box& array_box, const Box& part,
                     double tolerance) {
    const Grid grid = make_grid(array_box, part);
    return dtype == DType::float64 ? sample<double>(data, grid, tolerance)
                                   : sample<float>(data, grid, tolerance);
}

}  // namespace caesura::predict
