// Datasets that lie in a captured file as blocks already: made before the file was opened, or by
// H5Ocopy. What the Writer must know of them, their creation list says.
#pragma once

#include "vol/block_io.hpp"

namespace caesura::vol {

/// H5Pget_filter2 is asked for no more: it takes a larger number for one that was not set.
inline constexpr std::size_t k_most_parameters = 256;

/// This process reads blocks too. A filter plugin that is found has the same class.
Status register_filter();

/// What blocks of it are to be written with. The bound is the one in its filter's parameters.
///
/// @param under  the native connector's dataset, open.
/// @return  with `definition`. Errors: unsupported (not stored as our Writer would: the reason),
/// internal (HDF5 refused).
Result<BlockIo::DatasetPtr> describe_stored(void* under, std::string path);

/// The members of its type are an axis more.
void add_members(BlockIo::Dataset& dataset, std::vector<std::string> members);

/// Fill value and whether it is defined, from a creation list. Errors: internal.
Status read_fill(hid_t creation, hid_t type, writer::DatasetDefinition& definition);

}  // namespace caesura::vol
