// Where: the device on which a function on data will have its result first.
//
// Invariants:
//  - Plain numbers in, plain numbers out; no clock, no thread, no chance.
//  - A trial from which a loss is to be feared is made only while all losses by trials stay below a
//    share of the time of all that was served, and a first allowance. Beyond it goes only what
//    trials took longer than feared.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace caesura::plan {

/// What is known of a function's time on a device.
enum class Known : std::uint8_t {
    nothing,
    other_sizes,  ///< from runs of smaller or larger data: may be wrong by any factor
    like_sizes,
};

/// A device for one request. Times in seconds; a device cannot take the request where one is
/// infinite.
struct Candidate {
    double to_device_s = 0.0;  ///< from where the data are; 0: they are there
    double queue_s = 0.0;      ///< what has been given to it and is not done
    /// At its present utilisation. Known::nothing: what it may take at worst, such as the bytes
    /// over a rate that every device reaches.
    double compute_s = 0.0;
    double hoped_s = 0.0;        ///< Known::other_sizes: what it may be at best
    double from_device_s = 0.0;  ///< to where the result goes
    Known known = Known::nothing;
};

/// Source: S4-Eq1. Differs: what waits on the device counts too, not its utilisation alone.
double latency_s(const Candidate& candidate);

struct WhereRules {
    /// Of the time of all that was served: so much may be lost by trying.
    double loss_share = 0.01;
    double first_loss_s = 0.02;
    /// How many times the best latency a device may take of which nothing is known.
    double untried_factor = 4.0;
    /// A device that was not chosen for so many requests is tried again, and after each vain trial
    /// only after twice as many.
    std::uint32_t stale_requests = 64;
    /// It may have become so many times quicker, not more: where that would still not make it the
    /// best, or what the trial costs is more than all requests till the next would gain, it is not
    /// tried.
    double hoped_factor = 4.0;
};

struct Where {
    std::size_t device = 0;
    double predicted_s = 0.0;  ///< 0: nothing was known of this device
    bool is_trial = false;     ///< not the best as far as is known: to learn
    double best_s = 0.0;       ///< the least that was predicted; 0: nothing was known
    double expected_loss_s = 0.0;
    bool is_again = false;  ///< a trial of what is known, because it was long ago
};

/// The choice for one function; devices are known by their place in the list, the same in all
/// calls.
class Chooser {
  public:
    explicit Chooser(const WhereRules& rules = {}) : rules_(rules) {}
    /// The least predicted latency of the devices of which most is known, or a trial of another.
    /// nullopt: no device can take it.
    std::optional<Where> choose(std::span<const Candidate> candidates);
    /// What a chosen device took. Charges a trial.
    void done(const Where& where, double took_s);
    /// Another device has done it: what was feared of a trial is not lost.
    void withdrawn(const Where& where);
    /// Lost by trials so far, and what may be lost.
    double lost_s() const { return lost_s_; }
    double allowed_loss_s() const { return rules_.first_loss_s + rules_.loss_share * served_s_; }

  private:
    struct Device {
        std::uint64_t passed_over = 0;  ///< requests since it was last chosen
        std::uint64_t patience = 0;     ///< it is tried again after so many
    };
    bool is_worth_it(double seconds, double best_s, std::uint64_t requests) const;
    std::optional<Where> trial(std::span<const Candidate> candidates, const Where& best) const;

    WhereRules rules_;
    std::vector<Device> devices_;
    double served_s_ = 0.0, lost_s_ = 0.0;
};

}  // namespace caesura::plan
