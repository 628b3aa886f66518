// Values of datasets that are read through HDF5: integers, half floats, and what only HDF5's own
// filters decode. One at a time.
#pragma once

#include <mutex>

#include "caesura/store.hpp"

namespace caesura::store {

/// Held while a reader calls HDF5, which need not be thread-safe: readers of one process wait for
/// each other.
std::mutex& hdf5_readers();

/// The values of a box, dense, C order, as this machine has them (an enumeration's as integers).
/// The file is opened for it and closed again, so that what a Writer commits beside does no harm;
/// calls wait for each other. HDF5 is called on this thread: if the program's HDF5 is not
/// thread-safe, no other thread may be inside it.
///
/// @param box     inside the dataset.
/// @param values  exactly its bytes.
/// Errors: corrupt, unsupported (a type that describe_other() does not know; a filter that is not
/// there), invalid_argument (the size), io, no_space; each names the dataset.
Status read_values(base::File& file, const std::string& path, const std::string& dataset,
                   const Box& box, std::span<std::byte> values);

}  // namespace caesura::store
