#include "run/executor.hpp"

#include <algorithm>
#include <new>

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
    : options_(options), budget_(budget), pool_(pool), clock_(clock) {
    for (int i = 0; i < std::max(1, options.compress_threads); ++i) {
        workers_.push_back(std::make_unique<Worker>());
        Worker& worker = *workers_.back();
        worker.thread = std::thread([this, &worker] { compress_loop(worker); });
    }
    write_thread_ = std::thread([this] { write_loop(); });
}

Executor::~Executor() {
    if (write_thread_.joinable()) {
        // Destroyed without close(): give up what is not written (recover deals with the file).
        fail({StatusCode::cancelled, "the writer was destroyed before close()"});
        stop();
    }
}

DumpTask* Executor::dump_at(std::uint64_t number) const {
    return ring_[number % k_ring].load(std::memory_order_acquire);
}

Status Executor::submit(std::unique_ptr<DumpTask> dump) {
    if (dumps_.size() >= k_ring)
        return {StatusCode::no_space, "4096 dumps are in flight; the workers get no time"};
    for (std::size_t i = 0; i < dump->n_jobs; ++i)
        for (const Piece& piece : dump->jobs[i].pieces)
            if (piece.snapshot) piece.snapshot->readers.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t number = submitted_.load(std::memory_order_relaxed);
    ring_[number % k_ring].store(dump.get(), std::memory_order_release);
    dumps_.push_back(std::move(dump));
    submitted_.store(number + 1, std::memory_order_release);
    compress_event_.raise();
    write_event_.raise();
    return {};
}

Status Executor::submit_flush(std::function<Status()> flush) {
    if (flush_running()) return {StatusCode::internal, "a commit is still being flushed"};
    flush_ = std::move(flush);
    flush_state_.store(1, std::memory_order_release);
    write_event_.raise();
    return {};
}

void Executor::set_draining(bool draining) {
    draining_.store(draining ? 1 : 0, std::memory_order_release);
    write_event_.raise();
}

// The next job nobody has begun, dump by dump. `at_dump` moves on and is never ahead of a dump
// that has unbegun jobs.
Job* Executor::next_job(std::uint64_t& at_dump, DumpTask*& dump) {
    while (at_dump < submitted_.load(std::memory_order_acquire)) {
        dump = dump_at(at_dump);
        if (dump->next_compress.load(std::memory_order_relaxed) < dump->n_jobs) {
            const std::uint32_t i = dump->next_compress.fetch_add(1, std::memory_order_acq_rel);
            if (i < dump->n_jobs) {
                Job& job = dump->jobs[dump->compress_order[i]];
                if (claim(job)) return &job;
                leave(job);
                continue;
            }
        }
        ++at_dump;
    }
    return nullptr;
}

void Executor::compress_loop(Worker& worker) {
    if (options_.idle_priority) lower_priority_of_this_thread();
    std::uint64_t at_dump = 0;
    for (;;) {
        const std::uint32_t seen = compress_event_.count();
        DumpTask* dump = nullptr;
        Job* job = nullptr;
        if (error_state_.load(std::memory_order_acquire) == 0) job = next_job(at_dump, dump);
        if (job) {
            compress(*job, *dump, options_.trace ? &worker.trace : nullptr, &worker.compress_s);
            // Still holds `dump` until the next loop: at_dump is published after the last touch.
            worker.at_dump.store(at_dump, std::memory_order_release);
            continue;
        }
        worker.at_dump.store(at_dump, std::memory_order_release);
        if (stopping_.load(std::memory_order_acquire)) return;
        compress_event_.wait(seen);
    }
}

// A job somebody has begun and not finished: on a busy core an idle-priority worker may not get
// the CPU for a long time, so the waiting thread computes it too.
Job* Executor::job_to_rescue(DumpTask*& dump) {
    for (auto& candidate : dumps_) {
        if (candidate->phase.load(std::memory_order_acquire) != DumpPhase::running) continue;
        for (std::size_t i = 0; i < candidate->n_jobs; ++i) {
            Job& job = candidate->jobs[i];
            if (job.state.load(std::memory_order_acquire) != JobState::waiting ||
                job.taken.load(std::memory_order_acquire) || !job.codec->reentrant())
                continue;
            if (claim(job)) {
                dump = candidate.get();
                return &job;
            }
            leave(job);
        }
    }
    return nullptr;
}

