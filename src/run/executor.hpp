// The executor: a compress lane of idle-priority workers and a write lane, working through dumps in
// planned order while the application computes.
//
// Invariants:
//  - The application's thread shares no blocking lock with a worker. It hands dumps over through
//    an append-only list and waits only in help(), where it does the workers' work itself.
//  - Dumps are compressed and written in the order of submission; a dump's jobs in its planned
//    orders. Commits (flushes) run on the write lane between writes.
//  - A dump for which pauses are too short, or that comes close to its max_delay, is taken over by
//    the standby thread, which is at normal priority (standby.cpp).
//  - The first error of a lane is kept and stops further writes; nothing is lost from memory.
#pragma once

#include <functional>
#include <map>
#include <thread>

#include "base/clock.hpp"
#include "base/event.hpp"
#include "base/trace.hpp"
#include "run/due_board.hpp"
#include "run/dump_ring.hpp"
#include "run/first_error.hpp"
#include "run/observer.hpp"
#include "run/search_budget.hpp"
#include "run/worker_pace.hpp"
#include "run/write_samples.hpp"

namespace caesura::run {

struct ExecutorOptions {
    int compress_threads = 1;  ///< 0: compressions run where the application lets them
    bool planning = true;
    bool idle_priority = true;  ///< of the compress threads
    /// Of the plans that a worker makes; the caller's own is cheap whatever this says.
    plan::Algorithm algorithm = plan::Algorithm::ext_johnson_backfill;
    std::uint64_t search_steps = 0;  ///< of a search; 0: some 20 ms of this machine's core
    std::uint64_t write_buffer_bytes = 20u << 20;
    bool standby = false;  ///< a thread that takes dumps over: DumpTask::promptness, max_delay_s
    bool trace = false;
    NodeShare* share = nullptr;    ///< null: every rank writes what is its own
    Observer* observer = nullptr;  ///< of several executors, outlives them; null: one of its own
};

/// Sums since the start; read by the application's thread.
struct ExecutorCounters {
    double compress_s = 0.0, write_s = 0.0;
    double plan_s = 0.0;  ///< CPU time of plans made by workers
    std::uint64_t writes = 0, replans = 0;
    /// CPU time workers took while the application was in a marked compress obstacle.
    double compress_interference_s = 0.0;
    std::uint64_t helped_blocks = 0, helped_bytes = 0;  ///< written here for other ranks
    std::uint64_t taken_back_blocks = 0;                ///< given to another rank, written here
    std::uint64_t taken_over_blocks = 0;                ///< by the standby thread,
    std::uint64_t due_blocks = 0;                       ///< so many of them near their max_delay,
    double taken_over_s = 0.0;                          ///< all in so much CPU time
};

class Executor {
  public:
    Executor(const ExecutorOptions& options, base::MemoryBudget& budget, base::BufferPool& pool,
             const base::Clock& clock = base::Clock::steady());
    ~Executor();
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    Observer& observer() { return observer_; }
    /// The application enters and leaves an obstacle. Application's thread.
    void enter(Observer::Lane lane);
    void leave(Observer::Lane lane);
    /// Tell the lanes that something about obstacles has changed.
    void obstacles_changed() { observer_.wake(); }
    /// What a tool says of the application's thread (thread_calls.hpp).
    void observe_enter(Doing doing) { observer_.observe_enter(doing, clock_.now_s()); }
    void observe_leave(Doing doing) {
        if (observer_.observe_leave(doing, clock_.now_s())) observer_.wake();
    }

    /// Give a dump that is not submitted yet its first plan, in microseconds: what is expected of
    /// the application and what is still under way are taken into account.
    Status plan(DumpTask& dump);

    /// Workers that have nothing to do prepare what the pool expects. Application's thread.
    void prepare_buffers() { compress_event_.raise(); }

    /// Hand a dump over. The executor owns it until reclaim() returns it.
    /// Errors: no_space if thousands are in flight already (no worker gets any time).
    Status submit(std::unique_ptr<DumpTask> dump);
    /// Run `flush` on the write lane when the application does not write. At most one at a time:
    /// errors: internal if one is under way.
    Status submit_flush(std::function<Status()> flush);
    bool flush_running() const { return flush_.state.load(std::memory_order_acquire) == 1; }

