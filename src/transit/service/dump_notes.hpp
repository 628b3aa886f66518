// What is noted of a dump's blocks as they pass: ranges of values, analyses, where they lie.
//
// Invariants:
//  - look() is a worker's; everything else the lane's.
//  - What cannot be noted stops no block: the object then lacks a range, or a result.
//  - States count against the store's budget; those that have no room there go, with what they saw.
#pragma once

#include "run/job.hpp"
#include "transit/objects/object_store.hpp"

namespace caesura::transit {

class DumpNotes {
  public:
    struct Dataset {
        ObjectId object = 0;
        std::string name;
        DType dtype = float32;
        Shape shape;
        ErrorBound bound;
    };
    /// @param wanted   calls of the client, whom the states go to, and
    /// @param allowed  those of the operator. All of one pass.
    /// Errors: those of Registry::start; invalid_argument (more passes than one).
    static Result<std::unique_ptr<DumpNotes>> make(ObjectStore& store,
                                                   const lambda::Registry& functions,
                                                   std::vector<Dataset> datasets, double time,
                                                   const std::vector<std::string>& wanted,
                                                   const std::vector<std::string>& ordered);

    /// Before finish(): what others have seen of the dump is of no use.
    ~DumpNotes();

    /// What a block's values say.
    struct Seen {
        std::optional<Range> range;
        std::vector<lambda::AnalysisState> states;  ///< one a call; empty: it cannot be analysed
    };
    /// @param job  its values are dense (run::make_dense).
    Seen look(const run::Job& job) const;
    /// It has been compressed, and written if there is a record.
    void note(const run::Job& job, Seen seen, const std::optional<store::ChunkRecord>& record);
    /// All blocks are noted: the states that the client wants.
    std::vector<FoundInDump> finish(std::uint64_t dump);

  private:
    DumpNotes(ObjectStore& store, const lambda::Registry& functions)
        : store_(store), functions_(functions) {}

    struct Call {
        std::vector<std::byte> start;  ///< the state before its first region
        bool of_client = false;
    };
    struct Sum {
        std::vector<lambda::AnalysisState> states;  ///< one a call, or none yet
        std::uint64_t values = 0;
        bool broken = false;  ///< a block was not analysed
    };
    Status count(std::size_t dataset, std::uint64_t bytes);
    void give_up(std::size_t dataset);

    ObjectStore& store_;
    const lambda::Registry& functions_;
    std::vector<Dataset> datasets_;
    double time_ = 0.0;
    bool finished_ = false;
    std::vector<Call> calls_;
    std::vector<Sum> sums_;           ///< by dataset
    std::vector<StateShare> shares_;  ///< likewise
};

}  // namespace caesura::transit
