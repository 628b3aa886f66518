// The transforms caesura (our codec, with a bound) and decompress (a frame of it becomes values).
//
// Invariants:
//  - The bound holds as codec.hpp says; relative and psnr take the range of the region alone.
//  - The variant deflate is for devices that have DEFLATE in hardware: residuals of fixed lengths,
//    then DEFLATE in place of the entropy coder. What either variant made, any machine decodes.
// Source: S4 §III-C (SZ with DEFLATE as its lossless stage, for a DPU).
#include <fmt/format.h>

#include "base/invalid.hpp"
#include "caesura/codec.hpp"
#include "lambda/builtin.hpp"
#include "lambda/deflate.hpp"

namespace caesura::lambda {
namespace {

using FrameBytes = std::vector<std::byte>;

constexpr int k_deflate_level = 6;
/// What comes after the residuals: the first byte of the settings. With deflate the length of the
/// frame inside follows.
enum class Last : std::uint8_t { coder = 0, deflate = 1 };

ErrorBound::Kind kind_named(const std::string& name) {
    if (name == "absolute") return ErrorBound::Kind::absolute;
    if (name == "relative") return ErrorBound::Kind::relative;
    if (name == "pointwise_relative") return ErrorBound::Kind::pointwise_relative;
    if (name == "psnr") return ErrorBound::Kind::psnr;
    return ErrorBound::Kind::lossless;
}

Mode mode_named(const std::string& name) {
    if (name == "fast") return Mode::fast;
    if (name == "strong") return Mode::strong;
    if (name == "planes") return Mode::planes;
    if (name == "regions") return Mode::regions;
    return Mode::automatic;
}

class Compress : public Transform {
  public:
    Compress(const ErrorBound& bound, Mode mode, Last last)
        : bound_(bound), mode_(mode), last_(last) {}
    static Result<std::unique_ptr<Transform>> make(const Arguments& arguments, Last last) {
        const auto bound = bound_of(arguments);
        if (!bound.ok()) return bound.status();
        if (last == Last::deflate && arguments.text("mode") != "auto")
            return base::invalid("the variant deflate has no mode: its residuals are planes");
        const Mode mode = last == Last::deflate ? Mode::planes : mode_named(arguments.text("mode"));
        return std::unique_ptr<Transform>(std::make_unique<Compress>(*bound, mode, last));
    }
    Result<FrameBytes> apply(std::span<const std::byte> bytes, const StageContext& context,
                             FrameBytes& settings) const override {
        if (!context.holds_values)
            return base::invalid("it takes values: only decompress can come before it");
        settings.push_back(static_cast<std::byte>(last_));
        if (bytes.empty()) return FrameBytes();
        CompressOptions options;
        options.mode = mode_;
        auto frame =
            compress(bytes, context.region->dtype, context.region->box.extent, bound_, options);
        if (!frame.ok() || last_ == Last::coder) return frame;
        settings.resize(9);
        base::put_little(&settings[1], frame->size(), 8);
        return deflate(*frame, k_deflate_level);
    }

