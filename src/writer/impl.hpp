// The inside of a Writer: its parts, and the two collectives that drive them, end() and close().
//
//     Intake     what the application hands over: iterations, dumps, puts
//     Round      what the ranks tell each other and agree on
//     Assembly   one dump from puts to jobs (made for each)
//     Flights    dumps that the lanes work on
//     Tables     table sets from dump to dump
//     Node       what is shared with the other ranks of the node
//     Series     the files that dumps go to, if they are several
//     Ledger     which bytes belong to whom, and what is committed (src/ledger)
//
// Invariants:
//  - Everything here belongs to the application's thread; the lanes see DumpTasks only, and
//    Ledger::flush.
//  - Decisions that all ranks must share are made from gathered data alone, so that every rank
//    makes the same; `Hello` is the only thing exchanged when nothing is dumped.
#pragma once

#include "store/append.hpp"
#include "writer/assembly.hpp"
#include "writer/intake.hpp"
#include "writer/open_writer.hpp"
#include "writer/series.hpp"

namespace caesura {

struct Writer::Impl {
    Impl(std::string path, std::shared_ptr<Communicator> comm, WriterOptions options,
         std::uint64_t budget_bytes, std::shared_ptr<writer::Experience> past)
        : session(std::move(path), std::move(comm), std::move(options), budget_bytes,
                  std::move(past)) {}
    ~Impl();

    // ---- set-up (create.cpp, calibration.cpp)
    /// Collective. @param target  null: a file of the Writer's own.
    /// @param opening  goes on with one that is there; unset: makes one.
    static Result<std::unique_ptr<Impl>> make(const std::string& path,
                                              std::shared_ptr<Communicator> communicator,
                                              WriterOptions options,
                                              std::shared_ptr<writer::Experience> experience,
                                              const writer::TargetFile* target,
                                              std::optional<OpenOptions> opening = {});
    Status connect();
    Status open_file();
    /// Of a file of the Writer's own. @param file_format  of one with a single dump: openPMD's
    /// iterationFormat; else empty.
    std::unique_ptr<writer::Tree> new_tree(store::SharedFile& file, std::string file_format) const;
    base::FileSystem& file_system() const;
    Status take_file(const writer::TargetFile& target);
    Status load_calibration();
    void make_parts();

    // ---- a file that was there (go_on.cpp)
    /// What all ranks know of it.
    struct Known {
        std::uint64_t next_dump = 0, file_end = 0;
        std::vector<std::uint64_t> kept;  ///< iterations, in the order of their dumps
        std::string layout;               ///< WriterOptions::layout from now on
        struct Tables {
            std::string name, codec;  ///< as Experience::of_field() has them
            DType dtype = float32;
            std::vector<std::byte> set;
        };
        std::vector<Tables> tables;  ///< of the last dump's fields
    };
    Status check_opening() const;
    /// Rank 0. Errors: those of Writer::open.
    Result<store::SharedFile> take_up(base::FileSystem& files);
    /// One file of them. @param after  as OpenOptions::after.
    Result<store::AppendedTo> append_to(base::FileSystem& files, const std::string& path,
                                        std::optional<std::uint64_t> after);
    void say_where_it_goes_on() const;
    /// The same of a series (go_on_series.cpp). Collective.
    Status take_up_series();
    Status find_series();  ///< rank 0
    /// Collective: what rank 0 knows becomes everybody's.
    Status tell_known();
    /// Predictions and tables begin where the file ends.
    void learn_known();
    // ---- the files of a series (series.cpp)
    /// Collective. All ranks must have the same options of the file or the series: this compares
    /// them. A path without %T needs nothing more.
    Status begin_series();
    void say_what_is_there();  ///< rank 0
    /// In place of the current file one that is not made yet.
    void plan_file(std::uint64_t next_dump);
    /// Collective. Makes the current file, if it is not there yet.
    Status make_file();
    /// After a dump: has the file all that it is to have?
    void note_full();
    /// Collective. One more file may be pending when it returns.
    Status make_room();
    void close_committed();
    void note_trimmed(const ledger::Ledger& of);
    bool is_trimmed(const ledger::Ledger& one) const;
    void drop_file(writer::OwnFile& file);
    /// Of rank 0: files whose names are to be on the disk before these commits count.
    std::vector<std::string> take_unnamed(std::span<ledger::Ledger* const> due);
    /// Of every file that is not closed, the current one last.
    template <class Call>
    void for_each_ledger(Call&& call) {
        for (writer::OwnFile& file : series.pending) call(*file.ledger);
        call(*ledger);
    }
    /// Dumps before this number are committed.
    std::uint64_t committed() const;
    bool is_current(const ledger::Ledger& one) const { return &one == ledger; }

