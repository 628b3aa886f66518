// An application's own filters, see pipeline_codec.hpp.
//
// In CodecSpec::cd_values, for each filter: number, 1 if it is optional, how many values, values.
#include "hdf5/pipeline_codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>

#include "codec/bound/bound.hpp"
#include "hdf5/builtin_filters.hpp"
#include "hdf5/filter_stage.hpp"
#include "hdf5/known_filters.hpp"

namespace caesura::hdf5 {
namespace {

constexpr std::string_view k_pipeline = "pipeline";
constexpr std::size_t k_growth_bytes = 32;   // of a chunk that its filters make longer
constexpr std::size_t k_checksum_bytes = 4;  // which may follow deflate
constexpr std::size_t k_most_filters = 32;   // HDF5's mask has a bit for each

struct Stage {
    FilterStage filter;
    FilterTraits traits;  // of a plugin
    bool lossless = false;
};

Result<std::vector<FilterSpec>> filters_in(const CodecSpec& spec) {
    std::vector<FilterSpec> filters;
    std::span<const unsigned> words = spec.cd_values;
    while (words.size() >= 3 && words.size() - 3 >= words[2]) {
        const auto values = words.subspan(3, words[2]);
        filters.push_back({.id = words[0],
                           .optional = words[1] != 0,
                           .cd_values = {values.begin(), values.end()}});
        words = words.subspan(3 + values.size());
    }
    if (words.empty() && !filters.empty() && filters.size() <= k_most_filters) return filters;
    return Status(StatusCode::invalid_argument,
                  fmt::format("codec \"{}\": {} words of cd_values are no 1 to {} filters",
                              k_pipeline, spec.cd_values.size(), k_most_filters));
}

Result<Stage> find_stage(const FilterSpec& filter) {
    Stage stage;
    stage.filter.cd_values = filter.cd_values;
    stage.lossless = is_lossless(filter);
    if (is_builtin(filter.id)) {
        stage.filter.builtin_id = filter.id;
        return stage;
    }
    auto traits = find_traits(fmt::format("filter:{}", filter.id));
    if (!traits.ok()) return traits.status();
    auto plugin = FilterPlugin::find(filter.id, traits->name);
    if (!plugin.ok()) return plugin.status();
    stage.filter.plugin = *plugin;
    stage.filter.reentrant = traits->reentrant;
    stage.traits = std::move(*traits);
    return stage;
}

class PipelineCodec final : public BlockCodec {
  public:
    PipelineCodec(std::vector<FilterSpec> pipeline, std::vector<Stage> stages, DType dtype,
                  const Shape& chunk)
        : pipeline_(std::move(pipeline)),
          stages_(std::move(stages)),
          dtype_(dtype),
          raw_bytes_(chunk.count() * size_of(dtype)) {
        for (const Stage& stage : stages_) filters_.push_back(stage.filter);
    }

    std::span<const FilterSpec> pipeline() const override { return pipeline_; }
    bool reentrant() const override {
        return std::all_of(filters_.begin(), filters_.end(),
                           [](const FilterStage& filter) { return filter.reentrant; });
    }
    Result<EncodedBlock> encode(std::span<const std::byte> chunk, const Shape&) const override {
        return run(chunk, false);
    }
    Result<EncodedBlock> encode_exactly(std::span<const std::byte> chunk,
                                        const Shape&) const override {
        return run(chunk, true);
    }
    Status decode(std::span<const std::byte> stored, std::uint32_t filter_mask,
                  std::span<std::byte> chunk) const override try {
        if (chunk.size() != raw_bytes_)
            return {StatusCode::invalid_argument,
                    fmt::format("a chunk has {} bytes, not {}", raw_bytes_, chunk.size())};
        return decode_stages(filters_, stored, filter_mask, chunk);
    } catch (const std::bad_alloc&) {
        return {StatusCode::no_space,
                fmt::format("no memory to decode a block of {} bytes", raw_bytes_)};
    }

  private:
    Result<EncodedBlock> run(std::span<const std::byte> chunk, bool exactly) const try {
        if (chunk.size() != raw_bytes_)
            return Status(StatusCode::invalid_argument,
                          fmt::format("a chunk has {} bytes, not {}", raw_bytes_, chunk.size()));
        return run_stages(chunk, exactly);
    } catch (const std::bad_alloc&) {
        return Status(StatusCode::no_space,
                      fmt::format("no memory for a block of {} bytes", raw_bytes_));
    }

