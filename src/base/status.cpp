#include <fmt/format.h>

#include <iterator>

#include "caesura/base.hpp"

namespace caesura {

std::string_view to_string(StatusCode code) {
    switch (code) {
        case StatusCode::ok:
            return "ok";
        case StatusCode::invalid_argument:
            return "invalid_argument";
        case StatusCode::insufficient_data:
            return "insufficient_data";
        case StatusCode::corrupt:
            return "corrupt";
        case StatusCode::unsupported:
            return "unsupported";
        case StatusCode::no_space:
            return "no_space";
        case StatusCode::io:
            return "io";
        case StatusCode::cancelled:
            return "cancelled";
        case StatusCode::internal:
            return "internal";
    }
    return "unknown";
}

Status Status::with_context(std::string_view context) const {
    if (ok()) return *this;
    return {code_, fmt::format("{}: {}", context, message_)};
}

std::string_view to_string(DType dtype) {
    constexpr std::string_view k_names[] = {"unknown type", "float32",  "float64",   "int8",
                                            "int16",        "int32",    "int64",     "uint8",
                                            "uint16",       "uint32",   "uint64",    "bool",
                                            "float16",      "bfloat16", "complex64", "complex128"};
    const auto type = static_cast<std::size_t>(dtype);
    return k_names[type < std::size(k_names) ? type : 0];
}

}  // namespace caesura
