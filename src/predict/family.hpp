// What kind of compressor a codec is: decides what is sampled of a block, and the first guess.
#pragma once

#include <cstdint>
#include <string_view>

namespace caesura::predict {

enum class Family : std::uint8_t {
    raw,               ///< stored as it is
    own,               ///< Caesura's codec: it says itself what a block will take
    interpolating,     ///< SZ3: Lorenzo or interpolation, Huffman, a lossless stage
    transform,         ///< ZFP
    lossless,          ///< matches and entropy coding of the bytes as they come
    shuffled,          ///< the same, byte plane by byte plane
    rounded,           ///< values rounded within the bound, then lossless
    rounded_shuffled,  ///< values rounded within the bound, then shuffled
    unknown,
};

/// @param codec_name  CodecSpec::name; what follows a colon is the codec's own affair.
inline Family family_of(std::string_view codec_name) {
    const std::string_view name = codec_name.substr(0, codec_name.find(':'));
    if (name == "none") return Family::raw;
    if (name == "caesura") return Family::own;
    if (name == "sz3") return Family::interpolating;
    if (name == "zfp") return Family::transform;
    if (name == "zstd") return Family::lossless;
    if (name == "blosc2") return Family::shuffled;
    if (name == "round+zstd") return Family::rounded;
    if (name == "round+blosc2") return Family::rounded_shuffled;
    return Family::unknown;
}

}  // namespace caesura::predict
