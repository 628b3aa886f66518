// How groups of the file get further links so that stock readers can open it at every instant.
//
// HDF5 changes a group's object header in several pieces. A reader that comes between two of these
// writes finds pieces that do not fit each other. Here the first piece stays where it is (hard
// links, references and tokens hold its address) and is written last, in one write; everything else
// goes to one new continuation, where no reader looks yet.
//
// Invariant: a commit writes over no continuation that one of the last commits has pointed to.
#pragma once

#include "store/placing_driver.hpp"

namespace caesura::store {

/// Where continuations lie, and where some have lain. Of one file, while one process writes to it.
class ContinuationPlaces {
  public:
    /// Take a place that no reader looks at any more. @return  its address; 0: none is large
    /// enough. @param sequence  the number of this commit.
    std::uint64_t take(std::uint64_t bytes, std::uint64_t sequence);
    void add(std::uint64_t address, std::uint64_t bytes);
    /// The commit of this number no longer points to what lies at `address`. No place: ignored.
    void leave(std::uint64_t address, std::uint64_t sequence);

  private:
    struct Place {
        std::uint64_t address = 0, bytes = 0;
        std::uint64_t left_by = 0;  // a commit's number; 0: in use
    };
    std::vector<Place> places_;
};

struct ContinuationMove {
    std::uint64_t old_end = 0;   ///< what lies before it is part of the file as it is
    std::uint64_t sequence = 0;  ///< of the commit
    bool last = false;           ///< no commit follows: no place needs room to grow
};
/// In the overlay, move the continuations of the object header at `address` to one new one. What
/// was not changed, or has its links in a heap, stays as it is.
/// @return  a continuation that goes to a place before old_end, if it does. The caller writes it
/// with the new metadata.
/// Errors: internal, io, corrupt (the header is not valid).
Result<std::optional<Extent>> move_continuations(PlacingState& state, std::uint64_t address,
                                                 const ContinuationMove& move,
                                                 ContinuationPlaces& places);

}  // namespace caesura::store
