#include "store/own_front.hpp"

#include <algorithm>
#include <array>

#include "store/journal.hpp"
#include "store/superblock.hpp"

namespace caesura::store {

Result<OwnFront> read_own_front(PlacingState& state, const std::string& path) {
    OwnFront own;
    auto run = read_file_header(*state.file, path);
    // Not ours, or of a version to come: HDF5 still tells all but the checksums.
    if (!run.ok() && run.status().code() != StatusCode::corrupt &&
        run.status().code() != StatusCode::unsupported)
        return run.status();
    if (!run.ok()) return own;
    own.ours = true;
    own.run = *run;
    auto journal = read_journal(*state.file, *run);
    if (!journal.ok()) return journal.status();
    own.needs_recover = journal->state != Journal::State::none;
    for (const Extent& extent : journal->overwrites)
        state.overlay.write(extent.address, extent.bytes);
    std::array<std::byte, k_superblock_bytes> front{};
    CommitRecordBytes bytes{};
    if (Status s = state.read(0, front); !s.ok()) return s;
    if (Status s = state.read(k_commit_record_address, bytes); !s.ok()) return s;
    own.empty =
        std::all_of(front.begin(), front.end(), [](std::byte b) { return b == std::byte{0}; });
    if (const auto superblock = decode_superblock(front); superblock && superblock->status_flags) {
        own.needs_recover = true;  // closed by its application, and still being written
        patch_superblock(front, {superblock->end_of_file, 0});
        state.overlay.write(0, front);
    }
    own.record = decode_commit_record(bytes, *run).value_or(CommitRecord{});
    return own;
}

}  // namespace caesura::store