double Executor::help(const std::function<bool()>& done) {
    const double begin_s = clock_.now_s();
    std::uint64_t at_dump = reclaimed_;
    while (!done()) {
        const std::uint32_t seen = progress_event_.count();
        if (error_state_.load(std::memory_order_acquire) != 0) {
            if (!flush_running()) break;  // a commit under way is still waited for
            progress_event_.wait(seen, 0.5);
            continue;
        }
        DumpTask* dump = nullptr;
        Job* job = next_job(at_dump, dump);
        if (!job) job = job_to_rescue(dump);
        if (job) {
            compress(*job, *dump, options_.trace ? &help_trace_ : nullptr, &help_compress_s_);
            continue;
        }
        const bool idle = written_.load(std::memory_order_acquire) ==
                              submitted_.load(std::memory_order_relaxed) &&
                          !flush_running();
        if (done() || idle) break;
        progress_event_.wait(seen, 0.5);
    }
    return clock_.now_s() - begin_s;
}

std::vector<std::unique_ptr<DumpTask>> Executor::reclaim() {
    std::uint64_t safe = written_.load(std::memory_order_acquire);
    for (const auto& worker : workers_)
        safe = std::min(safe, worker->at_dump.load(std::memory_order_acquire));
    std::vector<std::unique_ptr<DumpTask>> done;
    while (reclaimed_ < safe) {
        ring_[reclaimed_ % k_ring].store(nullptr, std::memory_order_release);
        done.push_back(std::move(dumps_.front()));
        dumps_.pop_front();
        ++reclaimed_;
    }
    return done;
}

void Executor::fail(Status status) {
    int none = 0;
    if (error_state_.compare_exchange_strong(none, 1, std::memory_order_acq_rel)) {
        error_ = std::move(status);
        error_state_.store(2, std::memory_order_release);
    }
    write_event_.raise();
    compress_event_.raise();
    progress_event_.raise();
}

Status Executor::error() const {
    if (error_state_.load(std::memory_order_acquire) != 2) return {};
    return error_;
}

ExecutorCounters Executor::counters() const {
    ExecutorCounters counters;
    counters.compress_s = help_compress_s_.load(std::memory_order_relaxed);
    for (const auto& worker : workers_)
        counters.compress_s += worker->compress_s.load(std::memory_order_relaxed);
    counters.write_s = write_s_.load(std::memory_order_relaxed);
    counters.writes = writes_.load(std::memory_order_relaxed);
    return counters;
}

std::vector<WriteSample> Executor::take_write_samples() {
    const std::uint64_t made = writes_.load(std::memory_order_acquire);
    std::uint64_t from = std::max(samples_taken_, made > k_samples ? made - k_samples : 0);
    std::vector<WriteSample> samples;
    for (; from < made; ++from) {
        const Sample& sample = samples_[from % k_samples];
        samples.push_back({sample.bytes.load(std::memory_order_relaxed),
                           sample.begin_s.load(std::memory_order_relaxed),
                           sample.write_s.load(std::memory_order_relaxed)});
    }
    samples_taken_ = made;
    return samples;
}

void Executor::stop() {
    if (!write_thread_.joinable()) return;
    stopping_.store(true, std::memory_order_release);
    compress_event_.raise();
    write_event_.raise();
    for (auto& worker : workers_) {
        (void)restore_priority(worker->thread.native_handle());
        worker->thread.join();
    }
    write_event_.raise();
    write_thread_.join();
}

std::vector<const base::TraceLane*> Executor::trace_lanes() const {
    std::vector<const base::TraceLane*> lanes;
    for (const auto& worker : workers_) lanes.push_back(&worker->trace);
    lanes.push_back(&write_trace_);
    lanes.push_back(&help_trace_);
    return lanes;
}

}  // namespace caesura::run