    // ---- attributes (attributes.cpp)
    /// @param here  of the open dump alone.
    Status set_attribute(bool here, const AttributeOwner& owner, const std::string& name,
                         store::AttributeValue value);

    // ---- iterations (writer.cpp)
    void begin_iteration(std::uint64_t number, std::string_view label);
    void next_round();
    void enter(Lane lane);
    void leave(Lane lane, double begin_s);
    void settle_observation(double now_s);
    WriterReport make_report();
    /// What was handed over, or put, and is in no commit.
    writer::PutSums uncommitted() const;

    // ---- out of memory
    /// Book-keeping: what is learned or traced is lost, and nothing else.
    template <class Call>
    void if_memory_allows(Call&& call) try {
        call();
    } catch (const std::bad_alloc&) {
        return;
    }
    /// What all ranks do. The others may be waiting for what this one will not say any more:
    /// nothing can be agreed on.
    template <class Call>
    Status together(Call&& call) try {
        return call();
    } catch (const std::bad_alloc&) {
        return round.lost(writer::out_of_memory());
    }

    // ---- the collectives (collective.cpp, close.cpp)
    Status end_iteration();
    void warn_if_starved();
    Status collective();
    Status assemble(std::span<const writer::Hello> all);
    void note_refused();
    bool anything_to_do() const;
    writer::Hello hello(const Status& mine, bool fatal);
    Result<std::vector<writer::Hello>> exchange(const writer::Hello& mine);
    Status gather(ledger::Ledger& from);
    /// What may be committed of a file. `trim`: what is reserved and not needed is given back.
    struct Commit {
        ledger::Ledger* ledger = nullptr;
        bool trim = false;
    };
    void commit(std::span<const Commit> wanted);
    void commit_ready();
    Status finish_dumps();
    static constexpr double k_no_end_s = std::numeric_limits<double>::infinity();
    /// When rounds end that finish what was handed over: when nothing is left, or before.
    struct Finish {
        bool closing = false;
        double until_s = k_no_end_s;  ///< what is not written by then is left as it is
        std::optional<std::size_t> most_pending = {};  ///< so few files are enough
    };
    Status finishing_rounds(const Finish& wanted, Status left = {});
    Status take_step(ledger::Ledger& of, const ledger::Finishing& state,
                     std::vector<Commit>& commits, bool& any);
    Status finish_by(double seconds);
    Status none_is_missing();
    Status take_in_completed(double since_s);
    Status close(std::optional<double> completed_since_s = {});
    /// The trace is written as the run goes, from now on.
    void begin_trace();
    std::vector<const base::TraceLane*> traced_lanes() const;
    void finish_traces();

    writer::Session session;  // used by all that follows
    writer::Round round{session};
    writer::Fields fields;
    writer::Metadata metadata;  // said of all dumps from the next on
    writer::Tables tables{session, fields, round};
    writer::Node node{session};
    std::optional<OpenOptions> opening;  // of a file of the Writer's own: it was there
    Known known;                         // and what of it
    writer::Series series;
    writer::OwnFile own;
    writer::Tree* tree = nullptr;  // what dumps become part of
    ledger::Ledger* ledger = nullptr;
    std::uint64_t first_dump = 0;
    writer::Background background;
    std::unique_ptr<writer::Flights> flights;
    std::unique_ptr<run::CallHelpers> helpers;
    std::unique_ptr<writer::Intake> intake;
    bool ending = false;  // no more dumps
    bool closed = false;
    bool said_starved = false;
    std::unique_ptr<run::Executor> executor;  // its threads use everything above
};

}  // namespace caesura
