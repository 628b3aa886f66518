// A dataset of a captured file that becomes blocks: how it is made, found again, written and read.
#pragma once

#include "vol/capture.hpp"
#include "vol/captured_dataset.hpp"
#include "vol/file_blocks.hpp"

namespace caesura::vol {

/// Make of the lists in `prepared`, which are copies of the application's, those of a dataset with
/// chunks, our filter, and space as blocks come. Collective.
/// @param box  the arrays that it holds one after the other, as far as known (flattened.hpp).
/// Errors: those of OpenWriter::define.
Status prepare_blocks(CapturedFile& file, const DatasetFacts& facts, const Shape& box, hid_t type,
                      hid_t space, PreparedDataset& prepared);
/// The dataset has been made: remember it. Errors: unsupported (the codec's filter has changed its
/// parameters, so that blocks could not be read).
Status adopt_blocks(const Object& made);
/// If `opened` is one of those: what the application gave when it made it.
void find_blocks(Object& opened);
/// The same for one that was opened without an access list of its own.
void attach_blocks(Object& opened);

inline FileBlocks::Dataset* block_of(const Object& object) {
    return object.dataset == nullptr ? nullptr : object.dataset->block.get();
}

/// One dataset's part of H5Dwrite and H5Dread.
Status write_blocks(const Object& object, hid_t memory_type, hid_t memory_space, hid_t file_space,
                    hid_t transfer, const void* memory);
Status read_blocks(const Object& object, hid_t memory_type, hid_t memory_space, hid_t file_space,
                   hid_t transfer, void* memory);

}  // namespace caesura::vol
