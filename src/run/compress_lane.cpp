// The compress lane's work on one job: encode, publish.
#include <new>

#include "run/encode.hpp"
#include "run/executor.hpp"

namespace caesura::run {

// Drop a claim. The sources may go when nobody computes the job any more and a result is there;
// the last who leaves says so.
void Executor::leave(Job& job) {
    if (job.claims.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (job.taken.load(std::memory_order_acquire)) job.release_sources();
}

void Executor::compress(Job& job, DumpTask& dump, base::TraceLane* trace,
                        std::atomic<double>* seconds) {
    const double begin_s = clock_.now_s(), cpu_begin_s = clock_.thread_cpu_s();
    const double computing_begin_s = observer_.computing_s(begin_s);
    Result<Encoded> encoded = Status{StatusCode::internal, "not encoded"};
    try {
        encoded = encode(job, pool_);
    } catch (const std::bad_alloc&) {
        encoded = Status{StatusCode::no_space, "out of memory"};
    }
    const double end_s = clock_.now_s();
    const double took_s = clock_.thread_cpu_s() - cpu_begin_s;
    add(*seconds, took_s);
    if (seconds != &help_compress_s_ && seconds != &standby_.compress_s) {
        observer_.note_worked(took_s);
        note_rate(begin_s, end_s, observer_.computing_s(end_s) - computing_begin_s, took_s);
    }
    if (!encoded.ok()) fail(encoded.status().with_context("compressing " + job.label));
    if (trace && encoded.ok())
        trace->add({"compress", job.label, begin_s, end_s, dump.iteration, encoded->stored.size()});

    const bool first = encoded.ok() && !job.taken.exchange(true, std::memory_order_acq_rel);
    if (first) {
        budget_.charge(encoded->stored.size());
        job.stored_raw = encoded->is_raw(job);
        job.stored_bytes = encoded->stored.size();
        job.stored = std::move(encoded->stored);
        if (job.share.helper >= 0) keep_for_helper(job);
        job.statistics = std::move(encoded->statistics);
        job.filter_mask = encoded->filter_mask;
        job.max_error = encoded->max_error;
        job.fell_back = encoded->fell_back;
        job.compress_s = took_s;
        note_compressed(dump, job, took_s, end_s);
        // Before anybody can see that the block is done.
        if (seconds == &standby_.compress_s) {
            taken_over_blocks_.fetch_add(1, std::memory_order_relaxed);
            if (dump.is_due.load(std::memory_order_relaxed))
                due_blocks_.fetch_add(1, std::memory_order_relaxed);
        }
        job.state.store(JobState::compressed, std::memory_order_release);
    }
    leave(job);
    if (first) {
        dump.n_compressed.fetch_add(1, std::memory_order_acq_rel);
        write_event_.raise();
    }
    progress_event_.raise();
}

}  // namespace caesura::run
