// What a commit consists of, however its metadata came into memory: by a Committer, which opens the
// file for each commit, or in a LiveImage, which keeps it open.
#pragma once

#include "store/commit_image.hpp"
#include "store/committer.hpp"

namespace caesura::store {

/// What lies in the file before a commit.
struct Before {
    std::uint64_t file_bytes = 0;
    bool has_superblock = false;
    bool is_readable = false;  ///< and it does not say that the file is open for writing
    std::uint64_t stored_end = k_first_region_address;
    CommitRecord record;
};
/// Errors: io, corrupt (superblock or commit record damaged).
Result<Before> read_before(SharedFile& shared);

struct CommitBounds {
    std::uint64_t fresh_begin = 0;  ///< nothing at or beyond it is part of the state before
    std::uint64_t stored_end = 0;   ///< where regions and metadata end after the commit
    /// Stock readers may open the file before the commit. The superblock then goes first, so that
    /// no header points beyond the end that it says; else last, as it lets readers in.
    bool is_readable = false;
};
/// Split the overlay into what is new and what is overwritten, and prepare the journal.
/// @param early   new metadata that go to places before fresh_begin.
/// @param record  the one before with the new dumps in it; returned as it will lie in the file.
CommitRecord fill_image(CommitImage::State& image, const Overlay& overlay,
                        const CommitBounds& bounds, const CommitRecord& before, CommitRecord record,
                        const RunId& run, std::vector<Extent> early = {});

/// The order in which blocks are placed: by dump, dataset, chunk.
bool record_order(const ChunkRecord& a, const ChunkRecord& b);
/// Where the chunk with this (row-major) number begins, in values along each axis.
Shape chunk_begin(const DatasetSpec& dataset, std::uint64_t number);

}  // namespace caesura::store
