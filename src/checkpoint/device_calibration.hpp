// What a plan for checkpoints needs to know of a machine, measured on the device itself.
//
//     auto machine = calibrate(*device);             // a second or two
//     expected = machine->profile;                   // and checkpoint_bytes, cache_bytes, ...
//     plan::to_json(expected)                        // kept for the next run
#pragma once

#include "caesura/device.hpp"
#include "plan/together.hpp"

namespace caesura {

struct CalibrationOptions {
    std::uint64_t least_bytes = 1'000'000;   ///< compressed at once
    std::uint64_t most_bytes = 200'000'000;  ///< twice as much and a header must fit the device
    double ratio = 8.0;                      ///< of the data: all values but every so manieth are 0
    int repeats = 5;                         ///< the median of so many counts
};

struct DeviceCalibration {
    /// compress_curve and link_bytes_per_s; all else is the run's to say.
    plan::CheckpointProfile profile;
    double copy_bytes_per_s = 0.0;  ///< inside the device
};

/// Compresses 1, 2, 4, ... times least_bytes, as far as the device has room for, and carries the
/// most of it to the host. Seconds are those of the device's clock.
///
/// @return  Errors: invalid_argument (numbers that cannot be), no_space (not even least_bytes fit),
/// those of the device. Nothing is left in the device.
/// Calls: as the device.
Result<DeviceCalibration> calibrate(device::Device& device, const CalibrationOptions& options = {});

}  // namespace caesura
