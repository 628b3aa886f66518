// Groups, datasets and attributes of a dump by ordinary HDF5 calls.
//
// Invariants: no time stamp is stored (the same dump gives the same bytes); what exists already is
// left as it is, except that a dataset must be new.
#pragma once

#include "store/filter_alias.hpp"
#include "store/hdf5_handle.hpp"
#include "store/manifest.hpp"

namespace caesura::store {

/// A file creation list for a new file. Errors: internal.
Result<Handle> file_creation();
/// Attributes of the root group, if it has none yet; later only where particles are to be found.
Status write_root_attributes(hid_t file, std::span<const Attribute> attributes);
/// Attributes of the root group, in place of those of the same names. With a new "software" the
/// version of the one before goes.
Status replace_root_attributes(hid_t file, std::span<const Attribute> attributes);
/// One that gets further links with each dump, if it is not there yet.
Status make_group_of_dumps(hid_t file, const std::string& path);
Status write_group(hid_t file, const GroupSpec& group);
/// In place of those of the same names.
Status set_attributes(hid_t object, const std::string& path, std::span<const Attribute> attributes);
/// Chunks per axis of the dataset. Errors: invalid_argument (shape, chunk or pipeline that HDF5
/// cannot store; names the dataset).
Result<Shape> chunk_grid(const DatasetSpec& dataset);
/// A new dataset without chunks. Errors: invalid_argument (exists already), unsupported (filter).
Result<Handle> create_dataset(hid_t file, const DatasetSpec& dataset, FilterAliases& aliases);
/// A new dataset with its values. Errors: invalid_argument (exists already, other values).
Status write_array(hid_t file, const ArraySpec& array);
/// Where its object header lies. Errors: internal.
Result<std::uint64_t> object_address(hid_t object);

}  // namespace caesura::store
