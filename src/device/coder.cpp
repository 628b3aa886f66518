#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "caesura/device.hpp"

namespace caesura::device {
namespace {

constexpr std::array<std::string_view, k_coders.size()> k_names = {
    "codec",          "packed",     "nvcomp_lz4",     "nvcomp_gdeflate",
    "nvcomp_bitcomp", "nvcomp_ans", "nvcomp_cascaded"};

}  // namespace

std::string_view to_string(Coder coder) {
    const auto number = static_cast<std::size_t>(coder);
    return number < k_names.size() ? k_names[number] : "unknown";
}

Result<Coder> coder_of(std::string_view name) {
    const auto found = std::find(k_names.begin(), k_names.end(), name);
    if (found != k_names.end()) return k_coders[static_cast<std::size_t>(found - k_names.begin())];
    return Status{StatusCode::invalid_argument,
                  fmt::format("there is no coder '{}'; use {}", name,
                              fmt::join(k_names.begin(), k_names.end(), ", "))};
}

Status validate(const Content& content, std::uint64_t piece_bytes, Coder coder) {
    const ErrorBound::Kind kind = content.bound.kind;
    if (kind != ErrorBound::Kind::lossless && kind != ErrorBound::Kind::absolute)
        return {StatusCode::unsupported,
                "a bound of this kind; checkpoints are lossless or have an absolute bound"};
    if (Status status = caesura::validate(content.bound); !status.ok()) return status;
    if (kind != ErrorBound::Kind::lossless && is_nvcomp(coder))
        return {StatusCode::unsupported,
                fmt::format("a bound of {}, and coder {} is lossless only; packed and codec keep "
                            "bounds",
                            content.bound.value, to_string(coder))};
    if (content.shape.rank() == 0) {
        if (kind == ErrorBound::Kind::lossless) return {};
        return {StatusCode::invalid_argument,
                "a bound, and no shape: say what the values of a checkpoint are"};
    }
    const std::uint64_t bytes = content.shape.count() * size_of(content.dtype);
    if (bytes == piece_bytes) return {};
    return {StatusCode::invalid_argument,
            fmt::format("{} values of {} are {} bytes, and a checkpoint has {}",
                        to_string(content.shape), to_string(content.dtype), bytes, piece_bytes)};
}

}  // namespace caesura::device
