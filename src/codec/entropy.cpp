#include "codec/entropy.hpp"

#include "codec/huffman_coder.hpp"
#include "codec/planes_coder.hpp"
#include "codec/rans_decoder.hpp"
#include "codec/rans_encoder.hpp"

namespace caesura::codec {

std::unique_ptr<EntropyEncoder> make_entropy_encoder(Coding coding) {
    if (coding == Coding::planes) return std::make_unique<PlanesEncoder>();
    if (coding == Coding::huffman) return std::make_unique<HuffmanEncoder>();
    return std::make_unique<RansEncoder>();
}

std::unique_ptr<EntropyDecoder> make_entropy_decoder(Coding coding) {
    if (coding == Coding::planes) return std::make_unique<PlanesDecoder>();
    if (coding == Coding::huffman) return std::make_unique<HuffmanDecoder>();
    return std::make_unique<RansDecoder>();
}

}  // namespace caesura::codec
