// The transforms of plain bytes: shuffle, lossless (our codec's), zstd, deflate.
//
// Choice: DEFLATE by libdeflate, not zlib: whole buffers of a known size are all there is here, and
// both ways take a half to a third of the time; the streams are the same.
#include <fmt/format.h>
#include <libdeflate.h>
#include <zstd.h>

#include "caesura/codec.hpp"
#include "codec/frame/byte_shuffle.hpp"
#include "lambda/builtin.hpp"
#include "lambda/deflate.hpp"

namespace caesura::lambda {
namespace {

using PlainBytes = std::vector<std::byte>;

/// A stage that is one function of the bytes.
class ByteTransform : public Transform {
  public:
    using Work = std::function<Result<PlainBytes>(std::span<const std::byte>, const StageContext&,
                                                  PlainBytes& settings)>;
    explicit ByteTransform(Work work) : work_(std::move(work)) {}
    Result<PlainBytes> apply(std::span<const std::byte> bytes, const StageContext& context,
                             PlainBytes& settings) const override {
        return work_(bytes, context, settings);
    }

  private:
    Work work_;
};

/// @param work_for  makes the work for the arguments.
template <class WorkFor>
Variant byte_variant(WorkFor work_for) {
    Variant variant{Device::cpu, "plain", "on the host's cores"};
    variant.make_transform = [work_for](const Arguments& arguments,
                                        const Operator&) -> Result<std::unique_ptr<Transform>> {
        return std::unique_ptr<Transform>(std::make_unique<ByteTransform>(work_for(arguments)));
    };
    return variant;
}

std::size_t value_bytes_of(const StageContext& context) {
    return context.holds_values ? size_of(context.region->dtype) : 1;
}

// Bytes after the last whole value stay behind it.
ByteTransform::Work shuffle_for(const Arguments& arguments) {
    const auto asked = static_cast<std::size_t>(arguments.whole("value_bytes"));
    return [asked](std::span<const std::byte> bytes, const StageContext& context,
                   PlainBytes& settings) -> Result<PlainBytes> {
        const std::size_t width = asked > 0 ? asked : size_of(context.region->dtype);
        settings.push_back(static_cast<std::byte>(width));
        PlainBytes out(bytes.begin(), bytes.end());
        codec::shuffle(bytes.data(), bytes.size() / width, width, out.data());
        return out;
    };
}

Result<PlainBytes> invert_shuffle(std::span<const std::byte> bytes,
                                  std::span<const std::byte> settings, std::uint64_t size,
                                  const StageContext&, const Operator&) {
    if (settings.size() != 1 || settings[0] == std::byte{0} || bytes.size() != size)
        return corrupt("shuffled bytes of another length");
    const auto width = std::to_integer<std::size_t>(settings[0]);
    PlainBytes out(bytes.begin(), bytes.end());
    codec::unshuffle(bytes.data(), bytes.size() / width, width, out.data());
    return out;
}

ByteTransform::Work lossless_for(const Arguments&) {
    return [](std::span<const std::byte> bytes, const StageContext& context,
              PlainBytes&) -> Result<PlainBytes> {
        if (bytes.empty()) return PlainBytes();
        return compress_bytes(bytes, value_bytes_of(context));
    };
}

Result<PlainBytes> invert_lossless(std::span<const std::byte> bytes, std::span<const std::byte>,
                                   std::uint64_t size, const StageContext&, const Operator&) {
    if (size == 0) return PlainBytes();
    const auto info = read_frame_info(bytes);
    if (!info.ok()) return info.status();
    if (!info->untyped || info->raw_bytes != size) return corrupt("a frame of other bytes");
    PlainBytes out(size);
    if (Status status = decompress(bytes, out); !status.ok()) return status;
    return out;
}

ByteTransform::Work zstd_for(const Arguments& arguments) {
    const int level = static_cast<int>(arguments.whole("level"));
    return [level](std::span<const std::byte> bytes, const StageContext&,
                   PlainBytes&) -> Result<PlainBytes> {
        PlainBytes out(ZSTD_compressBound(bytes.size()));
        const std::size_t n =
            ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), level);
        if (ZSTD_isError(n)) return Status(StatusCode::no_space, ZSTD_getErrorName(n));
        out.resize(n);
        return out;
    };
}

