// On which of some devices a request runs: plan's choice, fed by what the devices have taken, how
// busy they are, what waits at them, and where the data are.
//
// Invariants:
//  - The caller says what the time is and how busy devices are; nothing here waits or samples.
//  - A device that has failed gets nothing until its pause is over, each pause twice as long as the
//    one before. Device 0, the host's own cores, never fails.
//  - Device numbers are places in the order of add().
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "where/device_record.hpp"

namespace caesura::where {

/// How devices are compared.
enum class Rule : std::uint8_t {
    model,    ///< by predicted latency
    average,  ///< by the running average of each, as S4 does for synchronous calls
};

inline constexpr std::size_t k_host = std::numeric_limits<std::size_t>::max();

struct Request {
    std::string variant, field;  ///< as DeviceRecord knows them
    double bytes = 0.0;
    /// Where the values are and the result goes: the host's memory, or a device's.
    std::size_t from = k_host, to = k_host;
    bool is_on_host_too = false;  ///< `from` is a device, and nobody else has to fetch them there
    /// What the result's bytes cost where it goes, such as a disk's seconds a byte.
    double result_s_per_byte = 0.0;
    bool is_like_samples = true;  ///< calibrate()'s runs say something of it
};

/// A device as it is at this moment.
struct Present {
    bool takes_it = true;
    double utilisation = 0.0;       ///< 0 to 1, by other things
    std::size_t waiting = 0;        ///< requests that were given to it and are not done
    double waiting_s = 0.0;         ///< what these were expected to take, together
    double running_since_s = -1.0;  ///< by the clock: when the one that it is at began; < 0: none
};

/// One device's part in a decision.
struct Option {
    Expected expected;
    double utilisation = 0.0, queue_s = 0.0;
    double latency_s = 0.0;  ///< infinite: it cannot take the request now
};

struct Decision {
    std::size_t device = 0;
    plan::Where where;
    std::vector<Option> options;  ///< of each device
    double predicted_s() const { return where.predicted_s; }
    /// Of the device's time, without its queue: what the next in its queue will wait for.
    double service_s = 0.0;
};

struct PlacerOptions {
    Rule rule = Rule::model;
    plan::WhereRules rules{0.01, 0.05, 2.0, 64};
    double first_pause_s = 1.0, longest_pause_s = 60.0;
};

class Placer {
  public:
    explicit Placer(const PlacerOptions& options = {}) : options_(options) {}
    /// @param at_once  requests that it works on at the same time.
    void add(std::string name, int at_once);
    std::size_t devices() const { return devices_.size(); }
    const std::string& name(std::size_t device) const { return devices_[device].name; }

    /// @param present  of each device. nullopt: none can take it, not even the host.
    std::optional<Decision> choose(const Request& request, std::span<const Present> present,
                                   double now_s);
    /// A request is done. @param took_s  from choose() to the end, waiting included.
    void done(const Request& request, const Decision& decision, const Run& run, double took_s);
    /// What each device would take now, without choosing.
    std::vector<Option> options(const Request& request, std::span<const Present> present,
                                double now_s) const;
    /// A request was done by another device than the one chosen, which has taken `run`.
    void moved(const Request& request, const Decision& decision, std::size_t device,
               const Run& run);
    /// What a device took for a sample, of no client's: what is known of it until there is better.
    void calibrate(std::size_t device, const Run& run) { devices_[device].record.calibrate(run); }
    /// So long it took to bring so many bytes from the device to the host.
    void fetched(std::size_t device, double bytes, double seconds) {
        devices_[device].record.fetched(bytes, seconds);
    }
    /// A request that somebody else had chosen the device for.
    void teach(std::size_t device, const Request& request, const Run& run);
    /// A request has failed on the device, or its connection has.
    void failed(std::size_t device, double now_s);
    /// Until when it gets nothing; 0: it is fit.
    double paused_until_s(std::size_t device) const { return devices_[device].paused_until_s; }
    std::uint64_t failures(std::size_t device) const { return devices_[device].failures; }
    const DeviceRecord& record(std::size_t device) const { return devices_[device].record; }
    /// And what it may be, as plan::Chooser says; over all variants.
    double lost_by_trials_s() const;
    double allowed_loss_s() const;

  private:
    struct Device {
        std::string name;
        int at_once = 1;
        DeviceRecord record;
        double paused_until_s = 0.0, pause_s = 0.0;
        std::uint64_t failures = 0;
        /// Rule::average: seconds a byte, over all runs.
        std::uint64_t runs = 0;
        double average_s_per_byte = 0.0;
    };
    Option option(std::size_t device, const Request& request, const Present& present,
                  double now_s) const;
    std::optional<plan::Where> by_average(const Request& request,
                                          std::span<const Option> options) const;

    PlacerOptions options_;
    std::vector<Device> devices_;
    plan::Chooser& chooser_of(const std::string& variant);
    /// One for each variant: a device may be new to one and well known to another.
    std::map<std::string, plan::Chooser> choosers_;
};

/// How long a request waits that comes behind so many others.
/// @param at_once  requests that the device works on at the same time.
double queue_s(const Present& present, int at_once, double now_s);

}  // namespace caesura::where
