// A small sample of a block: contiguous tiles spread over it, and what they cost to code.
//
// Invariants:
//  - A residual is computed exactly as over the whole block: every value it needs lies in the tile,
//    which is read with one value of margin on each axis.
//  - Values on the block's lower faces (no neighbour to predict from; 2 % of 128^3) are never
//    sampled; what they cost is part of the factor that SizeModel learns.
//  - The same block gives the same features everywhere, and looks at the same places in every dump.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "codec/bound/round_to_grid.hpp"
#include "predict/entropy.hpp"
#include "predict/family.hpp"
#include "predict/places.hpp"
#include "predict/predict.hpp"
#include "predict/zfp_bits.hpp"

namespace caesura::predict {
namespace {

constexpr double k_sample_share = 0.01;
constexpr std::uint64_t k_min_sampled_values = 8192;  // or all of a smaller block
constexpr double k_max_quantised = 0x1p40;            // sums of 16 of these stay exact in int64

// Values of a tile, without its margin, by rank: about 512, longest on the last axis, because a
// cache line holds 16 neighbours of a row.
constexpr std::uint64_t k_tile[k_max_rank][k_max_rank] = {
    {512}, {16, 32}, {6, 6, 14}, {4, 4, 4, 8}};

// Where the tiles lie in the array that holds the block.
struct Tiling {
    int rank = 0;
    std::array<std::uint64_t, k_max_rank> stride{};  // of the array, in values
    std::array<std::uint64_t, k_max_rank> first{};   // the block's corner in the array
    std::array<std::uint64_t, k_max_rank> room{};    // a tile begins 0..room from that corner
    std::array<std::uint64_t, k_max_rank> read{};    // values read per axis, margin included
    std::uint64_t read_values = 1;
    std::uint64_t tiles = 0;
};

Tiling make_tiling(const Box& array_box, const Box& part) {
    Tiling t;
    t.rank = part.extent.rank();
    std::uint64_t stride = 1;
    std::uint64_t inner_values = 1;
    for (int axis = t.rank - 1; axis >= 0; --axis) {
        const auto a = static_cast<std::size_t>(axis);
        const std::uint64_t extent = part.extent[axis];
        t.stride[a] = stride;
        stride *= array_box.extent[axis];
        t.first[a] = part.offset[axis] - array_box.offset[axis];
        t.read[a] = std::min(extent, k_tile[t.rank - 1][a] + 1);
        t.room[a] = extent - t.read[a];
        t.read_values *= t.read[a];
        inner_values *= std::max<std::uint64_t>(1, t.read[a] - 1);
    }
    const std::uint64_t values = part.extent.count();
    const auto share = static_cast<std::uint64_t>(k_sample_share * static_cast<double>(values));
    const std::uint64_t wanted = std::min(values, std::max(share, k_min_sampled_values));
    t.tiles = (wanted + inner_values - 1) / inner_values;
    return t;
}

// Index in the array of the first value of tile i.
std::uint64_t tile_begin(const Tiling& t, std::uint64_t i) {
    std::uint64_t index = 0;
    for (int axis = 0; axis < t.rank; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        index += (t.first[a] + place(i, axis, t.rank, t.room[a] + 1)) * t.stride[a];
    }
    return index;
}

// Copy a tile's rows, densely, to `tile` (read_values long).
template <class T>
void read_tile(const std::byte* data, const Tiling& t, std::uint64_t begin, T* tile) {
    const auto last = static_cast<std::size_t>(t.rank - 1);
    const std::uint64_t row = t.read[last];
    std::array<std::uint64_t, k_max_rank> at{};
    for (std::uint64_t done = 0; done < t.read_values; done += row) {
        std::uint64_t index = begin;
        for (std::size_t a = 0; a < last; ++a) index += at[a] * t.stride[a];
        std::memcpy(tile + done, data + index * sizeof(T), row * sizeof(T));
        for (std::size_t a = last; a-- > 0;) {
            if (++at[a] < t.read[a]) break;
            at[a] = 0;
        }
    }
}

// Turn values into the tile's N-dimensional first differences, axis by axis: the Lorenzo residual
// wherever every index is >= 1 (on axes with more than one value).
void difference(const Tiling& t, std::int64_t* tile) {
    std::uint64_t stride = 1;
    for (std::size_t a = static_cast<std::size_t>(t.rank); a-- > 0;) {
        const std::uint64_t period = stride * t.read[a];
        for (std::uint64_t begin = 0; begin < t.read_values; begin += period)
            for (std::uint64_t at = begin + period; at-- > begin + stride;)
                tile[at] -= tile[at - stride];
        stride = period;
    }
}

// Is tile position `at` beyond the margin on every axis that has one?
bool is_inner(const Tiling& t, std::uint64_t at) {
    for (std::size_t a = static_cast<std::size_t>(t.rank); a-- > 0;) {
        if (t.read[a] > 1 && at % t.read[a] == 0) return false;
        at /= t.read[a];
    }
    return true;
}

std::uint64_t row_length(const Tiling& t) {
    return std::max<std::uint64_t>(1, t.read[static_cast<std::size_t>(t.rank - 1)] - 1);
}

// Nearest integer of |v| < 2^51 (ties to even) without a call: adding 1.5 * 2^52 leaves no room
// for a fraction.
std::int64_t nearest(double v) {
    constexpr double k_shift = 0x1.8p52;
    return static_cast<std::int64_t>((v + k_shift) - k_shift);
}

// The codes that an interpolating predictor (SZ3's default) leaves on one axis: each value against
// those `stride` away (linear), or `stride` and three times that away (cubic), on both sides.
class InterpolationAxis {
  public:
    InterpolationAxis(const Tiling& t, std::size_t axis, std::uint64_t stride, bool cubic)
        : cubic_(cubic) {
        const std::uint64_t reach = cubic ? 3 * stride : stride;
        std::uint64_t step = 1;
        for (std::size_t a = static_cast<std::size_t>(t.rank); --a > axis;) step *= t.read[a];
        near_ = stride * step;
        far_ = 3 * near_;
        const auto last = static_cast<std::size_t>(t.rank - 1);
        const bool along_rows = axis == last;
        if (t.read[axis] <= 2 * reach) return;  // the tile is too thin on this axis
        row_length_ = along_rows ? t.read[last] - 2 * reach : t.read[last];
        for (std::uint64_t at = 0; at < t.read_values; ++at) {
            const std::uint64_t place = at / step % t.read[axis];
            if (place >= reach && place + reach < t.read[axis]) places_.push_back(at);
        }
    }
    /// @param exact  the tile, in units of code steps; @param v  as the decoder knows it: a guess
    /// is made from neighbours that carry their own error of up to half a step.
    void add(const std::vector<double>& exact, const std::vector<double>& v) {
        for (const std::uint64_t at : places_) {
            double guess = 0.5 * (v[at - near_] + v[at + near_]);
            if (cubic_) guess = 1.125 * guess - 0.0625 * (v[at - far_] + v[at + far_]);
            const double residual = exact[at] - guess;
            const bool fits = std::fabs(residual) < k_code_radius - 1;  // false for NaN
            codes_.push_back(fits ? static_cast<std::int32_t>(nearest(residual)) : k_outlier);
        }
    }
    std::size_t size() const { return codes_.size(); }
    CodeCost cost(double value_bits, std::uint64_t values) const {
        return code_cost(codes_, row_length_, value_bits, values);
    }

