// The files that the native connector has open for the application: what HDF5 does not tell of them
// afterwards.
//
// Invariant: application's thread only.
#pragma once

#include <hdf5.h>

#include <string>
#include <vector>

#include "vol/file_identity.hpp"

namespace caesura::vol::native_files {

/// The native connector has opened `under` by this name. @param access  the list it was opened
/// with.
void note(void* under, const std::string& name, hid_t access);
/// Another use of the same file.
void note_again(void* under, void* before);
/// Closes it. HDF5 keeps it open while objects of it are open (close degree WEAK).
herr_t close(void* under, hid_t transfer, void** request_slot);
/// Identifiers of what the application has open of it, but the file's own.
std::vector<hid_t> open_objects(void* under);
/// Does this process have it open with the ordinary driver? Then HDF5 alone can open it once more.
bool has_open(const FileIdentity& identity);
/// The absolute path by which an open file was opened; empty if it is not known.
/// @param number  HDF5's, of an open file.
std::string path_of(unsigned long number);

}  // namespace caesura::vol::native_files
