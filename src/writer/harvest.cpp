// Taking in what the lanes have finished: records, models, counters, overflow.
#include <algorithm>
#include <cmath>

#include "writer/impl.hpp"

namespace caesura {

void Writer::Impl::harvest() {
    // Reclaimed tasks stay alive until this function ends: all of them are harvested below.
    const auto reclaimed = executor->reclaim();
    for (writer::InFlight& dump : in_flight) {
        if (dump.task &&
            dump.task->phase.load(std::memory_order_acquire) == run::DumpPhase::finished)
            harvest_task(dump);
    }
}

void Writer::Impl::harvest_task(writer::InFlight& dump) {
    run::DumpTask& task = *dump.task;
    const auto& sink = static_cast<const writer::RegionSink&>(*task.sink);
    dump.records.insert(dump.records.end(), sink.records().begin(), sink.records().end());
    for (const store::ChunkRecord& record : sink.records()) totals.stored_bytes += record.bytes;
    used_end = std::max(used_end, sink.used_end());
    for (const writer::Extent& tail : sink.tails()) free_space.add(tail);

    dump.overflow.clear();
    for (std::size_t i = 0; i < task.n_jobs; ++i) {
        run::Job& job = task.jobs[i];
        const bool overflowed = job.state.load() == run::JobState::overflowed;
        if (!dump.features.empty()) {  // not for blocks that come back from an overflow
            learn_job(dump, i);
            if (overflowed) {
                ++totals.overflow_blocks;
                totals.overflow_bytes += job.stored.size();
            }
        }
        if (overflowed)
            dump.overflow.push_back(
                {job.label, job.dataset, job.filter_mask, job.chunk, std::move(job.stored)});
    }
    if (!task.plans.empty()) harvest_plan(task);
    dump.features.clear();
    dump.durable = dump.overflow.empty();
    dump.task = nullptr;
}

// What the dump was planned to be beside what it was. Its plan is the first that was made with the
// time that takes; those that came after reality had departed from it do not flatter it.
void Writer::Impl::harvest_plan(run::DumpTask& task) {
    const run::Plan& plan = task.plans[task.plans.count() > 1 ? 1 : 0];
    const double end_s = task.last_write_end_s.load();
    outcomes.dump_ended(task.dump, plan.iteration_s, plan.end_s, end_s > 0.0 ? end_s : plan.end_s);
    if (options.trace_path.empty()) return;
    const auto note = [&](const char* kind, const std::string& name, double begin_s, double until_s,
                          std::uint64_t bytes) {
        plan_trace.add({kind, name, begin_s, until_s, task.iteration, bytes});
    };
    for (std::size_t i = 0; i < task.n_jobs; ++i) {
        const run::Job& job = task.jobs[i];
        const run::TaskTimes& times = plan.times[i];
        if (!times.planned) continue;
        note("planned_compress", job.label, times.compress_begin_s, times.compress_end_s,
             job.stored_bytes);
        note("planned_write", job.label, times.write_begin_s, times.write_end_s, job.stored_bytes);
    }
    note("planned_dump", "dump, planned", plan.made_s, plan.end_s, 0);
    if (plan.iteration_s > 0.0)
        note("planned_iteration", "iteration, planned", plan.iteration_begin_s,
             plan.iteration_begin_s + plan.iteration_s, 0);
    if (end_s > 0.0) note("dump", "dump", plan.made_s, end_s, 0);
}

void Writer::Impl::learn_job(const writer::InFlight& dump, std::size_t index) {
    const run::Job& job = dump.task->jobs[index];
    const predict::Features& features = dump.features[index];
    writer::FieldState& field = fields[dump.job_fields[index]];
    const double values = static_cast<double>(features.values);
    if (values > 0.0)
        field.times.learn(features.values * size_of(job.dtype),
                          8.0 * static_cast<double>(job.stored_bytes) / values, job.compress_s,
                          features.mode);
    field.sizes.learn(features, job.stored_bytes);
    ++totals.blocks;
    totals.raw_bytes += job.valid.count() * size_of(job.dtype);
    totals.fallback_blocks += job.fell_back;
    totals.raw_blocks += job.stored_raw;
    count_block(fields[dump.job_fields[index]], job.statistics.bytes());
    if (job.absolute_bound > 0.0 && std::isfinite(job.max_error))
        totals.max_error_over_bound =
            std::max(totals.max_error_over_bound, job.max_error / job.absolute_bound);
}

// What finished writes say about the next ones, and how much of them fell into obstacles.
void Writer::Impl::learn_writes() {
    const plan::Obstacles& recorded = executor->observer().recorded();
    for (const run::WriteSample& sample : executor->take_write_samples()) {
        experience->write_model.learn(sample.bytes, sample.write_s);
        const double begin_s = sample.begin_s - iteration_begin_s;
        for (const plan::Interval& obstacle : recorded.write) {
            const double overlap_s = std::min(obstacle.end_s, begin_s + sample.write_s) -
                                     std::max(obstacle.begin_s, begin_s);
            totals.write_interference_s += std::max(0.0, overlap_s);
        }
    }
}

}  // namespace caesura
