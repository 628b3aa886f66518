// Datasets of one axis in which an application keeps arrays of more, one after the other.
//
// AMReX's plotfiles do: a group for each level, in it a dataset "boxes" of the corners of all
// boxes, written before the data, and "data:datatype=N", box after box, component after component,
// the first axis running fastest. Others are named by a rule of the configuration.
#pragma once

#include "vol/capture.hpp"
#include "vol/object.hpp"

namespace caesura::vol {

/// The array of which a dataset that is about to be made is a sequence, in C order; rank 0: nothing
/// is known of any. Collective, and communicates if it looks like AMReX's: rank 0 reads the boxes,
/// which it has written itself there.
/// Errors: those of the Communicator. Boxes that cannot be read are no boxes.
Result<Shape> flattened_box(const Object& at, const H5VL_loc_params_t* location, const char* name,
                            const DatasetFacts& facts);

}  // namespace caesura::vol
