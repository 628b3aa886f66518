// Something that Dispatch places on a device: a block to encode, a region to analyse.
//
// Invariants:
//  - It is done once: on the device that was chosen, on one that took it over while it waited, or
//    on the host's cores after the device has failed. ready() is the last call.
//  - What a device that fails leaves behind must not show: the host begins anew.
#pragma once

#include <string>

#include "transit/devices/device.hpp"
#include "transit/service/press.hpp"
#include "where/placer.hpp"

namespace caesura::transit {

class Dispatch;

class PlacedWork : public Work {
  public:
    std::string device = "cpu";        ///< that has done it, for people
    bool for_another_service = false;  ///< it goes to no third one
    double done_s = Due::k_never_s;    ///< of the steady clock: when it should be done

    void compute() final;
    void give_up() final;
    /// On the device that has done it, without waiting.
    double service_s() const { return ended_s_ - begun_s_; }

  protected:
    /// Of the time on the thread: until values that lie on a device were in the host's memory.
    double fetched_s_ = 0.0;

    /// What it is, for the choice and the trace.
    struct What {
        std::string function = "compress";  ///< or an analysis's name
        std::string variant, field;         ///< as where::DeviceRecord knows them
        std::string label;
        std::uint64_t bytes = 0;
        bool is_written = false;      ///< its result goes on to the file
        bool is_like_samples = true;  ///< what samples took says something of it
        /// The device whose memory has the values; empty: none has them.
        std::string lies_on;
        bool is_in_memory = true;  ///< the host's has them too
    };
    virtual What what() const = 0;
    /// The host alone can do it, and no device is asked.
    virtual bool is_the_hosts() const { return false; }
    virtual bool is_taken_by(const BlockDevice& there) const = 0;
    /// Any thread.
    virtual bool is_wanted() const = 0;
    // On the thread that does it. They may throw bad_alloc.
    /// Once, before all else. @return  seconds of it that are no part of the work.
    virtual double prepare(const base::Clock&) { return 0.0; }
    virtual void on_host() = 0;
    virtual void on_device(BlockDevice& there, DeviceParts& parts) = 0;
    /// How that ended.
    virtual Status outcome() const = 0;
    virtual std::uint64_t result_bytes() const = 0;
    /// It has ended so.
    virtual void end_with(Status status) = 0;
    /// Nobody computes any more: what only computing needed may go.
    virtual void tidy() {}
    /// It is done, or outcome() says why not; the last call. Any thread.
    virtual void ready() = 0;

  private:
    friend class Dispatch;
    void leave();
    Dispatch* dispatch_ = nullptr;
    std::uint64_t client_ = 0;
    double weight_ = 1.0, cost_ = 0.0;
    What what_;
    where::Request request_;
    where::Decision decision_;
    bool prepared_ = false;
    std::size_t place_ = 0;  ///< the device that it is given to now
    bool failed_ = false;    ///< on the device that was chosen
    int moves_ = 0;          ///< from one queue to another
    Status failure_;
    double given_s_ = 0.0, begun_s_ = 0.0, ended_s_ = 0.0, utilisation_ = 0.0;
    std::int64_t expected_us_ = 0;
    DeviceParts parts_;
};

}  // namespace caesura::transit
