// What HDF5 knows about a file: datasets, attributes, and where each chunk lies.
//
// Invariant: linear in the number of chunks on every HDF5 version. H5Dget_chunk_info walks the
// index from the start for each chunk; instead H5Dread_chunk, whose look-up is direct, is called
// with the driver watching: it notes the address and reads nothing.
#pragma once

#include "caesura/store.hpp"
#include "store/placing_driver.hpp"

namespace caesura::store {

struct FoundDataset {
    DatasetSpec spec;
    std::vector<ChunkRecord> chunks;   ///< row-major; dump, dataset and checksum are 0
    std::vector<std::string> members;  ///< of a compound type (compound_type.hpp)
    bool big_endian = false;
    std::vector<std::byte> fill;  ///< one value
    bool contiguous = false;      ///< in one piece: one chunk, of the dataset's shape
};

struct Hdf5Content {
    std::vector<Attribute> root;
    std::vector<FoundDataset> datasets;        ///< of floats or compounds of them, 1 to 4 axes
    std::vector<std::string> others;           ///< paths of the rest
    std::vector<OtherDataset> other_datasets;  ///< of which these can be read through HDF5
    std::vector<GroupInfo> groups;             ///< all but the root
    std::uint64_t other_bytes = 0;             ///< raw data of the rest, and of contiguous datasets
};

/// A dataset of integers (also enumerations of them, such as bool) or of floats of any width, with
/// 1 to 4 axes; nullopt for others. Attributes are not read, the iteration is not known.
std::optional<OtherDataset> describe_other(hid_t dataset, const std::string& path);

/// The filters of a dataset creation property list.
std::vector<FilterSpec> read_pipeline(hid_t creation);

/// A file that is open read-only on a placing state.
class OpenedForReading {
  public:
    /// @param state  outlives it. Errors: corrupt (not HDF5, or damaged), io.
    static Result<OpenedForReading> open(PlacingState& state, const std::string& path);
    /// Attributes of the root group. Errors: corrupt.
    Result<std::vector<Attribute>> root() const;
    /// Names of the groups in a group; none if there is no such group. Errors: corrupt, no_space.
    Result<std::vector<std::string>> groups_in(const std::string& group) const;
    /// Everything below a group, an absolute path; its root is empty. Errors: corrupt, no_space.
    Result<Hdf5Content> below(const std::string& group) const;

  private:
    PlacingState* state_ = nullptr;
    Handle file_;
};

/// Open read-only on `state` and list everything. Errors: corrupt (not HDF5, or damaged), io.
Result<Hdf5Content> read_hdf5(PlacingState& state, const std::string& path);

}  // namespace caesura::store
