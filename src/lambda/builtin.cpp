#include "lambda/builtin.hpp"

namespace caesura::lambda {

std::vector<Function> builtin_functions() {
    std::vector<Function> all;
    add_moments(all);
    add_histogram(all);
    add_entropy(all);
    add_quantiles(all);
    add_spectrum(all);
    add_clusters(all);
    add_codec_transforms(all);
    add_byte_transforms(all);
    add_aead(all);
    return all;
}

}  // namespace caesura::lambda
