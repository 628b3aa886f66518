#include "writer/composition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include "base/short_float.hpp"

namespace caesura::writer {
namespace {

/// Bits of values of a range that do not count.
using Missing = std::span<const std::uint64_t>;

template <class T>
bool is_one_of(T value, Missing missing) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return std::binary_search(missing.begin(), missing.end(), bits);
}

template <class T>
void widen(const T* values, std::uint64_t count, std::uint64_t stride, Composition::Range& range,
           Missing missing = {}) {
    if (count == 0) return;
    constexpr bool k_exact = std::numeric_limits<T>::is_integer;
    T least = k_exact ? std::numeric_limits<T>::max() : std::numeric_limits<T>::infinity();
    T most = k_exact ? std::numeric_limits<T>::lowest() : -std::numeric_limits<T>::infinity();
    for (std::uint64_t i = 0; i < count; ++i) {
        const T value = values[i * stride];
        if (!missing.empty() && is_one_of(value, missing)) continue;
        // NaN compares false both ways; infinities do not belong to a range.
        if (value <= least && value >= std::numeric_limits<T>::lowest()) least = value;
        if (value >= most && value <= std::numeric_limits<T>::max()) most = value;
    }
    range.min = std::min(range.min, static_cast<double>(least));
    range.max = std::max(range.max, static_cast<double>(most));
}

void widen_short(const std::byte* data, std::uint64_t count, std::uint64_t stride, DType dtype,
                 Composition::Range& range, Missing missing) {
    base::for_short_float(dtype, [&]<class Short>(Short value) {
        for (std::uint64_t i = 0; i < count; ++i) {
            std::memcpy(&value, data + i * stride * sizeof value, sizeof value);
            if (is_one_of(value, missing)) continue;
            const float wide = base::to_float(value);
            widen(&wide, 1, 1, range);
        }
    });
}

void widen(const std::byte* data, std::uint64_t count, std::uint64_t stride, DType dtype,
           Composition::Range& range, Missing missing = {}) {
    const auto as = [&]<class T>(T) {
        widen(reinterpret_cast<const T*>(data), count, stride, range, missing);
    };
    if (is_short_float(dtype)) return widen_short(data, count, stride, dtype, range, missing);
    switch (dtype) {
        case DType::float32:
            return as(float{});
        case DType::float64:
            return as(double{});
        case DType::int8:
            return as(std::int8_t{});
        case DType::int16:
            return as(std::int16_t{});
        case DType::int32:
            return as(std::int32_t{});
        case DType::int64:
            return as(std::int64_t{});
        case DType::uint8:
            return as(std::uint8_t{});
        case DType::uint16:
            return as(std::uint16_t{});
        case DType::uint32:
            return as(std::uint32_t{});
        case DType::uint64:
            return as(std::uint64_t{});
        case DType::float16:
        case DType::bfloat16:
            return widen_short(data, count, stride, dtype, range, missing);
        default:
            return;  // no number of which a bound is relative to the range
    }
}

/// The values from `begin` to `end` of an array, as few arrays: what is cut off its rows at either
/// side, then off its planes, and in the middle whole ones.
void cut(const Shape& shape, std::uint64_t begin, std::uint64_t end, codec::BundlePart part,
         std::vector<codec::BundlePart>& out) {
    if (begin >= end) return;
    const std::uint64_t inner = shape.rank() > 1 ? shape.count() / shape[0] : 1;
    const Shape below = shape.rank() > 1
                            ? Shape(std::span(shape.data() + 1, shape.data() + shape.rank()))
                            : Shape{};
    const std::uint64_t first = (begin + inner - 1) / inner, last = end / inner;
    if (first > last)  // inside one slice
        return cut(below, begin - last * inner, end - last * inner, part, out);
    if (first * inner > begin) cut(below, begin - (first - 1) * inner, inner, part, out);
    if (last > first) {
        part.shape = shape;
        part.shape[0] = last - first;
        out.push_back(part);
    }
    if (end > last * inner) cut(below, 0, end - last * inner, part, out);
}

}  // namespace

