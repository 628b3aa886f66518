// Room for the blocks of a dump that find no place: for the commit of a file that is closed, which
// makes do with what lies in the file. That a write fails there is no error: nothing is lost by it.
//
// Invariants:
//  - What was spilled before end() is void: something else may come there. take() begins anew.
//  - Blocks stay where they are in memory until end(), which says that they have been taken away.
#pragma once

#include <atomic>

#include "run/job.hpp"
#include "store/region_writer.hpp"

namespace caesura::writer {

class Spill final : public run::Overflow {
  public:
    explicit Spill(store::SharedFile& file) : file_(file) {}

    /// From now on there is room, for what has overflowed too. Application's thread, before the
    /// dump is handed over or after end().
    void take(const store::RegionWriter::Place& room);
    /// Something else may be written there from now on. Application's thread, while the write lane
    /// is at work.
    void end();

    /// Write lane: the block has no other place.
    void add(const run::Job& job);
    bool make_whole() override;

  private:
    store::SharedFile& file_;
    enum class Use : std::uint8_t { ended, free, busy };
    std::atomic<Use> use_{Use::ended};
    /// Of the application's thread while the use is `ended`, of the write lane while it is `busy`.
    std::optional<store::RegionWriter> room_;
    std::size_t written_ = 0;            ///< the first ones of jobs_
    std::vector<const run::Job*> jobs_;  ///< of the write lane
};

}  // namespace caesura::writer
