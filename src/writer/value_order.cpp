#include "writer/value_order.hpp"

#include <cstring>

#include "base/short_float.hpp"

namespace caesura::writer {

void ValueOrder::add(double value) {
    if (any_) {
        rises_ = rises_ && value > last_;
        falls_ = falls_ && value < last_;
    } else {
        first_ = value;
        any_ = true;
    }
    last_ = value;
}

void ValueOrder::add(const std::byte* values, std::uint64_t count, DType dtype) {
    const auto each = [&]<class T>(T value, auto to_double) {
        for (std::uint64_t i = 0; i < count && holds(); ++i) {
            std::memcpy(&value, values + i * sizeof value, sizeof value);
            add(to_double(value));
        }
    };
    const auto same = [](auto value) { return static_cast<double>(value); };
    if (dtype == DType::float32) return each(float{}, same);
    if (dtype == DType::float64) return each(double{}, same);
    if (!is_short_float(dtype)) return;  // nothing that has a bound
    base::for_short_float(dtype, [&]<class Short>(Short value) {
        each(value, [](Short one) { return static_cast<double>(base::to_float(one)); });
    });
}

void ValueOrder::add(const ValueOrder& next) {
    if (!next.any_) return;
    add(next.first_);
    join(next);
    last_ = next.last_;
}

void ValueOrder::join(const ValueOrder& other) {
    rises_ = rises_ && other.rises_;
    falls_ = falls_ && other.falls_;
}

}  // namespace caesura::writer
