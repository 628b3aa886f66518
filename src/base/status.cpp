#include <fmt/format.h>

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

std::string_view to_string(DType dtype) { return dtype == DType::float32 ? "float32" : "float64"; }

}  // namespace caesura