Result<PlainBytes> invert_zstd(std::span<const std::byte> bytes, std::span<const std::byte>,
                               std::uint64_t size, const StageContext&, const Operator&) {
    PlainBytes out(size);
    const std::size_t n = ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
    if (ZSTD_isError(n)) return corrupt(ZSTD_getErrorName(n));
    out.resize(n);
    return out;
}

ByteTransform::Work deflate_for(const Arguments& arguments) {
    const int level = static_cast<int>(arguments.whole("level"));
    return [level](std::span<const std::byte> bytes, const StageContext&, PlainBytes&) {
        return deflate(bytes, level);
    };
}

Result<PlainBytes> invert_deflate(std::span<const std::byte> bytes, std::span<const std::byte>,
                                  std::uint64_t size, const StageContext&, const Operator&) {
    return inflate(bytes, size);
}

Function byte_function(std::string name, std::string help, Inverse inverse, Variant variant) {
    Function function{std::move(name), Kind::transform, std::move(help)};
    function.inverse = std::move(inverse);
    function.variants = {std::move(variant)};
    return function;
}

}  // namespace

Result<PlainBytes> deflate(std::span<const std::byte> bytes, int level) {
    const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> coder(
        libdeflate_alloc_compressor(level), &libdeflate_free_compressor);
    if (!coder) return Status(StatusCode::no_space, "DEFLATE: not enough memory");
    PlainBytes out(libdeflate_zlib_compress_bound(coder.get(), bytes.size()));
    const std::size_t n =
        libdeflate_zlib_compress(coder.get(), bytes.data(), bytes.size(), out.data(), out.size());
    if (n == 0) return Status(StatusCode::internal, "DEFLATE: its own bound is too small");
    out.resize(n);
    return out;
}

Result<PlainBytes> inflate(std::span<const std::byte> bytes, std::uint64_t size) {
    const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> coder(
        libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
    if (!coder) return Status(StatusCode::no_space, "DEFLATE: not enough memory");
    PlainBytes out(size);
    std::byte nothing;  // libdeflate asks for a place even for no bytes
    const auto result = libdeflate_zlib_decompress(coder.get(), bytes.data(), bytes.size(),
                                                   size > 0 ? out.data() : &nothing, size, nullptr);
    if (result != LIBDEFLATE_SUCCESS) return corrupt("no DEFLATE stream of this length");
    return out;
}

void add_byte_transforms(std::vector<Function>& to) {
    to.push_back(byte_function("shuffle",
                               "Bytes of equal weight side by side, for a lossless stage.",
                               invert_shuffle, byte_variant(shuffle_for)));
    to.back().parameters = {{"value_bytes", Parameter::Type::whole,
                             "Bytes of a value; 0: those of the region's type.", std::int64_t{0},
                             false, 0, 255}};
    to.push_back(byte_function("lossless", "Caesura's lossless coder for any bytes.",
                               invert_lossless, byte_variant(lossless_for)));
    to.push_back(byte_function("zstd", "Zstandard.", invert_zstd, byte_variant(zstd_for)));
    to.back().parameters = {
        {"level", Parameter::Type::whole, "1 is fast, 19 small.", std::int64_t{3}, false, 1, 19}};
    to.push_back(byte_function("deflate", "DEFLATE in zlib's container.", invert_deflate,
                               byte_variant(deflate_for)));
    to.back().parameters = {
        {"level", Parameter::Type::whole, "1 is fast, 12 small.", std::int64_t{6}, false, 1, 12}};
}

}  // namespace caesura::lambda
