#include "lambda/as_doubles.hpp"

#include <fmt/format.h>

#include <cstring>

#include "base/invalid.hpp"
#include "base/short_float.hpp"

namespace caesura::lambda {
namespace {

template <class T>
void widen(std::span<const std::byte> from, std::vector<double>& to) {
    for (std::size_t i = 0; i < to.size(); ++i) {
        T value;  // of any alignment
        std::memcpy(&value, from.data() + i * sizeof(T), sizeof(T));
        to[i] = static_cast<double>(value);
    }
}

void widen_short(std::span<const std::byte> from, DType dtype, std::vector<double>& to) {
    base::for_short_float(dtype, [&]<class Short>(Short value) {
        for (std::size_t i = 0; i < to.size(); ++i) {
            std::memcpy(&value, from.data() + i * sizeof value, sizeof value);
            to[i] = static_cast<double>(base::to_float(value));
        }
    });
}

void widen(std::span<const std::byte> from, DType dtype, std::vector<double>& to) {
    switch (dtype) {
        case DType::int8:
            return widen<std::int8_t>(from, to);
        case DType::int16:
            return widen<std::int16_t>(from, to);
        case DType::int32:
            return widen<std::int32_t>(from, to);
        case DType::int64:
            return widen<std::int64_t>(from, to);
        case DType::uint8:
            return widen<std::uint8_t>(from, to);
        case DType::uint16:
            return widen<std::uint16_t>(from, to);
        case DType::uint32:
            return widen<std::uint32_t>(from, to);
        case DType::uint64:
            return widen<std::uint64_t>(from, to);
        case DType::boolean:
            return widen<std::uint8_t>(from, to);
        case DType::float16:
        case DType::bfloat16:
            return widen_short(from, dtype, to);
        case DType::float32:
        case DType::float64:
        case DType::complex64:
        case DType::complex128:
            return;
    }
}

}  // namespace

Result<RegionView> AsDoubles::of(const RegionView& region) {
    RegionView view = region;
    if (is_integer(region.dtype) || is_short_float(region.dtype)) {
        view.dtype = float64;
        if (Status status = validate_place(view); !status.ok()) return status;
        if (region.values.size() != region.count() * size_of(region.dtype))
            return base::invalid(fmt::format("{}: {} bytes of values, the box has {}",
                                             describe(region), region.values.size(),
                                             region.count() * size_of(region.dtype)));
        values_.resize(static_cast<std::size_t>(region.count()));
        widen(region.values, region.dtype, values_);
        view.values = std::as_bytes(std::span(values_));
    }
    if (Status status = validate(view); !status.ok()) return status;
    return view;
}

}  // namespace caesura::lambda