void widen_range(const std::byte* data, std::uint64_t count, DType dtype,
                 Composition::Range& range) {
    if (is_complex(dtype)) return widen(data, 2 * count, 1, number_type(dtype), range);
    widen(data, count, 1, dtype, range);
}

Seen widen_without(std::span<const std::byte> values, DType dtype, const codec::ValueBits& missing,
                   Composition::Range& range) {
    Seen seen;
    if (!codec::may_have_missing(number_type(dtype))) {
        widen_range(values.data(), values.size() / size_of(dtype), dtype, range);
        return seen;
    }
    const DType type = number_type(dtype);
    codec::Findings found = codec::look_for_missing(values, type, missing);
    codec::ValueBits out = missing;
    codec::unite(out, found.suspects);
    const auto take = [](Composition::Range& to, const codec::FiniteRange& by) {
        if (!by.any) return;
        to.min = std::min(to.min, by.lowest);
        to.max = std::max(to.max, by.highest);
    };
    take(range, found.range);
    take(seen.bulk, codec::bulk_of(values, type, out));
    seen.suspects = std::move(found.suspects);
    return seen;
}

std::shared_ptr<const Composition> Composition::along_axis(std::vector<Component> components,
                                                           int axis, int axis_in_file) {
    std::shared_ptr<Composition> made(new Composition(std::move(components)));
    made->axis_ = axis;
    made->axis_in_file_ = axis_in_file;
    return made;
}

std::shared_ptr<const Composition> Composition::interleaved(std::vector<Component> components,
                                                            int axis) {
    std::shared_ptr<Composition> made(new Composition(std::move(components)));
    made->axis_ = axis;
    made->interleaved_ = true;
    return made;
}

BoxList::BoxList(std::vector<Shape> shapes) : shapes_(std::move(shapes)) {
    ends_.reserve(shapes_.size());
    std::uint64_t end = 0;
    for (const Shape& shape : shapes_) ends_.push_back(end += shape.count());
}

std::shared_ptr<const BoxList> BoxList::of(std::vector<Shape> shapes) {
    // Never destroyed: lanes may end after our statics.
    static auto& mutex = *new std::mutex;
    static auto& known = *new std::vector<std::weak_ptr<const BoxList>>;
    const std::scoped_lock lock(mutex);
    std::erase_if(known, [](const auto& list) { return list.expired(); });
    for (const auto& one : known)
        if (auto list = one.lock(); list != nullptr && list->shapes() == shapes) return list;
    std::shared_ptr<const BoxList> made(new BoxList(std::move(shapes)));
    known.push_back(made);
    return made;
}

std::shared_ptr<const Composition> Composition::arrays(std::vector<Component> components,
                                                       std::vector<Shape> boxes,
                                                       std::string whole) {
    std::shared_ptr<Composition> made(new Composition(std::move(components)));
    made->boxes_ = BoxList::of(std::move(boxes));
    made->whole_ = std::move(whole);
    return made;
}

/// The box that has a value of the dataset.
std::size_t Composition::box_at(std::uint64_t value) const {
    const auto& ends = boxes_->ends();
    return static_cast<std::size_t>(
        std::upper_bound(ends.begin(), ends.end(), value / components_.size()) - ends.begin());
}

/// Its first value.
std::uint64_t Composition::begin_of(std::size_t box) const {
    return box == 0 ? 0 : boxes_->ends()[box - 1] * components_.size();
}

std::uint64_t Composition::array_count(std::uint64_t at) const {
    return boxes_->shapes()[box_at(at)].count();
}

Composition::Array Composition::array_of(std::size_t box, std::size_t component) const {
    const Shape& shape = boxes_->shapes()[box];
    return {begin_of(box) + component * shape.count(), shape};
}