    /// Work on the caller's thread, at the caller's priority, until `done` or nothing is left that
    /// could make it true. @param look_s  by the clock: `done` is asked (about) then, too.
    /// @return seconds spent.
    double help(const std::function<bool()>& done,
                double look_s = std::numeric_limits<double>::infinity());
    /// Work on the caller's thread until `deadline_s` (of the clock) or until `done`, which is
    /// asked between two blocks and may be empty. A block is begun only if it is expected to be
    /// done by then. Returns when no more can be begun. @return seconds spent.
    double compress_until(double deadline_s, const std::function<bool()>& done);
    /// From now on everything is due at once, if there is a standby thread. Any thread.
    void hurry();
    /// All that was handed over, unless a lane has failed. Any thread.
    bool has_written() const { return dumps_.all_written() || error_.happened(); }
    /// The same, and no lane has failed. Any thread.
    bool has_written_all() const { return dumps_.all_written() && !error_.happened(); }
    /// Once all that was handed over lies in the file, whole, the write lane calls it, one time.
    /// Application's thread; at most one is waiting.
    void when_written(std::function<void()> call);
    /// Not any more. Application's thread. @return  has it been called?
    bool take_back_call();
    /// Do what is left, and wait until it has been called, or cannot be: a lane has failed, or a
    /// block has no place. Application's thread. @return  has it been called?
    bool wait_for_call();
    /// A job's state was set by another thread than the lanes' (JobState::given), or a sink gives
    /// back what it was given. Any thread.
    void answer_came() {
        write_event_.raise();
        progress_event_.raise();
    }
    /// For a clock that moves when told to: the standby thread looks at it.
    void clock_was_set() { standby_event_.raise(); }
    /// While alive, the write lane ignores obstacles.
    void set_draining(bool draining);

    /// The oldest dumps that are written and that no worker can still see.
    std::vector<std::unique_ptr<DumpTask>> reclaim();

    /// May a lane still read what was handed over with an iteration's dump? A dump that is written
    /// is no answer: a worker without CPU time may be at a block that somebody else has computed.
    bool reads(std::uint64_t iteration) const;

    /// Take an error in as if a lane had met it.
    void report(Status status) { fail(std::move(status)); }
    /// First error of any lane; ok if none.
    Status error() const { return error_.status(); }
    ExecutorCounters counters() const;
    /// Write samples since the last call.
    std::vector<WriteSample> take_write_samples() { return samples_.take(); }

    /// Stop the lanes after everything submitted is done (or an error occurred) and join them.
    void stop();
    /// Lanes to write into a trace.
    std::vector<const base::TraceLane*> trace_lanes() const;
    /// The write lane appends to it whenever a dump is written or committed. It lives until stop().
    /// What it cannot write is not an error: who writes the whole trace in the end meets it too.
    void keep_trace(base::LiveTrace* trace) { live_trace_.store(trace, std::memory_order_release); }

  private:
    static constexpr std::uint64_t k_nowhere = std::numeric_limits<std::uint64_t>::max();
    struct Worker {
        std::thread thread;
        base::TraceLane trace;
        explicit Worker(const char* name) : trace(name) {}
        std::atomic<std::uint64_t> at_dump{0};  // it holds no pointer to dumps before this one
        std::atomic<double> compress_s{0.0};
    };
    struct WriteLane {
        std::thread thread;
        base::TraceLane trace{"write lane"};
        // Of the lane alone:
        double oldest_ready_since_s = -1.0;
        WriteCost last_cost;  // of the newest dump it has seen
        bool cannot_help = false;
    };
    struct Flush {
        std::function<Status()> work;
        std::atomic<int> state{0};  // 0 none, 1 waiting or running
    };
    struct AfterAll {
        enum class State : std::uint8_t { none, waiting, running, called, lacking };
        std::function<void()> call;
        std::atomic<State> state{State::none};
        /// Of the write lane alone: of dumps whose blocks are to come again, by number.
        std::map<std::uint64_t, std::shared_ptr<Overflow>> not_whole;
    };
    /// The standby thread's own: kept for their memory.
    struct StandbyWork {
        std::vector<plan::DueWork> mine, all;
    };
    struct Helped {
        std::atomic<std::uint64_t> blocks{0}, bytes{0}, taken_back_blocks{0};
    };

