// Where a rank's blocks of one dump go: its regions, and what fits nowhere is marked as overflow
// and stays in memory until the next collective point.
//
// Invariants:
//  - Used by the write lane until the dump's phase is finished, by the application's thread after.
//  - A block goes whole into one region or overflows whole. It goes to the region that was planned
//    for it (Job::region), else to the smallest free space that holds it; never into the slot of
//    another block.
//  - What overflows is written to the spill region too, if there is one (spill.hpp).
//  - A region that got neither a block nor the manifest is not touched: all of it comes back.
#pragma once

#include "run/job.hpp"
#include "store/region_writer.hpp"
#include "writer/reservation.hpp"
#include "writer/spill.hpp"

namespace caesura::writer {

/// What a dump's sink is made of: the places that were kept for its blocks.
struct SinkOrder {
    store::SharedFile& file;
    std::vector<store::RegionWriter::Place> places;  ///< this rank's regions for the dump
    std::string manifest = {};  ///< goes into the region of that number (on rank 0); else empty
    std::size_t manifest_region = 0;
    bool durable = true;
    /// Offsets of slots in the last region; empty: blocks lie back to back.
    std::vector<std::uint64_t> slots = {};
    /// Room for all blocks of the rank, where nothing else is written before the next commit.
    std::optional<store::RegionWriter::Place> spill = {};
};

/// What an analysis has found in this rank's blocks of a dataset: its state, for others to merge.
struct Finding {
    std::uint32_t dataset = 0;
    std::uint64_t values = 0;  ///< that it has seen
    std::vector<std::byte> state;
};

/// A sink, and what became of its regions: known once the dump's phase is finished.
class DumpSink : public run::Sink {
  public:
    /// Something else may be written from now on where blocks were spilled. Application's thread,
    /// while the write lane is at work.
    virtual void end_spill() = 0;
    /// From now on blocks that overflow, or have done so, may be spilled there. The same thread,
    /// before the dump is handed over or after end_spill().
    virtual void take_spill(const store::RegionWriter::Place& /*room*/) {}
    /// Blocks that have overflowed are somewhere else from now on. The same thread.
    virtual void forget_overflow() {}
    virtual const std::vector<store::ChunkRecord>& records() const = 0;
    /// What is unused of the regions.
    virtual std::vector<Extent> tails() const = 0;
    /// End of the bytes used in any region; 0 if none is.
    virtual std::uint64_t used_end() const = 0;
    /// Of WriterOptions::analyses.
    virtual std::vector<Finding> findings() const { return {}; }
};

class RegionSink final : public DumpSink {
  public:
    explicit RegionSink(SinkOrder order);

    Status write(std::span<run::Job* const> jobs) override;
    Result<std::optional<run::Placement>> place(const run::Job& job, std::span<std::byte> front,
                                                std::span<std::byte> back) override;
    Status finish() override;
    std::shared_ptr<run::Overflow> overflow() override {
        return spill_->make_whole() ? nullptr : spill_;
    }

    void end_spill() override { spill_->end(); }
    void take_spill(const store::RegionWriter::Place& room) override { spill_->take(room); }
    void forget_overflow() override { spill_->end(); }
    const std::vector<store::ChunkRecord>& records() const override { return records_; }
    std::vector<Extent> tails() const override;
    std::uint64_t used_end() const override;

  private:
    std::optional<std::size_t> place_for(const run::Job& job,
                                         std::span<const std::uint64_t> taken) const;

    store::SharedFile& file_;
    std::vector<store::RegionWriter> regions_;
    const std::shared_ptr<Spill> spill_;
    std::optional<std::size_t> manifest_region_;
    bool durable_;
    std::vector<store::ChunkRecord> records_;
};

/// Bytes a block takes in a region beyond its stored bytes, alignment included.
std::uint64_t block_overhead_bytes();

}  // namespace caesura::writer
