// Blocks through our own codec.
//
// Invariants:
//  - A block is one frame, of the part of the chunk that lies inside the array; decode and the HDF5
//    filter fill what lies beyond with zeros. encode() gives frames alone, whose filter mask is 0;
//    run::encode() stores a chunk raw, with mask 1, where its frame is no smaller.
//  - The encoder looks at every value it codes, so a frame keeps its bound without being decoded
//    again. A second look has to be asked for (CodecSpec::verify).
//  - The pipeline's cd_values carry the field's table set, so that a chunk and its dataset are all
//    that decoding takes.
#include "hdf5/caesura_codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "codec/frame/verify.hpp"
#include "hdf5/filter/filter.hpp"
#include "hdf5/filter_stage.hpp"

namespace caesura::hdf5 {
namespace {

constexpr std::string_view k_name = "caesura";

Result<Mode> mode_of(const CodecSpec& spec) {
    constexpr std::pair<std::string_view, Mode> k_modes[] = {
        {"", Mode::automatic},     {":auto", Mode::automatic}, {":fast", Mode::fast},
        {":strong", Mode::strong}, {":planes", Mode::planes},  {":regions", Mode::regions}};
    const std::string_view wanted = std::string_view(spec.name).substr(k_name.size());
    for (const auto& [name, mode] : k_modes) {
        if (wanted == name) return mode;
    }
    return Status(
        StatusCode::invalid_argument,
        fmt::format("codec \"{}\" is unknown; choose caesura, or caesura: and one of auto, "
                    "fast, strong, planes and regions",
                    spec.name));
}

class CaesuraCodec final : public BlockCodec {
  public:
    CaesuraCodec(DType dtype, const Shape& chunk, hdf5::Settings settings,
                 std::vector<unsigned> cd_values, bool verify, const SharedTables& shared)
        : dtype_(dtype),
          chunk_(chunk),
          raw_bytes_(chunk.count() * size_of(dtype)),
          settings_(std::move(settings)),
          verify_(verify),
          gather_(shared.gather),
          missing_(codec::values_of(shared.missing, dtype)),
          filter_{hdf5::k_filter_id, false, std::move(cd_values), hdf5::k_filter_name} {}

    std::span<const FilterSpec> pipeline() const override { return {&filter_, 1}; }
    bool reentrant() const override { return true; }
    bool wants_padding() const override { return false; }
    bool leaves_raw_to_caller() const override { return true; }

    Result<EncodedBlock> encode(std::span<const std::byte> chunk,
                                const Shape& valid) const override {
        return encode_part(chunk, valid, settings_.bound);
    }

    Result<EncodedBlock> encode_exactly(std::span<const std::byte> chunk,
                                        const Shape& valid) const override {
        return encode_part(chunk, valid, lossless());
    }

    Result<EncodedBlock> encode_parts(std::span<const std::byte> values,
                                      std::span<const codec::BundlePart> parts, bool bundled,
                                      const codec::Canvas* canvas) const override try {
        auto block = with_statistics([&](const CompressOptions& options) {
            if (!bundled) return codec::compress_part(values, dtype_, parts[0], options);
            return codec::compress_bundle(values, dtype_, parts, options, canvas);
        });
        if (!block.ok() || !verify_) return block;
        if (const auto share = share_of_bounds(values, block->bytes)) {
            block->max_error = *share;
            return block;
        }
        std::vector<codec::BundlePart> exactly(parts.begin(), parts.end());
        for (codec::BundlePart& part : exactly) part.bound = lossless();
        auto again = bundled ? codec::compress_bundle(values, dtype_, exactly, {}, canvas)
                             : codec::compress_part(values, dtype_, exactly[0]);
        if (!again.ok()) return again.status();
        block->bytes = std::move(*again);
        block->fell_back = true;
        block->max_error = 0.0;
        return block;
    } catch (const std::bad_alloc&) {
        return no_memory("encode");
    }