std::vector<codec::BundlePart> Composition::parts(const Box& box) const {
    std::vector<codec::BundlePart> parts;
    codec::BundlePart part;
    if (interleaved_) {
        part.shape = Shape(std::span(box.extent.data(), static_cast<std::size_t>(axis_)));
        part.interleaved = true;
        for (; part.component < components_.size(); ++part.component) parts.push_back(part);
        return parts;
    }
    if (axis_ >= 0) {
        part.shape = box.extent;
        part.component = static_cast<std::uint32_t>(box.offset[axis_]);
        return {part};
    }
    std::uint64_t at = box.offset[0];
    const std::uint64_t end = at + box.extent[0];
    for (std::size_t b = box_at(at); at < end; ++b) {
        const Shape& shape = boxes_->shapes()[b];
        const std::uint64_t cells = shape.count(), begin = begin_of(b);
        const std::uint64_t box_end = begin + cells * components_.size();
        while (at < std::min(end, box_end)) {
            part.component = static_cast<std::uint32_t>((at - begin) / cells);
            const std::uint64_t array = begin + part.component * cells;
            const std::uint64_t until = std::min(end, array + cells);
            cut(shape, at - array, until - array, part, parts);
            at = until;
        }
    }
    return parts;
}

void Composition::widen(const Box& box, const std::byte* values, DType dtype,
                        const codec::ValueBits& missing, std::span<Range> ranges) const {
    const std::size_t value_bytes = size_of(dtype);
    if (axis_ < 0) {
        for (const codec::BundlePart& part : parts(box)) {
            const std::uint64_t n = part.shape.count();
            writer::widen(values, n, 1, dtype, ranges[part.component], missing);
            values += n * value_bytes;
        }
        return;
    }
    std::uint64_t outer = 1, inner = 1;
    for (int axis = 0; axis < box.extent.rank(); ++axis)
        (axis < axis_ ? outer : inner) *= axis == axis_ ? 1 : box.extent[axis];
    const std::uint64_t along = box.extent[axis_];
    for (std::uint64_t c = 0; c < along; ++c) {
        Range& range = ranges[static_cast<std::size_t>(box.offset[axis_] + c)];
        if (inner == 1) {  // the quantities of a point lie side by side
            writer::widen(values + c * value_bytes, outer, along, dtype, range, missing);
            continue;
        }
        for (std::uint64_t o = 0; o < outer; ++o)
            writer::widen(values + (o * along + c) * inner * value_bytes, inner, 1, dtype, range,
                          missing);
    }
}

ErrorBound resolve(const ErrorBound& asked, const Composition::Range& range) {
    if (!needs_range(asked)) return asked;
    // No value off by more than the root of the mean square that is allowed: a PSNR that is certain
    // without looking at what came out.
    const double share = asked.kind == ErrorBound::Kind::psnr
                             ? std::pow(10.0, -asked.value / 20.0) * (1.0 - 1e-9)
                             : asked.value;
    const double bound = share * (range.max - range.min);
    const bool usable = bound > 0.0 && bound <= std::numeric_limits<double>::max();
    return usable ? absolute(bound) : lossless();
}

std::string stretched_range(const ErrorBound& asked, const ErrorBound& in_units,
                            const Composition::Range& range, const Composition::Range& bulk) {
    constexpr double k_levels = 256.0;    // of 8 bits
    constexpr double k_stretched = 16.0;  // a range that is no wider is not stretched
    const double width = bulk.max - bulk.min;
    if (asked.kind != ErrorBound::Kind::relative || in_units.kind != ErrorBound::Kind::absolute ||
        !(width > 0) || width >= k_levels * in_units.value ||
        width * k_stretched >= range.max - range.min)
        return {};
    const bool is_high = range.max - bulk.max > bulk.min - range.min;
    return fmt::format(
        "the relative bound {} is {:.3g}, and nine tenths of the values lie between {:.6g} and "
        "{:.6g}, so that they keep fewer than 8 bits; the value {:.6g} stretches the range. If it "
        "marks missing values, declare it (missing=); else give an absolute bound",
        asked.value, in_units.value, bulk.min, bulk.max, is_high ? range.max : range.min);
}

}  // namespace caesura::writer
