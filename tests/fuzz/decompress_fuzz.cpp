// Fuzzing of the decoder: any bytes are a frame, a table set or statistics, or an error.
//
// The checksum would stop nearly every changed frame at the door, so it is taken off first; the
// frame as it is goes through as well. Built with libFuzzer by clang (see CONTRIBUTING.md), and
// with replay.cpp by any compiler.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "caesura/codec.hpp"

namespace {

// Larger arrays find nothing that smaller ones do not, and take longer.
constexpr std::uint64_t k_limit_bytes = std::uint64_t{1} << 20;

void decode(std::span<const std::byte> frame) {
    const auto info = caesura::read_frame_info(frame);
    if (!info.ok() || info->raw_bytes > k_limit_bytes) return;
    std::vector<std::byte> values(static_cast<std::size_t>(info->raw_bytes));
    const caesura::Status status = caesura::decompress(frame, values);
    // An internal error is a bug of ours that was noticed.
    if (status.code() == caesura::StatusCode::internal) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto* bytes = reinterpret_cast<const std::byte*>(data);
    std::vector<std::byte> frame(bytes, bytes + size);
    decode(frame);
    if (frame.size() >= 16 && (frame[5] & std::byte{1}) != std::byte{0}) {
        frame[5] &= ~std::byte{1};
        for (std::size_t i = 8; i < 16; ++i) frame[i] = std::byte{0};
        decode(frame);
    }
    if (caesura::TableSet::parse(frame).ok() != caesura::TableSet::parse(frame).ok()) std::abort();
    const auto statistics = caesura::TableStatistics::parse(frame);
    if (statistics.ok() && !caesura::TableSet::parse(statistics->train().bytes()).ok() &&
        !statistics->train().bytes().empty())
        std::abort();
    return 0;
}
