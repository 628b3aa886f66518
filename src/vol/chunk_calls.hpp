// HDF5's calls on chunks, of datasets that became blocks: answered for the chunks that the
// application asked for, with its filters, as if HDF5 had written them.
//
// What HDF5 would store of a chunk HDF5 says itself: the values go through a dataset of one chunk,
// made by the application's own creation list in a file in memory.
#pragma once

#include "vol/asked_chunks.hpp"
#include "vol/block_dataset.hpp"
#include "vol/object.hpp"

namespace caesura::vol {

/// Of a dataset that has just been made as blocks: BlockDataset::asked. @param space  its own.
void make_asked_chunks(const Object& made, hid_t space);

/// Does a call on chunks count as one of these? By H5VL_NATIVE_DATASET_*.
bool is_about_chunks(int operation);
/// Outputs that HDF5's own calls leave as they were become 0, or HADDR_UNDEF.
void clear_chunk_outputs(const H5VL_optional_args_t& call);
/// Is a call on chunks of this dataset answered here? Else the file has the very chunks and filters
/// that the application asked for, once what waits is settled.
bool answers_for_chunks(const Object& dataset);
/// Errors: invalid_argument (the application made it without chunks; no chunk begins there),
/// those of reading and writing.
herr_t answer_for_chunks(const Object& dataset, const H5VL_optional_args_t& call);

/// Of H5Dwrite_chunk on blocks that were found in the file. A program that opens its file again may
/// know nothing of Caesura's filter, and writes the values of a chunk: they are marked as such.
/// Errors: invalid_argument (neither a frame of the filter nor as many bytes as a chunk has).
Status mark_written_values(BlockDataset& found, const H5VL_optional_args_t& call);

/// After such a call.
void forget_mask_of_written(const Object& on, const H5VL_optional_args_t& call);

/// Of a dataset with filters that was made as blocks: the list that HDF5 would give back, with the
/// parameters that filters set for themselves. The caller's; negative with HDF5's errors.
hid_t creation_list_of_twin(const BlockDataset& dataset);

/// H5Dget_space_status of the layout that the application asked for.
H5D_space_status_t asked_space_status(const AskedChunks& asked);

}  // namespace caesura::vol
