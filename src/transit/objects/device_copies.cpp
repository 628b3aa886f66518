// Copies of regions in the memory of devices.
#include <algorithm>

#include "transit/objects/object_entry.hpp"

namespace caesura::transit {

// That which has the most room.
DeviceMemory* ObjectStore::device_for(std::uint64_t bytes) const {
    const auto free_bytes = [](const DeviceMemory& device) {
        return device.most_bytes() - std::min(device.most_bytes(), device.used_bytes());
    };
    DeviceMemory* best = nullptr;
    for (const auto& device : devices_)
        if (!device->is_lost() && device->most_bytes() >= bytes &&
            (best == nullptr || free_bytes(*device) > free_bytes(*best)))
            best = device.get();
    return best;
}

ObjectStore::DeviceRoom ObjectStore::room_on_device(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    DeviceMemory* const device = device_for(bytes);
    if (device == nullptr) return nullptr;
    // What is read just now keeps its room: so what has been given up is counted here.
    std::uint64_t free_bytes = device->most_bytes() - device->used_bytes();
    for (auto it = device_used_.begin(); it != device_used_.end() && free_bytes < bytes;) {
        Region& region = objects_.at(it->first)->regions.at(it->second);
        ++it;
        if (&region.device->block()->memory() != device) continue;
        free_bytes += region.device->block()->bytes();
        leave_device(region);
    }
    return device->claim(bytes);
}

ObjectStore::DeviceRoom ObjectStore::free_room_on_device(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    DeviceMemory* const device = device_for(bytes);
    return device != nullptr ? device->claim(bytes) : nullptr;
}

// @param copy  written.
void ObjectStore::add_copy(Object& object, RegionId id, Region& region, DeviceBlock copy) {
    leave_device(region);  // one that is lost
    region.device = std::make_shared<const DeviceValues>(region.box, object.dtype, std::move(copy),
                                                         region.kept(), object.form);
    region.device_used = device_used_.insert(device_used_.end(), {object.id, id});
}

void ObjectStore::leave_device(Region& region) {
    if (!region.device) return;
    device_used_.erase(region.device_used);
    region.device.reset();
}

// Others are not driven out by what is only read: a scan of a large object would leave nothing.
bool ObjectStore::wants_copy(const Region& region, std::uint64_t bytes) const {
    if (region.lies_on_device() || memory_bytes_ + bytes <= limits_.memory_bytes) return false;
    const DeviceMemory* const device = device_for(bytes);
    return device != nullptr && device->used_bytes() + bytes <= device->most_bytes();
}

}  // namespace caesura::transit
