// A block's features where the codec is our own: its estimate instead of a general one.
#include <algorithm>

#include "caesura/predict.hpp"

namespace caesura::predict {
namespace {

/// From the middle of `part`, as near to a cube as its axes allow: enough for a sample.
Box middle_of(const Box& part) {
    constexpr std::uint64_t k_most_values = 1u << 18;
    Box box = part;
    while (box.extent.count() > k_most_values) {
        int longest = 0;
        for (int axis = 1; axis < box.extent.rank(); ++axis)
            if (box.extent[axis] > box.extent[longest]) longest = axis;
        box.extent[longest] = (box.extent[longest] + 1) / 2;
    }
    for (int axis = 0; axis < box.extent.rank(); ++axis)
        box.offset[axis] += (part.extent[axis] - box.extent[axis]) / 2;
    return box;
}

}  // namespace

Features estimate_block(const std::byte* data, DType dtype, const Box& array_box, const Box& part,
                        const ErrorBound& bound, Mode mode, const TableSet& tables) {
    Features features;
    features.values = part.extent.rank() == 0 ? 0 : part.extent.count();
    if (features.values == 0) return features;
    const std::size_t value_bytes = size_of(dtype);
    const std::byte* values = dense_part(part, array_box, data, value_bytes);
    Box box = part;
    std::vector<std::byte> copy;
    if (values == nullptr) {
        box = middle_of(part);
        copy.resize(box.extent.count() * value_bytes);
        copy_box(box, array_box, data, box, copy.data(), value_bytes);
        values = copy.data();
    }
    const bool in_range = bound.kind == ErrorBound::Kind::absolute ||
                          bound.kind == ErrorBound::Kind::pointwise_relative;
    CompressOptions options;
    options.mode = mode;
    options.tables = &tables;
    const auto found = estimate({values, box.extent.count() * value_bytes}, dtype, box.extent,
                                in_range ? bound : lossless(), options);
    // A wrong argument is the compression's to report: here it only means a bad guess.
    const double value_bits = 8.0 * static_cast<double>(value_bytes);
    const double bits = found.ok() ? 8.0 * static_cast<double>(found->bytes) /
                                         static_cast<double>(box.extent.count())
                                   : value_bits;
    features.bits_per_value = std::min(bits, value_bits);
    features.smooth_bits_per_value = features.bits_per_value;
    features.estimated = true;
    if (found.ok()) features.mode = mode == Mode::automatic ? found->mode : mode;
    return features;
}

}  // namespace caesura::predict