    /// A chunk that does not shrink goes through the filters all the same, as with HDF5. A mask
    /// would be a danger: HDF5 1.14.5 leaves it as it was when it stores a chunk anew that then has
    /// the same length, and may take it from what it remembers of the chunk before that.
    EncodedBlock run_stages(std::span<const std::byte> chunk, bool exactly) const {
        EncodedBlock block;
        FilterBuffer buffer(chunk);
        bool lossless = true;
        for (std::size_t i = 0; i < stages_.size(); ++i) {
            const bool done = (stages_[i].lossless || !exactly) && apply(stages_[i], chunk, buffer);
            if (!done) block.filter_mask |= std::uint32_t{1} << i;
            lossless = lossless && (!done || stages_[i].lossless);
        }
        block.bytes.assign(buffer.bytes().begin(), buffer.bytes().end());
        if (lossless) block.max_error = 0.0;
        return block;
    }

    /// @return  false: the buffer is as it was.
    bool apply(const Stage& stage, std::span<const std::byte> chunk, FilterBuffer& buffer) const {
        // A place in the file is reserved for no more.
        const std::size_t most_bytes = raw_bytes_ + k_growth_bytes;
        if (stage.filter.plugin == nullptr)
            return encode_builtin(stage.filter.builtin_id, stage.filter.cd_values,
                                  most_bytes - k_checksum_bytes, buffer);
        // What such filters mistreat can end the process: see may_encode().
        const bool floats = dtype_ == DType::float32 || dtype_ == DType::float64;
        if (stage.traits.screened &&
            (!floats || !may_encode(stage.traits, stage.filter.cd_values, dtype_,
                                    codec::value_range(chunk, dtype_))))
            return false;
        FilterBuffer tried(std::as_const(buffer).bytes());
        if (!stage.filter.apply(Direction::encode, stage.filter.cd_values, tried)) return false;
        if (tried.bytes().size() > most_bytes) return false;
        buffer = std::move(tried);
        return true;
    }

    std::vector<FilterSpec> pipeline_;
    std::vector<Stage> stages_;
    std::vector<FilterStage> filters_;
    DType dtype_;
    std::size_t raw_bytes_;
};

}  // namespace

CodecSpec pipeline_spec(std::span<const FilterSpec> filters) {
    CodecSpec spec;
    spec.name = k_pipeline;
    for (const FilterSpec& filter : filters) {
        spec.cd_values.insert(
            spec.cd_values.end(),
            {filter.id, filter.optional ? 1U : 0U, static_cast<unsigned>(filter.cd_values.size())});
        spec.cd_values.insert(spec.cd_values.end(), filter.cd_values.begin(),
                              filter.cd_values.end());
    }
    return spec;
}

bool is_pipeline(const CodecSpec& spec) { return spec.name == k_pipeline; }

Status can_run(unsigned filter_id) {
    if (!is_builtin(filter_id) && filter_id < k_first_plugin_id)
        return {StatusCode::unsupported,
                fmt::format("HDF5 filter {} is built into HDF5, and only HDF5 runs it", filter_id)};
    // It can end the process, and what would keep it from that, its mode and bound, is no longer
    // told apart once the dataset has been made: see sz3_may_encode().
    if (filter_id == k_sz3_id)
        return {StatusCode::unsupported,
                "HDF5 filter 32024 (SZ3) set by the application is not run by Caesura; codec = "
                "\"sz3\" in the configuration makes blocks of it"};
    return find_stage({.id = filter_id, .cd_values = {}}).status();
}

bool is_lossless(const FilterSpec& filter) {
    // bzip2, lzf, blosc, lz4, bitshuffle; all parameters leave them so.
    constexpr std::array<unsigned, 6> k_lossless = {307, 32000, 32001, 32004, 32008, k_zstd_id};
    return is_builtin(filter.id) ||
           std::find(k_lossless.begin(), k_lossless.end(), filter.id) != k_lossless.end();
}

Result<std::unique_ptr<BlockCodec>> make_pipeline_codec(const CodecSpec& spec, DType dtype,
                                                        const Shape& chunk) {
    auto filters = filters_in(spec);
    if (!filters.ok()) return filters.status();
    std::vector<Stage> stages;
    for (const FilterSpec& filter : *filters) {
        auto stage = find_stage(filter);
        if (!stage.ok()) return stage.status();
        stages.push_back(std::move(*stage));
    }
    return std::unique_ptr<BlockCodec>(
        std::make_unique<PipelineCodec>(std::move(*filters), std::move(stages), dtype, chunk));
}

}  // namespace caesura::hdf5

namespace caesura {

bool has_plugins_parameters(const CodecSpec& spec) {
    if (!hdf5::is_pipeline(spec)) return false;
    const auto filters = hdf5::filters_in(spec);
    return !filters.ok() ||
           std::any_of(filters->begin(), filters->end(),
                       [](const FilterSpec& one) { return !hdf5::is_builtin(one.id); });
}

}  // namespace caesura
