// Did a frame keep its promise? Decodes it and compares value by value, the slow and obvious way.
// For tests, reliability runs and debugging; nothing on the path of compress() uses it.
#pragma once

#include <span>

#include "caesura/codec.hpp"

namespace caesura::codec {

struct Verification {
    double max_error = 0;               ///< largest |x - x'| over the finite values
    double max_share = 0;               ///< largest |x - x'| / bound that holds for that value
    double psnr_decibels = 0;           ///< infinity if nothing changed
    std::uint64_t violations = 0;       ///< values, or 1 for a PSNR that was missed
    std::uint64_t first_violation = 0;  ///< index in the array
};

/// Decode `frame` and hold it to the bound that it was asked for. A value that is not finite must
/// come back bit for bit; so must zeros under a point-wise bound, and everything under lossless.
/// Errors: those of decompress; invalid_argument (the frame is not of such an array). Throws
/// std::bad_alloc.
Result<Verification> verify_frame(std::span<const std::byte> frame,
                                  std::span<const std::byte> original,
                                  const TableSet* tables = nullptr, int threads = 1);

}  // namespace caesura::codec
