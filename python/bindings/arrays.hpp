// Plain arguments of the module's functions: flat bytes, names, bounds and shapes.
//
// Invariants:
//  - Arrays come as flat C-contiguous bytes; type and shape are beside them.
//  - A name that is not known is a ValueError that lists the known ones.
#pragma once

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>

#include "bindings.hpp"
#include "caesura/codec.hpp"

namespace caesura::python {

using Input = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bound = std::pair<std::string, double>;

inline std::span<const std::byte> bytes_of(const Input& array) {
    return std::as_bytes(std::span(array.data(), array.size()));
}

inline nb::bytes to_python(std::span<const std::byte> bytes) {
    return nb::bytes(bytes.data(), bytes.size());
}

inline std::span<const std::byte> bytes_of(const nb::bytes& bytes) {
    return {static_cast<const std::byte*>(bytes.data()), bytes.size()};
}

/// A value by its name; ValueError that lists the names there are.
template <class T, std::size_t n>
T by_name(const char* what, const std::string& name,
          const std::array<std::pair<const char*, T>, n>& known) {
    std::string names;
    for (const auto& [known_name, value] : known) {
        if (name == known_name) return value;
        names += (names.empty() ? "" : ", ") + std::string(known_name);
    }
    raise_if_error({StatusCode::invalid_argument,
                    std::string(what) + " is '" + name + "'; use one of " + names});
    return {};
}

template <class T, std::size_t n>
const char* name_of(T value, const std::array<std::pair<const char*, T>, n>& known) {
    for (const auto& [name, known_value] : known) {
        if (value == known_value) return name;
    }
    return "unknown";
}

inline constexpr std::array<std::pair<const char*, ErrorBound::Kind>, 5> k_kinds = {
    {{"lossless", ErrorBound::Kind::lossless},
     {"absolute", ErrorBound::Kind::absolute},
     {"relative", ErrorBound::Kind::relative},
     {"pointwise_relative", ErrorBound::Kind::pointwise_relative},
     {"psnr", ErrorBound::Kind::psnr}}};
inline constexpr std::array<std::pair<const char*, Mode>, 5> k_modes = {
    {{"auto", Mode::automatic},
     {"fast", Mode::fast},
     {"strong", Mode::strong},
     {"planes", Mode::planes},
     {"regions", Mode::regions}}};
inline constexpr std::array<std::pair<const char*, DType>, 15> k_dtypes = {
    {{"float32", float32},
     {"float64", float64},
     {"int8", int8},
     {"int16", int16},
     {"int32", int32},
     {"int64", int64},
     {"uint8", uint8},
     {"uint16", uint16},
     {"uint32", uint32},
     {"uint64", uint64},
     {"bool", boolean},
     {"float16", float16},
     {"bfloat16", bfloat16},
     {"complex64", complex64},
     {"complex128", complex128}}};

inline ErrorBound to_bound(const Bound& bound) {
    const ErrorBound::Kind kind = by_name("bound", bound.first, k_kinds);
    return kind == ErrorBound::Kind::lossless ? lossless() : ErrorBound{kind, bound.second};
}

inline Shape to_shape(const std::vector<std::uint64_t>& extents) {
    if (extents.empty() || extents.size() > k_max_rank) {
        raise_if_error(
            {StatusCode::invalid_argument,
             "an array of " + std::to_string(extents.size()) + " axes; 1 to 4 are possible"});
    }
    return Shape(extents);
}

}  // namespace caesura::python
