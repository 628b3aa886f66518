#include "codec/typical_codes.hpp"

#include <algorithm>

#include "codec/code_collector.hpp"

namespace caesura::codec {
namespace {

/// Tells axes apart.
double factor_of(int axis) { return 1 + 2 * axis; }

// A power of two so small that every prediction of the probe is a multiple of it: then it is
// coded without any error.
constexpr double k_step = 1.0 / 64;

std::vector<double> make_probe(const Shape& shape) {
    std::vector<double> values{0};
    for (int axis = 0; axis < shape.rank(); ++axis) {
        std::vector<double> longer;
        longer.reserve(values.size() * static_cast<std::size_t>(shape[axis]));
        for (const double value : values) {
            for (std::uint64_t i = 0; i < shape[axis]; ++i) {
                const double x = static_cast<double>(i) - static_cast<double>(shape[axis] / 2);
                longer.push_back(value + factor_of(axis) * x * x * x * x);
            }
        }
        values = std::move(longer);
    }
    return values;
}

}  // namespace

std::vector<std::uint8_t> classify_codes(const Shape& shape, const InterpolationSettings& settings,
                                         PredictorScratch& scratch) {
    InterpolationSettings plain;
    plain.order = settings.order;
    plain.alpha = plain.beta = 16;
    CodeCollector codes;
    ExactValues<double> exact;
    CodeWriter writer(codes);
    const Quantiser<double> quantiser{k_step, k_step};
    encode_interpolation(make_probe(shape).data(), shape, quantiser, plain, scratch, writer, exact);
    writer.finish();
    std::vector<std::uint8_t> classes(codes.codes().size(), k_other_codes);
    for (std::size_t level = 0; level < k_code_levels; ++level) {
        const int of_level = static_cast<int>(level);
        const auto begin = static_cast<std::size_t>(count_at(shape, of_level + 1));
        const auto end = static_cast<std::size_t>(count_at(shape, of_level));
        for (int axis = 0; axis < shape.rank(); ++axis) {
            // With sources at distances 1 and 3, x^4 is missed by 9; twice that as a zigzag code.
            const double missed = 9 * factor_of(axis) / k_step * (level == 0 ? 1 : 16);
            const auto code = static_cast<std::uint32_t>(2 * missed);
            for (std::size_t i = begin; i < end; ++i) {
                if (codes.codes()[i] != code) continue;
                classes[i] =
                    static_cast<std::uint8_t>(level * k_max_rank + static_cast<std::size_t>(axis));
            }
        }
    }
    return classes;
}

std::uint64_t count_at(const Shape& shape, int level) {
    std::uint64_t count = 1;
    for (int axis = 0; axis < shape.rank(); ++axis) count *= ((shape[axis] - 1) >> level) + 1;
    return count;
}

std::uint64_t count_targets(const Shape& shape, const InterpolationSettings& settings, int level,
                            int axis) {
    const auto extent_at = [&](int a, int l) { return ((shape[a] - 1) >> l) + 1; };
    std::uint64_t count = extent_at(axis, level) - extent_at(axis, level + 1);
    bool doubled = true;  // the axes before this one are
    for (int i = 0; i < shape.rank(); ++i) {
        const int a = settings.order[static_cast<std::size_t>(i)];
        if (a == axis) {
            doubled = false;
        } else {
            count *= extent_at(a, doubled ? level : level + 1);
        }
    }
    return count;
}

}  // namespace caesura::codec
