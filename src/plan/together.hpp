// Many small checkpoints of one GPU: which are sent raw, which are compressed, and which are held
// so that several are compressed together.
//
// The model (S2 §II, §III-A), all in seconds of one application and bytes of one cache:
//  - The application works intervals_s[i], then checkpoint i waits until checkpoint_bytes of the
//    cache are free, and is copied there in no time.
//  - U: it is queued for the link as it is. A: it is held. C: it is compressed, X: it and all that
//    are held are compressed together. Compressing x bytes waits until a temporary buffer of
//    x + header_bytes and a buffer of the compressed size are free as well, then stops the
//    application for compress_s(x) and for as long as copying the result takes; then raw and
//    temporary bytes are free, the rest is queued.
//  - The link carries one buffer after the other at link_bytes_per_s; a buffer's bytes are free
//    when all of it has been carried.
//  - The last checkpoint is not held.
//
// While something is held nothing overtakes it: only A or X may follow an A. So checkpoints reach
// the host in their order, and what a killed run has left there is a beginning of it without gaps.
// What that costs is measured in docs/evidence/checkpoints.md.
//
// Invariants: pure functions of plain numbers; no clock, no thread, no device.
#pragma once

#include "caesura/plan.hpp"

namespace caesura::plan {

struct TogetherPlan {
    std::string word;                ///< a letter a checkpoint: U, C, A, X
    double flush_end_s = 0.0;        ///< the last byte has reached the host
    double application_end_s = 0.0;  ///< the last checkpoint is handled
    bool exact = true;               ///< no better word exists in the model
};

/// A buffer that waits for the link, or is on it.
struct QueuedBuffer {
    double end_s = 0.0;  ///< when all of it will have been carried
    double bytes = 0.0;
};

/// What a run is in the middle of when the profile begins; times from there.
struct TogetherStart {
    /// Held already, and what it is expected to shrink to.
    std::uint64_t held_bytes = 0, held_compressed_bytes = 0;
    std::vector<QueuedBuffer> queued;  ///< ascending end_s
};

/// What is to be soonest. The other one settles between words that are equal in this.
enum class Goal {
    /// All at the host: for who waits for it, be it a dump, a reader, or the end of a job. It is
    /// what S2's algorithm returns, and with what the application works taken off its throughput.
    at_host,
    /// The application has handled the last checkpoint and goes on, whatever the link still has to
    /// carry: for who has other work to do then, and the cache to spare.
    application_done,
};

/// The word that reaches the goal soonest; never later than all raw, nor than each compressed.
///
/// @param states  states kept for each number of handled checkpoints: where more are not dominated,
///                those that promise most are kept, and the plan is not exact. 0: 256 for up to 20
///                checkpoints, 16 for more.
/// @return  Errors: invalid_argument (numbers that are negative or not finite, lengths that differ,
///          an empty or unsorted curve, a cache smaller than a checkpoint, more held than can be
///          compressed), naming index and value.
/// Calls: independent, pure, thread-safe. For n checkpoints, k that fit the cache together with
/// their temporary buffer, s states: O(n k s^2) time at worst, O(n s) memory.
/// Source: S2-Alg1, corrected (docs/evidence/papers.md). Differs: a buffer leaves the cache when it
/// has been carried, waiting for the cache is counted, and states are kept for all pairs of times
/// that no other dominates. Dominance assumes nothing of sizes or of the curve: a state that is
/// nowhere later, and at no moment has less of the cache free, can do whatever the other does, no
/// later.
Result<TogetherPlan> together(const CheckpointProfile& profile, const TogetherStart& start = {},
                              std::size_t states = 0, Goal goal = Goal::at_host);

/// What a word comes to in the model. Errors: as together(); invalid_argument also for a word that
/// is not legal (other letters, another length, U or C while something is held, an A at the end,
/// more held than can be compressed), naming the position.
Result<TogetherPlan> play(const CheckpointProfile& profile, std::string_view word,
                          const TogetherStart& start = {});

/// U for every checkpoint; and C for every one, U where compressing does not fit the cache.
Result<TogetherPlan> send_all_raw(const CheckpointProfile& profile);
Result<TogetherPlan> compress_each(const CheckpointProfile& profile);

}  // namespace caesura::plan
