// Blocks through HDF5 filter plugins, with the bound checked and a way out when it is broken.
//
// A pipeline has at most two stages (design: pipelines and tables):
//   [main, optional][zstd, optional]   main may be lossy
//   [main, optional]                   main is lossless, or no Zstd plugin is there
// Every block uses exactly one stage or none; the filter mask says which:
//   main alone            normal
//   zstd alone            main failed, broke the bound even when asked for 0.9 of it, may not be
//                         given such values (NaN, for one), or did not make the block smaller
//   none (raw)            nothing makes the block smaller
#include "hdf5/filter_codec.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "codec/bound/bound.hpp"
#include "codec/bound/round_to_grid.hpp"
#include "hdf5/filter_stage.hpp"
#include "hdf5/known_filters.hpp"

namespace caesura::hdf5 {
namespace {

constexpr double k_retry_share = 0.9;  // of the bound, for a second try

class FilterCodec final : public BlockCodec {
  public:
    struct Parts {
        std::vector<FilterStage> stages;        // 1 or 2
        std::vector<unsigned> retry_cd_values;  // of stage 0; empty: no second try
        bool verify = false;                    // decode every block of stage 0 again
        bool exact = false;                     // stage 0 is lossless by its nature
        FilterTraits traits;                    // of stage 0
        std::vector<unsigned> user;             // its cd_values before set_local
        double round_step = 0.0;  // > 0: values are rounded to this grid before stage 0
        std::string lacks;
    };

    FilterCodec(Parts parts, DType dtype, const Shape& chunk, const ErrorBound& bound,
                codec::ValueBits missing)
        : parts_(std::move(parts)),
          dtype_(dtype),
          chunk_(chunk),
          bound_(bound),
          missing_(std::move(missing)),
          raw_bytes_(chunk.count() * size_of(dtype)) {
        for (const FilterStage& stage : parts_.stages) {
            pipeline_.push_back({.id = stage.plugin->id(),
                                 .optional = true,
                                 .cd_values = stage.cd_values,
                                 .name = stage.plugin->name()});
        }
    }

    std::span<const FilterSpec> pipeline() const override { return pipeline_; }

    std::vector<std::vector<unsigned>> creation_values() const override {
        auto values = BlockCodec::creation_values();
        values[0] = parts_.user;  // Zstd, the other one, has no set_local
        return values;
    }

    std::string_view lacks() const override { return parts_.lacks; }

    bool reentrant() const override {
        for (const FilterStage& stage : parts_.stages) {
            if (!stage.reentrant) return false;
        }
        return true;
    }

    Result<EncodedBlock> encode(std::span<const std::byte> chunk, const Shape& valid) const override
        try {
        if (Status status = check_arguments(chunk.size(), valid); !status.ok()) return status;
        EncodedBlock block;
        bool broken = true;
        const codec::ValueBits missing = parts_.exact ? codec::ValueBits{} : missing_in(chunk);
        const bool too_many = missing.size() > codec::k_most_missing;
        const codec::Mask mask =
            too_many ? codec::Mask{} : codec::find_missing(chunk, dtype_, missing);
        // Whether missing values come back is seen by decoding them.
        const bool may_lose = too_many || (mask.missing > 0 && !parts_.verify);
        if (may_lose) {
            broken = false;
        } else if (!parts_.traits.screened || may_encode(parts_.traits, parts_.user, dtype_,
                                                         codec::value_range(chunk, dtype_))) {
            const FilterStage& main = parts_.stages[0];
            Outcome outcome = try_main(chunk, valid, main.cd_values, mask, block);
            if (outcome == Outcome::broken && !parts_.retry_cd_values.empty()) {
                outcome = try_main(chunk, valid, parts_.retry_cd_values, mask, block);
            }
            if (outcome == Outcome::good) return block;
            broken = outcome == Outcome::broken;
        }
        encode_lossless(chunk, block);
        block.fell_back = broken;
        return block;
    } catch (const std::bad_alloc&) {
        return no_memory();
    }