    Status decode(std::span<const std::byte> stored, std::uint32_t filter_mask,
                  std::span<std::byte> chunk) const override try {
        if (chunk.size() != raw_bytes_) {
            return {StatusCode::invalid_argument,
                    fmt::format("a chunk has {} bytes, not {}", raw_bytes_, chunk.size())};
        }
        if (filter_mask > 1)
            return {StatusCode::corrupt, fmt::format("filter mask {:#x}: blocks of codec caesura "
                                                     "have 0, or 1 where they are raw",
                                                     filter_mask)};
        if (filter_mask == 1) return copy_raw(stored, chunk);
        return hdf5::decode_chunk(settings_, stored, chunk);
    } catch (const std::bad_alloc&) {
        return no_memory("decode");
    }

  private:
    Status no_memory(std::string_view doing) const {
        return {StatusCode::no_space,
                fmt::format("no memory to {} a block of {} bytes", doing, raw_bytes_)};
    }

    std::size_t valid_bytes(const Shape& valid) const { return valid.count() * size_of(dtype_); }

    bool lies_inside(const Shape& valid) const {
        bool inside = valid.rank() == chunk_.rank();
        for (int axis = 0; inside && axis < chunk_.rank(); ++axis)
            inside = valid[axis] >= 1 && valid[axis] <= chunk_[axis];
        return inside;
    }

    Status check_arguments(std::size_t bytes, const Shape& valid) const {
        if (lies_inside(valid) && (bytes == raw_bytes_ || bytes == valid_bytes(valid))) return {};
        return {StatusCode::invalid_argument,
                fmt::format("a block of {} bytes with valid extent {} does not fit chunks of {} "
                            "({} bytes)",
                            bytes, to_string(valid), to_string(chunk_), raw_bytes_)};
    }

    /// What lies inside the array of a block that may have more.
    Result<EncodedBlock> encode_part(std::span<const std::byte> chunk, const Shape& valid,
                                     const ErrorBound& bound) const try {
        if (Status status = check_arguments(chunk.size(), valid); !status.ok()) return status;
        if (valid_bytes(valid) == chunk.size()) return encode_valid(chunk, valid, bound);
        std::vector<std::byte> part(valid_bytes(valid));
        const Box full{Shape::filled(chunk_.rank(), 0), chunk_};
        const Box inside{full.offset, valid};
        copy_box(inside, full, chunk.data(), inside, part.data(), size_of(dtype_));
        return encode_valid(part, valid, bound);
    } catch (const std::bad_alloc&) {
        return no_memory("encode");
    }

    Result<EncodedBlock> encode_valid(std::span<const std::byte> values, const Shape& valid,
                                      const ErrorBound& bound) const {
        auto block = with_statistics([&](const CompressOptions& options) {
            return compress(values, dtype_, valid, bound, options);
        });
        if (block.ok() && verify_)
            if (Status status = look_again(values, valid, *block); !status.ok()) return status;
        return block;
    }

    /// What `encode` makes of a block, with what it was coded from.
    template <class Encode>
    Result<EncodedBlock> with_statistics(Encode encode) const {
        TableStatistics coded;
        CompressOptions options;
        options.mode = settings_.mode;
        options.tables = &settings_.tables;
        options.statistics = gather_ ? &coded : nullptr;
        options.missing = missing_;
        auto bytes = encode(options);
        if (!bytes.ok()) return bytes.status();
        EncodedBlock block;
        block.bytes = std::move(*bytes);
        if (gather_ && !coded.empty()) block.statistics = coded.bytes();
        return block;
    }