  private:
    bool cubic_;
    std::uint64_t near_ = 0, far_ = 0, row_length_ = 1;
    std::vector<std::uint64_t> places_;
    std::vector<std::int32_t> codes_;
};

// Bits per value of an interpolating predictor: 7 of 8 values are predicted from neighbours at
// distance 1 and most others from distance 2 (in three dimensions; 3 of 4 and 1 of 2 below).
class InterpolationCost {
  public:
    explicit InterpolationCost(const Tiling& t) : fine_share_(1.0 - std::ldexp(1.0, -t.rank)) {
        for (std::size_t a = 0; a < static_cast<std::size_t>(t.rank); ++a) {
            fine_.emplace_back(t, a, 1, true);
            coarse_.emplace_back(t, a, 2, false);
        }
    }
    void add(const std::vector<double>& exact, const std::vector<double>& decoded) {
        for (auto* level : {&fine_, &coarse_})
            for (InterpolationAxis& axis : *level) axis.add(exact, decoded);
    }
    struct Total {
        double bits = std::numeric_limits<double>::infinity();  // per value; tiles may be too thin
        double symbols = 0.0;
    };
    Total total(double value_bits, std::uint64_t values) const {
        const Total fine = mean(fine_, value_bits, values);
        const Total coarse = mean(coarse_, value_bits, values);
        return {fine_share_ * fine.bits + (1.0 - fine_share_) * coarse.bits, fine.symbols};
    }

