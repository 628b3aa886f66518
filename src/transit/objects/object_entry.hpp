// What an ObjectStore knows of one object. Under the store's mutex.
#pragma once

#include <optional>

#include "transit/objects/far_memory.hpp"
#include "transit/objects/object_store.hpp"

namespace caesura::transit {

struct ObjectStore::Region {
    Box box;
    std::optional<Range> range;
    std::shared_ptr<const MemoryValues> memory;
    std::shared_ptr<const DeviceValues> device;  ///< a copy, which may be lost
    std::shared_ptr<const SunkValues> sunk;
    std::shared_ptr<const FarValues> far;
    std::shared_ptr<const FileValues> file;                     ///< it was persisted
    bool rounded = false;                                       ///< a bound was spent on its values
    std::optional<store::ChunkRecord> record;                   ///< of its chunk in a file
    bool leaving = false;                                       ///< memory
    std::list<std::pair<ObjectId, RegionId>>::iterator used{};  ///< if it is in memory
    std::list<std::pair<ObjectId, RegionId>>::iterator device_used{};  ///< if it has a copy
    bool lies_on_device() const { return device && !device->block()->memory().is_lost(); }
    std::uint64_t bytes(DType dtype) const { return box.extent.count() * size_of(dtype); }
    /// Where it lies; 0: it is not known.
    std::uint64_t stored_bytes(DType dtype) const {
        if (memory) return memory->bytes().size();
        if (lies_on_device()) return device->block()->bytes();
        if (sunk) return sunk->bytes();
        if (far) return bytes(dtype);
        return record ? record->bytes : 0;
    }
    /// Where its values lie, the quickest first; null: nowhere.
    std::shared_ptr<const RegionValues> values() const {
        if (memory) return memory;
        if (lies_on_device()) return device;
        if (far) return far;
        return kept();
    }
    /// Where they lie on a disk.
    std::shared_ptr<const RegionValues> kept() const {
        if (sunk) return sunk;
        return file;
    }
    /// Nothing is lost when it leaves memory.
    bool lies_elsewhere() const { return sunk || file; }
};

struct ObjectStore::Object {
    ObjectId id = 0;
    Origin origin = Origin::put;
    std::string container, name, owner;
    DType dtype = float32;
    Shape shape;
    double time = 0.0;
    ErrorBound bound;
    std::vector<Tag> tags;
    std::map<RegionId, Region> regions;
    std::vector<ResultInfo> results;  ///< the latest last
    // put
    std::uint64_t client = 0;  ///< who made it; 0: it is kept
    bool guest = false;
    std::shared_ptr<const RegionForm> form;  ///< null: values lie as they were put
    RegionId next_region = 0;
    // dumped or filed
    std::shared_ptr<base::FileSystem> files;  ///< of who has named it
    // dumped
    store::RunId run{};
    store::DatasetSpec spec;
    struct Found {
        std::optional<lambda::AnalysisState> state;  ///< none: it has no room
        std::uint64_t values = 0;
        StateShare share;
    };
    std::map<std::string, Found> found;  ///< by call, until all values have been seen
    bool is_unseen = false;  ///< blocks came twice, or were not analysed: no state says all
    // filed
    std::list<ObjectId>::iterator used{};  ///< in filed_used_
    std::uint64_t filed_bytes = 0;         ///< what it takes, regions included
    std::optional<Unlisted> unlisted;
    /// Of its file.
    std::string source_key() const { return ObjectStore::source_key(owner, container); }

    RegionPlace place_of(const Region& region) const {
        if (region.memory) return RegionPlace::memory;
        if (region.lies_on_device()) return RegionPlace::device;
        if (region.sunk) return RegionPlace::sink;
        if (region.far) return RegionPlace::member;
        return region.file || region.record || origin == Origin::filed ? RegionPlace::file
                                                                       : RegionPlace::passing;
    }
    std::string key() const {
        std::string key = owner;
        key += '\0';
        key += container;
        key += '\0';
        return key + name;
    }
};

inline bool is_inside(const Box& box, const Shape& shape) {
    if (box.extent.rank() != shape.rank() || box.offset.rank() != shape.rank()) return false;
    for (int axis = 0; axis < shape.rank(); ++axis)
        if (box.extent[axis] < 1 || box.offset[axis] > shape[axis] ||
            box.extent[axis] > shape[axis] - box.offset[axis])
            return false;
    return true;
}

}  // namespace caesura::transit