    Result<EncodedBlock> encode_exactly(std::span<const std::byte> chunk,
                                        const Shape& valid) const override try {
        if (Status status = check_arguments(chunk.size(), valid); !status.ok()) return status;
        EncodedBlock block;
        if (!parts_.exact || !encode_by(0, chunk, block)) encode_lossless(chunk, block);
        return block;
    } catch (const std::bad_alloc&) {
        return no_memory();
    }

    Status decode(std::span<const std::byte> stored, std::uint32_t filter_mask,
                  std::span<std::byte> chunk) const override try {
        if (chunk.size() != raw_bytes_) {
            return {StatusCode::invalid_argument,
                    fmt::format("a chunk has {} bytes, not {}", raw_bytes_, chunk.size())};
        }
        return decode_stages(parts_.stages, stored, filter_mask, chunk);
    } catch (const std::bad_alloc&) {
        return {StatusCode::no_space,
                fmt::format("no memory to decode a block of {} bytes", raw_bytes_)};
    }

  private:
    enum class Outcome : std::uint8_t { good, broken, not_smaller };

    static std::uint32_t mask_of(std::size_t stage) { return std::uint32_t{1} << stage; }
    std::uint32_t all_masked() const { return mask_of_all(parts_.stages.size()); }

    Status no_memory() const {
        return {StatusCode::no_space,
                fmt::format("no memory to encode a block of {} bytes", raw_bytes_)};
    }

    Status check_arguments(std::size_t chunk_bytes, const Shape& valid) const {
        bool inside = valid.rank() == chunk_.rank();
        for (int axis = 0; inside && axis < chunk_.rank(); ++axis) {
            inside = valid[axis] >= 1 && valid[axis] <= chunk_[axis];
        }
        if (inside && chunk_bytes == raw_bytes_) return {};
        return {StatusCode::invalid_argument,
                fmt::format("a block of {} bytes with valid extent {} does not fit chunks of {} "
                            "({} bytes)",
                            chunk_bytes, to_string(valid), to_string(chunk_), raw_bytes_)};
    }

    /// Stage 0 alone, judged. `block` is complete if the outcome is good.
    Outcome try_main(std::span<const std::byte> chunk, const Shape& valid,
                     std::span<const unsigned> cd_values, const codec::Mask& mask,
                     EncodedBlock& block) const {
        const FilterStage& main = parts_.stages[0];
        FilterBuffer buffer(chunk);
        block.max_error = parts_.exact ? 0.0 : std::numeric_limits<double>::quiet_NaN();
        if (parts_.round_step > 0) {
            codec::round_to_grid(buffer.bytes(), dtype_, parts_.round_step);
            codec::put_missing(mask, dtype_, buffer.bytes());
            if (!judge(chunk, valid, buffer.bytes(), mask, block)) return Outcome::broken;
        }
        if (!main.apply(Direction::encode, cd_values, buffer)) return Outcome::broken;
        if (buffer.bytes().size() >= raw_bytes_) return Outcome::not_smaller;
        block.bytes.assign(buffer.bytes().begin(), buffer.bytes().end());
        block.filter_mask = all_masked() & ~mask_of(0);
        if (!parts_.verify) return Outcome::good;
        // Decoded with the *dataset's* cd_values, whatever it was encoded with: as a reader will.
        if (!main.apply(Direction::decode, main.cd_values, buffer)) return Outcome::broken;
        if (buffer.bytes().size() != raw_bytes_) return Outcome::broken;
        return judge(chunk, valid, buffer.bytes(), mask, block) ? Outcome::good : Outcome::broken;
    }

    /// The declared values and suspects of a chunk.
    codec::ValueBits missing_in(std::span<const std::byte> chunk) const {
        if (!codec::may_have_missing(dtype_) || bound_.kind == ErrorBound::Kind::lossless)
            return {};
        codec::ValueBits bits = missing_;
        codec::unite(bits, codec::look_for_missing(chunk, dtype_, missing_).suspects);
        return bits;
    }

