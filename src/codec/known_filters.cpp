#include "codec/known_filters.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <cstdint>

namespace caesura::codec {
namespace {

constexpr unsigned k_first_plugin_id = 256;  // HDF5 keeps 0..255 for filters built into it
constexpr unsigned k_last_id = 65535;

unsigned high_half(double value) {
    return static_cast<unsigned>(std::bit_cast<std::uint64_t>(value) >> 32);
}
unsigned low_half(double value) {
    return static_cast<unsigned>(std::bit_cast<std::uint64_t>(value) & 0xffffffffu);
}

/// Mode 0 is "absolute"; then absolute, relative, l2norm and PSNR bounds, each a double as two
/// words, high one first. H5Z-SZ3 wants all nine words, and offers no choice of algorithm.
std::vector<unsigned> sz3_absolute(double bound) {
    return {0, high_half(bound), low_half(bound), 0, 0, 0, 0, 0, 0};
}

/// Mode 3 is "accuracy"; the bound is a native double from word 2 on.
std::vector<unsigned> zfp_accuracy(double bound) {
    const auto words = std::bit_cast<std::array<std::uint32_t, 2>>(bound);
    return {3, 0, words[0], words[1], 0, 0};
}

std::vector<unsigned> zfp_reversible() { return {5, 0, 0, 0, 0, 0}; }

/// Four words that set_local fills, then level, byte shuffle (1), inner codec Zstd (5).
std::vector<unsigned> blosc2_shuffle_zstd() { return {0, 0, 0, 0, 1, 1, 5}; }

Result<FilterTraits> traits_of_number(std::string_view number) {
    unsigned id = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), id);
    if (error != std::errc() || end != number.data() + number.size() || id > k_last_id) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("codec \"filter:{}\": give an HDF5 filter number from {} to {}",
                                  number, k_first_plugin_id, k_last_id));
    }
    if (id < k_first_plugin_id) {
        return Status(StatusCode::unsupported,
                      fmt::format("codec \"filter:{}\": filters below {} are built into HDF5 and "
                                  "have no plugin to call; use \"zstd\" or \"blosc2\", which are "
                                  "faster than deflate, or \"none\"",
                                  id, k_first_plugin_id));
    }
    for (const char* name : {"sz3", "zfp", "zstd", "blosc2"}) {
        Result<FilterTraits> known = find_traits(name);
        if (known.ok() && known->id == id) return known;
    }
    FilterTraits traits;
    traits.id = id;
    traits.name = fmt::format("filter:{}", id);
    return traits;
}

}  // namespace

Result<FilterTraits> find_traits(std::string_view codec_name) {
    constexpr std::string_view k_prefix = "filter:";
    if (codec_name == "sz3") {
        return FilterTraits{.id = k_sz3_id,
                            .name = "sz3",
                            .lossless = false,
                            .reentrant = true,
                            .keeps_nonfinite = true,
                            .stream_carries_bound = true};
    }
    if (codec_name == "zfp") {
        return FilterTraits{.id = k_zfp_id,
                            .name = "zfp",
                            .lossless = false,
                            .reentrant = true,
                            .keeps_nonfinite = false,
                            .stream_carries_bound = false};
    }
    if (codec_name == "zstd") {
        return FilterTraits{.id = k_zstd_id, .name = "zstd", .lossless = true, .reentrant = true};
    }
    if (codec_name == "blosc2") {
        // Not reentrant: the filter initialises the library on every call without a lock and
        // works out the block size in a static buffer.
        return FilterTraits{.id = k_blosc2_id, .name = "blosc2", .lossless = true};
    }
    if (codec_name.starts_with(k_prefix)) {
        return traits_of_number(codec_name.substr(k_prefix.size()));
    }
    return Status(StatusCode::invalid_argument,
                  fmt::format("codec \"{}\" is unknown; choose none, sz3, zfp, zstd, blosc2 or "
                              "filter:<HDF5 filter number>",
                              codec_name));
}

std::optional<std::vector<unsigned>> bound_to_cd_values(unsigned filter_id,
                                                        const ErrorBound& bound) {
    const bool lossless = bound.kind == ErrorBound::Kind::lossless;
    switch (filter_id) {
        case k_sz3_id:
            if (lossless) return std::nullopt;
            return sz3_absolute(bound.value);
        case k_zfp_id:
            return lossless ? zfp_reversible() : zfp_accuracy(bound.value);
        case k_zstd_id:
            return std::vector<unsigned>{1};
        case k_blosc2_id:
            return blosc2_shuffle_zstd();
        default:
            return std::nullopt;
    }
}

}  // namespace caesura::codec
