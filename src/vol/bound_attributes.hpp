// What the blocks of a dataset have been held to, as attributes of the dataset: h5dump shows them,
// and no file of ours is needed to read them.
#pragma once

#include <span>

#include "caesura/store.hpp"
#include "vol/native_dataset.hpp"

namespace caesura::vol {

/// HDF5 that is closing itself has no types any more, and attributes need them (trap 18).
bool can_set_attributes();
/// In place of those of the same names. @param attributes  numbers and strings, one or a list.
/// Errors: internal (HDF5 refused).
Status set_attributes(const NativeDataset& dataset, std::span<const store::Attribute> attributes);

}  // namespace caesura::vol
