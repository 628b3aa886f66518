// Virtual datasets whose sources lie in other files. HDF5 would open those on the image of the file
// that has the dataset. So they are read through the file as it lies in the file system, by HDF5's
// own driver, after all that this process has of any file has been committed.
//
// Of files that one rank has. No call of other ranks is needed.
#pragma once

#include "store/hdf5_handle.hpp"
#include "vol/object.hpp"

namespace caesura::vol {

/// Does the dataset have such sources, and may they be read so?
bool has_other_sources(const Object& dataset);
/// As H5Dread. Errors: those of the commits, and of HDF5 (io).
Status read_other_sources(const Object& dataset, hid_t memory_type, hid_t memory_space,
                          hid_t file_space, void* memory);
/// As H5Dget_space: sources that grow decide the extent. Negative with HDF5's errors on the stack.
hid_t space_of_other_sources(const Object& dataset);

}  // namespace caesura::vol
