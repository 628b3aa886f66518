// The first guess of each family of codecs. Constants were fitted once, to the plugins' output on
// cosmology and plasma fields; docs/evidence/prediction.md says how well they do.
#include "predict/size_guess.hpp"

#include <algorithm>
#include <cmath>

namespace caesura::predict {
namespace {

constexpr double k_frame_bytes = 256.0;  // headers and tables of the smallest block

// SZ3's Huffman tree, as its lossless stage leaves it, for each code that occurs. With fine bounds
// and small blocks it is a good part of the whole.
constexpr double k_tree_bytes_per_symbol = 8.0;

// Between Lorenzo and interpolation SZ3 chooses by a test on a few small sub-blocks, in which
// interpolation looks worse than it is: only where that is better by more than this (as a
// logarithm) is it taken. `k_choice_width`: how blurred that line is.
constexpr double k_choice = 0.17;
constexpr double k_choice_width = 0.02;
constexpr double k_lorenzo_factor = 1.03;
constexpr double k_interpolation_factor = 1.03;

Guess sz3_guess(const Features& features) {
    const auto values = static_cast<double>(features.values);
    const auto bytes = [&](double bits, double symbols) {
        return k_frame_bytes + values * bits / 8.0 + k_tree_bytes_per_symbol * symbols;
    };
    const double lorenzo = bytes(features.bits_per_value, features.symbols);
    const double interpolated =
        bytes(features.interpolated_bits_per_value > 0.0 ? features.interpolated_bits_per_value
                                                         : features.smooth_bits_per_value,
              features.interpolated_symbols);
    const double apart = std::log(lorenzo / interpolated);
    const double taken = 1.0 / (1.0 + std::exp((k_choice - apart) / k_choice_width));
    const std::array<double, 2> by_way = {k_lorenzo_factor * lorenzo,
                                          k_interpolation_factor * interpolated};
    return {std::exp(taken * std::log(by_way[1]) + (1.0 - taken) * std::log(by_way[0])), by_way};
}

double one_guess(Family family, const Features& features, double raw_bytes) {
    const auto bytes = [&](double factor) {
        return k_frame_bytes +
               factor * static_cast<double>(features.values) * features.bits_per_value / 8.0;
    };
    constexpr double k_unshuffled = 1.18;  // matches seldom line up with byte planes
    constexpr double k_shuffled = 1.03;
    switch (family) {
        case Family::raw:
            return raw_bytes;
        case Family::own:
            return features.estimated
                       ? static_cast<double>(features.values) * features.bits_per_value / 8.0
                       : k_frame_bytes + static_cast<double>(features.values) *
                                             features.smooth_bits_per_value / 8.0;
        case Family::interpolating:
            return bytes(k_unshuffled);  // not finite: it goes lossless
        case Family::transform:
            return features.finite
                       ? static_cast<double>(features.values) * features.bits_per_value / 8.0 + 8.0
                       : bytes(k_unshuffled);
        case Family::lossless:
        case Family::rounded:
            return bytes(k_unshuffled);
        case Family::shuffled:
        case Family::rounded_shuffled:
            return bytes(k_shuffled);
        case Family::unknown:
            break;
    }
    return bytes(1.0);
}

}  // namespace

Priors priors_of(Family family, bool estimated) {
    switch (family) {
        case Family::own:
            if (estimated) return {0.03, 0.025, 0.018, 0.003, 0.02, 0.7, true};
            break;
        case Family::transform:
            return {0.045, 0.03, 0.015, 0.003, 0.02, 1.0, true};
        case Family::interpolating:
            return {0.13, 0.08, 0.08, 0.01, 0.35, 0.9, false};
        default:
            break;
    }
    return {0.4, 0.15, 0.15, 0.01, 0.5, 0.8, false};
}

Guess guess_bytes(Family family, const Features& features, double raw_bytes) {
    if (family == Family::interpolating && features.finite) return sz3_guess(features);
    const double bytes = one_guess(family, features, raw_bytes);
    return {bytes, {bytes, bytes}};
}

}  // namespace caesura::predict
