// What Committer::build hands to CommitImage::flush.
#pragma once

#include <atomic>

#include "store/announced_end.hpp"
#include "store/committer.hpp"
#include "store/overlay.hpp"
#include "store/region_format.hpp"

namespace caesura::store {

/// How far an image has come; shared with the Committer, which may not build on a half-made state.
struct CommitProgress {
    enum class Stage {
        built,       ///< not flushed yet
        flushing,    ///< a flush runs and has not begun the journal
        dropped,     ///< destroyed unflushed, or failed before its journal: the file is as before
        superseded,  ///< dropped, and another image has been built since
        journal,     ///< the journal may be valid on disk: only flushing again (or recover) helps
        done,
    };
    std::atomic<Stage> stage{Stage::built};
    std::atomic<bool> has_extended{false};  ///< the file is as long as was announced
};

struct CommitImage::State {
    std::vector<Extent> fresh;               ///< where no reader looks yet
    std::vector<Extent> in_place;            ///< in the order of writing
    std::vector<std::byte> journal_outside;  ///< payload that does not fit into the slot
    std::uint64_t journal_outside_address = 0;
    std::uint64_t sequence = 0;
    std::uint64_t stored_end = 0;  ///< where regions and metadata end
    AnnouncedEnd announced;        ///< for readers that open the file meanwhile; file 0: not
    std::uint64_t file_end = 0;    ///< stored_end, or beyond an outside journal
    std::uint64_t metadata_bytes = 0;
    bool trim = false;
    RunId run{};
    std::shared_ptr<CommitProgress> progress;
};

}  // namespace caesura::store
