// How a slab of integers is to be stored: a sample of pieces tells.
//
// Transforms are ranked by what their codes would roughly cost; the best are measured with the
// coder's own tables. Bit planes are made of two runs, so that what repeats from afar shows: the
// second costs what every further one will.
//
// Invariants:
//  - The choice depends on the values alone, not on the instruction set.
#pragma once

#include <vector>

#include "codec/integers/bit_planes.hpp"
#include "codec/integers/forward.hpp"
#include "codec/integers/integer_part.hpp"

namespace caesura::codec {

/// What a choice is made for.
struct IntegerTask {
    Shape shape;
    bool is_signed = false;
    const TableSet* tables = nullptr;
    bool drift_check = true;
};

struct IntegerChoice {
    bool bytes_only = false;             ///< a lossless part, of byte planes
    IntegerHead head;                    ///< transform, coder and low bytes
    std::vector<std::uint64_t> entries;  ///< of a dictionary
    double bytes = 0;                    ///< of the part, about
};

/// What the part will come to, from more runs where bit planes were chosen.
template <class U>
double closer_estimate(const IntegerChoice& choice, std::span<const U> values,
                       const IntegerTask& task, LosslessPacker& packer, PlanesWriter& planes);

/// @param packer, planes  working memory. Throws std::bad_alloc.
template <class U>
IntegerChoice choose_integers(std::span<const U> values, const IntegerTask& task,
                              LosslessPacker& packer, PlanesWriter& planes);

}  // namespace caesura::codec
