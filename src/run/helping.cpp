// Who writes: the write lane as the owner of blocks that it has given away, and as the helper of
// another rank of its node. node_share.hpp says why no block can be lost.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "run/executor.hpp"

namespace caesura::run {

// Compressed: to where the helper sees it. What does not go there is written here.
void Executor::keep_for_helper(Job& job) {
    if (const auto kept = options_.share->keep(job.share, job.stored.bytes()))
        job.stored = base::Buffer::view(*kept);
    else
        job.share.helper = -1;
}

// Without room in the regions the block waits for the next collective in memory of its own.
bool Executor::overflow(Job& job) {
    auto own = pool_.take(job.stored.size());
    if (!own.ok()) {
        fail(own.status());
        return false;
    }
    std::memcpy(own->data(), job.stored.data(), job.stored.size());
    job.stored = std::move(*own);
    options_.share->drop_pages(job.share);
    job.state.store(JobState::overflowed, std::memory_order_release);
    return true;
}

// Compressed blocks for others get their place in the file, and their helper is told.
void Executor::offer(DumpTask& dump) {
    for (const std::uint32_t index : dump.write_order) {
        Job& job = dump.jobs[index];
        if (job.state.load(std::memory_order_acquire) != JobState::compressed ||
            job.share.helper < 0 || job.share.offered)
            continue;
        const std::uint64_t bytes = job.stored.size();
        const auto placed = dump.sink->place(job, options_.share->front(job.share),
                                             options_.share->back(job.share, bytes));
        if (!placed.ok()) return fail(placed.status());
        if (!*placed) {
            if (!overflow(job)) return;
            continue;
        }
        options_.share->offer(job.share, bytes, (*placed)->address, (*placed)->front_bytes,
                              (*placed)->back_bytes, clock_.now_s());
    }
}

void Executor::given_is_written(DumpTask& dump, Job& job) {
    budget_.release(job.stored.size());
    job.stored = base::Buffer();
    options_.share->drop_pages(job.share);
    dump.last_write_end_s.store(clock_.now_s(), std::memory_order_relaxed);
    job.state.store(JobState::written, std::memory_order_release);
    progress_event_.raise();
}

// Takes in what helpers have finished. `wait_s`: until the first claimed block is overdue.
void Executor::settle(DumpTask& dump, double& wait_s) {
    const double now_s = clock_.now_s();
    std::uint64_t claimed_bytes = 0;
    double oldest_claim_s = now_s;
    for (std::size_t i = 0; i < dump.n_jobs; ++i) {
        Job& job = dump.jobs[i];
        Share& share = job.share;
        if (job.state.load(std::memory_order_acquire) != JobState::compressed || !share.offered)
            continue;
        const NodeShare::Phase phase = options_.share->phase(share);
        if (phase == NodeShare::Phase::done) given_is_written(dump, job);
        if (phase != NodeShare::Phase::claimed) continue;
        if (share.claimed_since_s < 0.0) share.claimed_since_s = now_s;
        claimed_bytes += share.bytes;
        oldest_claim_s = std::min(oldest_claim_s, share.claimed_since_s);
    }
    // A helper writes what it has claimed in one go.
    dump.claim_patience_s =
        options_.share->settings().claim_timeout_s + 10.0 * dump.write_cost.seconds(claimed_bytes);
    if (claimed_bytes > 0)
        wait_s = std::min(wait_s, std::max(1e-3, oldest_claim_s + dump.claim_patience_s - now_s));
}

// With nothing of its own left to write, the owner writes what nobody has begun, and what was begun
// too long ago. From the end of the line: the helper works from its front.
bool Executor::write_given(DumpTask& dump, double& wait_s) {
    NodeShare& share = *options_.share;
    const double now_s = clock_.now_s();
    for (std::size_t i = dump.n_jobs; i-- > 0;) {
        Job& job = dump.jobs[dump.write_order[i]];
        if (job.state.load(std::memory_order_acquire) != JobState::compressed || !job.share.offered)
            continue;
        const NodeShare::Phase phase = share.phase(job.share);
        const bool overdue = phase == NodeShare::Phase::claimed &&
                             job.share.claimed_since_s >= 0.0 &&
                             now_s - job.share.claimed_since_s >= dump.claim_patience_s;
        if (phase != NodeShare::Phase::offered && phase != NodeShare::Phase::failed && !overdue)
            continue;
        const double bytes[] = {static_cast<double>(job.share.bytes)};
        const double in_iteration_s = now_in_iteration_s();
        plan::WriteView view = view_of(bytes, dump.write_cost, in_iteration_s,
                                       dump.is_due.load(std::memory_order_acquire));
        view.oldest_wait_s = now_s - job.share.offered_s;
        const plan::WriteDecision decision = decide_write(view);
        if (decision.take == 0) {
            if (decision.wait_until_s >= 0.0)
                wait_s = std::min(wait_s, std::max(1e-4, decision.wait_until_s - in_iteration_s));
            return false;
        }
        if (phase == NodeShare::Phase::offered && !share.take_back(job.share)) continue;
        const double begin_s = clock_.now_s();
        if (Status status = share.write_own(job.share); !status.ok()) {
            fail(status.with_context(job.label));
            return true;
        }
        note_write(job.share.bytes, begin_s, "write", job.label + " (taken back)", dump.iteration);
        helped_.taken_back_blocks.fetch_add(1, std::memory_order_relaxed);
        given_is_written(dump, job);
        return true;
    }
    return false;
}

// Nothing of this rank's own can be written now: what others of the node have for it.
bool Executor::help_neighbours(double& wait_s) {
    if (!options_.share || write_lane_.cannot_help || stopping_.load(std::memory_order_acquire))
        return false;
    std::vector<NodeShare::Offer> offers = options_.share->offers();
    if (offers.empty()) return false;
    std::vector<double> bytes(offers.size());
    std::transform(offers.begin(), offers.end(), bytes.begin(),
                   [](const NodeShare::Offer& offer) { return static_cast<double>(offer.bytes); });
    const double now_s = now_in_iteration_s();
    const plan::WriteView view = view_of(bytes, write_lane_.last_cost, now_s, false);
    const plan::WriteDecision decision = decide_write(view);
    if (decision.take == 0) {
        if (decision.wait_until_s >= 0.0)
            wait_s = std::min(wait_s, std::max(1e-4, decision.wait_until_s - now_s));
        return false;
    }
    const auto claimed =
        options_.share->claim(std::span(offers).subspan(decision.first, decision.take));
    if (claimed.empty()) return true;  // their owner was quicker: look again
    const double begin_s = clock_.now_s();
    std::uint64_t total = 0;
    for (const NodeShare::Offer& offer : claimed) total += offer.bytes;
    Status status;
    for (const NodeShare::Offer& offer : claimed)
        if (status.ok()) status = options_.share->write(offer);
    if (status.ok()) note_help(claimed, total, begin_s);
    if (status.ok()) status = options_.share->sync(claimed);
    options_.share->complete(claimed, status.ok());
    // An error is the owner's to meet: it writes the same and gets the same, or has better luck.
    // Whoever could not help once does not offer to again.
    write_lane_.cannot_help = !status.ok();
    return true;
}

void Executor::note_help(std::span<const NodeShare::Offer> claimed, std::uint64_t bytes,
                         double begin_s) {
    const int owner = claimed.front().owner;
    const auto& names = options_.share->settings().names;
    note_write(
        bytes, begin_s, "write",
        fmt::format("{} {} of rank {}", claimed.size(), claimed.size() == 1 ? "block" : "blocks",
                    names[static_cast<std::size_t>(owner)]),
        0);
    helped_.blocks.fetch_add(claimed.size(), std::memory_order_relaxed);
    helped_.bytes.fetch_add(bytes, std::memory_order_relaxed);
}

// After the end of the lanes: nobody begins what this rank has still on offer.
void Executor::withdraw_offers() {
    if (!options_.share) return;
    for (const auto& dump : dumps_.dumps())
        for (std::size_t i = 0; i < dump->n_jobs; ++i)
            if (dump->jobs[i].share.offered) (void)options_.share->take_back(dump->jobs[i].share);
}

}  // namespace caesura::run