    /// Decode the arrays of encode_parts(): the largest share of its bound that a value is off;
    /// nullopt if one does not come back, or not within it.
    std::optional<double> share_of_bounds(std::span<const std::byte> values,
                                          std::span<const std::byte> bytes) const {
        double share = 0.0;
        const auto keeps = [&](std::span<const std::byte> frame,
                               std::span<const std::byte> original) {
            const auto found = codec::verify_frame(frame, original, &settings_.tables);
            if (found.ok()) share = std::max(share, found->max_share);
            return found.ok() && found->violations == 0;
        };
        const auto all_kept = [&](const codec::BundleInfo& bundle) {
            codec::BundleArrays arrays(values, bundle);
            return std::all_of(bundle.parts.begin(), bundle.parts.end(),
                               [&](const auto& part) { return keeps(part.frame, arrays.next()); });
        };
        bool kept = false;
        if (codec::is_bundle(bytes)) {
            const auto bundle = codec::read_bundle_info(bytes);
            kept = bundle.ok() && all_kept(*bundle);
        } else {
            kept = keeps(bytes, values);
        }
        return kept ? std::optional(share) : std::nullopt;
    }

    /// Decode what was encoded. What a sound machine never sees: the block goes lossless.
    Status look_again(std::span<const std::byte> values, const Shape& valid,
                      EncodedBlock& block) const {
        const auto found = codec::verify_frame(block.bytes, values, &settings_.tables);
        if (found.ok() && found->violations == 0) {
            block.max_error = found->max_error;
            return {};
        }
        auto frame = compress(values, dtype_, valid, lossless());
        if (!frame.ok()) return frame.status();
        block.bytes = std::move(*frame);
        block.fell_back = true;
        block.max_error = 0.0;
        return {};
    }

    DType dtype_;
    Shape chunk_;
    std::size_t raw_bytes_;
    hdf5::Settings settings_;
    bool verify_;
    bool gather_;
    std::vector<std::byte> missing_;
    FilterSpec filter_;
};

}  // namespace

bool is_caesura(const CodecSpec& spec) {
    return spec.name == k_name ||
           (spec.name.starts_with(k_name) && spec.name[k_name.size()] == ':');
}

Status validate_mode(const CodecSpec& spec) { return mode_of(spec).status(); }

Result<std::unique_ptr<BlockCodec>> make_caesura_codec(const CodecSpec& spec, DType dtype,
                                                       const Shape& chunk, const ErrorBound& bound,
                                                       const SharedTables& tables) {
    const auto mode = mode_of(spec);
    if (!mode.ok()) return mode.status();
    if (!spec.cd_values.empty()) {
        return Status(
            StatusCode::invalid_argument,
            fmt::format("codec \"{}\" makes its cd_values itself; give it a bound", spec.name));
    }
    hdf5::Settings settings = hdf5::settings_of(dtype, chunk, bound, *mode, tables.set);
    auto cd_values = hdf5::to_cd_values(settings);
    if (!cd_values.ok()) return cd_values.status();
    return std::unique_ptr<BlockCodec>(
        std::make_unique<CaesuraCodec>(dtype, chunk, std::move(settings), std::move(*cd_values),
                                       spec.verify.value_or(false), tables));
}

}  // namespace caesura::hdf5

std::optional<caesura::Mode> caesura::caesura_mode(const CodecSpec& spec) {
    if (!hdf5::is_caesura(spec)) return std::nullopt;
    const auto mode = hdf5::mode_of(spec);
    return mode.ok() ? std::optional(*mode) : std::nullopt;
}

caesura::Result<caesura::FilterSpec> caesura::filter_before_range(const CodecSpec& spec,
                                                                  DType dtype, const Shape& chunk,
                                                                  const ErrorBound& bound,
                                                                  const TableSet& tables) {
    if (!hdf5::is_caesura(spec))
        return Status(StatusCode::invalid_argument,
                      fmt::format("codec \"{}\" must know the bound", spec.name));
    auto codec = hdf5::make_caesura_codec(spec, dtype, chunk, bound, {tables});
    if (!codec.ok()) return codec.status();
    return (*codec)->pipeline()[0];
}

std::optional<caesura::TableSet> caesura::tables_in(std::span<const FilterSpec> pipeline) {
    if (pipeline.size() != 1 || pipeline[0].id != hdf5::k_filter_id) return std::nullopt;
    auto settings = hdf5::parse_cd_values(pipeline[0].cd_values);
    if (!settings.ok() || settings->tables.id() == 0) return std::nullopt;
    return std::move(settings->tables);
}
