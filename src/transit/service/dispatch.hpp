// Between the service's clients and its devices: which device does a block, or analyses a region,
// what waits where, and what is learned from it. Of what is said of blocks here, the same holds of
// regions to analyse.
//
// Invariants:
//  - A block is placed when it comes, by what is known then; each device has a queue of its own, by
//    weight (Press). Device 0 is the host's cores. A device that is free takes a block out of
//    another's queue if it will have it done sooner.
//  - A block that fails on a device goes to the host's cores, and the device pauses.
//  - Workers at idle priority touch atomics alone. The choice, and what is learned, are under a
//    lock that only threads of normal priority take.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "transit/service/encoding.hpp"
#include "transit/service/probe.hpp"
#include "where/utilisation.hpp"

namespace caesura::transit {

/// What was decided and what came of it, for the trace.
struct Placed {
    std::string function;  ///< "compress", or an analysis's name
    std::string label, variant, field;
    std::uint64_t bytes = 0, result_bytes = 0;
    where::Decision decision;
    double result_s_per_byte =
        0.0;             ///< what the result costs where it goes, as predictions have it
    std::string lay_on;  ///< the device whose memory had the values; empty: none
    bool failed = false;
    std::string why;         ///< it failed
    std::size_t device = 0;  ///< that has done it
    bool moved = false;      ///< another one than was chosen, because it was free
    double given_s = 0.0, begun_s = 0.0, ended_s = 0.0;
    where::Run run;
};

struct DeviceStatus {
    std::string name;
    std::uint64_t blocks = 0, regions = 0, failures = 0;  ///< compressed; analysed
    std::uint64_t bytes = 0;                              ///< of blocks and regions
    std::size_t waiting = 0;
    double utilisation = 0.0, paused_s = 0.0;  ///< of the pause that is left
    double to_bytes_per_s = 0.0, from_bytes_per_s = 0.0;
    double error = 0.0;  ///< median |took / predicted - 1| of its last blocks
};

class Dispatch {
  public:
    struct Options {
        where::PlacerOptions placer;
        int host_threads = 1;
        /// The host's cores do only what no device can, or what has failed there.
        bool host_last = false;
        const base::Clock* clock = &base::Clock::steady();
        /// Compress samples on each device before anything else.
        bool probe = false;
        /// Of the host's cores by others; empty: as the system says.
        std::function<double(double now_s)> host_utilisation;
        /// Hears of every block; on the lane. May be empty.
        std::function<void(const Placed&)> trace;
    };
    /// @param host  the workers on the host's cores; outlives it.
    Dispatch(Press& host, Options options, std::vector<std::unique_ptr<BlockDevice>> devices);
    ~Dispatch() { stop(); }

    /// A lane.
    void give(std::uint64_t client, double weight, double cost, PlacedWork& work);
    void forget(std::uint64_t client);
    /// As Press::stop(), of the devices.
    void stop();
    /// So long it took to write so much of what came out: a larger result costs more. A lane.
    void wrote(std::uint64_t bytes, double seconds);
    /// A lane, once: what became of it is learned.
    void learn(PlacedWork& work);
    std::vector<DeviceStatus> status() const;
    /// Blocks that wait at devices beside the host, or are on one.
    std::size_t waiting() const;
    double host_utilisation() const;
    /// Of the device that has done it.
    double utilisation_of(const PlacedWork& work) const;
    /// Works that devices beside the host do at the same time.
    std::size_t at_once_beside() const;
    /// Are the samples known on all devices? True without Options::probe.
    bool is_probed() const;

  private:
    friend class PlacedWork;
    struct Place {
        std::unique_ptr<BlockDevice> device;  ///< null: the host
        std::unique_ptr<Press> own_press;
        Press* press = nullptr;
        int at_once = 1;
        // Of those that are given to it and not done.
        std::atomic<std::size_t> waiting{0};
        std::atomic<std::int64_t> expected_us{0};
        std::atomic<double> running_since_s{-1.0};
        // Under the lock.
        std::uint64_t blocks = 0, regions = 0, bytes = 0;
        std::deque<double> errors;
        bool is_calibrated = false;
    };
    std::vector<where::Present> present(const PlacedWork& work, double now_s) const;
    bool has_choice(const PlacedWork& work) const;
    void move(PlacedWork& work, std::size_t to, double expected_s);
    void enter(PlacedWork& work, std::size_t place, double expected_s);
    void go_to_host(PlacedWork& work);
    void start_probes();
    void learn_probes();
    double help(std::size_t free);
    PlacedWork* take_for(std::size_t free, std::size_t busy, double now_s);
    bool is_sooner(const PlacedWork& work, std::size_t free, std::size_t busy, double now_s);

    const Options options_;
    mutable where::HostUtilisation sampled_;
    std::vector<std::unique_ptr<Probe>> probes_;  ///< outlive the workers; of each place
    std::vector<std::unique_ptr<Place>> places_;
    mutable std::mutex mutex_;
    where::Placer placer_;
    double write_s_per_byte_ = 0.0;  ///< by the last writes
};

}  // namespace caesura::transit
