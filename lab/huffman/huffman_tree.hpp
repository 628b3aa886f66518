// The alphabet and the tree of the Huffman coder: code lengths from counts, canonical codes, and a
// tree as bytes.
//
// Invariants:
//  - Integers only: the same counts give the same lengths on every machine, and lengths alone say
//    what the codes are.
//  - A tree is complete (the Kraft sum of its lengths is exactly 1) and knows the escape, so that
//    it can code anything; whatever else is no tree.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "caesura/base.hpp"

namespace caesura::lab::huffman {

/// Codes below k_direct_codes are symbols of their own. Larger ones share symbols by their leading
/// two bits, two symbols per octave; the bits below follow raw. The escape stands for a symbol that
/// the tree does not know; the code follows as 32 raw bits.
inline constexpr unsigned k_direct_codes = 512;
inline constexpr unsigned k_direct_bits = 9;
inline constexpr unsigned k_huffman_escape = k_direct_codes + 2 * (32 - k_direct_bits);
inline constexpr unsigned k_huffman_symbols = k_huffman_escape + 1;
inline constexpr unsigned k_longest_code = 15;
inline constexpr unsigned k_escape_raw_bits = 32;

constexpr unsigned huffman_symbol(std::uint32_t code) {
    if (code < k_direct_codes) return code;
    const unsigned top = static_cast<unsigned>(std::bit_width(code)) - 1;
    return k_direct_codes + 2 * (top - k_direct_bits) + ((code >> (top - 1)) & 1U);
}
/// Raw bits behind a symbol.
constexpr unsigned huffman_raw_bits(unsigned symbol) {
    if (symbol < k_direct_codes) return 0;
    if (symbol == k_huffman_escape) return k_escape_raw_bits;
    return (symbol - k_direct_codes) / 2 + k_direct_bits - 1;
}
/// The smallest code of a symbol: the raw bits are added to it. 0 for the escape.
constexpr std::uint32_t huffman_base(unsigned symbol) {
    if (symbol < k_direct_codes) return symbol;
    if (symbol == k_huffman_escape) return 0;
    return (2 + ((symbol - k_direct_codes) & 1U)) << huffman_raw_bits(symbol);
}
static_assert(huffman_symbol(0xffffffffU) == k_huffman_escape - 1);
static_assert(huffman_base(k_direct_codes) == k_direct_codes);

/// Bits of each symbol's code, 1 to k_longest_code; 0: the tree does not know it.
using HuffmanLengths = std::array<std::uint8_t, k_huffman_symbols>;
using HuffmanCounts = std::array<std::uint64_t, k_huffman_symbols>;
using HuffmanCodes = std::array<std::uint16_t, k_huffman_symbols>;

/// The lengths that code `counts` (k_huffman_symbols, sum below 2^59) with the fewest bits, none
/// longer than k_longest_code. Symbols that do not occur stay unknown, but for the escape, and for
/// code 0 where nothing occurs at all.
/// @param escapes  how often to expect the escape.
HuffmanLengths make_lengths(std::span<const std::uint64_t> counts, std::uint64_t escapes);

/// How many escapes to expect where counts of the past serve the future: as many as symbols were
/// seen once (Good and Turing's estimate of what has not been seen yet), and one.
std::uint64_t expected_escapes(std::span<const std::uint64_t> counts);

/// Complete, and with the escape?
bool is_tree(const HuffmanLengths& lengths);

/// Canonical codes: shorter ones first, of equal lengths by symbol. `lengths` must be a tree.
HuffmanCodes canonical_codes(const HuffmanLengths& lengths);

/// Bits that `counts` take with this tree, raw bits included.
std::uint64_t coded_bits(std::span<const std::uint64_t> counts, const HuffmanLengths& lengths);

/// The tree that a field's blocks share, from counts of those before; no tree (all 0) from none.
HuffmanLengths train(const HuffmanCounts& counts);

/// 'T', version 1, stage 1, 0, u64 number d of lengths of direct codes that follow (the rest are
/// 0), then d lengths and those of the large symbols and the escape, 4 bits each, the lower half of
/// a byte first, and the low half of XXH3-64 of all that. parse_tree() errors: corrupt.
std::vector<std::byte> tree_bytes(const HuffmanLengths& lengths);
Result<HuffmanLengths> parse_tree(std::span<const std::byte> bytes);

}  // namespace caesura::lab::huffman
