// The executor's planning: the caller's plan at submit, better ones by a worker, new ones when
// reality departs; and what is measured of the workers for the planner's sake.
#include <pthread.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <new>

#include "run/executor.hpp"

namespace caesura::run {
namespace {

double load(const std::atomic<double>& value) { return value.load(std::memory_order_relaxed); }

}  // namespace

// What is left of the dump by now.
plan::PlanningView Executor::view_of(DumpTask& dump, std::vector<plan::JobLeft>& left) const {
    plan::PlanningView view;
    view.now_s = clock_.now_s();
    const double compress_scale =
        plan::scale_of(load(dump.compressed_s), load(dump.compressed_expected_s));
    const double write_scale = plan::scale_of(load(dump.written_s), load(dump.written_expected_s));
    const double compress_off = pace_.compress_off(), write_off = pace_.write_off();
    const bool is_due = dump.is_due.load(std::memory_order_acquire);
    left.resize(dump.n_jobs);
    for (std::size_t i = 0; i < dump.n_jobs; ++i) {
        const Job& job = dump.jobs[i];
        const JobState state = job.state.load(std::memory_order_acquire);
        left[i].written = state != JobState::waiting && state != JobState::compressed;
        const bool compressed = state == JobState::compressed;
        left[i].write_s = write_scale * (compressed ? dump.write_cost.seconds(job.carried_bytes())
                                                    : job.expected_write_s);
        const double whole_s = compress_scale * job.expected_compress_s;
        left[i].write_spread_s = std::hypot(write_off * left[i].write_s,
                                            compressed ? 0.0 : write_scale * job.write_spread_s);
        left[i].compress_s = compressed ? 0.0 : whole_s;
        left[i].compress_spread_s = compressed ? 0.0 : compress_off * whole_s;
        // The standby thread begins from the front what a worker is at.
        if (!compressed && !is_due && job.begun.load(std::memory_order_acquire))
            left[i].compress_s =
                std::max(0.1 * whole_s, whole_s - (view.now_s - load(job.begun_s)));
    }
    view.jobs = left;
    view.expected = observer_.expected();
    const auto threads = static_cast<double>(std::max<std::size_t>(1, workers_.size()));
    view.rates = {threads * pace_.rate_free(), threads * pace_.rate_busy()};
    view.rules.resumable = options_.idle_priority && !workers_.empty();
    view.rules.search_steps =
        options_.search_steps > 0 ? options_.search_steps : search_budget_.steps();
    view.rules.robust = true;
    return view;
}

// When the standby thread takes over what is left in the view, of this dump and of those before it,
// in its turn among all executors of the process.
plan::Standby Executor::standby_for(const DumpTask& dump, const plan::PlanningView& view) const {
    plan::Standby standby;
    if (!options_.standby) return standby;
    const bool is_due = dump.is_due.load(std::memory_order_acquire);
    if (!std::isfinite(dump.max_delay_s)) {
        if (is_due) standby.begin_s = view.now_s;  // in a hurry
        return standby;
    }
    const double begin_s = dump.handed_over_s < 0.0 ? view.now_s : dump.handed_over_s;
    plan::DueWork mine;
    mine.by_s = plan::done_by_s(begin_s + dump.max_delay_s, dump.max_delay_s);
    mine.left_s = view.compress_ahead_s + view.write_ahead_s;
    for (const plan::JobLeft& job : view.jobs)
        if (!job.written) mine.left_s += job.compress_s + job.write_s;
    mine.whose = place_->number();
    std::vector<plan::DueWork> all{mine};
    place_->add_others(all);
    std::sort(all.begin(), all.end(), plan::is_before);
    const plan::StandbyTurn turn = plan::turn_of(all, mine);
    standby.begin_s = is_due && turn.is_first ? view.now_s : std::max(view.now_s, turn.alone_s);
    return standby;
}

Status Executor::plan(DumpTask& dump) {
    dump.plans.allocate(dump.n_jobs);
    std::vector<plan::JobLeft> left, ahead;
    plan::PlanningView view = view_of(dump, left);
    for (const auto& earlier : dumps_.dumps()) {
        if (earlier->phase.load(std::memory_order_acquire) != DumpPhase::running) continue;
        (void)view_of(*earlier, ahead);
        for (const plan::JobLeft& job : ahead) {
            if (job.written) continue;
            view.compress_ahead_s += job.compress_s;
            view.write_ahead_s += job.write_s;
        }
    }
    view.standby = standby_for(dump, view);
    // Whatever algorithm is asked for: here the application waits.
    view.algorithm = plan::Algorithm::ext_johnson_backfill;
    Plan& seed = dump.plans[0];
    if (Status status = make_plan(view, seed); !status.ok()) {
        dump.plans.allocate(0);  // none: the order of generation
        return status;
    }
    dump.compress_order = seed.compress_order;
    dump.write_order = seed.write_order;
    if (options_.algorithm != view.algorithm) dump.plans.want();
    return {};
}

// By a worker, or the standby thread, between two jobs. Dumps before this one have begun all their
// compressions; of this one and those after it no memory can go as long as this thread has not
// moved on. A thread that finds another one planning goes on with the plan that there is.
void Executor::improve(DumpTask& dump, plan::Algorithm algorithm, base::TraceLane* trace) {
    Plans& plans = dump.plans;
    if (plans.empty() || dump.all_begun()) return;
    if (departed(plans.current(), observer_.expected())) plans.want();
    Plan* next = plans.begin();
    if (!next) return;
    // Better than the caller's only if it is searched and nothing has gone otherwise yet.
    const bool again = plans.count() > 1 || algorithm == plan::Algorithm::ext_johnson_backfill;
    next->again = again;
    const double begin_s = clock_.now_s(), cpu_begin_s = clock_.thread_cpu_s();
    Status status;
    std::uint64_t steps = 0;
    try {
        std::vector<plan::JobLeft> left;
        plan::PlanningView view = view_of(dump, left);
        view.standby = standby_for(dump, view);
        view.algorithm = algorithm;
        steps = view.rules.search_steps;
        status = make_plan(view, *next);
    } catch (const std::bad_alloc&) {
        status = {StatusCode::no_space, "out of memory"};
    }
    // Without a new plan the old one is followed: planning never fails a dump.
    if (status.ok())
        plans.publish();
    else
        plans.abandon();
    const double cpu_s = clock_.thread_cpu_s() - cpu_begin_s;
    add(plan_s_, cpu_s);
    if (algorithm == plan::Algorithm::search && status.ok()) search_budget_.learn(steps, cpu_s);
    if (again) replans_.fetch_add(1, std::memory_order_relaxed);
    if (trace)
        trace->add(
            {"plan", again ? "plan again" : "plan", begin_s, clock_.now_s(), dump.iteration, 0});
    write_event_.raise();
}

void Executor::note_compressed(DumpTask& dump, const Job& job, double cpu_s, double end_s) {
    pace_.learn_compress(
        cpu_s, job.expected_compress_s *
                   plan::scale_of(load(dump.compressed_s), load(dump.compressed_expected_s)));
    add(dump.compressed_s, cpu_s);
    add(dump.compressed_expected_s, job.expected_compress_s);
    if (dump.plans.empty()) return;
    const auto index = static_cast<std::size_t>(&job - dump.jobs.get());
    const Plan& plan = dump.plans.current();
    const plan::TaskTimes& times = plan.times[index];
    if (times.planned && departed(plan, end_s - times.compress_end_s)) dump.plans.want();
}

// Write lane. Blocks that are written together end together: early for all but the last.
void Executor::note_written(DumpTask& dump, std::span<Job* const> jobs, double begin_s,
                            double end_s) {
    double expected_s = 0.0, planned_end_s = 0.0;
    const Plan& plan = dump.plans.current();
    for (const Job* job : jobs) {
        expected_s += dump.write_cost.seconds(job->carried_bytes());
        if (dump.plans.empty()) continue;
        const plan::TaskTimes& times = plan.times[static_cast<std::size_t>(job - dump.jobs.get())];
        if (times.planned) planned_end_s = std::max(planned_end_s, times.write_end_s);
    }
    expected_s -= static_cast<double>(jobs.size() - 1) * dump.write_cost.latency_s;
    pace_.learn_write(end_s - begin_s, expected_s * plan::scale_of(load(dump.written_s),
                                                                   load(dump.written_expected_s)));
    add(dump.written_s, end_s - begin_s);
    add(dump.written_expected_s, expected_s);
    dump.last_write_end_s.store(end_s, std::memory_order_relaxed);
    // A write that is early changes nothing for the others.
    if (planned_end_s > 0.0 && end_s > planned_end_s && departed(plan, end_s - planned_end_s)) {
        dump.plans.want();
        compress_event_.raise();
    }
}

// After each job of a worker: how much of the time that the application left free it got.
void Executor::note_rate(double begin_s, double end_s, double computing_s, double cpu_s) {
    const double free_s = end_s - begin_s - std::clamp(computing_s, 0.0, end_s - begin_s);
    pace_.learn_rate(free_s, cpu_s);
}

// By the standby thread, when it takes a dump over: how much of the time that the application left
// free the workers got, if that was enough to have compressed all of it. Workers that get nothing
// finish no job from which it could be learnt.
void Executor::note_starved(const DumpTask& dump) {
    if (workers_.empty() || dump.all_begun()) return;
    const double now_s = clock_.now_s();
    const double waited_s = now_s - dump.handed_over_s;
    const double computing_s = observer_.computing_s(now_s) - dump.computing_before_s;
    const double free_s = waited_s - std::clamp(computing_s, 0.0, waited_s);
    double expected_s = 0.0;
    for (std::size_t i = 0; i < dump.n_jobs; ++i) expected_s += dump.jobs[i].expected_compress_s;
    const auto workers = static_cast<double>(workers_.size());
    if (free_s > expected_s / (workers * pace_.rate_free()))
        pace_.starved(free_s, (workers_cpu_s() - dump.workers_cpu_before_s) / workers);
}

double Executor::workers_cpu_s() const {
    double sum_s = 0.0;
    for (const auto& worker : workers_) {
        if (!worker->thread.joinable()) continue;  // stopped, and a mark outlived it
        clockid_t clock{};
        timespec time{};
        // The threads live as long as `workers_`; a clock that cannot be read counts nothing.
        auto& thread = const_cast<std::thread&>(worker->thread);
        if (::pthread_getcpuclockid(thread.native_handle(), &clock) == 0 &&
            ::clock_gettime(clock, &time) == 0)
            sum_s += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
    }
    return sum_s;
}

void Executor::enter(Observer::Lane lane) {
    const double now_s = clock_.now_s();
    const bool outermost = !observer_.inside(lane);
    observer_.enter(lane, now_s);
    if (lane == Observer::Lane::write || !outermost) return;
    if (dumps_.all_written())
        pace_.begin_idle();  // nothing is under way that could disturb
    else
        pace_.begin_busy(now_s, workers_cpu_s());
}

void Executor::leave(Observer::Lane lane) {
    const double now_s = clock_.now_s();
    observer_.leave(lane, now_s);
    if (!observer_.inside(lane)) {
        if (lane == Observer::Lane::write || gated()) obstacles_changed();
    }
    if (lane == Observer::Lane::write || observer_.inside(lane) || !pace_.is_busy()) return;
    bool waiting = false;
    for (const auto& dump : dumps_.dumps()) waiting |= !dump->all_begun();
    pace_.end_busy(now_s, workers_cpu_s(), waiting ? workers_.size() : 0);
}

}  // namespace caesura::run
