// Compound types whose members are numbers of one kind, as particles' and complex numbers are.
#pragma once

#include <hdf5.h>

#include <string>
#include <vector>

namespace caesura::store {

/// Of any compound type.
std::string member_name(hid_t type, unsigned member);

inline constexpr int k_most_members = 128;

/// Names of the members of a compound type that are all float32, or all float64, of this machine,
/// one directly after the other, in the order in which they lie; empty: it is another type.
std::vector<std::string> members_of(hid_t type);

}  // namespace caesura::store
