#include "codec/entropy/entropy.hpp"

#include <fmt/format.h>

#include "codec/entropy/adaptive_coder.hpp"
#include "codec/entropy/planes_coder.hpp"
#include "codec/entropy/rans_decoder.hpp"
#include "codec/entropy/rans_encoder.hpp"

namespace caesura::codec {

Status huffman_is_unsupported(const char* what) {
    return {StatusCode::unsupported,
            fmt::format("a {} of the Huffman stage, which the format no longer has; read it with "
                        "the version of Caesura that wrote it, and write it again",
                        what)};
}

std::unique_ptr<EntropyEncoder> make_entropy_encoder(Coding coding) {
    if (coding == Coding::planes) return std::make_unique<PlanesEncoder>();
    if (coding == Coding::adaptive) return std::make_unique<AdaptiveEncoder>();
    return std::make_unique<RansEncoder>();
}

std::unique_ptr<EntropyDecoder> make_entropy_decoder(Coding coding) {
    if (coding == Coding::planes) return std::make_unique<PlanesDecoder>();
    if (coding == Coding::adaptive) return std::make_unique<AdaptiveDecoder>();
    return std::make_unique<RansDecoder>();
}

}  // namespace caesura::codec
