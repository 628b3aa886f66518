#include "hdf5/filter_stage.hpp"

#include <fmt/format.h>

#include <cstring>

#include "hdf5/builtin_filters.hpp"

namespace caesura::hdf5 {

Status copy_raw(std::span<const std::byte> bytes, std::span<std::byte> chunk) {
    if (bytes.size() != chunk.size()) {
        return {StatusCode::corrupt, fmt::format("a block decodes to {} bytes instead of {}",
                                                 bytes.size(), chunk.size())};
    }
    std::memcpy(chunk.data(), bytes.data(), bytes.size());
    return {};
}

bool FilterStage::apply(Direction direction, std::span<const unsigned> values,
                        FilterBuffer& buffer) const {
    if (reentrant) return plugin->apply(direction, values, buffer);
    const std::lock_guard lock(plugin->serialise());
    return plugin->apply(direction, values, buffer);
}

Status decode_stages(std::span<const FilterStage> stages, std::span<const std::byte> stored,
                     std::uint32_t filter_mask, std::span<std::byte> chunk) {
    const std::uint32_t all = mask_of_all(stages.size());
    if ((filter_mask & ~all) != 0) {
        return {StatusCode::corrupt,
                fmt::format("filter mask {:#x} names more than the {} filters of the pipeline",
                            filter_mask, stages.size())};
    }
    if (filter_mask == all) return copy_raw(stored, chunk);
    FilterBuffer buffer(stored);
    for (std::size_t i = stages.size(); i-- > 0;) {
        if (filter_mask & (std::uint32_t{1} << i)) continue;
        const FilterStage& stage = stages[i];
        // An error code of the plugin's library comes back as a size; no stage grows a block by
        // more than this, so do not let the next stage run over the end.
        constexpr std::size_t k_growth_bytes = 1u << 16;
        const bool done = stage.plugin != nullptr
                              ? stage.apply(Direction::decode, stage.cd_values, buffer)
                              : decode_builtin(stage.builtin_id, stage.cd_values,
                                               chunk.size() + k_growth_bytes, buffer);
        if (!done) {
            return {StatusCode::corrupt,
                    fmt::format("HDF5 filter {} cannot decode a block of {} bytes",
                                stage.plugin != nullptr ? stage.plugin->id() : stage.builtin_id,
                                stored.size())};
        }
        if (buffer.bytes().size() > 2 * chunk.size() + k_growth_bytes) break;
    }
    return copy_raw(buffer.bytes(), chunk);
}

}  // namespace caesura::hdf5
