// Where a rank's blocks of one dump go: its regions one after the other, and what fits nowhere is
// marked as overflow and stays in memory until the next collective point.
//
// Invariants:
//  - Used by the write lane until the dump's phase is finished, by the application's thread after.
//  - A block goes whole into one region or overflows whole.
#pragma once

#include <atomic>

#include "caesura/store.hpp"
#include "run/job.hpp"

namespace caesura::writer {

class RegionSink final : public run::Sink {
  public:
    /// @param places    this rank's regions for the dump, in the order to fill them.
    /// @param manifest  goes into the last of them (rank 0's first dump region); else empty.
    RegionSink(store::SharedFile& file, std::vector<store::RegionWriter::Place> places,
               std::string manifest, bool durable);

    Status write(std::span<run::Job* const> jobs) override;
    Status finish() override;

    const std::vector<store::ChunkRecord>& records() const { return records_; }
    /// The unused end of the last region: {address, bytes}; {0, 0} without regions.
    std::pair<std::uint64_t, std::uint64_t> tail() const;
    /// End of the bytes used in any region; 0 without regions.
    std::uint64_t used_end() const;

  private:
    store::SharedFile& file_;
    std::vector<store::RegionWriter> regions_;
    std::vector<std::uint64_t> region_ends_;
    std::size_t current_ = 0;
    bool durable_;
    std::vector<store::ChunkRecord> records_;
};

/// Bytes a block takes in a region beyond its stored bytes, alignment included.
std::uint64_t block_overhead_bytes();

}  // namespace caesura::writer
