// A block's features where the codec is our own: its estimate instead of a general one.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "codec/frame/estimate_again.hpp"
#include "predict/predict.hpp"

namespace caesura::predict {
namespace {

/// One part of complex numbers from the middle of a block, dense, and its shape.
struct PartSample {
    std::vector<std::byte> values;
    Shape shape;
};

PartSample sample_part(const std::byte* data, DType dtype, const Box& array_box, const Box& part,
                       std::size_t which) {
    constexpr std::uint64_t k_values = 1U << 16;
    Box box = part;
    for (int axis = 0; axis < box.extent.rank() && box.extent.count() > k_values; ++axis) {
        const std::uint64_t others = box.extent.count() / box.extent[axis];
        box.extent[axis] = std::max<std::uint64_t>(1, k_values / others);
        box.offset[axis] += (part.extent[axis] - box.extent[axis]) / 2;
    }
    const std::size_t value_bytes = size_of(dtype), number_bytes = value_bytes / 2;
    const auto count = static_cast<std::size_t>(box.extent.count());
    std::vector<std::byte> both(count * value_bytes);
    copy_box(box, array_box, data, box, both.data(), value_bytes);
    PartSample sample{std::vector<std::byte>(count * number_bytes), box.extent};
    for (std::size_t i = 0; i < count; ++i)
        std::memcpy(&sample.values[i * number_bytes], &both[i * value_bytes + which * number_bytes],
                    number_bytes);
    return sample;
}

/// Of blocks of complex numbers, whose parts are arrays of their own.
Result<Estimate> estimate_complex(const std::byte* data, DType dtype, const Box& array_box,
                                  const Box& part, const ErrorBound& bound,
                                  const CompressOptions& options) {
    Estimate all;
    for (std::size_t which = 0; which < 2; ++which) {
        const PartSample sample = sample_part(data, dtype, array_box, part, which);
        const auto found =
            estimate(sample.values, number_type(dtype), sample.shape, bound, options);
        if (!found.ok()) return found.status();
        const double share =
            static_cast<double>(part.extent.count()) / static_cast<double>(sample.shape.count());
        all.bytes += static_cast<std::uint64_t>(static_cast<double>(found->bytes) * share);
        all.mode = found->mode;
        all.exact = all.exact || found->exact;
    }
    return all;
}

}  // namespace

Features estimate_block(const std::byte* data, DType dtype, const Box& array_box, const Box& part,
                        const ErrorBound& bound, Mode mode, const TableSet& tables,
                        const std::optional<codec::Choice>& settings) {
    Features features;
    features.values = part.extent.rank() == 0 ? 0 : part.extent.count();
    if (features.values == 0) return features;
    const std::size_t value_bytes = size_of(dtype);
    const bool in_range = bound.kind == ErrorBound::Kind::absolute ||
                          bound.kind == ErrorBound::Kind::pointwise_relative;
    CompressOptions options;
    options.mode = mode;
    options.tables = &tables;
    const ErrorBound kept = in_range ? bound : lossless();
    features.settings = settings;
    features.assumed = settings.has_value();
    const auto found = is_complex(dtype)
                           ? estimate_complex(data, dtype, array_box, part, kept, options)
                           : codec::estimate_again(data, dtype, array_box, part, kept, options,
                                                   &features.settings);
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
    features.adaptive = features.settings && features.settings->coding == codec::Coding::adaptive;
    return features;
}

}  // namespace caesura::predict
