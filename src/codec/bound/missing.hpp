// Missing values: which values of an array mark a place without data. Declared ones are known by
// their bits; suspected fills are found in the values themselves.
//
// Invariants:
//  - Values are compared bit for bit: NaN by its payload, -0 is not 0.
//  - What is found depends on the values alone: the same on every machine.
//
// docs/reference/missing_values.md has the rule for suspects.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "caesura/codec.hpp"
#include "codec/bound/resolve_bound.hpp"

namespace caesura::codec {

/// The bits of values of one type, as numbers: ascending, each once.
using ValueBits = std::vector<std::uint64_t>;
/// As many values a mask can tell apart.
constexpr std::size_t k_most_missing = 255;

/// @param values  of the type, one after the other, any alignment.
ValueBits bits_of(std::span<const std::byte> values, DType dtype);
/// The inverse.
std::vector<std::byte> values_of(const ValueBits& bits, DType dtype);
/// Add `more` to `bits`. @return whether there was a new one.
bool unite(ValueBits& bits, std::span<const std::uint64_t> more);

/// Is the type one that can be rounded, so that values have to be told apart?
bool may_have_missing(DType dtype);

struct Findings {
    ValueBits suspects;  ///< beside those that were known
    FiniteRange range;   ///< of the finite values that are neither known nor suspected
};

/// @param dtype  one that may_have_missing().
/// Cost: finite_range() where no value is known and no end of the range is like a fill; else some
/// passes at memory speed.
Findings look_for_missing(std::span<const std::byte> values, DType dtype, const ValueBits& known,
                          int threads = 1);

/// What nine tenths of a sample of the finite values lie in, without the missing ones. About 5 us.
FiniteRange bulk_of(std::span<const std::byte> values, DType dtype, const ValueBits& missing);

/// Does a sample of an array have a known value or a suspect? Below a microsecond where no end of
/// its range is like a fill.
bool sample_has_missing(std::span<const std::byte> sample, DType dtype, const ValueBits& known);

/// Where an array has which missing values: runs of values, from the first on.
struct Mask {
    ValueBits values;
    std::vector<std::uint8_t> labels;    ///< by run: 0 present, i + 1 the i-th of `values`
    std::vector<std::uint32_t> lengths;  ///< by run, at least 1
    std::uint64_t missing = 0;           ///< places
};

/// Without a missing place the mask has no runs. @param bits  at most k_most_missing.
Mask find_missing(std::span<const std::byte> values, DType dtype, const ValueBits& bits);
/// Put the missing values in their places. @param mask  of as many values.
void put_missing(const Mask& mask, DType dtype, std::span<std::byte> values);

/// Call with (first value, number of values, label) of each run that is missing.
template <class Call>
void for_each_missing(const Mask& mask, Call call) {
    std::size_t at = 0;
    for (std::size_t run = 0; run < mask.labels.size(); ++run) {
        if (mask.labels[run] != 0) call(at, std::size_t{mask.lengths[run]}, mask.labels[run]);
        at += mask.lengths[run];
    }
}

}  // namespace caesura::codec
