// How many bits ZFP's fixed-accuracy mode takes: blocks of 4^rank values, followed through its
// steps without writing a bit.
//
// Invariants:
//  - Nothing is learned or fitted: for all blocks of an array the sum is ZFP's own size, but for
//    ties in the order of coefficients that its paper leaves open.
//  - ZFP drops axes of one value, and pads a block at the array's edge; so is it done here.
#pragma once

#include "predict/predict.hpp"

namespace caesura::predict {

/// Bits of a stream for one block.
///
/// @param block      4^rank values, C order, finite; rank 1..4.
/// @param tolerance  > 0, finite: ZFP's accuracy.
/// Source: Lindstrom, "Fixed-Rate Compressed Floating-Point Arrays", TVCG 2014, §4 (alignment,
/// transform, embedded coding), and the accuracy mode of ZFP's documentation.
template <class T>
std::uint32_t zfp_block_bits(const T* block, int rank, double tolerance);

/// Bits of the embedded coding: planes int_bits - 1 down to `lowest`, by group testing.
///
/// @param lengths  of the coefficients in bits, in the order they are coded; not empty.
std::uint32_t zfp_embedded_bits(std::span<const std::uint8_t> lengths, int int_bits, int lowest);

/// What a sample of the blocks of `part` says about its stream.
struct ZfpSample {
    double bits_per_value = 0.0;  ///< of the values of `part`, padding charged to them
    std::uint64_t blocks = 0;     ///< that were looked at
    std::uint64_t of_blocks = 0;  ///< that there are
    bool finite = true;           ///< every value looked at; ZFP cannot take others
};

/// @param data  holds array_box, dense, C order; part lies inside. @param tolerance  > 0, finite.
/// Cost: at most k_zfp_blocks blocks, 0.5 us each for float32 in three dimensions.
ZfpSample zfp_sample(const std::byte* data, DType dtype, const Box& array_box, const Box& part,
                     double tolerance);

inline constexpr std::uint64_t k_zfp_blocks = 512;

}  // namespace caesura::predict
