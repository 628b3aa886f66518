// What HDF5 would copy wrongly from a captured file. Natively an old format is the default, where
// these copies are whole; ours is a newer one.
#pragma once

#include "vol/object.hpp"

namespace caesura::vol {

/// Before H5Ocopy. HDF5 1.14.5 and 2.0.0
///  - put the chunks of some datasets in wrong places of the copy;
///  - write a group that nothing can read where they put a hard link in the place of a soft link
///    whose path is shorter than an address (H5O_COPY_EXPAND_SOFT_LINK_FLAG).
/// @param at, name  the source. @param copying  the copy's property list.
/// Errors: unsupported, with the path of what would be wrong.
Status check_copy(const Object& from, const H5VL_loc_params_t& at, const char* name, hid_t copying);

}  // namespace caesura::vol
