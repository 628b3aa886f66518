// A block's features where the codec is our own: its estimate instead of a general one.
#include <algorithm>
#include <cstddef>

#include "predict/predict.hpp"

namespace caesura::predict {
Features estimate_block(const std::byte* data, DType dtype, const Box& array_box, const Box& part,
                        const ErrorBound& bound, Mode mode, const TableSet& tables) {
    Features features;
    features.values = part.extent.rank() == 0 ? 0 : part.extent.count();
    if (features.values == 0) return features;
    const std::size_t value_bytes = size_of(dtype);
    const bool in_range = bound.kind == ErrorBound::Kind::absolute ||
                          bound.kind == ErrorBound::Kind::pointwise_relative;
    CompressOptions options;
    options.mode = mode;
    options.tables = &tables;
    const auto found =
        estimate_part(data, dtype, array_box, part, in_range ? bound : lossless(), options);
    // A wrong argument is the compression's to report: here it only means a bad guess.
    const double value_bits = 8.0 * static_cast<double>(value_bytes);
    const double bits =
        found.ok() ? 8.0 * static_cast<double>(found->bytes) / static_cast<double>(features.values)
                   : value_bits;
    features.bits_per_value = std::min(bits, value_bits);
    features.smooth_bits_per_value = features.bits_per_value;
    features.estimated = true;
    if (found.ok())
        features.mode = mode == Mode::automatic || mode == Mode::regions ? found->mode : mode;
    features.exact = !found.ok() || found->exact;
    return features;
}

}  // namespace caesura::predict
