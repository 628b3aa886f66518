// Fuzzing of the decoder: any bytes are a frame, a bundle, a table set or statistics, or an error.
//
// The checksum would stop nearly every changed frame at the door, so it is taken off first; the
// frame as it is goes through as well. A bundle's frames lose theirs, and its header gets a new
// one. Built with libFuzzer by clang (see CONTRIBUTING.md), and with replay.cpp by any compiler.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/little_endian.hpp"
#include "caesura/codec.hpp"
#include "codec/bundle/bundle.hpp"
#include "codec/kernels/checksum.hpp"

namespace {

using caesura::base::get_little;
using caesura::base::put_little;

// Larger arrays find nothing that smaller ones do not, and take longer.
constexpr std::uint64_t k_limit_bytes = std::uint64_t{1} << 20;

void check(const caesura::Status& status) {
    // An internal error is a bug of ours that was noticed.
    if (status.code() == caesura::StatusCode::internal) std::abort();
}

void decode_bundle(std::span<const std::byte> bundle) {
    const auto info = caesura::codec::read_bundle_info(bundle);
    if (!info.ok() || info->raw_bytes > k_limit_bytes) return;
    std::vector<std::byte> values(static_cast<std::size_t>(info->raw_bytes));
    check(caesura::codec::decompress_bundle(bundle, values));
}

void decode(std::span<const std::byte> frame) {
    const auto info = caesura::read_frame_info(frame);
    if (!info.ok() || info->raw_bytes > k_limit_bytes) return;
    std::vector<std::byte> values(static_cast<std::size_t>(info->raw_bytes));
    check(caesura::decompress(frame, values));
}

/// @return  whether there was one.
bool drop_checksum(std::span<std::byte> frame) {
    if (frame.size() < 16 || (frame[5] & std::byte{1}) == std::byte{0}) return false;
    frame[5] &= ~std::byte{1};
    for (std::size_t i = 8; i < 16; ++i) frame[i] = std::byte{0};
    return true;
}

/// As a program that makes bundles would have written these bytes.
void seal_bundle(std::span<std::byte> bundle) {
    constexpr std::size_t k_header_bytes = 24, k_line_bytes = 8, k_checksummed_from = 16;
    if (bundle.size() < k_header_bytes) return;
    const std::uint64_t parts = get_little(&bundle[16], 4);
    const std::uint64_t table_end = k_header_bytes + parts * k_line_bytes;
    if (table_end > bundle.size()) return;
    std::size_t at = table_end;
    for (std::uint64_t i = 0; i < parts && at < bundle.size(); ++i) {
        const std::size_t bytes = get_little(&bundle[k_header_bytes + i * k_line_bytes], 4);
        if (bytes <= bundle.size() - at) drop_checksum(bundle.subspan(at, bytes));
        at += bytes;
    }
    const auto covered = bundle.subspan(k_checksummed_from, table_end - k_checksummed_from);
    put_little(&bundle[8], caesura::codec::checksum(covered, get_little(bundle.data(), 8)), 8);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto* bytes = reinterpret_cast<const std::byte*>(data);
    std::vector<std::byte> frame(bytes, bytes + size);
    decode(frame);
    if (caesura::codec::is_bundle(frame)) {
        decode_bundle(frame);
        seal_bundle(frame);
        decode_bundle(frame);
        return 0;
    }
    if (drop_checksum(frame)) decode(frame);
    if (caesura::TableSet::parse(frame).ok() != caesura::TableSet::parse(frame).ok()) std::abort();
    const auto statistics = caesura::TableStatistics::parse(frame);
    if (statistics.ok() && !caesura::TableSet::parse(statistics->train().bytes()).ok() &&
        !statistics->train().bytes().empty())
        std::abort();
    return 0;
}
