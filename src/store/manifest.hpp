// What one dump consists of: its groups, datasets and attributes.
#pragma once

#include "caesura/store.hpp"

namespace caesura::store {

struct GroupSpec {
    std::string path;  ///< absolute; missing parents are made
    std::vector<Attribute> attributes;
    friend bool operator==(const GroupSpec&, const GroupSpec&) = default;
};

/// Everything HDF5 has to know about one dump besides its chunks. It also lies in rank 0's region
/// (as JSON) so that `recover` can finish a dump from the file alone.
struct DumpManifest {
    std::uint64_t dump = 0;       ///< sequence number, from 0, the unit of commit
    std::uint64_t iteration = 0;  ///< the application's own number
    /// An application's dump is never finished by `recover`, which drops and reports it; datasets
    /// then only say what blocks belong to.
    TreeOwner tree = TreeOwner::caesura;
    std::vector<Attribute> root;  ///< of the root group; written while that has none yet
    std::vector<GroupSpec> groups;
    std::vector<DatasetSpec> datasets;  ///< ChunkRecord::dataset indexes this
    friend bool operator==(const DumpManifest&, const DumpManifest&) = default;
};

/// The manifest as it will lie in a region.
std::string encode_manifest(const DumpManifest& manifest);
Result<DumpManifest> decode_manifest(std::string_view text);

}  // namespace caesura::store
