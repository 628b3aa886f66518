// A dataset of a captured file that becomes blocks: how it is made, found again, written and read.
#pragma once

#include "vol/block_io.hpp"
#include "vol/capture.hpp"
#include "vol/captured_dataset.hpp"
#include "vol/quantities.hpp"

namespace caesura::vol {

/// Make of the lists in `prepared`, which are copies of the application's, those of a dataset with
/// chunks, our filter, and space as blocks come. Collective.
/// Errors: those of components_of() and of OpenWriter::define.
Status prepare_blocks(CapturedFile& file, const DatasetFacts& facts, const Quantities& quantities,
                      hid_t type, hid_t space, PreparedDataset& prepared);
/// The dataset has been made: remember it. Errors: unsupported (the codec's filter has changed its
/// parameters, so that blocks could not be read), those of define_filtered().
/// @param filtered  PreparedDataset::filtered.
Status adopt_blocks(const Object& made, hid_t space,
                    const std::optional<writer::DatasetDefinition>& filtered);
/// If `opened` is one of those, or was stored as blocks before the file was opened: find them, and
/// what the application gave when it made it. Errors: unsupported (why it is not one).
Status find_blocks(Object& opened);

inline BlockIo::Dataset* block_of(const Object& object) {
    return object.dataset == nullptr ? nullptr : object.dataset->block.get();
}

/// A change of extents that has begun.
struct Resizing {
    Shape dims;
    std::vector<BlockIo::KeptPart> kept;  ///< what this rank is to put again
    bool cuts = false;                    ///< some rank has such
};
/// Before H5Dset_extent: what was written under the old dims is on its way, and with smaller ones
/// committed. Collective. @param size  as many as the dataset has axes.
/// Errors: invalid_argument (the application made it contiguous), unsupported (an axis that blocks
/// leave out), those of the collective.
Result<Resizing> before_resizing(const Object& object, const hsize_t* size);
/// The same of data that are no blocks, in a file of one process. If an extent becomes 0, HDF5
/// drops the only chunk and does not write that down. So the chunk gets fill values before. Errors:
/// internal.
Status before_emptying(const Object& object, const hsize_t* size);
/// After it. Collective. What chunks keep that were cut is committed as it was before.
Status after_resizing(const Object& object, Resizing resizing);

/// One dataset's part of H5Dwrite and H5Dread.
/// @param together  all ranks make the call; before a read everything has been committed.
Status write_blocks(const Object& object, hid_t memory_type, hid_t memory_space, hid_t file_space,
                    hid_t transfer, const void* memory, bool together);
Status read_blocks(const Object& object, hid_t memory_type, hid_t memory_space, hid_t file_space,
                   hid_t transfer, void* memory, bool together);

}  // namespace caesura::vol
