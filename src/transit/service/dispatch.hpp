// Between the service's clients and its devices: which device does a block, what waits where, and
// what is learned from it.
//
// Invariants:
//  - A block is placed when it comes, by what is known then; each device has a queue of its own, by
//    weight (Press). Device 0 is the host's cores. A device that is free takes a block out of
//    another's queue if it will have it done sooner.
//  - A block that fails on a device goes to the host's cores, and the device pauses.
//  - Workers at idle priority touch atomics alone. The choice, and what is learned, are under a
//  lock
//    that only threads of normal priority take.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "transit/devices/device.hpp"
#include "transit/service/press.hpp"
#include "transit/service/probe.hpp"
#include "where/placer.hpp"
#include "where/utilisation.hpp"

namespace caesura::transit {

class Dispatch;

/// A block to encode, on whichever device.
class Encoding : public Work {
  public:
    explicit Encoding(base::BufferPool& pool) : pool_(pool) {}

    run::Job job;
    const DatasetCodec* recipe = nullptr;  ///< null: the host alone
    Result<run::Encoded> encoded = Status(StatusCode::internal, "not encoded");
    double compress_s = 0.0;  ///< CPU time on the host, the device's time elsewhere
    std::string device = "cpu";
    bool for_another_service = false;  ///< it goes to no third one
    double done_s = Due::k_never_s;    ///< of the steady clock: when it should be encoded

    void compute() final;
    void give_up() final;

  protected:
    /// Any thread.
    virtual bool is_wanted() const = 0;
    /// Once, before it is encoded, its values dense (run::dense_values); on the thread that will.
    /// It may throw bad_alloc. Not called where there is no memory to gather them.
    virtual void look() {}
    /// It is encoded, or `encoded` says why not; the last call. Any thread.
    virtual void ready() = 0;
    base::BufferPool& pool_;

  private:
    friend class Dispatch;
    void prepare();
    void on_host();
    void on_device();
    void leave();
    Dispatch* dispatch_ = nullptr;
    std::uint64_t client_ = 0;
    double weight_ = 1.0, cost_ = 0.0;
    where::Request request_;
    where::Decision decision_;
    bool looked_ = false;
    base::Buffer gathered_;  ///< where the job's values are, if they were not dense
    std::size_t place_ = 0;  ///< the device that it is given to now
    bool failed_ = false;    ///< on the device that was chosen
    int moves_ = 0;          ///< from one queue to another
    Status failure_;
    double given_s_ = 0.0, begun_s_ = 0.0, ended_s_ = 0.0, utilisation_ = 0.0;
    std::int64_t expected_us_ = 0;
    DeviceParts parts_;
};

/// What was decided and what came of it, for the trace.
struct Placed {
    std::string label, variant, field;
    std::uint64_t bytes = 0, result_bytes = 0;
    where::Decision decision;
    double result_s_per_byte =
        0.0;  ///< what the result costs where it goes, as predictions have it
    bool failed = false;
    std::string why;         ///< it failed
    std::size_t device = 0;  ///< that has done it
    bool moved = false;      ///< another one than was chosen, because it was free
    double given_s = 0.0, begun_s = 0.0, ended_s = 0.0;
    where::Run run;
};

struct DeviceStatus {
    std::string name;
    std::uint64_t blocks = 0, bytes = 0, failures = 0;
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
    void give(std::uint64_t client, double weight, double cost, Encoding& work);
    void forget(std::uint64_t client);
    /// As Press::stop(), of the devices.
    void stop();
    /// So long it took to write so much of what came out: a larger result costs more. A lane.
    void wrote(std::uint64_t bytes, double seconds);
    /// A lane, once: what became of it is learned.
    void learn(Encoding& work);
    std::vector<DeviceStatus> status() const;
    /// Blocks that wait at devices beside the host, or are on one.
    std::size_t waiting() const;
    double host_utilisation() const;
    /// Of the device that has done it.
    double utilisation_of(const Encoding& work) const;
    /// Are the samples known on all devices? True without Options::probe.
    bool is_probed() const;

  private:
    friend class Encoding;
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
        std::uint64_t blocks = 0, bytes = 0;
        std::deque<double> errors;
        bool is_calibrated = false;
    };
    std::vector<where::Present> present(const Encoding& work, double now_s) const;
    void move(Encoding& work, std::size_t to, double expected_s);
    void enter(Encoding& work, std::size_t place, double expected_s);
    void go_to_host(Encoding& work);
    void start_probes();
    void learn_probes();
    double help(std::size_t free);
    Encoding* take_for(std::size_t free, std::size_t busy, double now_s);
    bool is_sooner(const Encoding& work, std::size_t free, std::size_t busy, double now_s);

    const Options options_;
    mutable where::HostUtilisation sampled_;
    std::vector<std::unique_ptr<Probe>> probes_;  ///< outlive the workers; of each place
    std::vector<std::unique_ptr<Place>> places_;
    mutable std::mutex mutex_;
    where::Placer placer_;
    double write_s_per_byte_ = 0.0;  ///< by the last writes
};

/// "caesura:auto float32 absolute": what a device's times are kept by.
std::string variant_of(const DatasetCodec& codec);

}  // namespace caesura::transit
