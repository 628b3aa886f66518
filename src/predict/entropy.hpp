// From a small sample of symbols to the bits per symbol that an entropy coder will need.
//
// Invariants:
//  - A sample is small: estimates must not depend on having seen every symbol that occurs.
//  - Costs are bits per value, >= 0, and 0 for a sample of one repeated symbol.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace caesura::predict {

/// A quantisation code beyond this is stored as an outlier, at full width (SZ's default radius).
inline constexpr std::int32_t k_code_radius = 32768;
/// Stands for an outlier in a sample of codes.
inline constexpr std::int32_t k_outlier = k_code_radius;

/// What a sample of quantisation codes says about the coded size.
struct CodeCost {
    double entropy_bits = 0.0;  ///< Shannon, per value, outliers included at full width
    double huffman_bits = 0.0;  ///< as above with whole bits per code (bucket), so at least one
    double coded_bits = 0.0;    ///< Huffman followed by a lossless stage that folds runs
    double zero_share = 0.0;    ///< codes that are 0
    double symbols = 0.0;       ///< distinct codes to be expected among all values of the block
};

/// @param rows        codes in the order of their rows, |code| < k_code_radius or k_outlier.
/// @param row_length  codes per row; runs are looked for inside rows. Divides rows.size(); >= 1.
/// @param value_bits  bits of an outlier's value.
/// @param values      of the whole block, for CodeCost::symbols; at least rows.size().
/// Source: S1 §III-B. Differs: a Huffman tree of the sample instead of sum(-p log2 p), large codes
/// in buckets, the bias of a small sample corrected, and runs as a two-state chain instead of the
/// run-length formula.
CodeCost code_cost(std::span<const std::int32_t> rows, std::size_t row_length, double value_bits,
                   std::uint64_t values = 0);

/// Entropy in bits per byte of one byte plane, from its histogram (Miller-Madow corrected).
double byte_entropy(std::span<const std::uint32_t, 256> histogram);

}  // namespace caesura::predict
