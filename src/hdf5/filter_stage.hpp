// One filter of a pipeline that a plugin does, with the cd_values of its dataset; and what takes a
// block back through several of them.
//
// Invariants:
//  - No HDF5 call: what apply() may do beside is in hdf5_filter_plugin.hpp.
#pragma once

#include "hdf5/hdf5_filter_plugin.hpp"

namespace caesura::hdf5 {

struct FilterStage {
    const FilterPlugin* plugin = nullptr;
    bool reentrant = true;  ///< FilterTraits::reentrant
    std::vector<unsigned> cd_values;
    unsigned builtin_id = 0;  ///< where there is no plugin (builtin_filters.hpp; decodes only)

    /// Of a plugin. Throws std::bad_alloc. @param values  cd_values, or others for the same filter.
    bool apply(Direction direction, std::span<const unsigned> values, FilterBuffer& buffer) const;
};

/// Takes `stored` back through the stages that the mask does not skip, the last one first.
/// Throws std::bad_alloc. Errors: corrupt (a filter refuses it; a mask that names more stages than
/// there are; not the bytes of `chunk`).
Status decode_stages(std::span<const FilterStage> stages, std::span<const std::byte> stored,
                     std::uint32_t filter_mask, std::span<std::byte> chunk);

/// The chunk of a block that no filter has changed. Errors: corrupt (another size).
Status copy_raw(std::span<const std::byte> stored, std::span<std::byte> chunk);

/// A mask that skips so many stages.
constexpr std::uint32_t mask_of_all(std::size_t stages) {
    return stages < 32 ? (std::uint32_t{1} << stages) - 1 : ~std::uint32_t{0};
}

}  // namespace caesura::hdf5
