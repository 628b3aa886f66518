// How long a function on data takes on a device: what past runs say, by size and by how busy the
// device was.
//
// Invariants:
//  - A prediction is finite and > 0, and never falls when the bytes or the utilisation grow.
//  - What is predicted far from all runs is marked: it may be wrong by any factor.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <optional>

namespace caesura::predict {

/// One variant of a function on one device.
///
/// Source: S4-Eq2, t = b0 util^3 + b1 size^2 + b2 size + b3. Differs: util^3 multiplies, because a
/// busy device takes longer by a share, and is corrected by what runs at like utilisations took,
/// because a core that is shared slows down from the first per cent on; errors count as ratios,
/// because sizes span many magnitudes; no coefficient is negative, so that the curve rises; the
/// last runs of each size count, and a level that has changed for good is taken over at once.
/// Calls: not thread-safe.
class LatencyModel {
  public:
    LatencyModel();
    struct Latency {
        double seconds = 0.0;
        double spread = 0.0;  ///< standard deviation of ln(seconds)
        /// Runs of a like size have been seen. If not, `least_s` is what a trial may hope for: no
        /// more than the largest run so far took.
        bool near_runs = false;
        double least_s = 0.0;
    };
    /// @param utilisation  share of the time that the device was busy with other things, 0..1.
    /// What cannot be (seconds not above 0, anything not finite) is passed over.
    void learn(double bytes, double utilisation, double seconds);
    /// nullopt before the first run. O(1).
    std::optional<Latency> predict(double bytes, double utilisation) const;
    std::size_t runs() const { return seen_; }

  private:
    static constexpr std::size_t k_terms = 3;
    using Terms = std::array<double, k_terms>;
    struct Run {
        double bytes, utilisation, seconds;
        int magnitude;  ///< of the size: the last few runs of each are kept
    };
    static Terms terms_of(double bytes);
    double idle_s(double bytes) const;
    double slowdown(double utilisation) const;
    double level(double bytes, double utilisation) const;
    void follow(double surprise, int magnitude);
    void fit_sizes();
    void fit_load();
    void fit_busy();

    std::deque<Run> last_;  ///< oldest first
    std::size_t seen_ = 0;
    Terms coefficients_{};
    double load_;  ///< so many times longer, in addition, on a device that is wholly busy
    static constexpr std::size_t k_busy = 6;  ///< utilisations of 0, 0.2, ... 1
    std::array<double, k_busy> busy_{};       ///< ln(slowdown) there; rises
    double spread_ = 0.0;
    struct Surprise {
        double log_ratio;  ///< ln(seen / predicted)
        int magnitude;
    };
    /// Of the last runs, all of them too long or all too short.
    std::deque<Surprise> surprises_;
};

}  // namespace caesura::predict