  private:
    ErrorBound bound_;
    Mode mode_;
    Last last_;
};

Result<FrameBytes> values_of(std::span<const std::byte> frame, std::uint64_t size) {
    FrameBytes values(size);
    if (Status status = decompress(frame, values); !status.ok()) return status;
    return values;
}

Result<FrameBytes> invert_compress(std::span<const std::byte> bytes,
                                   std::span<const std::byte> settings, std::uint64_t size,
                                   const StageContext& context, const Operator&) {
    if (size == 0) return FrameBytes();  // of which nothing was made
    const bool deflated = settings.size() == 9 && settings[0] == std::byte{1};
    if (!deflated && !(settings.size() == 1 && settings[0] == std::byte{0}))
        return corrupt("settings that it does not have");
    FrameBytes inflated;
    if (deflated) {
        const std::uint64_t frame_bytes = base::get_little(&settings[1], 8);
        if (frame_bytes > size + k_frame_overhead_bytes)
            return corrupt("a frame larger than any of these values");
        auto frame = inflate(bytes, frame_bytes);
        if (!frame.ok()) return frame;
        inflated = std::move(*frame);
        bytes = inflated;
    }
    const auto info = read_frame_info(bytes);
    if (!info.ok()) return info.status();
    if (info->untyped || info->raw_bytes != size || info->dtype != context.region->dtype ||
        info->shape != context.region->box.extent)
        return corrupt("a frame of another array");
    return values_of(bytes, size);
}

/// A frame becomes values, so that what comes in compressed can be analysed or coded anew.
class Decompress : public Transform {
  public:
    Result<FrameBytes> apply(std::span<const std::byte> bytes, const StageContext& context,
                             FrameBytes&) const override {
        const RegionView& region = *context.region;
        const std::uint64_t size = region.count() * size_of(region.dtype);
        if (size == 0 && bytes.empty()) return FrameBytes();
        const auto info = read_frame_info(bytes);
        if (!info.ok()) return info.status();
        if (info->raw_bytes != size ||
            (!info->untyped && (info->dtype != region.dtype || info->shape != region.box.extent)))
            return corrupt(fmt::format("a frame of {} {}, for {} of {}", to_string(info->dtype),
                                       to_string(info->shape), to_string(region.dtype),
                                       describe(region)));
        return values_of(bytes, size);
    }
    bool gives_values() const override { return true; }
};

Variant compress_variant(Device device, std::string name, std::string help, Last last) {
    Variant variant{device, std::move(name), std::move(help)};
    variant.make_transform = [last](const Arguments& arguments, const Operator&) {
        return Compress::make(arguments, last);
    };
    return variant;
}

}  // namespace

Result<ErrorBound> bound_of(const Arguments& arguments) {
    ErrorBound bound;
    const bool has_kind = arguments.has("kind");
    if (has_kind && !arguments.has("bound")) return base::invalid("a kind of bound, and no bound");
    if (arguments.has("bound") && !has_kind)
        bound = absolute(arguments.number("bound"));
    else if (has_kind)
        bound = {kind_named(arguments.text("kind")), arguments.number("bound")};
    if (Status status = validate(bound); !status.ok()) return status;
    return bound;
}

void add_codec_transforms(std::vector<Function>& to) {
    Function codec{"caesura", Kind::transform, "Caesura's own codec, within a bound or lossless."};
    codec.parameters = {
        {"bound", Parameter::Type::number,
         "How far values may be off, in the unit of its kind; without it nothing is lost."},
        {"kind",
         Parameter::Type::text,
         "What the bound is, absolute if not said; relative and psnr take the range of the region.",
         std::nullopt,
         false,
         0,
         0,
         {"absolute", "relative", "pointwise_relative", "psnr"}},
        {"mode",
         Parameter::Type::text,
         "How values are predicted.",
         std::string("auto"),
         false,
         0,
         0,
         {"auto", "fast", "strong", "planes", "regions"}}};
    codec.variants = {
        compress_variant(Device::cpu, "plain", "the codec's own entropy coder", Last::coder),
        compress_variant(Device::cpu, "deflate",
                         "DEFLATE as lossless stage, as an accelerator for it has; in software",
                         Last::deflate)};
    codec.inverse = invert_compress;
    to.push_back(std::move(codec));

    Function back{"decompress", Kind::transform,
                  "A frame of Caesura's codec becomes values; only as the first of a chain."};
    Variant plain{Device::cpu, "plain", "on the host's cores"};
    plain.make_transform = [](const Arguments&,
                              const Operator&) -> Result<std::unique_ptr<Transform>> {
        return std::unique_ptr<Transform>(std::make_unique<Decompress>());
    };
    back.variants = {std::move(plain)};
    to.push_back(std::move(back));
}

}  // namespace caesura::lambda
