// What one dump consists of: its groups, datasets and attributes.
#pragma once

#include "caesura/store.hpp"

namespace caesura::store {

struct GroupSpec {
    std::string path;  ///< absolute; missing parents are made
    std::vector<Attribute> attributes;
    /// Of a record without particles: what it would have values of. Its attribute "value" is a zero
    /// of this type.
    std::optional<DType> zero_of = {};
    friend bool operator==(const GroupSpec&, const GroupSpec&) = default;
};

/// A few values that are known when the dump is handed over: a dataset of one axis without chunks
/// or filters. They lie in the manifest, and come into the file with the commit.
struct ArraySpec {
    std::string path;       ///< absolute; missing parents are made
    AttributeValue values;  ///< a list of float64 or uint64
    std::vector<Attribute> attributes;
    friend bool operator==(const ArraySpec&, const ArraySpec&) = default;
};

/// Where the blocks of a dataset that an application has made belong, for `recover`.
struct PlacedIn {
    std::uint64_t header = 0;  ///< where its object header lies; 0: not known
    std::uint64_t blocks = 0;  ///< of this dump, over all ranks
    int rank = 0;              ///< its axes in HDF5
    /// Which of them shape and chunk have. One less than these where their last axis counts the
    /// members of a compound type, which are all in each chunk.
    std::vector<int> axes;
    friend bool operator==(const PlacedIn&, const PlacedIn&) = default;
};

/// Everything HDF5 has to know about one dump besides its chunks. It also lies in rank 0's region
/// (as JSON) so that `recover` can finish a dump from the file alone.
struct DumpManifest {
    std::uint64_t dump = 0;       ///< sequence number, from 0, the unit of commit
    std::uint64_t iteration = 0;  ///< the application's own number
    /// An application's dump is finished by `recover` only if the file was closed
    /// (closed_tree.hpp); datasets then only say what blocks belong to.
    TreeOwner tree = TreeOwner::caesura;
    std::vector<Attribute> root;  ///< of the root group; written while that has none yet
    /// Of the root group, in place of what it has: by a run that goes on with the file.
    std::vector<Attribute> root_set = {};
    std::vector<GroupSpec> groups;
    std::vector<DatasetSpec> datasets;  ///< ChunkRecord::dataset indexes this
    std::vector<ArraySpec> arrays;
    std::vector<PlacedIn> placed_in;  ///< of an application's: one a dataset, or none
    friend bool operator==(const DumpManifest&, const DumpManifest&) = default;
};

/// The manifest as it will lie in a region.
std::string encode_manifest(const DumpManifest& manifest);
Result<DumpManifest> decode_manifest(std::string_view text);

}  // namespace caesura::store
