// Samples that a service compresses on each of its devices when it starts, so that the first blocks
// of its clients need not find out what a device takes.
//
// Invariants:
//  - The runs are the reader's once done() is true; before that they are the worker's, which takes
//    no lock.
//  - A sample that a device does not take, or fails at, says nothing, and is nobody's failure.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "transit/devices/device.hpp"
#include "transit/service/press.hpp"
#include "where/device_record.hpp"

namespace caesura::transit {

/// What is compressed: waves and noise, once small and once large.
class ProbeSamples {
  public:
    /// It may throw bad_alloc.
    ProbeSamples();
    struct Sample {
        DatasetCodec recipe;
        std::unique_ptr<BlockCodec> codec;
        void fill(run::Job& job) const;
        std::span<const float> values;
    };
    const std::vector<Sample>& samples() const { return samples_; }

  private:
    std::vector<float> values_;
    std::vector<Sample> samples_;
};

/// One device's.
class Probe final : public Work {
  public:
    /// @param device  null: the host's cores.
    Probe(std::shared_ptr<const ProbeSamples> samples, BlockDevice* device,
          std::function<double()> utilisation)
        : samples_(std::move(samples)), device_(device), utilisation_(std::move(utilisation)) {}
    void compute() override;
    void give_up() override;
    bool done() const { return done_.load(std::memory_order_acquire); }
    const std::vector<where::Run>& runs() const { return runs_; }

  private:
    std::optional<where::Run> run(const ProbeSamples::Sample& sample);

    std::shared_ptr<const ProbeSamples> samples_;  ///< until it is done
    BlockDevice* const device_;
    const std::function<double()> utilisation_;
    base::BufferPool pool_;
    std::vector<where::Run> runs_;
    std::atomic<bool> done_{false};
};

}  // namespace caesura::transit