    bool judge(std::span<const std::byte> chunk, const Shape& valid,
               std::span<const std::byte> decoded, const codec::Mask& mask,
               EncodedBlock& block) const {
        bool same = true;
        codec::for_each_missing(mask, [&](std::size_t first, std::size_t n, std::uint8_t) {
            const std::size_t at = first * size_of(dtype_), bytes = n * size_of(dtype_);
            same = same && std::memcmp(&chunk[at], &decoded[at], bytes) == 0;
        });
        if (!same) return false;
        const codec::BoundCheck check =
            codec::check_bound(chunk, decoded, dtype_, chunk_, valid, bound_);
        block.max_error = check.max_error;
        return check.holds;
    }

    /// One stage alone, which is lossless. False if it does not help.
    bool encode_by(std::size_t number, std::span<const std::byte> chunk,
                   EncodedBlock& block) const {
        FilterBuffer buffer(chunk);
        const FilterStage& stage = parts_.stages[number];
        if (!stage.apply(Direction::encode, stage.cd_values, buffer) ||
            buffer.bytes().size() >= raw_bytes_)
            return false;
        block.bytes.assign(buffer.bytes().begin(), buffer.bytes().end());
        block.filter_mask = all_masked() & ~mask_of(number);
        block.max_error = 0.0;
        return true;
    }

    /// The last stage if it is a lossless one that helps, else raw.
    void encode_lossless(std::span<const std::byte> chunk, EncodedBlock& block) const {
        block.max_error = 0.0;
        if (parts_.stages.size() == 2 && encode_by(1, chunk, block)) return;
        block.bytes.assign(chunk.begin(), chunk.end());
        block.filter_mask = all_masked();
    }

