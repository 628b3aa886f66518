// How a part of integers lies in a frame; docs/reference/block_frame.md is its prose.
//
// Invariants:
//  - Values become residuals (Neighbours), indices of a dictionary, or distances to the smallest of
//    their chunk; those are mapped (IntegerKernels::map) and then coded. All of it is undone in
//    unsigned arithmetic of the values' width, so every value comes back, whatever its sign.
//  - What is read has been checked against the bytes that are there and the number of values.
//
// Part = kind, content of the coder, packed section of what the codes leave out (escapes), of the
// smallest values, of the low bytes; the dictionary; head; u8: bytes of the head. The head comes
// last so that a writer need not know it before it writes the rest in place.
#pragma once

#include <span>

#include "codec/frame/frame.hpp"
#include "codec/kernels/integer_kernels.hpp"

namespace caesura::codec {

enum class IntegerCoder : std::uint8_t {
    rans = 0,    ///< codes of up to 32 bits and whole low bytes
    planes = 1,  ///< bit planes
};

enum class IntegerForm : std::uint8_t {
    residuals = 0,
    dictionary = 1,  ///< indices; the number of entries says that a value is an escape
    smallest = 2,    ///< differences to the smallest value of k_integer_piece
};

inline constexpr std::size_t k_most_entries = 255;
inline constexpr unsigned k_most_low_bytes = 4;

/// What happens to values before they are coded.
struct IntegerTransform {
    IntegerForm form = IntegerForm::residuals;
    Neighbours neighbours;
    std::uint64_t base = 0;
    bool zigzag = false;
    friend bool operator==(const IntegerTransform&, const IntegerTransform&) = default;
};

struct IntegerHead {
    IntegerCoder coder = IntegerCoder::rans;
    IntegerTransform transform;
    std::uint8_t low_bytes = 0;  ///< of a mapped value, beside its code; only of 8-byte values
    std::uint8_t entries = 0;    ///< of the dictionary
    bool own_tables = false;
    std::uint64_t table_set_id = 0;
    std::uint64_t escapes = 0;
};

/// The sections behind the coder's content, in their order.
struct IntegerSections {
    std::span<const std::byte> codes, escapes, smallest, low, dictionary;
};

/// Append the head of sections that have been appended. `codes` is not asked for.
void write_integer_head(const IntegerHead& head, std::size_t value_bytes,
                        std::uint64_t escape_bytes, std::uint64_t smallest_bytes,
                        std::uint64_t low_bytes, Output& out);

struct IntegerPart {
    IntegerHead head;
    IntegerSections sections;
};
/// @param part  begins with its kind. @param n  values of the slab. Errors: corrupt.
Result<IntegerPart> read_integer_part(std::span<const std::byte> part, std::uint64_t n,
                                      std::size_t value_bytes);

/// Bytes of a bit plane of n values.
constexpr std::size_t plane_bytes(std::size_t n) { return (n + 7) / 8; }
/// What becomes of a bit plane; two bits for each lead the content, lowest first.
enum class PlaneKind : std::uint8_t {
    zero = 0,
    raw = 1,     ///< as it is; these follow first
    packed = 2,  ///< in a packed section of all such planes, last
};

}  // namespace caesura::codec
