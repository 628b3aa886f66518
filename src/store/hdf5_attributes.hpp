// Attributes as HDF5 has them, turned into ours.
#pragma once

#include "caesura/store.hpp"
#include "store/hdf5_handle.hpp"

namespace caesura::store {

/// All attributes of an object, by name. Those of types that AttributeValue cannot hold (compound,
/// references, ...) are left out. Errors: corrupt, no_space.
Result<std::vector<Attribute>> read_attributes(hid_t object);

}  // namespace caesura::store
