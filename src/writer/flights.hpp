// The dumps of this rank that the lanes work on, and what is taken in when they are done: records
// for the ledger, what models learn, counters, and blocks that found no room.
//
// Invariant: dumps come in the order of their numbers, and go as their file's ledger has them.
#pragma once

#include <deque>
#include <map>
#include <unordered_set>

#include "base/wire.hpp"
#include "ledger/ledger.hpp"
#include "run/executor.hpp"
#include "writer/open_dump.hpp"
#include "writer/outcomes.hpp"
#include "writer/region_sink.hpp"
#include "writer/tables.hpp"

namespace caesura::writer {

/// A compressed block that found no room and waits for the next collective.
struct OverflowBlock {
    std::string label;
    std::uint32_t dataset = 0, filter_mask = 0;
    std::uint64_t chunk = 0;
    base::Buffer stored;
};

/// A dump between end() and the gathering of its records.
struct Flight {
    std::uint64_t dump = 0, iteration = 0;
    ledger::Ledger* ledger = nullptr;         ///< of the file that it goes to
    std::vector<std::uint32_t> fields;        ///< by dataset
    run::DumpTask* task = nullptr;            ///< while a lane works on it
    std::vector<predict::Features> features;  ///< by job
    std::vector<std::uint32_t> job_fields;    ///< by job
    std::vector<OverflowBlock> overflow;
    double handed_over_s = 0.0, max_delay_s = 0.0;
    std::uint64_t put_bytes = 0;  ///< on this rank
    std::uint64_t reserved_bytes = 0;
    std::uint64_t most_bytes = 0;  ///< that its blocks can take at all
};

class Flights {
  public:
    Flights(Session& session, Fields& fields, Tables& tables, run::Executor& executor)
        : session_(session), fields_(fields), tables_(tables), executor_(executor) {}

    /// A dump that the ledger has begun is handed over.
    void submit(Flight flight, std::unique_ptr<run::DumpTask> task, SinkOrder order);
    /// Take in what the lanes have finished.
    void harvest();
    /// What finished writes say about the next ones, and how much of them fell into obstacles.
    void learn_writes();
    /// Blocks of a file that found no room get a region at its end. Collective; says nothing.
    void place_overflow(ledger::Ledger& ledger);
    /// Dumps of one file.
    struct Range {
        std::uint64_t begin = 0, end = 0;
        bool has(std::uint64_t dump) const { return begin <= dump && dump < end; }
    };
    /// Their records have been gathered; with them, on rank 0, blocks that were written before and
    /// are left behind in the file.
    void gathered(const Range& dumps, std::span<const store::ChunkRecord> records);

    /// What analyses have found in this rank's blocks of these dumps, for the ranks that build; and
    /// from there.
    void send_findings(const Range& dumps, base::Packer& packer);
    void take_findings(base::Unpacker& unpacker);
    /// All have come: they become attributes of their datasets.
    void keep_findings(ledger::Ledger& ledger);

    /// They are known to be committed. @param at_s  since when.
    void committed(const Range& dumps, double at_s);
    /// Dumps that are not known to be.
    PutSums uncommitted() const;

    /// The file is about to be paused: what the blocks of dumps at work may take if they find no
    /// room.
    std::uint64_t spill_bytes();
    /// Room for them, where nothing else is written before the next commit or until the file goes
    /// on: behind all that ranks may need for blocks that overflow, and for the commit. A hole, as
    /// a rule, which the commit cuts off.
    /// @param of_ranks  at least spill_bytes() of each.
    /// @return  where the rest of this rank's begins.
    std::uint64_t place_spills(const ledger::Book& book, std::span<const std::uint64_t> of_ranks);
    /// The file, which was paused, goes on: other things come where blocks were spilled.
    void end_spills();
    /// @param ledger  null: of any file.
    bool any_at_work(const ledger::Ledger* ledger = nullptr) const;
    /// The application's number of a dump of this Writer.
    std::optional<std::uint64_t> iteration_of(std::uint64_t dump) const;
    bool has_dumped(std::uint64_t iteration) const;
    /// The file has dumps of these iterations, in this order, from before this Writer.
    void begin_after(const std::vector<std::uint64_t>& iterations);
    bool was_there(std::uint64_t iteration) const { return before_.contains(iteration); }
    /// The last of them.
    std::optional<std::uint64_t> last_before() const { return last_before_; }
    Outcomes& outcomes() { return outcomes_; }

  private:
    void harvest_task(Flight& flight, run::DumpTask& task);
    void harvest_plan(run::DumpTask& task);
    void trace_blocks(const Flight& flight, const run::DumpTask& task);
    void trace_written(const Flight& flight, const run::DumpTask& task,
                       const ledger::Overflow& overflow);
    void learn_job(const Flight& flight, std::size_t index, const run::Job& job);
    std::unique_ptr<run::DumpTask> overflow_task(Flight& flight);
    Flight* find(std::uint64_t dump);
    void hand_over(Flight& flight, std::unique_ptr<run::DumpTask> task, SinkOrder order);

    Session& session_;
    Fields& fields_;
    Tables& tables_;
    run::Executor& executor_;
    std::deque<Flight> flights_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> spills_;  ///< dump, most bytes
    struct HandedOver {
        std::uint64_t dump = 0;
        double at_s = 0.0;
        std::uint64_t put_bytes = 0;
    };
    std::deque<HandedOver> uncommitted_;
    std::map<std::uint64_t, std::uint64_t> iterations_;  ///< by dump
    std::unordered_set<std::uint64_t> before_;
    std::optional<std::uint64_t> last_before_;
    using Findings = std::map<std::uint64_t, std::vector<Finding>>;  ///< by dump
    Findings findings_, findings_of_all_;
    Outcomes outcomes_;
};

}  // namespace caesura::writer
