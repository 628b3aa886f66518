// Datasets that lie in a captured file as blocks already: made before the file was opened, or by
// H5Ocopy. What the Writer must know of them, their creation list says.
#pragma once

#include "vol/block_io.hpp"

namespace caesura::vol {

/// H5Pget_filter2 is asked for no more: it takes a larger number for one that was not set.
inline constexpr std::size_t k_most_parameters = 256;

/// A process that the connector is loaded into reads our chunks, also of files that it opens for
/// reading alone, without a plugin. One that HDF5 has found has the same class.
Status register_filter();

/// What blocks of it are to be written with. The bound is the one in its filter's parameters.
///
/// @param under  the native connector's dataset, open.
/// @return  with `definition`. Errors: unsupported (not stored as our Writer would: the reason),
/// internal (HDF5 refused).
/// @param shared  several processes have the file: one of the application's own filters too.
Result<BlockIo::DatasetPtr> describe_stored(void* under, std::string path, bool shared);

/// Creation list, type or dataspace of a dataset; an invalid one where HDF5 refuses.
store::Handle ask_dataset(void* dataset, H5VL_dataset_get_t what);
/// Axes, dims and chunk of a chunked dataset; whether it can grow. Errors: unsupported.
/// @param axes_left  most_axes() of its elements.
Status read_shape(hid_t space, hid_t creation, std::size_t axes_left, BlockIo::Dataset& found,
                  bool& extendable);

/// What its elements are. Where that has an axis, dims and chunk get it.
void set_element(BlockIo::Dataset& dataset, Element element);
/// Our own copy of its type. Errors: internal.
Status keep_type(BlockIo::Dataset& dataset, hid_t type);

/// Fill value and whether it is defined, from a creation list. Errors: internal.
Status read_fill(hid_t creation, hid_t type, writer::DatasetDefinition& definition);

}  // namespace caesura::vol