  private:
    static Total mean(const std::vector<InterpolationAxis>& level, double value_bits,
                      std::uint64_t values) {
        Total sum{0.0, 0.0};
        double n = 0.0;
        for (const InterpolationAxis& axis : level) {
            if (axis.size() == 0) continue;
            const CodeCost cost = axis.cost(value_bits, values);
            sum.bits += cost.coded_bits;
            sum.symbols = std::max(sum.symbols, cost.symbols);
            n += 1.0;
        }
        return n > 0.0 ? Total{sum.bits / n, sum.symbols} : Total{};
    }
    double fine_share_;
    std::vector<InterpolationAxis> fine_, coarse_;
};

template <class T>
Features sample_lossy(const std::byte* data, const Tiling& t, double bound,
                      std::uint64_t values_in_all) {
    const double scale = 0.5 / bound;
    std::vector<T> values(t.read_values);
    std::vector<std::int64_t> tile(t.read_values);
    std::vector<std::uint64_t> inner;
    for (std::uint64_t at = 0; at < t.read_values; ++at)
        if (is_inner(t, at)) inner.push_back(at);
    std::vector<bool> outlier(t.read_values);
    std::vector<std::int32_t> codes;
    codes.reserve(t.tiles * inner.size());
    InterpolationCost interpolation(t);
    bool finite = true;
    std::vector<double> scaled(t.read_values), rounded(t.read_values);
    for (std::uint64_t i = 0; i < t.tiles; ++i) {
        read_tile(data, t, tile_begin(t, i), values.data());
        std::int64_t before = 0;
        for (std::uint64_t at = 0; at < t.read_values; ++at) {
            const double v = static_cast<double>(values[at]) * scale;
            scaled[at] = v;
            rounded[at] = std::fabs(v) < k_max_quantised ? static_cast<double>(nearest(v)) : v;
            outlier[at] = !(std::fabs(v) < k_max_quantised);  // also NaN and Inf
            finite = finite && std::isfinite(v);
            // An outlier is kept apart; for its neighbours' residuals its predecessor stands in.
            if (!outlier[at]) before = nearest(v);
            tile[at] = before;
        }
        interpolation.add(scaled, rounded);
        difference(t, tile.data());
        for (const std::uint64_t at : inner) {
            const bool fits = !outlier[at] && std::abs(tile[at]) < k_code_radius;
            codes.push_back(fits ? static_cast<std::int32_t>(tile[at]) : k_outlier);
        }
    }
    constexpr double k_value_bits = 8.0 * sizeof(T);
    const CodeCost cost = code_cost(codes, row_length(t), k_value_bits, values_in_all);
    const auto smooth = interpolation.total(k_value_bits, values_in_all);
    Features features;
    features.bits_per_value = std::min(cost.coded_bits, k_value_bits);
    features.symbols = cost.symbols;
    features.finite = finite;
    const bool thin = !std::isfinite(smooth.bits);
    features.interpolated_bits_per_value =
        thin ? features.bits_per_value : std::min(smooth.bits, k_value_bits);
    features.interpolated_symbols = thin ? cost.symbols : smooth.symbols;
    features.smooth_bits_per_value =
        std::min(features.bits_per_value, features.interpolated_bits_per_value);
    features.zero_share = cost.zero_share;
    return features;
}

// Without a bound: per byte plane the smaller entropy of the bytes themselves (shuffle) and of
// the bytes XORed with the value before (repeats and slow change).
//
// @param step  > 0: values, which are floats then, are first rounded to multiples of it (codecs
// "round+..."); 0: not.
template <class Word>
Features sample_lossless(const std::byte* data, const Tiling& t, double step) {
    using Histogram = std::array<std::uint32_t, 256>;
    std::array<Histogram, sizeof(Word)> plain{}, changed{};
    std::vector<Word> tile(t.read_values);
    const std::uint64_t row = t.read[static_cast<std::size_t>(t.rank - 1)];
    std::uint64_t seen = 0, repeated = 0;
    for (std::uint64_t i = 0; i < t.tiles; ++i) {
        read_tile(data, t, tile_begin(t, i), tile.data());
        if (step > 0.0)
            codec::round_to_grid(std::as_writable_bytes(std::span(tile)),
                                 sizeof(Word) == 8 ? DType::float64 : DType::float32, step);
        for (std::uint64_t at = 0; at < t.read_values; ++at) {
            if (row > 1 && at % row == 0) continue;
            const auto change = static_cast<Word>(at == 0 ? tile[at] : tile[at] ^ tile[at - 1]);
            for (std::size_t b = 0; b < sizeof(Word); ++b) {
                ++plain[b][(tile[at] >> (8 * b)) & 0xff];
                ++changed[b][(change >> (8 * b)) & 0xff];
            }
            ++seen;
            repeated += change == 0;
        }
    }
    Features features;
    for (std::size_t b = 0; b < sizeof(Word); ++b)
        features.bits_per_value += std::min(byte_entropy(plain[b]), byte_entropy(changed[b]));
    features.zero_share = static_cast<double>(repeated) / static_cast<double>(seen);
    return features;
}

}  // namespace

// Source: S1 §III-A. Differs: sampled before anything is compressed, in tiles with exact residuals;
// ZFP, which is no predicting codec, by its own steps.
Features sample_block(const std::byte* data, DType dtype, const Box& array_box, const Box& part,
                      const ErrorBound& bound, std::string_view codec_name) {
    Features features;
    const std::uint64_t values = part.extent.rank() == 0 ? 0 : part.extent.count();
    if (values == 0) return features;
    const Family family = family_of(codec_name);
    const bool wide = dtype == DType::float64;
    // A relative bound means nothing before its range is known: lossless is the safe side.
    const bool bounded = bound.kind == ErrorBound::Kind::absolute && bound.value > 0.0 &&
                         std::isfinite(bound.value) && std::isfinite(0.5 / bound.value);
    const Tiling tiling = make_tiling(array_box, part);
    const auto exactly = [&](double step) {
        switch (size_of(dtype)) {
            case 1:
                return sample_lossless<std::uint8_t>(data, tiling, step);
            case 2:
                return sample_lossless<std::uint16_t>(data, tiling, step);
            case 4:
                return sample_lossless<std::uint32_t>(data, tiling, step);
            default:
                return sample_lossless<std::uint64_t>(data, tiling, step);
        }
    };
    // Other codecs store types of 16 bits without loss; of complex numbers it is a first guess.
    if (!bounded || is_short_float(dtype) || is_complex(dtype) || family == Family::lossless ||
        family == Family::shuffled) {
        features = exactly(0.0);
    } else if (family == Family::rounded || family == Family::rounded_shuffled) {
        features = exactly(codec::grid_step(bound.value, dtype));
    } else if (family == Family::transform) {
        const ZfpSample sample = zfp_sample(data, dtype, array_box, part, bound.value);
        features.bits_per_value = std::min(sample.bits_per_value, wide ? 64.0 : 32.0);
        features.smooth_bits_per_value = features.bits_per_value;
        features.interpolated_bits_per_value = features.bits_per_value;
        features.finite = sample.finite;
    } else {
        features = wide ? sample_lossy<double>(data, tiling, bound.value, values)
                        : sample_lossy<float>(data, tiling, bound.value, values);
    }
    if (!features.finite && (family == Family::transform || family == Family::interpolating)) {
        features = exactly(0.0);  // the codec may not have such a block: it goes lossless
        features.finite = false;
    }
    features.values = values;
    return features;
}

}  // namespace caesura::predict
