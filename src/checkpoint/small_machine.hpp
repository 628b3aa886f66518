// S2's machine and its synthetic checkpoints, small enough for tests.
#pragma once

#include <cstring>
#include <random>

#include "caesura/device.hpp"
#include "device/parcel.hpp"
#include "plan/together.hpp"

namespace caesura::checkpoint {

/// S2's generator: (ratio - 1) / ratio of the values are zero. The others are random, so that they
/// cannot be compressed.
inline std::vector<std::byte> synthetic(std::mt19937_64& random, std::uint64_t bytes,
                                        double ratio) {
    std::vector<std::uint32_t> values((bytes + 3) / 4);
    const auto full = static_cast<std::size_t>(static_cast<double>(values.size()) / ratio);
    for (std::size_t i = 0; i < full; ++i) values[i] = static_cast<std::uint32_t>(random());
    std::vector<std::byte> made(bytes);
    std::memcpy(made.data(), values.data(), bytes);
    return made;
}

/// S2's machine, everything but times a hundred times smaller.
inline plan::CheckpointProfile small_machine(std::uint64_t cache_bytes = 1'280'000) {
    plan::CheckpointProfile profile;
    profile.checkpoint_bytes = 20'000;
    profile.compress_curve = {{1e3, 34e-6 + 1e3 / 5.5e9}, {2e7, 34e-6 + 2e7 / 5.5e9}};
    profile.link_bytes_per_s = 250e6;
    profile.cache_bytes = cache_bytes;
    profile.header_bytes = device::parcel_bytes_at_most(cache_bytes / 40'000, 0);
    profile.copy_bytes_per_s = 5e9;
    return profile;
}

inline device::EmulatedDevice device_of(const plan::CheckpointProfile& profile,
                                        double copy_bytes_per_s = 5e9,
                                        device::Coder coder = device::Coder::codec) {
    return *device::EmulatedDevice::create(
        {profile.cache_bytes,
         profile.link_bytes_per_s,
         copy_bytes_per_s,
         [curve = profile.compress_curve](double bytes) { return plan::compress_s(curve, bytes); },
         {},
         coder});
}

}  // namespace caesura::checkpoint
