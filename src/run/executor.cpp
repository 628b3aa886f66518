#include "run/executor.hpp"

#include <algorithm>
#include <new>

#include "plan/compress_policy.hpp"
#include "run/hurry.hpp"
#include "run/priority.hpp"

namespace caesura::run {

namespace {

// Claim first, then look whether a result is already there: whoever publishes first sets `taken`
// before it drops its claim, so a claim that sees no result keeps the source alive.
bool claim(Job& job) {
    job.claims.fetch_add(1, std::memory_order_acq_rel);
    return !job.taken.load(std::memory_order_acquire);
}

}  // namespace

Executor::Executor(const ExecutorOptions& options, base::MemoryBudget& budget,
                   base::BufferPool& pool, const base::Clock& clock)
    : options_(options),
      budget_(budget),
      pool_(pool),
      clock_(clock),
      own_observer_(options.observer ? nullptr : std::make_unique<Observer>()),
      observer_(options.observer ? *options.observer : *own_observer_),
      place_(options.standby ? &DuePlace::take() : nullptr),
      write_event_(options.share ? options.share->event() : own_write_event_),
      standby_event_(place_ ? place_->event() : no_event_) {
    observer_.attach(write_event_);
    if (gated()) observer_.attach(compress_event_);
    for (int i = 0; i < options.compress_threads; ++i) {
        workers_.push_back(std::make_unique<Worker>("compress lane"));
        Worker& worker = *workers_.back();
        worker.thread = std::thread([this, &worker] { compress_loop(worker); });
    }
    standby_.at_dump = k_nowhere;
    if (options.standby) standby_.thread = std::thread([this] { standby_loop(); });
    write_lane_.thread = std::thread([this] { write_loop(); });
    if (options.standby) enlist(*this);
}

Executor::~Executor() {
    observer_.detach(write_event_);
    observer_.detach(compress_event_);
    if (write_lane_.thread.joinable()) {
        // Destroyed without close(): give up what is not written (recover deals with the file).
        fail({StatusCode::cancelled, "the writer was destroyed before close()"});
        stop();
    }
}

Status Executor::submit(std::unique_ptr<DumpTask> dump) {
    if (dumps_.full())
        return {StatusCode::no_space, "4096 dumps are in flight; the workers get no time"};
    for (std::size_t i = 0; i < dump->n_jobs; ++i) {
        for (const PutPart& piece : dump->jobs[i].pieces)
            if (piece.snapshot) piece.snapshot->readers.fetch_add(1, std::memory_order_relaxed);
        if (dump->jobs[i].order) dump->jobs[i].order->join();
    }
    const double now_s = clock_.now_s();
    if (dump->handed_over_s < 0.0) dump->handed_over_s = now_s;
    dump->computing_before_s = observer_.computing_s(now_s);
    dump->workers_cpu_before_s = options_.standby ? workers_cpu_s() : 0.0;
    if (dumps_.all_written()) last_begun_s_.store(now_s, std::memory_order_relaxed);
    dumps_.add(std::move(dump));
    compress_event_.raise();
    write_event_.raise();
    standby_event_.raise();
    return {};
}

Status Executor::submit_flush(std::function<Status()> flush) {
    if (flush_running()) return {StatusCode::internal, "a commit is still being flushed"};
    flush_.work = std::move(flush);
    flush_.state.store(1, std::memory_order_release);
    write_event_.raise();
    return {};
}

void Executor::set_draining(bool draining) {
    draining_.store(draining ? 1 : 0, std::memory_order_release);
    write_event_.raise();
    if (gated()) compress_event_.raise();
}

// Take a job from the plan. False if somebody has before, or if there is a result already.
bool Executor::begin(Job& job, DumpTask& dump, double now_s) {
    if (job.begun.exchange(true, std::memory_order_acq_rel)) return false;
    job.begun_s.store(now_s, std::memory_order_relaxed);
    dump.n_begun.fetch_add(1, std::memory_order_acq_rel);
    if (claim(job)) return true;
    leave(job);
    return false;
}

// The next job nobody has begun, dump by dump. `at_dump` moves on and is never ahead of a dump
// that has jobs nobody has taken. Whoever takes a place of an order begins the job that stands
// there, so that every job is begun whichever plan is current.
Job* Executor::next_job(std::uint64_t& at_dump, DumpTask*& dump) {
    for (; at_dump < dumps_.submitted(); ++at_dump) {
        dump = dumps_.at(at_dump);
        while (!dump->all_begun()) {
            const bool planned = !dump->plans.empty();
            Plan& plan = dump->plans.current();
            auto& next = planned ? plan.next_compress : dump->next_compress;
            if (next.load(std::memory_order_relaxed) >= dump->n_jobs) break;
            const std::uint32_t i = next.fetch_add(1, std::memory_order_acq_rel);
            if (i >= dump->n_jobs) break;
            Job& job = dump->jobs[planned ? plan.compress_order[i] : dump->compress_order[i]];
            if (begin(job, *dump, clock_.now_s())) return &job;
        }
    }
    return nullptr;
}

// Workers that are not preempted begin what ends before the application needs the core.
Job* Executor::next_job_outside_obstacles(std::uint64_t& at_dump, DumpTask*& dump, double& wait_s) {
    while (at_dump < dumps_.submitted() && dumps_.at(at_dump)->all_begun()) ++at_dump;
    if (at_dump >= dumps_.submitted()) return nullptr;
    dump = dumps_.at(at_dump);
    std::vector<double> expected_s;
    const std::vector<Job*> jobs = jobs_to_begin(*dump, expected_s);
    const Expectation expected = observer_.expected();
    plan::CompressView view;
    view.now_s = clock_.now_s();
    view.application_computes = observer_.application_computes();
    view.gap = plan::gap_before_next(expected.obstacles.compress, view.now_s);
    view.expected_s = expected_s;
    view.patience_ends_s = last_begun_s_.load(std::memory_order_relaxed) + patience_s();
    const plan::CompressDecision decision = decide_compress(view);
    if (decision.begin) {
        last_begun_s_.store(view.now_s, std::memory_order_relaxed);
        Job* job = jobs[*decision.begin];
        if (begin(*job, *dump, view.now_s)) return job;
        wait_s = 0.0;  // another worker was quicker: look again
    } else if (decision.wait_until_s >= 0.0) {
        wait_s = std::max(1e-4, decision.wait_until_s - view.now_s);
    }
    return nullptr;
}

// In planned order, with what each is expected to take by what has been learned of this dump.
std::vector<Job*> Executor::jobs_to_begin(DumpTask& dump, std::vector<double>& expected_s) const {
    const Plan& plan = dump.plans.current();
    const auto& order = dump.plans.empty() ? dump.compress_order : plan.compress_order;
    std::vector<plan::JobLeft> left;
    (void)view_of(dump, left);
    std::vector<Job*> jobs;
    for (const std::uint32_t index : order) {
        if (dump.jobs[index].begun.load(std::memory_order_acquire)) continue;
        jobs.push_back(&dump.jobs[index]);
        expected_s.push_back(left[index].compress_s);
    }
    return jobs;
}

void Executor::compress_loop(Worker& worker) {
    if (options_.idle_priority) lower_priority_of_this_thread();
    std::uint64_t at_dump = 0;
    std::uint32_t came_back = 0;
    base::TraceLane* const trace = options_.trace ? &worker.trace : nullptr;
    for (;;) {
        const std::uint32_t seen = compress_event_.count();
        // Dumps that this worker has left behind have jobs again.
        if (const std::uint32_t now = came_back_.load(std::memory_order_acquire);
            now != came_back) {
            came_back = now;
            at_dump = hold_dumps(worker);
        }
        DumpTask* dump = nullptr;
        Job* job = nullptr;
        double wait_s = base::Event::k_forever_s;
        if (!error_.happened()) {
            const bool waited_for = draining_.load(std::memory_order_acquire) != 0 ||
                                    stopping_.load(std::memory_order_acquire);
            if (!waited_for && at_dump < dumps_.submitted())
                improve(*dumps_.at(at_dump), options_.algorithm, trace);
            const bool hold = gated() && !waited_for;
            job =
                hold ? next_job_outside_obstacles(at_dump, dump, wait_s) : next_job(at_dump, dump);
        }
        if (job) compress(*job, *dump, trace, &worker.compress_s);
        // Still holds `dump` until the next loop: at_dump is published after the last touch.
        worker.at_dump.store(at_dump, std::memory_order_release);
        if (job) continue;
        const bool all = at_dump == dumps_.submitted() || error_.happened();
        if (all && stopping_.load(std::memory_order_acquire)) return;
        if (options_.idle_priority && pool_.prepare()) continue;
        compress_event_.wait(seen, wait_s);
    }
}

// A job somebody has begun and not finished: on a busy core an idle-priority worker may not get
// the CPU for a long time, so whoever waits for it computes it too.
Job* Executor::job_to_rescue(DumpTask& dump, double now_s, double late) {
    if (dump.phase.load(std::memory_order_acquire) != DumpPhase::running) return nullptr;
    for (std::size_t i = 0; i < dump.n_jobs; ++i) {
        Job& job = dump.jobs[i];
        if (job.state.load(std::memory_order_acquire) != JobState::waiting ||
            job.taken.load(std::memory_order_acquire) || !job.codec->reentrant())
            continue;
        const double since_s = now_s - job.begun_s.load(std::memory_order_relaxed);
        if (late > 0.0 && since_s < late * job.expected_compress_s) continue;
        if (claim(job)) return &job;
        leave(job);
    }
    return nullptr;
}

double Executor::help(const std::function<bool()>& done, double look_s) {
    const double begin_s = clock_.now_s();
    std::uint64_t at_dump = dumps_.first();
    while (!done()) {
        const std::uint32_t seen = progress_event_.count();
        if (error_.happened()) {
            if (!flush_running()) break;  // a commit under way is still waited for
            progress_event_.wait(seen, 0.5);
            continue;
        }
        DumpTask* dump = nullptr;
        Job* job = next_job(at_dump, dump);
        for (auto it = dumps_.dumps().begin(); !job && it != dumps_.dumps().end(); ++it)
            job = job_to_rescue(*(dump = it->get()), 0.0, 0.0);
        if (job) {
            compress(*job, *dump, options_.trace ? &help_trace_ : nullptr, &help_compress_s_);
            continue;
        }
        const bool idle = dumps_.all_written() && !flush_running();
        if (done() || idle) break;
        const double left_s = look_s - clock_.now_s();
        progress_event_.wait(seen, left_s > 0.0 ? std::min(0.5, left_s) : 0.5);
    }
    return clock_.now_s() - begin_s;
}

std::vector<std::unique_ptr<DumpTask>> Executor::reclaim() {
    std::uint64_t safe = dumps_.written();
    for (const auto& worker : workers_)
        safe = std::min(safe, worker->at_dump.load(std::memory_order_seq_cst));
    safe = std::min(safe, standby_.at_dump.load(std::memory_order_seq_cst));
    std::vector<std::unique_ptr<DumpTask>> done;
    if (dumps_.first() < safe) done.reserve(safe - dumps_.first());  // or nothing is given back
    while (dumps_.first() < safe) {
        done.push_back(dumps_.remove_first());
        if (options_.share)
            for (std::size_t i = 0; i < done.back()->n_jobs; ++i)
                options_.share->recycle(done.back()->jobs[i].share);
    }
    return done;
}

bool Executor::reads(std::uint64_t iteration) const {
    if (!write_lane_.thread.joinable()) return false;  // stopped
    const auto is_read = [](const Snapshot& s) { return s.readers.load() != 0; };
    return std::any_of(dumps_.dumps().begin(), dumps_.dumps().end(), [&](const auto& dump) {
        return dump->iteration == iteration &&
               std::any_of(dump->snapshots.begin(), dump->snapshots.end(), is_read);
    });
}

void Executor::fail(Status status) {
    error_.keep(std::move(status));
    write_event_.raise();
    compress_event_.raise();
    progress_event_.raise();
    standby_event_.raise();
}

ExecutorCounters Executor::counters() const {
    ExecutorCounters counters;
    counters.compress_s = help_compress_s_.load(std::memory_order_relaxed);
    for (const auto& worker : workers_)
        counters.compress_s += worker->compress_s.load(std::memory_order_relaxed);
    counters.taken_over_s = standby_.compress_s.load(std::memory_order_relaxed);
    counters.taken_over_blocks = taken_over_blocks_.load(std::memory_order_relaxed);
    counters.due_blocks = due_blocks_.load(std::memory_order_relaxed);
    counters.compress_s += counters.taken_over_s;
    counters.write_s = samples_.write_s();
    counters.writes = samples_.writes();
    counters.plan_s = plan_s_.load(std::memory_order_relaxed);
    counters.replans = replans_.load(std::memory_order_relaxed);
    counters.compress_interference_s = pace_.interference_s();
    counters.helped_blocks = helped_.blocks.load(std::memory_order_relaxed);
    counters.helped_bytes = helped_.bytes.load(std::memory_order_relaxed);
    counters.taken_back_blocks = helped_.taken_back_blocks.load(std::memory_order_relaxed);
    return counters;
}

void Executor::stop() {
    if (!write_lane_.thread.joinable()) return;
    if (options_.standby) delist(*this);
    stopping_.store(true, std::memory_order_release);
    compress_event_.raise();
    write_event_.raise();
    standby_event_.raise();
    if (standby_.thread.joinable()) standby_.thread.join();
    if (place_) place_->leave();
    for (auto& worker : workers_) {
        (void)restore_priority(worker->thread.native_handle());
        worker->thread.join();
    }
    write_event_.raise();
    write_lane_.thread.join();
    withdraw_offers();
}

void Executor::append_trace() noexcept {
    base::LiveTrace* const trace = live_trace_.load(std::memory_order_acquire);
    if (trace == nullptr) return;
    try {
        (void)trace->append();
    } catch (const std::bad_alloc&) {
        // What is missing comes with the next dump, or when the whole trace is written.
    }
}

std::vector<const base::TraceLane*> Executor::trace_lanes() const {
    std::vector<const base::TraceLane*> lanes;
    for (const auto& worker : workers_) lanes.push_back(&worker->trace);
    lanes.push_back(&write_lane_.trace);
    if (options_.standby) lanes.push_back(&standby_.trace);
    lanes.push_back(&help_trace_);
    return lanes;
}

}  // namespace caesura::run
