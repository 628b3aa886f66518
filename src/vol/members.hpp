// What blocks take the elements of a dataset for. Of a compound type whose members are floats of
// one kind (store/compound_type.hpp) they are an array, one more of whose axes counts the members.
// Of any other type of fixed size they are words: unsigned numbers that are all its bytes, on an
// axis of their own too.
//
// Invariant: members and words are numbered by where they lie in the file's type.
#pragma once

#include <hdf5.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "caesura/base.hpp"
#include "store/compound_type.hpp"
#include "store/hdf5_handle.hpp"

namespace caesura::vol {

using store::k_most_members;
using store::members_of;

struct Element {
    DType dtype = float32;                  ///< of its numbers
    std::vector<std::string> members = {};  ///< of a compound of floats, each a number
    std::size_t words = 0;                  ///< above 0: so many are all its bytes

    std::size_t numbers() const { return std::max({std::size_t{1}, members.size(), words}); }
    /// Does the last axis count its numbers?
    bool has_axis() const { return words > 0 || !members.empty(); }
    std::size_t bytes() const { return numbers() * size_of(dtype); }
    /// Is it stored without loss, whatever bound there is?
    bool is_exact() const { return words > 0 || is_integer(dtype); }
};

/// How many axes of a dataset blocks may have besides those of its elements.
inline std::size_t most_axes(const Element& element) {
    return static_cast<std::size_t>(k_max_rank) - (element.has_axis() ? 1 : 0);
}

/// Axes of a compound of integers lo_i, lo_j, ..., hi_i, hi_j, ...: the corners of boxes, as AMReX
/// has them; 0: it is another type.
int axes_of_boxes(hid_t type);
/// Does the type hold values that lie in a heap (strings of variable length, ...)?
bool has_heap_values(hid_t type);
/// Numbers of this machine, and compounds. nullopt: another type, one whose values lie in a heap,
/// more than k_most_members numbers.
std::optional<Element> element_of(hid_t type);
/// Of any type without such values, for who does not ask what they are.
Element opaque_element_of(hid_t type);

/// The file's type with these members, or of plain numbers; invalid: HDF5 refused.
store::Handle type_of(DType dtype, const std::vector<std::string>& members);

/// Is a dataset's fill value the same of all numbers? A fill value that is not defined is.
bool fills_alike(hid_t creation, hid_t type, const Element& element);

/// Members, or words, that follow each other.
struct MemberRun {
    std::size_t first = 0, count = 0;
};

/// What a memory type has of the members, whatever their order and width in it.
struct PresentMembers {
    std::vector<MemberRun> runs;
    std::size_t count = 0;  ///< of all runs
    store::Handle type;     ///< of all runs' members in the file, without gaps; invalid: none
};
/// Errors: internal (HDF5 refused).
/// @param dtype  of the members in the file.
Result<PresentMembers> members_in(hid_t memory_type, DType dtype,
                                  const std::vector<std::string>& members);
/// The same of a type whose elements are words.
/// Errors: internal, unsupported (of a member that is a compound itself memory lacks a part).
Result<PresentMembers> words_in(hid_t memory_type, hid_t type, DType word);

}  // namespace caesura::vol
