// Where the blocks of a rank's dump are to go: into stretches that earlier dumps have left free,
// and into fresh space at the end of the file that is still to be had. Plain numbers in and out.
//
// Invariants:
//  - Free stretches (ledger::FreeSpace) belong to this rank alone. What a dump does not use of them
//    comes back.
//  - A plan is advice: a block that turns out too large for its place goes elsewhere.
#pragma once

#include <span>
#include <vector>

#include "caesura/writer.hpp"
#include "ledger/free_space.hpp"
#include "predict/predict.hpp"

namespace caesura::writer {

using ledger::Extent;

/// What is to be stored, as predicted.
struct Wanted {
    std::vector<predict::Bytes> blocks;     ///< by job
    std::vector<std::uint64_t> most_bytes;  ///< by job: never more than this is kept for it
    std::uint64_t manifest_bytes = 0;       ///< 0: this rank has none
    double sigmas = 2.0;                    ///< margin of regions
    double slot_space = 1.25;               ///< R_space of slots
    Reserve policy = Reserve::regions;
    std::uint64_t alignment = 4096;  ///< of fresh space, in address and length
};

struct Reservation {
    std::vector<Extent> kept;            ///< free stretches that blocks go to
    std::vector<Extent> rest;            ///< the others
    std::uint64_t fresh_bytes = 0;       ///< wanted at the end of the file
    std::vector<std::uint32_t> regions;  ///< by job: number in `kept`, or kept.size() for fresh
    std::uint32_t manifest_region = 0;   ///< likewise, if there is a manifest
    std::vector<std::uint64_t> slots;    ///< policy slots: offsets in the fresh region, [n + 1]
};

/// Fill free stretches as tightly as predictions allow, the largest first; the rest goes into fresh
/// space, with one margin for all. Slots take fresh space only, as in S1.
Reservation reserve(std::vector<Extent> free, const Wanted& wanted);

}  // namespace caesura::writer
