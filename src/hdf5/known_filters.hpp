// What is known about particular HDF5 filters; a filter that is not listed still works, verified.
//
// Invariants:
//  - No HDF5 here: plain numbers and names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/bound/bound.hpp"
#include "hdf5/block_codec.hpp"

namespace caesura::hdf5 {

inline constexpr unsigned k_sz3_id = 32024;
inline constexpr unsigned k_zfp_id = 32013;
inline constexpr unsigned k_zstd_id = 32015;
inline constexpr unsigned k_blosc2_id = 32026;
/// HDF5 keeps the numbers below for filters that are built into it.
inline constexpr unsigned k_first_plugin_id = 256;

/// The facts that decide how a filter is used. Each was found by reading or by test (see
/// filter_codec_test.cpp); the defaults are the careful ones, for filters nobody looked at.
struct FilterTraits {
    unsigned id = 0;
    std::string name;  ///< as in CodecSpec::name
    /// Exact for any cd_values that bound_to_cd_values() makes: not verified, no second stage.
    bool lossless = false;
    /// encode and decode may run in several threads at once.
    bool reentrant = false;
    /// The filter mistreats some values, so a block is looked at first: see may_encode().
    bool screened = false;
    /// The stream carries its own bound, so a block may be encoded with a tighter one than the
    /// dataset's cd_values say, and a stock reader still decodes it. (ZFP's does not: it decodes
    /// with the bit plane cut-off of the cd_values.)
    bool stream_carries_bound = false;
};

/// "sz3" ... or "filter:<number>". Errors: invalid_argument (no such name, names the choices).
Result<FilterTraits> find_traits(std::string_view codec_name);

/// What the name of a codec made of filters asks for.
struct FilterChoice {
    FilterTraits traits;
    bool round = false;  ///< "round+": values are rounded to a grid before
};

/// "sz3" ... "round+zstd" or "filter:<number>". Errors: those of find_traits(), invalid_argument
/// ("round+" before what is not lossless).
Result<FilterChoice> choose_filter(std::string_view codec_name);

/// May the filter be given a block with such values? A block it may not have goes lossless.
///  - ZFP loses NaN and infinities, and finite values near them (except in its reversible mode).
///  - SZ3 turns quotients (x - prediction) / bound into an int unchecked. A NaN, or a quotient that
///    happens to lie at 2^31, then becomes a code near 2^30, and a code table of that size is
///    built: it takes minutes or ends the process. Safe is what keeps every quotient away from
///    2^31.
/// @param user   the cd_values before set_local.
bool may_encode(const FilterTraits& traits, std::span<const unsigned> user, DType dtype,
                const codec::ValueRange& range);

/// The user cd_values that ask the filter for `bound`; nullopt if the filter has no such setting.
/// @param bound  absolute or lossless.
std::optional<std::vector<unsigned>> bound_to_cd_values(unsigned filter_id,
                                                        const ErrorBound& bound);

}  // namespace caesura::hdf5
