// What writes took: their sums, and the last ones singly, for the write model and for the
// interference that they caused. The write lane notes, the application's thread takes.
//
// Invariants: neither waits for the other; of what is not taken in time the oldest are lost.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

namespace caesura::run {

/// A finished write.
struct WriteSample {
    std::uint64_t bytes = 0;
    double begin_s = 0.0;  ///< of the clock
    double write_s = 0.0;
};

class WriteSamples {
  public:
    /// The write lane.
    void note(const WriteSample& sample) {
        const std::uint64_t number = writes_.load(std::memory_order_relaxed);
        Kept& kept = kept_[number % k_kept];
        // Released: who reads one of them sees that the samples before this one are written.
        kept.bytes.store(sample.bytes, std::memory_order_release);
        kept.begin_s.store(sample.begin_s, std::memory_order_release);
        kept.write_s.store(sample.write_s, std::memory_order_release);
        write_s_.store(write_s() + sample.write_s, std::memory_order_relaxed);
        writes_.store(number + 1, std::memory_order_release);
    }
    /// Samples since the last call. The application's thread.
    std::vector<WriteSample> take() {
        const std::uint64_t made = writes_.load(std::memory_order_acquire);
        const std::uint64_t first = std::max(taken_, oldest(made));
        std::vector<WriteSample> samples;
        for (std::uint64_t number = first; number < made; ++number) {
            const Kept& kept = kept_[number % k_kept];
            samples.push_back({kept.bytes.load(std::memory_order_acquire),
                               kept.begin_s.load(std::memory_order_acquire),
                               kept.write_s.load(std::memory_order_acquire)});
        }
        taken_ = made;
        // What was overwritten while it was copied may be of two writes.
        const std::uint64_t whole = oldest(writes_.load(std::memory_order_acquire));
        if (whole > first)
            samples.erase(samples.begin(),
                          samples.begin() + static_cast<long>(std::min(whole, made) - first));
        return samples;
    }
    std::uint64_t writes() const { return writes_.load(std::memory_order_relaxed); }
    double write_s() const { return write_s_.load(std::memory_order_relaxed); }

  private:
    static constexpr std::size_t k_kept = 256;
    /// The oldest sample that the lane, which may be at number `made`, does not write over.
    static std::uint64_t oldest(std::uint64_t made) {
        return made >= k_kept ? made - k_kept + 1 : 0;
    }
    struct Kept {
        std::atomic<std::uint64_t> bytes{0};
        std::atomic<double> begin_s{0.0}, write_s{0.0};
    };
    std::vector<Kept> kept_{k_kept};
    std::atomic<std::uint64_t> writes_{0};
    std::atomic<double> write_s_{0.0};
    std::uint64_t taken_ = 0;  // the application's thread
};

}  // namespace caesura::run
