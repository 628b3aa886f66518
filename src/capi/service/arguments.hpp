// What a program of C gives, as the C++ face wants it.
#pragma once

#include <algorithm>
#include <cstring>

#include "caesura/service.h"
#include "capi/errors.hpp"
#include "transit/client/objects.hpp"

namespace caesura::capi {

inline std::string text_of(const char* text) { return text == nullptr ? std::string() : text; }

/// The struct as this library has it: members that the caller does not know have their defaults.
template <class Struct>
Struct struct_of(const Struct* given, Struct defaults) {
    if (given != nullptr)
        std::memcpy(&defaults, given, std::min(sizeof defaults, given->struct_bytes));
    return defaults;
}

/// The members that the caller knows.
template <class Struct>
Status give_struct(const Struct& all, Struct* wanted) {
    if (wanted == nullptr || wanted->struct_bytes < sizeof wanted->struct_bytes)
        return invalid("the struct is NULL, or its struct_bytes is not set");
    const std::size_t bytes = std::min(sizeof all, wanted->struct_bytes);
    std::memcpy(wanted, &all, bytes);
    wanted->struct_bytes = bytes;
    return {};
}

/// Errors: invalid_argument.
Result<DType> dtype_of(int dtype);
Result<Shape> shape_of(int rank, const std::uint64_t* extents);
Result<Box> box_of(int rank, const std::uint64_t* offset, const std::uint64_t* extent);
Result<ErrorBound> bound_of(int kind, double value);
Result<std::vector<transit::Tag>> tags_of(const caesura_tag* tags, std::size_t count);

}  // namespace caesura::capi

struct caesura_objects {
    std::unique_ptr<caesura::transit::Objects> objects;
};
