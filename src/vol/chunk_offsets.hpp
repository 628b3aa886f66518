// Where chunks are that lie in the file as HDF5 made them.
//
// HDF5 1.14.5 tells wrong offsets of chunks where one axis alone has no limit and is not the first:
// it keeps such chunks in an array that goes along that axis, and counts through the array as if it
// went along the first. Our files have such arrays whatever format the application asked for.
#pragma once

#include "vol/object.hpp"

namespace caesura::vol {

/// Does HDF5 tell wrong offsets in this call on this dataset?
bool has_wrong_offsets(const Object& dataset, int operation);
/// Does H5Ocopy put its chunks in wrong places? So do files of HDF5's own in this format.
bool has_wrong_copies(const Object& dataset);
/// Is its only chunk named in its header? HDF5 1.14.5 does not write down that such a one is gone.
bool has_single_chunk(const Object& dataset);
/// H5Dget_chunk_info, H5Dget_chunk_info_by_coord and H5Dchunk_iter, chunks row by row.
/// Errors: HDF5's.
herr_t answer_with_offsets(const Object& dataset, const H5VL_optional_args_t& call);

}  // namespace caesura::vol
