#include "hdf5/known_filters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

namespace caesura::hdf5 {
namespace {

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

double double_of(unsigned high, unsigned low) {
    return std::bit_cast<double>(std::uint64_t{high} << 32 | low);
}

/// SZ3's quotients stay away from 2^31, for every prediction it makes. Predictions are sums of
/// neighbours with weights that add up to 1 inside the block, and to another integer where zeros
/// stand in for neighbours beyond the edge; the weights' magnitudes add up to at most 80 (second
/// order Lorenzo on 4 axes).
bool sz3_may_encode(std::span<const unsigned> user, DType dtype, const codec::ValueRange& range) {
    constexpr double k_reach = 128.0;
    constexpr double k_int_limit = 2147483648.0;
    if (!range.finite) return false;
    const double largest = std::max(std::abs(range.lowest), std::abs(range.highest));
    const double smallest = std::min(std::abs(range.lowest), std::abs(range.highest));
    // A prediction that overflows is an infinity, and then a NaN.
    const double type_limit = dtype == DType::float32 ? std::numeric_limits<float>::max()
                                                      : std::numeric_limits<double>::max();
    if (largest > type_limit / k_reach) return false;
    constexpr unsigned k_absolute_mode = 0;
    if (user.size() < 3 || user[0] != k_absolute_mode) return true;  // bound relative to the range
    const double bound = double_of(user[1], user[2]);
    constexpr double k_least_bound = 1e-290;  // its reciprocal and products are finite
    if (!(bound > k_least_bound)) return false;
    const double limit = k_int_limit * bound;
    if (k_reach * largest < limit) return true;
    // Small variations on a large offset: differences inside are small, those at the edge are about
    // a multiple of the offset, and that is beyond the limit.
    const double spread = k_reach * (range.highest - range.lowest);
    const bool same_sign = (range.lowest > 0) == (range.highest > 0);
    return same_sign && spread < limit / 2 && smallest - spread > 2 * limit;
}

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
                            .screened = true,
                            .stream_carries_bound = true};
    }
    if (codec_name == "zfp") {
        return FilterTraits{.id = k_zfp_id,
                            .name = "zfp",
                            .lossless = false,
                            .reentrant = true,
                            .screened = true,
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
                  fmt::format("codec \"{}\" is unknown; choose caesura, none, sz3, zfp, zstd, "
                              "blosc2, round+zstd, round+blosc2 or filter:<HDF5 filter number>",
                              codec_name));
}

Result<FilterChoice> choose_filter(std::string_view codec_name) {
    constexpr std::string_view k_round = "round+";
    const bool round = codec_name.starts_with(k_round);
    Result<FilterTraits> traits = find_traits(codec_name.substr(round ? k_round.size() : 0));
    if (!traits.ok()) return traits.status();
    if (round && !traits->lossless)
        return Status(StatusCode::invalid_argument,
                      fmt::format("codec \"{}\": only a lossless codec can follow \"round+\": zstd "
                                  "or blosc2",
                                  codec_name));
    return FilterChoice{std::move(*traits), round};
}

bool may_encode(const FilterTraits& traits, std::span<const unsigned> user, DType dtype,
                const codec::ValueRange& range) {
    constexpr unsigned k_zfp_reversible = 5;
    switch (traits.id) {
        case k_sz3_id:
            return sz3_may_encode(user, dtype, range);
        case k_zfp_id:
            return range.finite || (!user.empty() && user[0] == k_zfp_reversible);
        default:
            return true;
    }
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

}  // namespace caesura::hdf5
