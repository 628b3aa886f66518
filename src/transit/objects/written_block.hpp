// For tests: a block of a device's memory that is claimed and written at once.
#pragma once

#include "transit/objects/device_memory.hpp"

namespace caesura::transit {

/// Errors: no_space (there is no room, or the device is lost), those of write().
inline Result<std::shared_ptr<const DeviceMemory::Block>> written_block(
    DeviceMemory& memory, std::span<const std::byte> bytes) {
    auto block = memory.claim(bytes.size());
    if (!block) return Status{StatusCode::no_space, "no room is claimed in " + memory.name()};
    if (Status status = block->write(bytes); !status.ok()) return status;
    return std::shared_ptr<const DeviceMemory::Block>(std::move(block));
}

}  // namespace caesura::transit
