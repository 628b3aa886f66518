// The write lane: one thread at normal priority that writes what is compressed when the policy
// says so, makes finished dumps durable, and flushes commits.
#include <algorithm>
#include <new>

#include "run/executor.hpp"

namespace caesura::run {
namespace {

constexpr double k_write_before_offers_bytes = 4u << 20;

// The compressed blocks of a dump that are to be written here, in planned order; `more_coming` if
// others are still to come, `offers_coming` if some of these are for a helper.
std::vector<Job*> ready_jobs(DumpTask& dump, bool& more_coming, bool& offers_coming) {
    std::vector<Job*> ready;
    more_coming = offers_coming = false;
    const auto& order = dump.plans.empty() ? dump.write_order : dump.plans.current().write_order;
    for (const std::uint32_t index : order) {
        Job& job = dump.jobs[index];
        const JobState state = job.state.load(std::memory_order_acquire);
        if (state == JobState::compressed && job.share.helper < 0) ready.push_back(&job);
        more_coming |= state == JobState::waiting;
        offers_coming |= state == JobState::waiting && job.share.capacity > 0;
    }
    return ready;
}

}  // namespace

// Outside the application's obstacles, or somebody waits for the lane, or the dump is due.
bool Executor::lane_is_ours(bool is_due) const {
    return !options_.planning || is_due || draining_.load(std::memory_order_acquire) != 0 ||
           stopping_.load(std::memory_order_acquire) || !observer_.application_writes();
}

void Executor::write_loop() {
    for (;;) {
        const std::uint32_t seen = write_event_.count();
        if (run_flush()) continue;
        const std::uint64_t number = dumps_.written();
        const bool failed = error_.happened();
        const bool stopping = stopping_.load(std::memory_order_acquire);
        if (failed || number == dumps_.submitted()) {
            if (stopping) return;
            double idle_s = base::Event::k_forever_s;
            if (!failed && (call_after_all() || help_neighbours(idle_s))) continue;
            write_event_.wait(seen, idle_s);
            continue;
        }
        DumpTask& dump = *dumps_.at(number);
        double wait_s = base::Event::k_forever_s;
        try {
            if (write_some(dump, wait_s) || finish_dump(dump) || help_neighbours(wait_s)) continue;
        } catch (const std::bad_alloc&) {
            fail({StatusCode::no_space, "out of memory in the write lane"});
            continue;
        }
        write_event_.wait(seen, wait_s);
    }
}

void Executor::when_written(std::function<void()> call) {
    after_all_.call = std::move(call);
    after_all_.state.store(AfterAll::State::waiting, std::memory_order_release);
    write_event_.raise();
}

bool Executor::take_back_call() {
    AfterAll::State seen = AfterAll::State::waiting;
    if (after_all_.state.compare_exchange_strong(seen, AfterAll::State::none)) return false;
    // The lane is at normal priority, and the call is a short one.
    while (after_all_.state.load(std::memory_order_acquire) == AfterAll::State::running)
        std::this_thread::yield();
    return after_all_.state.exchange(AfterAll::State::none) == AfterAll::State::called;
}

// @return  was it called?
bool Executor::call_after_all() {
    AfterAll::State seen = AfterAll::State::waiting;
    if (!after_all_.state.compare_exchange_strong(seen, AfterAll::State::running)) return false;
    // Room for what has overflowed may have come with the close, after the dump was finished.
    if (!std::ranges::all_of(after_all_.not_whole,
                             [](const auto& one) { return one.second->make_whole(); })) {
        after_all_.state.store(AfterAll::State::lacking, std::memory_order_release);
        progress_event_.raise();
        return false;
    }
    after_all_.call();
    after_all_.state.store(AfterAll::State::called, std::memory_order_release);
    progress_event_.raise();
    return true;
}

bool Executor::wait_for_call() {
    set_draining(true);
    help([this] { return has_written(); });
    AfterAll::State state = AfterAll::State::none;
    for (;;) {
        const std::uint32_t seen = progress_event_.count();
        state = after_all_.state.load(std::memory_order_acquire);
        const bool waits = state == AfterAll::State::waiting || state == AfterAll::State::running;
        if (!waits || error_.happened()) break;
        progress_event_.wait(seen, 0.5);
    }
    set_draining(false);
    return state == AfterAll::State::called;
}

bool Executor::run_flush() {
    if (flush_.state.load(std::memory_order_acquire) != 1 || !lane_is_ours()) return false;
    const double begin_s = clock_.now_s();
    Status status;
    try {
        status = flush_.work();
    } catch (const std::bad_alloc&) {
        status = {StatusCode::no_space, "out of memory"};
    }
    if (options_.trace) write_lane_.trace.add({"commit", "commit", begin_s, clock_.now_s(), 0, 0});
    append_trace();
    if (!status.ok()) fail(status.with_context("committing"));
    flush_.state.store(0, std::memory_order_release);
    progress_event_.raise();
    return true;
}

// What the policy has to know, but for how long the first block has been ready and what is to come.
// `now_s` is since the begin of the iteration, as expected obstacles are.
plan::WriteView Executor::view_of(std::span<const double> ready_bytes, const WriteCost& cost,
                                  double now_s, bool is_due) const {
    plan::WriteView view;
    view.planning = options_.planning;
    view.draining = is_due || draining_.load(std::memory_order_acquire) != 0 ||
                    stopping_.load(std::memory_order_acquire);
    view.application_writes = observer_.application_writes();
    view.gap = plan::gap_before_next(observer_.write_obstacles(), now_s);
    view.ready_bytes = ready_bytes;
    view.patience_s = patience_s();
    view.buffer_bytes = static_cast<double>(options_.write_buffer_bytes);
    view.cost = cost;
    return view;
}

// What was given away is compressed here after all: what the sink has not finished is not there.
void Executor::take_back(DumpTask& dump) {
    std::uint32_t n = 0;
    for (std::size_t i = 0; i < dump.n_jobs; ++i) {
        Job& job = dump.jobs[i];
        const JobState state = job.state.load(std::memory_order_acquire);
        if (!job.elsewhere.load(std::memory_order_relaxed)) {
            // It has been compressed before, and still has its bytes.
            if (state == JobState::given)
                job.state.store(JobState::compressed, std::memory_order_release);
            continue;
        }
        if (state == JobState::waiting || state == JobState::overflowed) continue;
        job.elsewhere = job.taken = job.begun = false;
        job.state.store(JobState::waiting, std::memory_order_release);
        ++n;
    }
    if (n == 0) return;
    dump.n_compressed.fetch_sub(n, std::memory_order_acq_rel);
    dump.n_begun.fetch_sub(n, std::memory_order_acq_rel);
    came_back_.fetch_add(1, std::memory_order_acq_rel);
    compress_event_.raise();
    progress_event_.raise();
    standby_event_.raise();
}

bool Executor::write_some(DumpTask& dump, double& wait_s) {
    write_lane_.last_cost = dump.write_cost;
    if (dump.sink->gives_back()) take_back(dump);
    if (options_.share) {
        offer(dump);
        settle(dump, wait_s);
    }
    bool more_coming = false, offers_coming = false;
    std::vector<Job*> ready = ready_jobs(dump, more_coming, offers_coming);
    if (ready.empty()) {
        write_lane_.oldest_ready_since_s = -1.0;
        return options_.share && write_given(dump, wait_s);
    }
    std::vector<double> ready_bytes(ready.size());
    std::transform(ready.begin(), ready.end(), ready_bytes.begin(),
                   [](const Job* job) { return static_cast<double>(job->carried_bytes()); });
    // A disk that is slower than expected today holds fewer bytes before the next obstacle.
    const double scale = plan::scale_of(dump.written_s.load(std::memory_order_relaxed),
                                        dump.written_expected_s.load(std::memory_order_relaxed));
    const double now_s = now_in_iteration_s();
    plan::WriteView view = view_of(
        ready_bytes, {scale * dump.write_cost.latency_s, dump.write_cost.bytes_per_s / scale},
        now_s, dump.is_due.load(std::memory_order_acquire));
    const double clock_now_s = now_s + observer_.iteration_begin_s();
    if (write_lane_.oldest_ready_since_s < 0.0) write_lane_.oldest_ready_since_s = clock_now_s;
    view.oldest_wait_s = clock_now_s - write_lane_.oldest_ready_since_s;
    view.more_coming = more_coming;
    // What is compressed during a long write is offered only after it, and its helper waits.
    if (offers_coming) view.buffer_bytes = std::min(view.buffer_bytes, k_write_before_offers_bytes);
    const plan::WriteDecision decision = decide_write(view);
    if (decision.take == 0) {
        if (decision.wait_until_s >= 0.0)
            wait_s = std::min(wait_s, std::max(1e-4, decision.wait_until_s - now_s));
        return false;
    }
    do_write(dump, std::span(ready).subspan(decision.first, decision.take));
    write_lane_.oldest_ready_since_s = -1.0;
    return true;
}

void Executor::do_write(DumpTask& dump, std::span<Job* const> jobs) {
    std::uint64_t bytes = 0, given_bytes = 0;
    for (const Job* job : jobs) {
        bytes += job->carried_bytes();
        if (job->elsewhere.load(std::memory_order_relaxed)) given_bytes += job->carried_bytes();
    }
    const double begin_s = clock_.now_s();
    const Status status = dump.sink->write(jobs);
    if (!status.ok()) {
        fail(status);
        return;
    }
    note_write(
        bytes, begin_s, "write",
        jobs.size() == 1 ? jobs[0]->label : jobs[0]->label + " +" + std::to_string(jobs.size() - 1),
        dump.iteration, given_bytes);
    for (Job* job : jobs) {
        if (job->state.load(std::memory_order_relaxed) != JobState::written) continue;
        budget_.release(job->stored.size());
        job->stored = base::Buffer();
    }
    note_written(dump, jobs, begin_s, clock_.now_s());
    progress_event_.raise();
}

// A write that ends now.
void Executor::note_write(std::uint64_t bytes, double begin_s, const char* kind, std::string name,
                          std::uint64_t iteration, std::uint64_t given_bytes) {
    const double end_s = clock_.now_s();
    samples_.note({bytes, begin_s, end_s - begin_s});
    if (options_.trace)
        write_lane_.trace.add(
            {kind, std::move(name), begin_s, end_s, iteration, bytes, given_bytes});
}

// True if every block is written (or has overflowed) and the dump was left behind.
bool Executor::finish_dump(DumpTask& dump) {
    const bool is_due = dump.is_due.load(std::memory_order_acquire);
    if (!dump.all_compressed() || !lane_is_ours(is_due)) return false;
    for (std::size_t i = 0; i < dump.n_jobs; ++i) {
        const JobState state = dump.jobs[i].state.load(std::memory_order_acquire);
        if (state != JobState::written && state != JobState::overflowed) return false;
    }
    const double begin_s = clock_.now_s();
    const Status status = dump.sink->finish();
    if (options_.trace)
        write_lane_.trace.add({"sync", "sync", begin_s, clock_.now_s(), dump.iteration, 0});
    append_trace();
    if (!status.ok()) {
        if (dump.sink->gives_back())
            take_back(dump);
        else
            fail(status);
        return true;
    }
    if (auto overflow = dump.sink->overflow())
        after_all_.not_whole[dump.dump] = std::move(overflow);
    else
        after_all_.not_whole.erase(dump.dump);
    dump.finished_s.store(clock_.now_s(), std::memory_order_relaxed);
    dump.phase.store(DumpPhase::finished, std::memory_order_release);
    dumps_.leave_behind();
    progress_event_.raise();
    return true;
}

}  // namespace caesura::run
