// The standby thread: at normal priority, asleep until the pauses of the application are expected
// to be too short for what is left of a dump (plan/promptness.hpp). Then it compresses that, also
// what a starved worker has begun. If a dump comes close to the time by which it is to be written
// (decision D16), it also tells the write lane not to wait for obstacles.
//
// Invariants:
//  - Made by the application's thread, at whose priority it stays: without privileges a thread that
//    was lowered can never come back (priority.hpp).
//  - It sleeps on an event with a timeout: half of the time that is left, so that expectations that
//    change meanwhile are noticed, and a dump that is on time costs a few wake-ups. Whoever's work
//    makes another begin earlier wakes up by then, too: what it has said is as new.
//  - What is due is due together with what other executors of the process have (due_board.hpp).
//    They take turns, what is due first first, but none waits for its turn until it is too late.
//  - While it looks at dumps its Worker::at_dump is the first of them; asleep it is k_nowhere.
#include <algorithm>
#include <cmath>
#include <limits>

#include "plan/standby_policy.hpp"
#include "run/executor.hpp"

namespace caesura::run {
namespace {

constexpr double k_shortest_sleep_s = 1e-3;
/// A due block that nobody can take over: its codec is not reentrant and a worker is at it.
constexpr double k_look_again_s = 0.05;
/// Before it is due, a block that a worker is at is left to it until it has taken so many times
/// what was expected: a worker that has a core finishes its block itself.
constexpr double k_late = 3.0;

/// What a dump still needs, as its finished blocks have corrected the expectations.
plan::DueWork what_is_left(const DumpTask& dump) {
    const auto load = [](const std::atomic<double>& v) {
        return v.load(std::memory_order_relaxed);
    };
    plan::DueWork work;
    work.by_s = plan::done_by_s(dump.handed_over_s + dump.max_delay_s, dump.max_delay_s);
    if (!std::isfinite(dump.max_delay_s)) work.by_s = std::numeric_limits<double>::infinity();
    const double compress_scale =
        plan::scale_of(load(dump.compressed_s), load(dump.compressed_expected_s));
    const double write_scale = plan::scale_of(load(dump.written_s), load(dump.written_expected_s));
    for (std::size_t i = 0; i < dump.n_jobs; ++i) {
        const Job& job = dump.jobs[i];
        const JobState state = job.state.load(std::memory_order_acquire);
        if (state == JobState::waiting) {
            work.left_s += compress_scale * job.expected_compress_s;
            work.open |= !job.begun.load(std::memory_order_acquire) ||
                         (job.codec->reentrant() && !job.taken.load(std::memory_order_acquire));
        }
        if (state == JobState::waiting || state == JobState::compressed)
            work.left_s += write_scale * job.expected_write_s;
    }
    return work;
}

}  // namespace

// Those from the number returned on are not removed while at_dump stands: reclaim() reads
// written() first and at_dump second, here it is the other way round, and all four are in one
// order.
std::uint64_t Executor::hold_dumps(Worker& worker) {
    for (;;) {
        const std::uint64_t first = dumps_.written();
        worker.at_dump.store(first, std::memory_order_seq_cst);
        if (dumps_.written() == first) return first;
    }
}

// The dump's blocks go before everything else from now on.
void Executor::mark_due(DumpTask& dump) {
    if (dump.is_due.exchange(true, std::memory_order_acq_rel)) return;
    note_starved(dump);
    dump.plans.want();
    write_event_.raise();
}

// A block: one that nobody has begun, else one that a worker is at.
// @param late  of a worker that has taken so many times what was expected; 0: of any.
Job* Executor::job_to_take_over(DumpTask& dump, double late) {
    const auto& order =
        dump.plans.empty() ? dump.compress_order : dump.plans.current().compress_order;
    const double now_s = clock_.now_s();
    for (const std::uint32_t index : order) {
        Job& job = dump.jobs[index];
        if (!job.begun.load(std::memory_order_acquire) && begin(job, dump, now_s)) return &job;
    }
    return job_to_rescue(dump, now_s, late);
}

// The work of the dumps from `first` on, one by one. Dumps are written in their order: each is due
// with any that comes after it. Told to the other executors, and sorted together with theirs.
void Executor::look_at_work(std::uint64_t first) {
    auto& mine = standby_work_.mine;
    auto& all = standby_work_.all;
    mine.clear();
    for (std::uint64_t number = first; number < dumps_.submitted(); ++number)
        mine.push_back(what_is_left(*dumps_.at(number)));
    for (std::size_t i = mine.size(); i-- > 0;) {
        mine[i].whose = place_->number();
        if (i + 1 < mine.size()) mine[i].by_s = std::min(mine[i].by_s, mine[i + 1].by_s);
    }
    const auto promised = std::find_if(mine.begin(), mine.end(),
                                       [](const auto& work) { return !std::isfinite(work.by_s); });
    all.assign(mine.begin(), promised);
    if (place_->publish(all)) place_->wake_others();
    place_->add_others(all);
    std::sort(all.begin(), all.end(), plan::is_before);
}

// The first block to take over of the dump `first` + `last` and of those before it.
Job* Executor::first_to_take_over(std::uint64_t first, std::size_t last, DumpTask*& dump,
                                  double late) {
    for (std::uint64_t number = first; number <= first + last; ++number) {
        dump = dumps_.at(number);
        if (dump->all_compressed()) continue;
        // At this priority the quick plan: microseconds.
        improve(*dump, plan::Algorithm::ext_johnson_backfill,
                options_.trace ? &standby_.trace : nullptr);
        if (Job* const job = job_to_take_over(*dump, late)) return job;
    }
    return nullptr;
}

// @param wait_s  if there is nothing to take over: until it is to look again.
Job* Executor::due_job(std::uint64_t first, DumpTask*& dump, double& wait_s) {
    const double now_s = clock_.now_s();
    const bool hurry = hurry_.load(std::memory_order_acquire);
    look_at_work(first);
    bool open = false;
    for (std::size_t i = 0; i < standby_work_.mine.size(); ++i) {
        const plan::DueWork& work = standby_work_.mine[i];
        if (!hurry && !std::isfinite(work.by_s)) break;  // and so are those after it
        const plan::StandbyTurn turn = plan::turn_of(standby_work_.all, work);
        open |= work.open;
        if (!hurry && turn.begin_s > now_s) {
            const DumpTask& waiting = *dumps_.at(first + i);
            const double soon_s =
                open ? waiting.handed_over_s + plan::take_over_s(waiting.promptness, turn.left_s)
                     : std::numeric_limits<double>::infinity();
            if (soon_s <= now_s) {
                Job* const job =
                    turn.is_first ? first_to_take_over(first, i, dump, k_late) : nullptr;
                if (job != nullptr) return job;
                wait_s = std::min(wait_s, k_look_again_s);
            }
            const double begin_s = soon_s <= now_s ? turn.begin_s : std::min(soon_s, turn.begin_s);
            wait_s = std::min(wait_s, std::max(k_shortest_sleep_s, 0.5 * (begin_s - now_s)));
            continue;
        }
        // What is before it is written first.
        for (std::uint64_t due = first; due <= first + i; ++due) mark_due(*dumps_.at(due));
        if (!hurry && !turn.is_first && turn.alone_s > now_s) {
            wait_s = std::min(
                {wait_s, k_look_again_s, std::max(k_shortest_sleep_s, turn.alone_s - now_s)});
            continue;
        }
        if (Job* const job = first_to_take_over(first, i, dump, 0.0)) return job;
        wait_s = std::min(wait_s, k_look_again_s);
    }
    return nullptr;
}

void Executor::standby_loop() {
    base::TraceLane* const trace = options_.trace ? &standby_.trace : nullptr;
    while (!stopping_.load(std::memory_order_acquire)) {
        const std::uint32_t seen = standby_event_.count();
        double wait_s = base::Event::k_forever_s;
        if (!error_.happened()) {
            DumpTask* dump = nullptr;
            Job* const job = due_job(hold_dumps(standby_), dump, wait_s);
            if (job != nullptr) compress(*job, *dump, trace, &standby_.compress_s);
            standby_.at_dump.store(k_nowhere, std::memory_order_release);
            if (job != nullptr) continue;
        } else if (place_->publish({})) {
            place_->wake_others();  // nothing more will be done here
        }
        standby_event_.wait(seen, wait_s);
    }
}

void Executor::hurry() {
    hurry_.store(true, std::memory_order_release);
    standby_event_.raise();
}

}  // namespace caesura::run
