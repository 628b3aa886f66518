// What a dataset that is to be made holds: which quantities, and which arrays of them.
//
// AMReX's plotfiles: attributes of the root group name the components. There is a group for each
// level, in it a dataset "boxes" of the corners of all boxes, written before the data, and
// "data:datatype=N", box after box, component after component, the first axis running fastest.
// Other applications' are described by rules of the configuration.
#pragma once

#include "vol/capture.hpp"
#include "vol/object.hpp"

namespace caesura::vol {

struct Quantities {
    std::vector<std::string> names = {""};  ///< at least one; one: ours, or nothing is known
    std::vector<Shape> boxes = {};          ///< of a sequence of arrays, as Composition::arrays()
    std::string whole = {};                 ///< Composition::arrays()
    int axis = -1;                          ///< along which the quantities lie
    bool scattered = false;                 ///< there are several, and nobody knows where
};

/// Collective, and communicates if it looks like AMReX's: rank 0 reads the boxes, which it has
/// written itself there.
/// Errors: invalid_argument (a rule that does not fit the dataset), those of the Communicator.
/// Boxes that cannot be read are no boxes.
Result<Quantities> quantities_of(const Object& at, const H5VL_loc_params_t* location,
                                 const char* name, const DatasetFacts& facts,
                                 std::span<const hsize_t> dims);

/// What an AMReX plotfile, or none, says of its components; in the order of their numbers.
std::vector<std::string> amrex_components(const Object& at);

}  // namespace caesura::vol
