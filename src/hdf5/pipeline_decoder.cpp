#include "hdf5/pipeline_decoder.hpp"

#include <fmt/format.h>

#include <new>

#include "hdf5/builtin_filters.hpp"
#include "hdf5/known_filters.hpp"

namespace caesura::hdf5 {
namespace {

Result<FilterStage> find_stage(const FilterSpec& filter, PluginsByFilter& plugins) {
    if (is_builtin(filter.id)) return FilterStage{nullptr, true, filter.cd_values, filter.id};
    if (filter.id < k_first_plugin_id) {
        return Status(
            StatusCode::unsupported,
            fmt::format("HDF5 filter {} ({}) is built into HDF5, and only HDF5 decodes it",
                        filter.id, filter.name));
    }
    const auto traits = find_traits(fmt::format("filter:{}", filter.id));
    if (!traits.ok()) return traits.status();
    auto plugin = plugins.find(filter.id);
    if (plugin == plugins.end())
        plugin = plugins.emplace(filter.id, FilterPlugin::find(filter.id, traits->name)).first;
    if (!plugin->second.ok()) return plugin->second.status();
    return FilterStage{*plugin->second, traits->reentrant, filter.cd_values, 0};
}

/// Whatever is wrong with stored bytes or cd_values, it is the file that is damaged.
Status as_damage(Status status) {
    const StatusCode code = status.code();
    if (code != StatusCode::invalid_argument && code != StatusCode::insufficient_data)
        return status;
    return {StatusCode::corrupt, status.message()};
}

}  // namespace

PipelineDecoder::PipelineDecoder(std::span<const FilterSpec> pipeline, PluginsByFilter& plugins)
    : missing_(pipeline.size()) {
    for (std::size_t i = 0; i < pipeline.size(); ++i) {
        const FilterSpec& filter = pipeline[i];
        stages_.emplace_back();
        if (filter.id != k_filter_id) {
            auto stage = find_stage(filter, plugins);
            if (stage.ok())
                stages_.back() = std::move(*stage);
            else
                missing_[i] = stage.status();
        } else if (pipeline.size() > 1) {
            missing_[i] = {StatusCode::unsupported,
                           fmt::format("HDF5 filter {} is one of {} filters, and is decoded only "
                                       "where it is alone",
                                       k_filter_id, pipeline.size())};
        } else if (auto settings = parse_cd_values(filter.cd_values); settings.ok()) {
            ours_ = std::move(*settings);
        } else {
            missing_[i] = settings.status();
        }
    }
}

bool PipelineDecoder::stores_values(std::uint32_t filter_mask) const {
    return filter_mask == mask_of_all(stages_.size());
}

bool PipelineDecoder::stores_frame(std::uint32_t filter_mask) const {
    return ours_.has_value() && filter_mask == 0;
}

Status PipelineDecoder::decode(std::span<const std::byte> stored, std::uint32_t filter_mask,
                               std::span<std::byte> chunk) const try {
    for (std::size_t i = 0; i < stages_.size(); ++i)
        if (!missing_[i].ok() && (filter_mask & (std::uint32_t{1} << i)) == 0) return missing_[i];
    if (stores_frame(filter_mask)) return as_damage(decode_chunk(*ours_, stored, chunk));
    return decode_stages(stages_, stored, filter_mask, chunk);
} catch (const std::bad_alloc&) {
    return {StatusCode::no_space,
            fmt::format("no memory to decode a block of {} bytes", chunk.size())};
}

}  // namespace caesura::hdf5
