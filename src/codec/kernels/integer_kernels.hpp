// Inner loops of integers without loss: what is predicted from neighbours, codes, bit planes.
//
// Invariants:
//  - All arithmetic is of unsigned integers of the values' width: it wraps around, and each
//    function and its inverse agree for every input.
//  - What lies before an array's first value counts as 0.
//  - A function touches the values that it is given and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>

namespace caesura::codec {

/// What a value is predicted from: v[i] of v[i - near], v[i - far] and v[i - near - far] (as the
/// corner of a square), and what is left of its neighbours before it.
struct Neighbours {
    bool exclusive_or = false;  ///< instead of differences
    std::uint8_t order = 0;     ///< differences of first or second order along the sequence: 0 to 2
    std::uint64_t near = 0;     ///< a distance, 0: none
    std::uint64_t far = 0;      ///< likewise; only with near
    friend bool operator==(const Neighbours&, const Neighbours&) = default;
};

/// Residuals are made for at most so many values at a time.
inline constexpr std::size_t k_integer_piece = 1024;
/// Values whose bit planes are made at a time.
inline constexpr std::size_t k_planes_piece = 8192;

/// What runs along a sequence from piece to piece, when residuals become values again.
template <class U>
struct SequenceState {
    U last = 0;
    U last_difference = 0;
};

template <class U>
struct IntegerKernels {
    /// Residuals of values[first .. first + n). n: up to k_integer_piece.
    void (*residuals)(const U* values, std::uint64_t first, std::size_t n,
                      const Neighbours& neighbours, U* out);
    /// The inverse: values[first .. first + n) from residuals (overwritten) and earlier values.
    void (*restore)(U* values, std::uint64_t first, std::size_t n, const Neighbours& neighbours,
                    SequenceState<U>& state, U* residuals);
    /// x - base, then as a zigzag code if asked for: small where x is near base, on either side.
    void (*map)(U* values, std::size_t n, U base, bool zigzag);
    void (*unmap)(U* values, std::size_t n, U base, bool zigzag);
    /// The lowest bytes of each value go to `low`, the rest is a code; k_exact_code where it does
    /// not fit one. Returns whether any did not.
    bool (*split)(const U* values, std::size_t n, unsigned low_bytes, std::uint32_t* codes,
                  std::byte* low);
    void (*join)(const std::uint32_t* codes, const std::byte* low, std::size_t n,
                 unsigned low_bytes, U* values);
    /// The smallest of values ^ flip, ^ flip.
    U (*smallest)(const U* values, std::size_t n, U flip);
};

template <class U>
const IntegerKernels<U>& integer_kernels();

/// Bit b of byte i becomes bit i mod 8 of byte b * stride + i / 8. n: a multiple of 64.
void bits_to_planes(const std::uint8_t* bytes, std::size_t n, std::size_t stride,
                    std::uint8_t* planes);
/// The inverse, of eight planes; null: all its bits are 0.
void planes_to_bits(const std::uint8_t* const* planes, std::size_t n, std::uint8_t* bytes);

}  // namespace caesura::codec
