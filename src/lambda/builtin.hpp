// The functions that are always there. Each file gives its own.
#pragma once

#include <vector>

#include "caesura/codec.hpp"
#include "lambda/function.hpp"

namespace caesura::lambda {

std::vector<Function> builtin_functions();

// min, max, mean, variance, stats
void add_moments(std::vector<Function>& to);
void add_histogram(std::vector<Function>& to);
void add_entropy(std::vector<Function>& to);
void add_quantiles(std::vector<Function>& to);
void add_spectrum(std::vector<Function>& to);
void add_clusters(std::vector<Function>& to);
// caesura, decompress
void add_codec_transforms(std::vector<Function>& to);
/// What the arguments of caesura say. Errors: invalid_argument.
Result<ErrorBound> bound_of(const Arguments& arguments);
// shuffle, lossless, zstd, deflate
void add_byte_transforms(std::vector<Function>& to);
void add_aead(std::vector<Function>& to);

/// A variant for the host's cores of an analysis whose states merge.
template <class State>
Variant analysis_on_cpu(std::vector<Device> also_on = {Device::remote}) {
    Variant variant{Device::cpu, "plain", "on the host's cores"};
    variant.make_analysis = [](const Arguments& arguments) -> Result<std::unique_ptr<Analysis>> {
        return State::make(arguments);
    };
    variant.also_on = std::move(also_on);
    return variant;
}

}  // namespace caesura::lambda
