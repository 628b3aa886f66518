#include "writer/fill_value.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/short_float.hpp"

namespace caesura::writer {
namespace {

/// nullopt: T has no such value.
template <class T>
std::optional<T> converted(double value) {
    if constexpr (std::is_floating_point_v<T>) {
        const bool fits = !std::isfinite(value) ||
                          std::abs(value) <= static_cast<double>(std::numeric_limits<T>::max());
        return fits ? std::optional(static_cast<T>(value)) : std::nullopt;
    } else {
        // Both ends are powers of two, or 0, and doubles; NaN is not between them.
        const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
        const double begin = std::is_signed_v<T> ? -end : 0.0;
        const bool fits = value >= begin && value < end && value == std::floor(value);
        return fits ? std::optional(static_cast<T>(value)) : std::nullopt;
    }
}

template <class T, class Integer>
requires std::is_integral_v<Integer> std::optional<T> converted(Integer value) {
    if constexpr (std::is_floating_point_v<T>)
        return static_cast<T>(value);
    else if constexpr (std::is_same_v<T, bool>)
        return std::in_range<std::uint8_t>(value) && value <= 1 ? std::optional(value != 0)
                                                                : std::nullopt;
    else
        return std::in_range<T>(value) ? std::optional(static_cast<T>(value)) : std::nullopt;
}

template <class T>
std::optional<std::array<std::byte, 8>> fill_as(const FillValue& value) {
    const auto found = std::visit([](auto number) { return converted<T>(number); }, value);
    if (!found) return std::nullopt;
    std::array<std::byte, 8> bytes{};
    std::memcpy(bytes.data(), &*found, sizeof(T));
    return bytes;
}

template <class Short>
std::optional<std::array<std::byte, 8>> short_fill(const FillValue& value) {
    const auto wide = std::visit([](auto number) { return converted<float>(number); }, value);
    const double largest = base::format_of(dtype_of<Short>()).largest;
    if (!wide || (std::isfinite(*wide) && std::abs(static_cast<double>(*wide)) > largest))
        return std::nullopt;
    const Short narrow = base::to_short<Short>(*wide);
    std::array<std::byte, 8> bytes{};
    std::memcpy(bytes.data(), &narrow, sizeof narrow);
    return bytes;
}

std::optional<std::array<std::byte, 8>> fill_as(const FillValue& value, DType dtype) {
    switch (dtype) {
        case DType::float32:
            return fill_as<float>(value);
        case DType::float64:
            return fill_as<double>(value);
        case DType::int8:
            return fill_as<std::int8_t>(value);
        case DType::int16:
            return fill_as<std::int16_t>(value);
        case DType::int32:
            return fill_as<std::int32_t>(value);
        case DType::int64:
            return fill_as<std::int64_t>(value);
        case DType::uint8:
            return fill_as<std::uint8_t>(value);
        case DType::uint16:
            return fill_as<std::uint16_t>(value);
        case DType::uint32:
            return fill_as<std::uint32_t>(value);
        case DType::uint64:
            return fill_as<std::uint64_t>(value);
        case DType::boolean:
            return fill_as<bool>(value);
        case DType::float16:
            return short_fill<Float16>(value);
        case DType::bfloat16:
            return short_fill<Bfloat16>(value);
        case DType::complex64:  // of both parts
            return fill_as<float>(value);
        case DType::complex128:
            return fill_as<double>(value);
    }
    return std::nullopt;
}

constexpr const char* k_missing_names[] = {"_FillValue", "missing_value"};
constexpr std::size_t k_most_missing = 255;

/// The numbers of an attribute's value; of text there are none.
std::vector<FillValue> numbers_in(const store::AttributeValue& value) {
    std::vector<FillValue> numbers;
    const auto take = [&]<class T>(const T& one) {
        if constexpr (std::is_floating_point_v<T>)
            numbers.emplace_back(static_cast<double>(one));
        else if constexpr (std::is_signed_v<T>)
            numbers.emplace_back(std::int64_t{one});
        else
            numbers.emplace_back(std::uint64_t{one});
    };
    std::visit(
        [&]<class T>(const T& all) {
            if constexpr (std::is_arithmetic_v<T>)
                take(all);
            else if constexpr (!std::is_same_v<T, std::string> &&
                               !std::is_same_v<T, std::vector<std::string>>)
                for (const auto& one : all) take(one);
        },
        value);
    return numbers;
}

store::AttributeValue as_attribute(const FillValue& value, DType dtype) {
    if (is_integer(dtype))
        return std::visit(
            [](auto number) -> store::AttributeValue {
                if constexpr (std::is_same_v<decltype(number), double>)
                    return static_cast<std::int64_t>(number);
                else
                    return number;
            },
            value);
    const double number = std::visit([](auto n) { return static_cast<double>(n); }, value);
    const bool is_double = dtype == DType::float64 || dtype == DType::complex128;
    if (is_double) return number;
    return static_cast<float>(number);
}

}  // namespace

codec::ValueBits declared_missing(const FieldOptions& options, DType dtype) {
    const DType number = number_type(dtype);
    codec::ValueBits bits;
    const auto add = [&](const FillValue& value) {
        const auto bytes = fill_as(value, number);
        if (bytes)
            codec::unite(bits, codec::bits_of(std::span(*bytes).first(size_of(number)), number));
    };
    if (!codec::may_have_missing(number)) return bits;
    for (const FillValue& value : options.missing) add(value);
    for (const store::Attribute& one : options.attributes)
        for (const char* name : k_missing_names)
            if (one.name == name)
                for (const FillValue& value : numbers_in(one.value)) add(value);
    if (bits.size() > k_most_missing) bits.resize(k_most_missing);
    return bits;
}

Status check_missing(const FieldOptions& options, DType dtype) {
    for (const FillValue& value : options.missing)
        if (!fill_as(value, dtype))
            return {StatusCode::invalid_argument,
                    fmt::format("missing {} is no {}; give a value that the type has",
                                to_string(value), caesura::to_string(dtype))};
    if (options.missing.size() <= k_most_missing) return {};
    return {StatusCode::invalid_argument, fmt::format("{} missing values; {} are possible",
                                                      options.missing.size(), k_most_missing)};
}

std::vector<store::Attribute> missing_attributes(const FieldOptions& options, DType dtype) {
    if (options.missing.empty()) return {};
    const bool is_one = options.missing.size() == 1;
    const char* const name = k_missing_names[is_one ? 0 : 1];
    for (const store::Attribute& one : options.attributes)
        if (one.name == name) return {};
    if (is_one) return {{name, as_attribute(options.missing[0], dtype)}};
    std::vector<double> all;
    for (const FillValue& value : options.missing)
        all.push_back(std::visit([](auto number) { return static_cast<double>(number); }, value));
    return {{name, std::move(all)}};
}

FillValue value_of(std::span<const std::byte> bytes, DType dtype) {
    double wide = 0;
    float number = 0;
    if (dtype == DType::float64) {
        std::memcpy(&wide, bytes.data(), sizeof wide);
        return wide;
    }
    if (dtype == DType::float32)
        std::memcpy(&number, bytes.data(), sizeof number);
    else
        base::widen(bytes, dtype, reinterpret_cast<std::byte*>(&number));
    return static_cast<double>(number);
}

Result<std::array<std::byte, 8>> fill_of(const FillValue& value, DType dtype) {
    if (const auto bytes = fill_as(value, dtype)) return *bytes;
    return Status(
        StatusCode::invalid_argument,
        fmt::format("fill_value {} is no {}", to_string(value), caesura::to_string(dtype)));
}

std::string to_string(const FillValue& value) {
    return std::visit([](auto number) { return fmt::format("{}", number); }, value);
}

}  // namespace caesura::writer
