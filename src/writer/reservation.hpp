// Where the blocks of a rank's dump are to go: into stretches that earlier dumps have left free,
// and into fresh space at the end of the file that is still to be had. Plain numbers in and out.
//
// Invariants:
//  - Free stretches are disjoint, 4 KiB-aligned, never written, and belong to this rank alone. What
//    a dump does not use of them comes back; FreeSpace forgets only the smallest of more than
//    k_most_extents.
//  - A plan is advice: a block that turns out too large for its place goes elsewhere.
#pragma once

#include <span>
#include <vector>

#include "caesura/predict.hpp"
#include "caesura/writer.hpp"

namespace caesura::writer {

/// A stretch of the file.
struct Extent {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t end() const { return address + bytes; }
    friend bool operator==(const Extent&, const Extent&) = default;
};

/// The free stretches of a rank, joined where they touch.
class FreeSpace {
  public:
    static constexpr std::size_t k_most_extents = 256;
    /// @param extent  4 KiB-aligned; of length 0: nothing happens.
    void add(Extent extent);
    const std::vector<Extent>& extents() const { return extents_; }  ///< ascending by address
    std::vector<Extent> take_all() { return std::exchange(extents_, {}); }
    std::uint64_t bytes() const;
    /// Forget what lies at or beyond the end of the file.
    void cut(std::uint64_t file_end);

  private:
    std::vector<Extent> extents_;
};

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
