// From counts of symbols to probability tables, and the tables' way into and out of a TableSet.
//
// Invariants:
//  - Integers only: the same counts give the same tables on every machine.
//  - Counts are kept for an alphabet of 16, the last symbol being "escaped", whatever the alphabet
//    of the table that was in use.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "caesura/codec.hpp"
#include "codec/entropy/rans_format.hpp"

namespace caesura {

/// The inside of TableSet and TableStatistics, for the coders.
class TableTraining {
  public:
    using Counts = std::vector<std::uint64_t>;
    static Counts& counts(TableStatistics& statistics) { return statistics.counts_; }
    static const Counts& counts(const TableStatistics& statistics) { return statistics.counts_; }
    /// A set of these bytes, which the caller knows to be right.
    static TableSet make(std::vector<std::byte> bytes);
};

namespace codec {

/// The built-in frequencies of a table.
const Frequencies& builtin_frequencies(unsigned table);

/// Frequencies that code `counts` with the fewest bits, trimming symbols that do not pay.
/// @param counts  16 of them, the last one the escapes.
/// @param table   which: where the counts are few, its built-in frequencies fill in.
Frequencies train_frequencies(std::span<const std::uint64_t> counts, unsigned table);

/// The same with the alphabet given: for a block whose symbols are already split by it.
Frequencies train_frequencies(std::span<const std::uint64_t> counts, unsigned table,
                              unsigned alphabet);

/// Bits that coding `counts` with `frequency` takes, times 2^16; tails of values that `frequency`
/// escapes and the counts know are guessed.
std::uint64_t coded_bits_q16(std::span<const std::uint64_t> counts, const Frequencies& frequency);

/// Tables of a set; the built-in ones where it has none of its own.
std::array<Frequencies, k_tables> frequencies_of(const TableSet& set);
/// The bytes of a set that differs from the built-in one in the tables of `chosen`.
std::vector<std::byte> table_set_bytes(const std::array<Frequencies, k_tables>& frequencies,
                                       std::uint64_t chosen);
static_assert(k_tables <= 64);

}  // namespace codec
}  // namespace caesura
