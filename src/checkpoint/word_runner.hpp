// Carries plans for checkpoints out on a device: raw, compressed, held, compressed together.
//
//     application ─► checkpoint(id, data) ─► copy into the pool ─► letter ─► U, C, X: link ─► host
//                                                                        └► A: held
//
// Invariants:
//  - What is held, temporary and queued shares one pool; its cap is never exceeded. A checkpoint
//    waits until there is room.
//  - Parcels reach the host in the order of their checkpoints: what is there is a beginning of the
//    run without gaps (docs/how/checkpoints.md).
//  - A compression needs room for what is held, as much again and a header. The held bytes are
//    given back before the result is copied into a buffer of its own size, so there is room for it.
//  - After an error no checkpoint is made, and every later call returns it.
//  - What the link carries is handed over by finish() and poll() all the same, up to the first
//    parcel that does not arrive.
#pragma once

#include <deque>

#include "checkpoint/host_bytes.hpp"
#include "device/pool.hpp"
#include "plan/horizon.hpp"

namespace caesura::checkpoint {

/// What has reached the host.
struct Arrived {
    std::vector<std::uint64_t> ids;  ///< of the checkpoints in it, in order
    bool compressed = false;         ///< a parcel (device/parcel.hpp); else one checkpoint as it is
    HostBytes bytes;
};

struct Executed {
    std::string word;         ///< what was done
    double stopped_s = 0.0;   ///< time of the application spent in here
    std::uint64_t waits = 0;  ///< for room in the cache
    std::uint64_t raw_bytes = 0, link_bytes = 0;
};

class WordRunner {
  public:
    /// Called from checkpoint(), finish() and poll(), in order. An error ends the run.
    using Arrival = std::function<Status(Arrived&&)>;

    /// @param expected  as HorizonPlanner wants it; cache_bytes is the pool's cap; header_bytes 0:
    ///                  what the device's parcels take.
    /// @param word      followed instead of planning, as far as it goes; may be empty.
    /// @param content   of a checkpoint, for the compressor.
    /// @param checkpoints  as HorizonPlanner wants it.
    /// @return  Errors: as HorizonPlanner::create and validate(content); invalid_argument
    ///          (header_bytes less than a parcel of as many as fit the cache adds).
    static Result<std::unique_ptr<WordRunner>> create(device::Device& device,
                                                      plan::CheckpointProfile expected,
                                                      std::string word, Arrival arrival,
                                                      device::Content content = {},
                                                      std::size_t checkpoints = 0);
    /// Waits for what the link still reads.
    ~WordRunner();
    WordRunner(const WordRunner&) = delete;
    WordRunner& operator=(const WordRunner&) = delete;

    /// @param data  checkpoint_bytes of the device; free again on return.
    /// Errors: those of device and planner; invalid_argument (an illegal letter of the word).
    Status checkpoint(std::uint64_t id, const std::byte* data);
    /// What is held goes, and everything reaches the host.
    Status finish();
    /// What has reached the host meanwhile is handed over. Does not wait.
    Status poll();

    const Executed& executed() const { return executed_; }
    /// On the link, or waiting for it: so many bytes of the host wait for them.
    std::uint64_t queued_bytes() const { return queued_bytes_; }
    /// This run, for the next one of the ensemble. What was sent raw is taken to shrink as what was
    /// compressed before it, or else after it, or else as expected.
    plan::CheckpointProfile recorded() const;
    const device::Pool& pool() const { return pool_; }
    /// Between the calls above, when nothing is held or queued, somebody else may use what is free.
    device::Pool& pool() { return pool_; }

  private:
    struct Queued {
        device::Transfer transfer = 0;
        std::byte* memory = nullptr;
        double end_s = 0.0;  ///< expected
        Arrived arrived;
    };
    WordRunner(device::Device& device, plan::HorizonPlanner planner,
               plan::CheckpointProfile expected, std::string word, Arrival arrival,
               device::Content content);
    Status sticky(Status status);
    Status make(std::uint64_t id, const std::byte* data);
    Result<char> decide(double interval_s);
    plan::HorizonNow now_with(double interval_s);
    std::uint64_t held_bytes() const { return held_.size() * expected_.checkpoint_bytes; }
    /// Waits until so much is free, and takes it.
    Result<std::byte*> take(std::uint64_t bytes);
    Status arrive_oldest();
    Status hand_over(bool waits);
    Status send_held_raw();
    Status compress_held();
    Status to_link(std::byte* memory, std::uint64_t bytes, Arrived arrived);

    device::Device& device_;
    plan::HorizonPlanner planner_;
    plan::CheckpointProfile expected_;
    std::string word_;
    Arrival arrival_;
    device::Content content_;
    device::Pool pool_;
    Status error_;
    struct Held {
        std::uint64_t id = 0;
        std::byte* memory = nullptr;
    };
    std::vector<Held> held_;
    std::deque<Queued> queued_;
    std::vector<plan::QueuedBuffer> seen_;  ///< queued_ as the planner wants it
    std::uint64_t queued_bytes_ = 0;
    bool has_gap_ = false;   ///< a parcel was not taken: those behind it may not follow
    double link_s_ = 0.0;    ///< expected end of all that is queued
    double left_s_ = 0.0;    ///< when the application was last given back the device
    double copied_s_ = 0.0;  ///< the last copy into the cache; counts as its own time
    std::vector<double> intervals_s_;
    std::vector<double> shares_;  ///< [checkpoints made] compressed of raw; 0: sent raw
    Executed executed_;
};

}  // namespace caesura::checkpoint
