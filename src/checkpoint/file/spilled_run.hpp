// Test support: a run whose checkpoints follow from their ids, so that another process knows what
// they must be.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "caesura/checkpoint_file.hpp"
#include "caesura/checkpointer.hpp"
#include "checkpoint/small_machine.hpp"

namespace caesura::checkpoint {

constexpr std::uint64_t k_values = 5000;  // of checkpoint::small_machine()

inline plan::CheckpointProfile machine(std::uint64_t cache_bytes = 128'000) {
    plan::CheckpointProfile profile = checkpoint::small_machine(cache_bytes);
    profile.header_bytes = 4096;
    return profile;
}

/// A quarter of them is noise, which is sent raw; the others are a wave, which shrinks.
inline std::vector<float> values_of(std::uint64_t id, unsigned seed) {
    std::mt19937_64 random(seed * 1'000'003u + id);
    std::vector<float> values(k_values);
    const bool noise = random() % 4 == 0;
    for (std::uint64_t i = 0; i < k_values; ++i) {
        const double wave = std::sin(0.003 * static_cast<double>(i) + static_cast<double>(id));
        values[i] = noise ? static_cast<float>(random()) * 1e-10f
                          : std::round(1000.0f * static_cast<float>(wave)) / 1000.0f;
    }
    return values;
}

/// Device, file and Checkpointer of one process.
class SpilledRun {
  public:
    SpilledRun(unsigned seed, const plan::CheckpointProfile& expected,
               device::Coder coder = device::Coder::codec)
        : seed_(seed), expected_(expected), device_(checkpoint::device_of(expected, 5e9, coder)) {}

    Status begin(Result<std::shared_ptr<CheckpointFile>> file, CheckpointerOptions options = {}) {
        if (!file.ok()) return file.status();
        options.store = *std::move(file);
        auto made = Checkpointer::create(device_, expected_, options);
        if (made.ok()) checkpointer_ = *std::move(made);
        return made.status();
    }
    Status make(std::uint64_t id, double interval_s = 20e-6) {
        device_.work(interval_s);
        const std::vector<float> values = values_of(id, seed_);
        return checkpointer_->checkpoint(id, std::as_bytes(std::span(values)).data());
    }
    /// What is wrong with it; empty if every value lies within the bound.
    std::string wrong(std::uint64_t id, double bound = 0.0) {
        const std::vector<float> made = values_of(id, seed_);
        std::vector<float> back(k_values, -1e30f);
        const Status status =
            checkpointer_->restore(id, std::as_writable_bytes(std::span(back)).data());
        if (!status.ok()) return status.message();
        for (std::size_t i = 0; i < k_values; ++i)
            if (!(std::abs(static_cast<double>(back[i]) - static_cast<double>(made[i])) <= bound))
                return "checkpoint " + std::to_string(id) + " value " + std::to_string(i) + " is " +
                       std::to_string(back[i]) + " and was " + std::to_string(made[i]);
        return {};
    }
    Checkpointer& operator*() { return *checkpointer_; }
    Checkpointer* operator->() { return checkpointer_.get(); }
    /// Destroys the Checkpointer and its file.
    void end() { checkpointer_.reset(); }
    device::EmulatedDevice& device() { return device_; }

  private:
    unsigned seed_;
    plan::CheckpointProfile expected_;
    device::EmulatedDevice device_;
    std::unique_ptr<Checkpointer> checkpointer_;
};

}  // namespace caesura::checkpoint
