// The inner loops of the rANS section, one compiled copy per instruction set.
//
// Invariants:
//  - The same bytes and codes come out of every copy.
//  - Code arrays are 64-byte aligned. Outputs have room for k_kernel_slack bytes (or codes) more
//    than what is counted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/entropy/rans_format.hpp"

namespace caesura::codec {

inline constexpr std::size_t k_kernel_slack = 128;

/// k_lanes states of 16 bits as bytes, in [256, 65536) between calls.
struct alignas(64) RansState {
    std::array<std::uint8_t, k_lanes> low;
    std::array<std::uint8_t, k_lanes> high;
};

struct ChunkSummary {
    std::uint32_t log_sum = 0;  // sum over the nonzeros of 128 * (log2(code) + 127), roughly
    std::uint32_t nonzeros = 0;
};

/// @param n  rounded up to a multiple of 64, up to k_chunk_values.
ChunkSummary summarise_chunk(const std::uint32_t* codes, std::size_t n);

/// Which of a chunk's codes have the last symbol of their alphabet: bit i % 64 of word i / 64.
using Escapes = std::array<std::uint64_t, k_chunk_values / 64>;

/// Split codes into symbols and raw low bits: symbol = min(code >> low_bits, alphabet - 1).
/// @param n        multiple of 64.
/// @param low      receives low_bytes(n, low_bits) bytes.
/// @param escapes  receives what belongs to n codes.
/// @return  how many symbols are the last one; take_tails() says what is left of their codes.
std::size_t split_chunk(const std::uint32_t* codes, std::size_t n, unsigned low_bits,
                        unsigned alphabet, std::uint8_t* symbols, std::uint8_t* low,
                        Escapes& escapes);
/// (code >> low_bits) - (alphabet - 1) of each of `count` escapes, in order.
void take_tails(const std::uint32_t* codes, std::size_t n, unsigned low_bits, unsigned alphabet,
                const Escapes& escapes, std::size_t count, std::uint32_t* tail);
/// Inverse of both. Reads up to k_kernel_slack words of `tail` past what it uses, and none if
/// n_tail are not enough.
/// @return  how many values of `tail` the symbols ask for.
std::size_t join_chunk(const std::uint8_t* symbols, std::size_t n, unsigned low_bits,
                       unsigned alphabet, const std::uint8_t* low, const std::uint32_t* tail,
                       std::size_t n_tail, std::uint32_t* codes);

/// Bytes of n codes' low bits: 16 lanes of whole 32-bit words.
constexpr std::size_t low_bytes(std::size_t n, unsigned low_bits) {
    return 64 * ((n / 16 * low_bits + 31) / 32);
}

/// How many of n symbols (a multiple of 64) are 0, 1, ... k_symbols - 1.
void count_symbols(const std::uint8_t* symbols, std::size_t n, std::uint32_t* counts);

/// Values of the tail sequence: their symbols (see TailWriter), and the bits below their leading
/// ones, those of a pair behind each other. An escape counts as k_escaped_tail_bits.
/// @param n  multiple of 16.
void pair_tails(const std::uint32_t* tails, std::size_t n, std::uint8_t* symbols,
                std::uint64_t* pairs, std::uint64_t* pair_bits);
inline constexpr unsigned k_escaped_tail_bits = 64;

/// A sparse chunk: one symbol per 4 codes, bit j set where code j is not 0; each nonzero - 1 goes
/// to `nonzeros`. Returns how many.
std::size_t split_sparse(const std::uint32_t* codes, std::size_t n, std::uint8_t* symbols,
                         std::uint32_t* nonzeros);
/// Inverse. Reads up to 64 words past what it uses, and nothing at or past n_nonzeros + 64.
std::size_t join_sparse(const std::uint8_t* symbols, std::size_t n, const std::uint32_t* nonzeros,
                        std::size_t n_nonzeros, std::uint32_t* codes);

/// Code n symbols (multiple of k_lanes), last k_lanes first. Returns the end of what it wrote to
/// `out`; at most n bytes.
std::uint8_t* rans_encode(RansState& state, const RansTable& table, const std::uint8_t* symbols,
                          std::size_t n, std::uint8_t* out);
/// The symbol of each slot (low byte of a state), for targets that look it up.
struct alignas(64) RansSlots {
    std::array<std::uint8_t, 256> symbol;
};
RansSlots make_rans_slots(const RansTable& table);
/// Decode n symbols (multiple of k_lanes), first k_lanes first, reading backwards from `in`. Never
/// reads below `begin`, and up to 64 bytes at and above `in`. Returns where it stopped; nullptr
/// when the stream ran out.
/// @param slots  of the same table.
const std::uint8_t* rans_decode(RansState& state, const RansTable& table, const RansSlots& slots,
                                std::uint8_t* symbols, std::size_t n, const std::uint8_t* begin,
                                const std::uint8_t* in);

// ---- planes -------------------------------------------------------------------------------

inline constexpr std::size_t k_group_values = 128;  // codes of one width in planes coding

/// Pack a chunk's groups with their own widths; returns the bytes written. widths: 8 (of
/// k_chunk_values / k_group_values), 0 .. 32, receives each group's longest code in bits.
std::size_t pack_groups(const std::uint32_t* codes, std::uint8_t* widths, std::uint8_t* out);
/// Inverse; widths up to 32. Reads packed_bytes(widths) bytes.
void unpack_groups(const std::uint8_t* in, const std::uint8_t* widths, std::uint32_t* codes);
std::size_t packed_bytes(const std::uint8_t* widths);

}  // namespace caesura::codec
