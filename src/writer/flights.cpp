#include "writer/flights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "store/closed_tree.hpp"
#include "store/region_writer.hpp"

namespace caesura::writer {

// --------------------------------------------------------------------------------- to the lanes

void Flights::hand_over(Flight& flight, std::unique_ptr<run::DumpTask> task, SinkOrder order) {
    run::DumpTask* const at_work = task.get();
    Status status;
    if (Transport* const transport = session_.experience->transport.get()) {
        auto sink = transport->sink(std::move(order), *task,
                                    {session_.budget, [this] { executor_.answer_came(); }});
        if (sink.ok()) task->sink = std::move(*sink);
        status = sink.status();
    } else {
        task->sink = std::make_unique<RegionSink>(std::move(order));
    }
    if (status.ok()) status = executor_.submit(std::move(task));
    if (!status.ok())
        executor_.report(std::move(status));
    else
        flight.task = at_work;
}

void Flights::submit(Flight flight, std::unique_ptr<run::DumpTask> task, SinkOrder order) {
    iterations_[flight.dump] = flight.iteration;
    if (session_.options.planning) outcomes_.submitted(flight.dump);
    uncommitted_.push_back({flight.dump, flight.handed_over_s, flight.put_bytes});
    flights_.push_back(std::move(flight));
    hand_over(flights_.back(), std::move(task), std::move(order));
}

std::unique_ptr<run::DumpTask> Flights::overflow_task(Flight& flight) {
    const std::size_t n = flight.overflow.size();
    auto task = std::make_unique<run::DumpTask>(n);
    task->dump = flight.dump;
    task->iteration = flight.iteration;
    task->handed_over_s = flight.handed_over_s;
    task->max_delay_s = flight.max_delay_s;
    for (std::uint32_t i = 0; i < n; ++i) {
        OverflowBlock& block = flight.overflow[i];
        run::Job& job = task->jobs[i];
        job.label = block.label + " (overflow)";
        job.dataset = block.dataset;
        job.chunk = block.chunk;
        job.filter_mask = block.filter_mask;
        job.stored_bytes = block.stored.size();
        job.stored = std::move(block.stored);
        job.taken = true;
        job.state = run::JobState::compressed;
        task->compress_order.push_back(i);
        task->write_order.push_back(i);
    }
    task->n_begun = static_cast<std::uint32_t>(n);
    task->n_compressed = static_cast<std::uint32_t>(n);
    return task;
}

void Flights::place_overflow(ledger::Ledger& ledger) {
    for (const ledger::Book::Place& place : ledger.place_overflow()) {
        Flight* const flight = find(place.dump);
        if (flight == nullptr) continue;  // not one of this Writer
        auto task = overflow_task(*flight);
        session_.say(
            fmt::format("rank {}: iteration {}: {} blocks did not fit into the reserved region "
                        "and go to the end of the file",
                        session_.rank, flight->iteration, task->n_jobs));
        SinkOrder order{ledger.file(), {place}};
        order.durable = session_.options.durable;
        hand_over(*flight, std::move(task), std::move(order));
    }
}

// --------------------------------------------------------------------------------- and back

void Flights::harvest() {
    // Reclaimed tasks stay alive until this function ends: all of them are harvested below.
    const auto reclaimed = executor_.reclaim();
    const auto finished = [](const Flight& flight) {
        return flight.task &&
               flight.task->phase.load(std::memory_order_acquire) == run::DumpPhase::finished;
    };
    bool no_memory = false;
    for (Flight& flight : flights_) {
        if (!finished(flight)) continue;
        try {
            harvest_task(flight, *std::exchange(flight.task, nullptr));
        } catch (const std::bad_alloc&) {
            no_memory = true;  // its dump never becomes durable
        }
    }
    if (no_memory) executor_.report(out_of_memory());
}

void Flights::harvest_task(Flight& flight, run::DumpTask& task) {
    auto& sink = static_cast<DumpSink&>(*task.sink);
    sink.forget_overflow();
    for (const store::ChunkRecord& record : sink.records())
        session_.totals.stored_bytes += record.bytes;

    flight.overflow.clear();
    if (!flight.features.empty()) trace_blocks(flight, task);
    ledger::Overflow overflow;
    for (std::size_t i = 0; i < task.n_jobs; ++i) {
        run::Job& job = task.jobs[i];
        const bool overflowed = job.state.load() == run::JobState::overflowed;
        if (!flight.features.empty()) {  // not for blocks that come back from an overflow
            learn_job(flight, i, job);
            if (overflowed) {
                ++session_.totals.overflow_blocks;
                session_.totals.overflow_bytes += job.stored.size();
            }
        }
        if (!overflowed) continue;
        ++overflow.blocks;
        overflow.stored_bytes += job.stored.size();
        flight.overflow.push_back(
            {job.label, job.dataset, job.filter_mask, job.chunk, std::move(job.stored)});
    }
    double& longest_s = session_.totals.longest_to_written_s;
    if (flight.overflow.empty())
        longest_s = std::max(longest_s, task.finished_s.load() - flight.handed_over_s);
    if (!task.plans.empty()) harvest_plan(task);
    trace_written(flight, task, overflow);
    flight.features.clear();
    if (auto findings = sink.findings(); !findings.empty())
        findings_[flight.dump] = std::move(findings);
    const auto tails = sink.tails();
    if (Status status =
            flight.ledger->wrote(flight.dump, {sink.records(), tails, sink.used_end(), overflow});
        !status.ok())
        executor_.report(std::move(status));
}

void Flights::gathered(const Range& dumps, std::span<const store::ChunkRecord> records) {
    for (const store::ChunkRecord& record : records) {
        Flight* const flight = session_.rank == 0 ? find(record.dump) : nullptr;
        if (flight == nullptr) continue;
        auto& dataset = fields_[flight->fields[record.dataset]].dataset;
        if (!dataset) continue;  // a Writer's own dump has datasets of its own
        std::uint64_t& bytes = dataset->stored_bytes[record.chunk];
        session_.totals.superseded_bytes += bytes;
        bytes = record.bytes;
    }
    std::erase_if(flights_, [&](const Flight& flight) { return dumps.has(flight.dump); });
}

void Flights::committed(const Range& dumps, double at_s) {
    double& longest_s = session_.totals.longest_to_committed_s;
    std::erase_if(uncommitted_, [&](const HandedOver& one) {
        if (!dumps.has(one.dump)) return false;
        longest_s = std::max(longest_s, at_s - one.at_s);
        if (session_.traces())
            session_.outcome_trace.add(
                {"committed", "committed", one.at_s, at_s, iterations_[one.dump], one.put_bytes});
        return true;
    });
}

PutSums Flights::uncommitted() const {
    PutSums sums;
    for (const HandedOver& dump : uncommitted_) {
        ++sums.dumps;
        sums.bytes += dump.put_bytes;
    }
    return sums;
}

std::uint64_t Flights::spill_bytes() {
    spills_.clear();
    std::uint64_t bytes = 0;
    for (const Flight& flight : flights_) {
        if (flight.task == nullptr || flight.most_bytes == 0) continue;
        spills_.emplace_back(flight.dump, flight.most_bytes);
        bytes += flight.most_bytes;
    }
    return bytes;
}

std::uint64_t Flights::place_spills(const ledger::Book& book,
                                    std::span<const std::uint64_t> of_ranks) {
    std::uint64_t all = 0, before = 0;
    for (std::size_t r = 0; r < of_ranks.size(); ++r) {
        all += of_ranks[r];
        if (static_cast<int>(r) < session_.rank) before += of_ranks[r];
    }
    const std::uint64_t begin =
        store::align_up(book.file_end() + 2 * all + store::k_least_hole_bytes);
    session_.spill_begin = begin;
    session_.spill_end = begin + all;
    std::uint64_t at = begin + before;
    for (const auto& [dump, bytes] : spills_) {
        Flight* const flight = find(dump);
        if (flight != nullptr && flight->task != nullptr)
            static_cast<DumpSink&>(*flight->task->sink)
                .take_spill({session_.rank, dump, at, bytes, 0});
        at += bytes;
    }
    return at;
}

void Flights::end_spills() {
    for (const Flight& flight : flights_)
        if (flight.task != nullptr) static_cast<DumpSink&>(*flight.task->sink).end_spill();
}

bool Flights::any_at_work(const ledger::Ledger* ledger) const {
    return std::any_of(flights_.begin(), flights_.end(), [&](const Flight& flight) {
        return flight.task != nullptr && (ledger == nullptr || flight.ledger == ledger) &&
               flight.task->phase.load(std::memory_order_acquire) != run::DumpPhase::finished;
    });
}

Flight* Flights::find(std::uint64_t dump) {
    const auto found = std::find_if(flights_.begin(), flights_.end(),
                                    [&](const Flight& flight) { return flight.dump == dump; });
    return found == flights_.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> Flights::iteration_of(std::uint64_t dump) const {
    const auto found = iterations_.find(dump);
    return found == iterations_.end() ? std::nullopt : std::optional(found->second);
}

bool Flights::has_dumped(std::uint64_t iteration) const {
    return std::any_of(iterations_.begin(), iterations_.end(),
                       [&](const auto& entry) { return entry.second == iteration; });
}

void Flights::begin_after(const std::vector<std::uint64_t>& iterations) {
    before_.insert(iterations.begin(), iterations.end());
    if (!iterations.empty()) last_before_ = iterations.back();
}

// --------------------------------------------------------------------------------- what is learned

// What the dump was planned to be beside what it was. Its plan is the first that was made with the
// time that takes; those that came after reality had departed from it do not flatter it.
void Flights::harvest_plan(run::DumpTask& task) {
    const run::Plan& plan = task.plans.first_whole();
    const double end_s = task.last_write_end_s.load();
    outcomes_.dump_ended(task.dump, plan.iteration_s, plan.end_s, end_s > 0.0 ? end_s : plan.end_s);
    if (!session_.traces()) return;
    const auto note = [&](const char* kind, const std::string& name, double begin_s, double until_s,
                          std::uint64_t bytes) {
        session_.plan_trace.add({kind, name, begin_s, until_s, task.iteration, bytes});
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

// What was predicted of each block beside what it was, for `caesura report`.
void Flights::trace_blocks(const Flight& flight, const run::DumpTask& task) {
    if (!session_.traces()) return;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 0; i < task.n_jobs; ++i) {
        const run::Job& job = task.jobs[i];
        const bool overflowed = job.state.load() == run::JobState::overflowed;
        session_.outcome_trace.add(
            {"block",
             job.label,
             flight.handed_over_s,
             task.finished_s.load(),
             task.iteration,
             job.stored_bytes,
             0,
             {{"raw_bytes", static_cast<double>(job.valid_bytes())},
              {"predicted_bytes", job.expected_bytes},
              {"predicted_compress_s", job.expected_compress_s},
              {"compress_s", job.compress_s > 0.0 ? job.compress_s : nan},
              {"predicted_write_s", job.expected_write_s},
              {"overflowed", overflowed ? 1.0 : nan},
              {"error_over_bound",
               job.absolute_bound > 0.0 ? job.max_error / job.absolute_bound : nan}}});
    }
}

// When this rank's part of a dump was durable, and what it took of what was reserved for it.
void Flights::trace_written(const Flight& flight, const run::DumpTask& task,
                            const ledger::Overflow& overflow) {
    if (!session_.traces()) return;
    const bool is_first = !flight.features.empty();  // else blocks that come back from an overflow
    std::uint64_t unused_bytes = 0;
    const auto& sink = static_cast<const DumpSink&>(*task.sink);
    for (const Extent& tail : sink.tails()) unused_bytes += tail.bytes;
    session_.outcome_trace.add(
        {"written",
         "written",
         flight.handed_over_s,
         task.finished_s.load(),
         task.iteration,
         0,
         0,
         {{"reserved_bytes", is_first ? static_cast<double>(flight.reserved_bytes) : 0.0},
          {"unused_bytes", is_first ? static_cast<double>(unused_bytes) : 0.0},
          {"overflow_blocks", static_cast<double>(overflow.blocks)},
          {"overflow_bytes", static_cast<double>(overflow.stored_bytes)}}});
}

void Flights::learn_job(const Flight& flight, std::size_t index, const run::Job& job) {
    const predict::Features& features = flight.features[index];
    FieldState& field = fields_[flight.job_fields[index]];
    const double values = static_cast<double>(features.values);
    if (values > 0.0)
        field.times.learn(features.values * size_of(job.dtype),
                          8.0 * static_cast<double>(job.stored_bytes) / values, job.compress_s,
                          features.mode, features.adaptive);
    field.sizes.learn(features, job.stored_bytes);
    WriterReport& totals = session_.totals;
    ++totals.blocks;
    totals.raw_bytes += job.valid.count() * size_of(job.dtype);
    totals.fallback_blocks += job.fell_back;
    totals.raw_blocks += job.stored_raw;
    tables_.count_block(field, job.statistics.bytes());
    if (job.absolute_bound > 0.0 && std::isfinite(job.max_error))
        totals.max_error_over_bound =
            std::max(totals.max_error_over_bound, job.max_error / job.absolute_bound);
}

void Flights::learn_writes() {
    const plan::Obstacles& recorded = executor_.observer().recorded();
    for (const run::WriteSample& sample : executor_.take_write_samples()) {
        session_.experience->write_model.learn(sample.bytes, sample.write_s);
        const double begin_s = sample.begin_s - session_.iteration_begin_s;
        for (const plan::Interval& obstacle : recorded.write) {
            const double overlap_s = std::min(obstacle.end_s, begin_s + sample.write_s) -
                                     std::max(obstacle.begin_s, begin_s);
            session_.totals.write_interference_s += std::max(0.0, overlap_s);
        }
    }
}

}  // namespace caesura::writer
