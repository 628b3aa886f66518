// What every device must do, whatever it is made of: the same checks for the emulated one and a
// GPU's. Without a test framework, so that they run where there is none (device_bench.cpp);
// device_suite_test.cpp runs them under GoogleTest.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "caesura/device.hpp"

namespace caesura::checkpoint {

struct DeviceCheck {
    std::string name;
    /// @return what is wrong; empty: nothing.
    std::function<std::string(device::Device&)> run;
};

/// Each begins and ends with nothing allocated in the device, which needs 64 MB. Of one that
/// compresses in packed frames the bytes are held against the host's.
std::vector<DeviceCheck> device_suite();

}  // namespace caesura::checkpoint
