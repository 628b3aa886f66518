// A thread's working memory for encoding and decoding slabs.
//
// It outlives a call, because fresh pages for it cost as much as the work itself; a thread that
// ends gives it back. Encoder and decoder never work at the same time in one thread, so they share
// the predictors' part of it, which is the largest.
#pragma once

#include "codec/part_decoder.hpp"
#include "codec/part_encoder.hpp"

namespace caesura::codec {

struct Workspace {
    PredictorScratch scratch;
    PartDecoder decoder{scratch};
    PartEncoder encoder{scratch, decoder};
};

inline Workspace& thread_workspace() {
    thread_local Workspace workspace;
    return workspace;
}

}  // namespace caesura::codec