    void compress_loop(Worker& worker);
    void write_loop();
    void take_back(DumpTask& dump);
    bool write_some(DumpTask& dump, double& wait_s);
    bool finish_dump(DumpTask& dump);
    bool run_flush();
    bool call_after_all();
    void append_trace() noexcept;
    void do_write(DumpTask& dump, std::span<Job* const> jobs);
    plan::WriteView view_of(std::span<const double> ready_bytes, const WriteCost& cost,
                            double now_s, bool is_due) const;
    double now_in_iteration_s() const { return clock_.now_s() - observer_.iteration_begin_s(); }
    void note_write(std::uint64_t bytes, double begin_s, const char* kind, std::string name,
                    std::uint64_t iteration, std::uint64_t given_bytes = 0);
    // Blocks that another rank writes, helping.cpp.
    void keep_for_helper(Job& job);
    void offer(DumpTask& dump);
    bool overflow(Job& job);
    void settle(DumpTask& dump, double& wait_s);
    bool write_given(DumpTask& dump, double& wait_s);
    void given_is_written(DumpTask& dump, Job& job);
    bool help_neighbours(double& wait_s);
    void note_help(std::span<const NodeShare::Offer> claimed, std::uint64_t bytes, double begin_s);
    void withdraw_offers();
    bool lane_is_ours(bool is_due = false) const;
    // executor_planning.cpp
    plan::PlanningView view_of(DumpTask& dump, std::vector<plan::JobLeft>& left) const;
    double patience_s() const { return std::max(0.1, observer_.last_iteration_s()); }
    plan::Standby standby_for(const DumpTask& dump, const plan::PlanningView& view) const;
    void improve(DumpTask& dump, plan::Algorithm algorithm, base::TraceLane* trace);
    void note_compressed(DumpTask& dump, const Job& job, double cpu_s, double end_s);
    void note_written(DumpTask& dump, std::span<Job* const> jobs, double begin_s, double end_s);
    void note_rate(double begin_s, double end_s, double computing_s, double cpu_s);
    void note_starved(const DumpTask& dump);
    double workers_cpu_s() const;
    bool gated() const { return options_.planning && !options_.idle_priority; }

    static bool begin(Job& job, DumpTask& dump, double now_s);
    Job* next_job(std::uint64_t& at_dump, DumpTask*& dump);
    Job* job_before(double deadline_s, DumpTask*& dump);
    Job* next_job_outside_obstacles(std::uint64_t& at_dump, DumpTask*& dump, double& wait_s);
    std::vector<Job*> jobs_to_begin(DumpTask& dump, std::vector<double>& expected_s) const;
    static Job* job_to_rescue(DumpTask& dump, double now_s, double late);
    // standby.cpp
    void standby_loop();
    void look_at_work(std::uint64_t first);
    std::uint64_t hold_dumps(Worker& worker);
    void mark_due(DumpTask& dump);
    Job* job_to_take_over(DumpTask& dump, double late);
    Job* first_to_take_over(std::uint64_t first, std::size_t last, DumpTask*& dump, double late);
    Job* due_job(std::uint64_t first, DumpTask*& dump, double& wait_s);
    void compress(Job& job, DumpTask& dump, base::TraceLane* trace, std::atomic<double>* seconds);
    static void leave(Job& job);
    void fail(Status status);

    ExecutorOptions options_;
    base::MemoryBudget& budget_;
    base::BufferPool& pool_;
    const base::Clock& clock_;
    std::unique_ptr<Observer> own_observer_;
    Observer& observer_;

    DumpRing dumps_;
    WorkerPace pace_;
    SearchBudget search_budget_;
    FirstError error_;
    WriteSamples samples_;
    Flush flush_;
    AfterAll after_all_;
    Helped helped_;
    std::vector<std::unique_ptr<Worker>> workers_;
    WriteLane write_lane_;
    Worker standby_{"standby"};
    StandbyWork standby_work_;
    DuePlace* place_;  ///< null without standby thread
    base::TraceLane help_trace_{"application (helping)"};
    std::atomic<base::LiveTrace*> live_trace_{nullptr};
    std::atomic<double> help_compress_s_{0.0};

    std::atomic<double> plan_s_{0.0};
    std::atomic<std::uint64_t> replans_{0};
    std::atomic<double> last_begun_s_{0.0};  // gated workers' patience
    base::Event compress_event_, progress_event_, own_write_event_, no_event_;
    base::Event& write_event_;    // others of the node raise it too, if there is a NodeShare
    base::Event& standby_event_;  // and this one other executors of the process
    std::atomic<bool> stopping_{false};
    std::atomic<int> draining_{0};
    std::atomic<bool> hurry_{false};
    std::atomic<std::uint32_t> came_back_{0};  ///< how many dumps
    std::atomic<std::uint64_t> taken_over_blocks_{0}, due_blocks_{0};
};

}  // namespace caesura::run
