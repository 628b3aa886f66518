// How much changes from value to value in a block: a twentieth of what an estimate costs. It tells
// no size, but whether the block is still what it was in the dump before.
#include <algorithm>
#include <cmath>

#include "codec/bound/float_environment.hpp"
#include "codec/bound/resolve_bound.hpp"
#include "codec/estimate/spots.hpp"
#include "codec/frame/typed_view.hpp"
#include "predict/predict.hpp"

namespace caesura::predict {
namespace {

template <class T>
std::optional<double> activity_of(const std::byte* first, const Shape& shape, const Shape& array,
                                  double bound) {
    constexpr std::size_t k_spots = 128;
    if (!codec::is_aligned<T>(first) || codec::FourAxes(shape, array).stride.back() != 1) return {};
    codec::Spots<T> spots;
    spots.look(reinterpret_cast<const T*>(first), shape, array, k_spots);
    const auto finite = [](T value) { return std::isfinite(value); };
    if (!std::all_of(spots.sample().begin(), spots.sample().end(), finite)) return {};
    const codec::Quantiser<T> quantiser = codec::choose_quantiser(spots.sample(), bound);
    if (!(quantiser.bound > 0)) return {};
    spots.rate(quantiser);
    return spots.activity();
}

}  // namespace

std::optional<double> glance(const std::byte* data, DType dtype, const Box& array_box,
                             const Box& part, const ErrorBound& bound) {
    if (bound.kind != ErrorBound::Kind::absolute || !validate(bound).ok()) return {};
    if (dtype != float32 && dtype != float64) return {};
    if (part.extent.rank() < 1 || part.extent.count() == 0) return {};
    if (part.extent.count() >> 32 != 0) return {};  // spots are those of a slab
    const codec::FloatEnvironment environment;
    const codec::ResolvedBound resolved = codec::resolve(bound, {}, dtype, 1);
    if (resolved.how != codec::ResolvedBound::How::absolute) return {};
    std::uint64_t at = 0;
    for (int axis = 0; axis < part.extent.rank(); ++axis)
        at = at * array_box.extent[axis] + part.offset[axis] - array_box.offset[axis];
    const std::byte* const first = data + at * size_of(dtype);
    return dtype == DType::float32
               ? activity_of<float>(first, part.extent, array_box.extent, resolved.bound)
               : activity_of<double>(first, part.extent, array_box.extent, resolved.bound);
}

}  // namespace caesura::predict
