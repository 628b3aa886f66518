// Datasets of compound types whose members are numbers of one kind (store/compound_type.hpp): for
// blocks an array, one more of whose axes counts the members.
//
// Invariant: members are numbered by where they lie in the file's type.
#pragma once

#include <hdf5.h>

#include <string>
#include <vector>

#include "caesura/base.hpp"
#include "store/compound_type.hpp"
#include "store/hdf5_handle.hpp"

namespace caesura::vol {

using store::k_most_members;
using store::members_of;

/// The file's type with these members, or of plain numbers; invalid: HDF5 refused.
store::Handle type_of(DType dtype, const std::vector<std::string>& members);

/// The number of a member's bytes, of such a type.
std::size_t member_bytes(hid_t type, const std::vector<std::string>& members);

/// Is a dataset's fill value the same of all members? A fill value that is not defined is.
bool fills_alike(hid_t creation, hid_t type, const std::vector<std::string>& members);

/// Members that follow each other.
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

}  // namespace caesura::vol
