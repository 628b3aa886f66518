// Working memory for encoding and decoding slabs.
//
// It outlives calls and threads, because fresh pages for it cost as much as the work itself: a
// worker leases one for a slab and puts it back for whoever comes next. Encoder and decoder of a
// workspace never work at the same time, so they share the predictors' part of it, which is the
// largest.
#pragma once

#include <cstddef>
#include <memory>

#include "codec/frame/output.hpp"
#include "codec/frame/part_decoder.hpp"
#include "codec/frame/part_encoder.hpp"

namespace caesura::codec {

struct Workspace {
    PredictorScratch scratch;
    PartDecoder decoder{scratch};
    PartEncoder encoder{scratch, decoder};
    Output part;  ///< of the slab being encoded
};

/// A workspace for as long as this lives: one that was given back, or a new one. A thread that
/// works alone gets the same one each time, which is still in some cache. Any thread, without a
/// lock. Throws std::bad_alloc. As many are kept as there are cores.
class WorkspaceLease {
  public:
    WorkspaceLease();
    ~WorkspaceLease();
    WorkspaceLease(const WorkspaceLease&) = delete;
    WorkspaceLease& operator=(const WorkspaceLease&) = delete;
    Workspace* operator->() const { return workspace_.get(); }

  private:
    std::unique_ptr<Workspace> workspace_;
};

}  // namespace caesura::codec