    Parts parts_;
    DType dtype_;
    Shape chunk_;
    ErrorBound bound_;
    codec::ValueBits missing_;
    std::size_t raw_bytes_;
    std::vector<FilterSpec> pipeline_;
};

/// Without the axes of length 1. SZ3's set_local mistakes some shapes with such axes ([1, 64]
/// becomes one value, which it then stores raw); the values' order is the same without them.
Shape squeezed(const Shape& chunk) {
    std::vector<std::uint64_t> extents;
    for (int axis = 0; axis < chunk.rank(); ++axis) {
        if (chunk[axis] > 1) extents.push_back(chunk[axis]);
    }
    if (extents.empty()) extents.push_back(1);
    return Shape(extents);
}

Result<FilterStage> make_stage(const FilterTraits& traits, std::span<const unsigned> user,
                               DType dtype, const Shape& chunk) {
    Result<const FilterPlugin*> plugin = FilterPlugin::find(traits.id, traits.name);
    if (!plugin.ok()) return plugin.status();
    const Shape& shape = traits.id == k_sz3_id ? squeezed(chunk) : chunk;
    Result<std::vector<unsigned>> values = (*plugin)->final_cd_values(user, dtype, shape);
    if (!values.ok()) return values.status();
    FilterStage stage;
    stage.plugin = *plugin;
    stage.reentrant = traits.reentrant;
    stage.cd_values = std::move(*values);
    return stage;
}

/// Blosc2 can be told to cut mantissa bits (word 5, filters above 3); nothing makes Zstd lossy.
bool stays_lossless(const FilterTraits& traits, std::span<const unsigned> user) {
    constexpr unsigned k_last_exact_filter = 3;  // none, byte shuffle, bit shuffle, delta
    return traits.id != k_blosc2_id || user.size() < 6 || user[5] <= k_last_exact_filter;
}

/// The user's cd_values, or those that ask for the bound.
Result<std::vector<unsigned>> user_cd_values(const CodecSpec& spec, const FilterTraits& traits,
                                             const ErrorBound& bound) {
    if (spec.cd_values.empty()) {
        auto derived = bound_to_cd_values(traits.id, bound);
        if (derived) return *std::move(derived);
        return Status(StatusCode::invalid_argument,
                      fmt::format("codec \"{}\": it is not known how this filter is told an error "
                                  "bound; give its cd_values",
                                  spec.name));
    }
    constexpr std::size_t k_sz3_words = 9;  // H5Z-SZ3 ends up on stderr or stdout otherwise
    if (traits.id == k_sz3_id && spec.cd_values.size() != k_sz3_words) {
        return Status(
            StatusCode::invalid_argument,
            fmt::format("codec \"sz3\" takes {} cd_values (mode, then absolute, relative, "
                        "l2norm and PSNR bounds, each a double as two words, high one "
                        "first), not {}",
                        k_sz3_words, spec.cd_values.size()));
    }
    return spec.cd_values;
}

}  // namespace

Result<std::unique_ptr<BlockCodec>> make_filter_codec(const CodecSpec& spec, DType dtype,
                                                      const Shape& chunk, const ErrorBound& bound,
                                                      const codec::ValueBits& missing) {
    const Result<FilterChoice> choice = choose_filter(spec.name);
    if (!choice.ok()) return choice.status();
    Result<FilterTraits> traits = choice->traits;
    const bool lossless_bound = bound.kind == ErrorBound::Kind::lossless;
    // Zstd does what is asked where the filter cannot: SZ3 has no lossless mode, and leaves blocks
    // below 20 values as they are; ZFP refuses a chunk of one value.
    constexpr std::uint64_t k_fewest_values = 20;
    // Neither is for integers of every width, or floating point in 16 bits.
    const bool is_wide = dtype == DType::float32 || dtype == DType::float64;
    const bool cannot = (traits->id == k_sz3_id && lossless_bound) ||
                        (traits->screened && chunk.count() < k_fewest_values) ||
                        (traits->screened && !is_wide);
    if (!is_wide && traits->screened && !spec.cd_values.empty())
        return Status(StatusCode::unsupported,
                      fmt::format("codec \"{}\" with cd_values of its own for {}, which takes "
                                  "\"caesura\", \"zstd\", \"blosc2\" or \"none\"",
                                  spec.name, to_string(dtype)));
    if (cannot && spec.cd_values.empty()) traits = find_traits("zstd");
    Result<std::vector<unsigned>> user = user_cd_values(spec, *traits, bound);
    if (!user.ok()) return user.status();
    Result<FilterStage> main = make_stage(*traits, *user, dtype, chunk);
    if (!main.ok()) return main.status();
    FilterCodec::Parts parts;
    if (traits->stream_carries_bound && spec.cd_values.empty() && !lossless_bound) {
        const auto tighter = bound_to_cd_values(traits->id, absolute(k_retry_share * bound.value));
        Result<FilterStage> retry = make_stage(*traits, *tighter, dtype, chunk);
        if (!retry.ok()) return retry.status();
        parts.retry_cd_values = std::move(retry->cd_values);
    }
    parts.exact = traits->lossless && stays_lossless(*traits, spec.cd_values);
    if (choice->round && !parts.exact) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("codec \"{}\": cd_values of yours may make it lossy, and nothing "
                                  "lossy can follow \"round+\"",
                                  spec.name));
    }
    if (choice->round && !lossless_bound && is_wide)
        parts.round_step = codec::grid_step(bound.value, dtype);
    parts.verify = spec.verify.value_or(true) && !parts.exact;
    parts.traits = *traits;
    parts.user = std::move(*user);
    parts.stages.push_back(std::move(*main));
    if (!parts.exact) {
        Result<FilterTraits> zstd = find_traits("zstd");
        // No Zstd plugin is no error: what would have gone through it is stored raw.
        Result<FilterStage> second =
            make_stage(*zstd, *bound_to_cd_values(k_zstd_id, lossless()), dtype, chunk);
        if (second.ok())
            parts.stages.push_back(std::move(*second));
        else
            parts.lacks = fmt::format(
                "blocks that \"{}\" cannot keep within their bound are stored raw, and could be "
                "smaller: {}",
                spec.name, second.status().message());
    }
    return std::unique_ptr<BlockCodec>(
        std::make_unique<FilterCodec>(std::move(parts), dtype, chunk, bound, missing));
}

}  // namespace caesura::hdf5
