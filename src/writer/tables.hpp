// Table sets from dump to dump (codec "caesura"; S0 section 4.3, decision D13).
//
// Blocks that have been compressed say what they were made of. These counts go to rank 0 with the
// records of finished dumps; at the next dump rank 0 makes a table set of them for each field and
// tells it to all ranks. So a field's set of dump n comes from the newest dump that was on disk
// everywhere when dump n was handed over, as a rule dump n - 1; the first dump has the built-in
// set.
//
// Invariants:
//  - All ranks code a dataset with the same set, which lies in its cd_values.
//  - At most 64 ranks count, evenly spaced: what rank 0 receives does not grow with the run.
//  - The cd_values of an application's dataset are fixed when it is created, with the newest set
//    that there was: what its blocks say is for the next of its kind (experience.hpp).
//  - Counts are advice. What is lost of them costs a little space, never a value.
#pragma once

#include "base/wire.hpp"
#include "writer/field_state.hpp"
#include "writer/round.hpp"

namespace caesura::writer {

class Tables {
  public:
    Tables(const Session& session, Fields& fields, Round& round)
        : session_(session), fields_(fields), round_(round) {}

    /// What a finished block says. Local.
    void count_block(FieldState& field, std::span<const std::byte> statistics) const;
    /// This rank's counts, to be sent to rank 0, where they are already.
    void send_to(base::Packer& packer);
    /// What send_to() of some rank has packed. On rank 0.
    void take(base::Unpacker& unpacker);
    /// Where records go to all ranks, counts go by themselves to the one that needs them.
    /// Collective.
    Status gather_counts();
    /// Counts have come since the last agreement. On all ranks.
    void note_new_counts() { new_counts_ = true; }
    /// A set for each field of which there are new counts. Collective where all ranks know that
    /// there may be something new.
    Status agree();

  private:
    Status keep_counted(std::vector<FieldState*>& sharing);

    const Session& session_;
    Fields& fields_;
    Round& round_;
    bool new_counts_ = false;  ///< the same on all ranks
};

}  // namespace caesura::writer
