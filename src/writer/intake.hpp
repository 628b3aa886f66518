// What the application hands over between two end()s: iterations, dumps and puts, each checked when
// it comes, with the memory that copies take.
//
// Invariant: a call out of order is remembered, and is the error of the next end().
#pragma once

#include "run/call_helpers.hpp"
#include "run/executor.hpp"
#include "writer/flights.hpp"
#include "writer/open_dump.hpp"
#include "writer/tree.hpp"

namespace caesura::writer {

/// Values that are put. @see OpenWriter::put
struct Handed {
    Field field;
    const Box& box;
    const void* data = nullptr;
    DType dtype;
    Ownership own = Ownership::copy;
    Loss loss = Loss::within_bound;
    std::uint32_t turn = 0;
    /// Of an array in which the values lie in parts: its extent, and where in it they are.
    const Shape* array = nullptr;
    const Box* part = nullptr;
};

class Intake {
  public:
    /// @param dump_is_whole  Tree's.
    Intake(Session& session, Fields& fields, bool dump_is_whole, const Round& round,
           const Flights& flights, run::Executor& executor, run::CallHelpers& helpers)
        : session_(session),
          fields_(fields),
          dump_is_whole_(dump_is_whole),
          round_(round),
          flights_(flights),
          executor_(executor),
          helpers_(helpers) {}

    void begin_iteration(std::uint64_t number);
    /// An iteration that nobody announces, and its dump: of an application's file.
    void begin_round(std::uint64_t dump);
    void begin_dump(const DumpTime& time);
    Status put(const Handed& handed);
    /// @see Dump::declare_missing
    Status declare_missing(Field field, const FillValue& value);
    /// @see Dump::put_within
    Status put_within(Handed handed, const Shape& extent, const Shape& begin);
    Status put_particles(Field record, std::uint64_t count, const void* data, DType dtype,
                         Ownership own);
    void end_iteration();
    /// No more iterations.
    void close();

    bool in_iteration() const { return in_iteration_; }
    std::optional<OpenDump>& dump() { return dump_; }
    const std::optional<OpenDump>& dump() const { return dump_; }
    /// The first error of the application since the last call.
    Status take_misuse() { return std::exchange(misuse_, {}); }
    /// Has the dump other boxes than the last one had, on this rank?
    bool boxes_changed() const;

  private:
    Status check_put(const Handed& handed) const;
    Status check_box(const Handed& handed, const std::string& who) const;
    Status take(const Handed& handed);
    Status copy(const Handed& handed, run::Snapshot& snapshot);
    Status fill(const Handed& handed, std::byte* to);
    Status fetch_part(const Handed& handed, std::byte* to);
    Status refuse(Status status);
    Status reserve_memory(std::uint64_t bytes);
    void expect_snapshots();
    void expect_no_snapshots();

    Session& session_;
    Fields& fields_;
    const bool dump_is_whole_;
    const Round& round_;
    const Flights& flights_;
    run::Executor& executor_;
    run::CallHelpers& helpers_;
    bool in_iteration_ = false, closed_ = false;
    std::optional<OpenDump> dump_;
    Status misuse_;                     ///< first call out of order
    bool first_begun_ = false;          ///< an iteration, ever
    std::uint64_t expected_bytes_ = 0;  ///< of the budget, held for the first dump's snapshots
};

}  // namespace caesura::writer
