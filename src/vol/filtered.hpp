// Datasets that have filters of the application's own and do not become blocks of our codec, in
// files that several processes share: chunks as the application asked for them, through its own
// filters, which the lanes run (hdf5/pipeline_codec.hpp). All else is as for blocks.
#pragma once

#include "vol/block_calls.hpp"

namespace caesura::vol {

/// Can that be done with a dataset that is to be made? Errors: unsupported, with the reason.
Status keeps_filters(const DatasetFacts& facts, hid_t type, hid_t creation);
/// Do they give back the very values?
bool filters_are_lossless(hid_t creation);
/// Make of the lists in `prepared` those of such a dataset, whose Writer hears of it in
/// define_filtered(). Errors: internal (HDF5 refused).
Status prepare_filtered(CapturedFile& file, const DatasetFacts& facts, hid_t type, hid_t space,
                        PreparedDataset& prepared);
/// The dataset has been made, and its filters have made of their parameters what they will.
/// Collective. Errors: those of OpenWriter::define.
Status define_filtered(const Object& made, writer::DatasetDefinition definition);
/// What is to be written of one that lies in the file already. As describe_stored().
Result<BlockIo::DatasetPtr> describe_filtered(void* under, std::string path);

}  // namespace caesura::vol
