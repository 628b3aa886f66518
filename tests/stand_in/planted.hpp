// Faults that are put into the connector on purpose, one of each kind that it might have: the
// tester has to find them.
#pragma once

#include <hdf5.h>

#include <string>
#include <vector>

namespace stand_in {

struct Fault {
    const char* name;
    const char* kind;  ///< what rule is broken
};

const std::vector<Fault>& faults();

/// Of the sequence that runs; 0: none. A fault may keep to it.
extern double bound_of_sequence;

/// The connector of HDF5_PLUGIN_PATH, with the fault; negative if there is no such one.
hid_t register_with_fault(const std::string& name);

}  // namespace stand_in
