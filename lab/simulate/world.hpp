// The simulated world: ranks with an application, a compress lane and a write lane each, and the
// file system they share.
//
// Invariants:
//  - Something happens only at events: the earliest of all ranks and of the file system; of equal
//    times the file system's, then the lowest rank's. Between events everything moves evenly.
//  - After an event every rank it touched is settled: lanes that may begin have begun, speeds fit
//    what runs beside what, and the rank's next event is known.
#pragma once

#include <deque>
#include <memory>

#include "simulate/expected.hpp"
#include "simulate/next_event.hpp"
#include "simulate/sharing.hpp"
#include "simulate/workload.hpp"

namespace caesura::simulate {

inline constexpr double k_never_s = std::numeric_limits<double>::infinity();

/// Work that goes on at a changing speed.
class Progress {
  public:
    void start(double now_s, double work_s, double speed) {
        left_s_ = work_s;
        since_s_ = begin_s_ = now_s;
        speed_ = speed;
        end_s = speed > 0.0 ? now_s + left_s_ : k_never_s;
        if (speed > 0.0 && speed != 1.0) end_s = now_s + left_s_ / speed;
    }
    void set_speed(double now_s, double speed) {
        if (speed == speed_ || !running()) return;
        left_s_ = std::fmax(0.0, left_s_ - (now_s - since_s_) * speed_);
        since_s_ = now_s;
        speed_ = speed;
        end_s = speed > 0.0 ? now_s + left_s_ / speed : k_never_s;
    }
    void stop() {
        end_s = k_never_s;
        since_s_ = -1.0;
    }
    bool running() const { return since_s_ >= 0.0; }
    double begin_s() const { return begin_s_; }

    double end_s = k_never_s;

  private:
    double left_s_ = 0.0, since_s_ = -1.0, begin_s_ = 0.0, speed_ = 0.0;
};

struct Dump;

/// A block on its way.
struct Task {
    Piece piece;
    Dump* dump = nullptr;
    std::uint32_t index = 0;
    std::uint32_t owner = 0, writer = 0;  ///< ranks
    bool compressed = false;
};

struct Dump {
    std::uint32_t iteration = 0;
    std::vector<Task> tasks;
    std::vector<std::uint32_t> compress_order;
    std::size_t next_compress = 0, unwritten = 0;
    double begin_s = 0.0;         ///< when it was handed over
    double planned_end_s = -1.0;  ///< since then
    plan::Schedule schedule;
    std::vector<std::uint32_t> write_order;
};

/// What the application is at: its own phases; waiting for room; the core's and the file system's
/// part of blocking output; waiting for the others; for the last writes; closing the file.
enum class Step { phase, room, prepare, write_all, barrier, closing, close_file, done };

struct Rank {
    std::uint32_t id = 0, node = 0;
    // the application
    Step step = Step::phase;
    std::vector<Phase> phases;
    std::size_t at_phase = 0, own_phases = 0;  // behind its own ones those of the output
    Progress application;
    double step_begin_s = 0.0;
    double wait_s = 0.0, delay_s = 0.0;
    Expected host, network;
    // the lanes
    std::deque<std::unique_ptr<Dump>> dumps;  // not yet written, oldest first
    Task* compressing = nullptr;
    Progress compress;
    double compress_waits_since_s = -1.0, write_waits_since_s = -1.0;
    std::vector<Task*> to_write;  // by this rank, in planned order, compressed or not
    std::vector<Task*> writing;
    bool write_running = false, stored = false;  // stored: but not yet copied
    Progress copy;                               // of what is being written, into the system
    double write_begin_s = 0.0, write_bytes = 0.0;
    double latency_end_s = k_never_s, timer_s = k_never_s;
    // what its writes have shown of the bandwidth
    double seen_bytes = 0.0, seen_s = 0.0;
    double bytes_per_s = 0.0;  ///< expected since the last dump was handed over

    /// What the application needs now, or would if it did not wait for it.
    Phase phase() const { return step == Step::phase ? phases[at_phase] : Phase{}; }
    bool draining() const { return step == Step::room || step == Step::closing; }
    double next_event_s() const {
        return std::fmin(std::fmin(std::fmin(application.end_s, compress.end_s), copy.end_s),
                         std::fmin(latency_end_s, timer_s));
    }
};

class World {
  public:
    World(const Scenario& scenario, Mode mode);
    Result<Outcome> run(const std::function<bool(double)>& progress);

  private:
    // world.cpp
    void handle_rank(std::uint32_t id);
    void settle(Rank& rank);
    void set_speeds(Rank& rank);
    /// A compression is neither suspended nor shares its core: the application waits until it ends.
    bool application_waits_for_core() const {
        return mode_ == Mode::caesura && !scenario_.output.resumable;
    }
    void finish();
    void note(const Rank& rank, Span::Kind kind, double begin_s, double end_s,
              std::uint32_t iteration, std::uint32_t block = 0);
    // application.cpp
    void next_step(Rank& rank);
    void enter_phase(Rank& rank);
    void mark_phase(Rank& rank);
    void mark(Rank& rank, bool host, bool network);
    double preparing_s(const std::vector<Piece>& pieces) const;
    void begin_blocking_output(Rank& rank);
    void close_file(Rank& rank);
    void wait_for_room(Rank& rank);
    void dump_done(Dump& dump);
    void arrive(Rank& rank);
    void release();
    void begin_iteration(Rank& rank);
    // dumps.cpp
    void hand_over(std::uint32_t iteration);
    std::unique_ptr<Dump> make_dump(const Rank& rank, std::uint32_t iteration);
    void plan(Rank& rank, Dump& dump);
    void balance(std::span<Rank> node);
    double write_s(const Rank& rank, const Task& task) const;
    void learn_bandwidth(Rank& rank) const;
    // lanes.cpp
    void begin_compress(Rank& rank);
    bool may_compress(Rank& rank, const Task& task);
    void end_compress(Rank& rank);
    void begin_write(Rank& rank);
    bool collect_ready(const Rank& rank);
    void start_write(Rank& rank, double bytes, double latency_s);
    void end_transfer(Rank& rank);
    void end_copy(Rank& rank);
    void end_write(Rank& rank);

    const Scenario& scenario_;
    const Mode mode_;
    const bool background_;  // output beside the computation
    Workload workload_;
    Sharing sharing_;
    NextEvent next_event_;
    std::vector<Rank> ranks_;
    double now_s_ = 0.0;
    std::uint32_t iteration_ = 0, arrived_ = 0;
    bool closing_ = false, done_ = false;
    double iteration_begin_s_ = 0.0, last_iteration_s_ = 0.0;
    double system_change_s_ = k_never_s;
    std::uint64_t system_period_ = 0;
    std::vector<double> ready_bytes_;  // scratch
    std::vector<Task*> ready_;         // scratch
    std::vector<double> plan_errors_;
    double dump_s_ = 0.0;
    std::vector<double> slowest_dump_s_;  // [iteration], 0 without a dump
    std::uint64_t n_dumps_ = 0;
    Status error_;
    Outcome outcome_;
};

}  // namespace caesura::simulate
