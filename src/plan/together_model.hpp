// One application, one cache and one link, as checkpoints are handled: the model of
// plan/together.hpp, step by step. Planning and playing take the same steps.
//
// Invariants:
//  - Queues are lists that share their tails in one arena: a state costs what its last step added.
//  - Numbers have been validated.
#pragma once

#include <algorithm>

#include "plan/together.hpp"

namespace caesura::plan {

/// One buffer on its way to the host.
struct Carried {
    double end_s = 0.0;  ///< when all of it has been carried
    double bytes = 0.0;
    std::int32_t before = -1;  ///< the buffer before it; -1: none
};

struct Moment {
    double application_s = 0.0;
    double link_s = 0.0;      ///< when all that is queued has been carried
    std::int32_t queue = -1;  ///< the newest buffer
};

class TogetherModel {
  public:
    explicit TogetherModel(const CheckpointProfile& profile)
        : profile_(profile),
          cache_(static_cast<double>(profile.cache_bytes)),
          checkpoint_(static_cast<double>(profile.checkpoint_bytes)),
          header_(static_cast<double>(profile.header_bytes)) {}

    Moment begin(const TogetherStart& start) {
        Moment now;
        for (const QueuedBuffer& buffer : start.queued) {
            arena_.push_back({buffer.end_s, buffer.bytes, now.queue});
            now.queue = static_cast<std::int32_t>(arena_.size()) - 1;
            now.link_s = buffer.end_s;
        }
        return now;
    }
    double checkpoint_bytes() const { return checkpoint_; }
    double compressed_bytes(std::size_t i) const {
        return static_cast<double>(profile_.compressed_bytes[i]);
    }
    /// Can so much be compressed at once, the queue empty?
    bool fits(double raw_bytes, double compressed_bytes) const {
        return 2.0 * raw_bytes + header_ + compressed_bytes <= cache_;
    }

    /// Checkpoint i is made and copied to the cache, beside what is held.
    void arrive(Moment& now, std::size_t i, double held_bytes) const {
        now.application_s += profile_.intervals_s[i];
        wait_for(now, held_bytes + checkpoint_);
    }
    void compress(Moment& now, double raw_bytes, double compressed_bytes) {
        wait_for(now, 2.0 * raw_bytes + header_ + compressed_bytes);
        now.application_s += compress_s(profile_.compress_curve, raw_bytes);
        if (profile_.copy_bytes_per_s > 0.0)
            now.application_s += compressed_bytes / profile_.copy_bytes_per_s;
        queue(now, compressed_bytes);
    }
    void queue(Moment& now, double bytes) {
        const double begin_s = std::max(now.link_s, now.application_s);
        now.link_s = begin_s + bytes / profile_.link_bytes_per_s;
        arena_.push_back({now.link_s, bytes, now.queue});
        now.queue = static_cast<std::int32_t>(arena_.size()) - 1;
    }
    /// The buffer that was queued last is nobody's: its state is not kept.
    void forget_newest() { arena_.pop_back(); }

    /// Whatever b's application does next, a's can do too, no later: it is nowhere later, and at
    /// no moment from b's on is more of its cache taken.
    bool dominates(const Moment& a, const Moment& b) const {
        if (a.application_s > b.application_s || a.link_s > b.link_s) return false;
        double used_a = 0.0, used_b = 0.0;
        std::int32_t of_b = b.queue;
        for (std::int32_t n = a.queue; n >= 0 && at(n).end_s > b.application_s; n = at(n).before) {
            used_a += at(n).bytes;  // until this buffer's end
            for (; of_b >= 0 && at(of_b).end_s >= at(n).end_s; of_b = at(of_b).before)
                used_b += at(of_b).bytes;
            if (used_a > used_b) return false;
        }
        return true;
    }

  private:
    const Carried& at(std::int32_t n) const { return arena_[static_cast<std::size_t>(n)]; }
    /// Until so much of the cache is not taken by buffers that wait for the link.
    void wait_for(Moment& now, double bytes) const {
        double used = 0.0;
        for (std::int32_t n = now.queue; n >= 0 && at(n).end_s > now.application_s;
             n = at(n).before) {
            used += at(n).bytes;
            if (used + bytes > cache_) {
                now.application_s = at(n).end_s;
                return;
            }
        }
    }

    const CheckpointProfile& profile_;
    double cache_, checkpoint_, header_;
    std::vector<Carried> arena_;
};

/// Errors: those of together().
Status validate(const CheckpointProfile& profile, const TogetherStart& start);

}  // namespace caesura::plan
