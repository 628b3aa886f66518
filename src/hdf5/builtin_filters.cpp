#include "hdf5/builtin_filters.hpp"

#include <libdeflate.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

namespace caesura::hdf5 {
namespace {

constexpr std::size_t k_fletcher32_bytes = 4;
constexpr std::size_t k_shuffle_tile = 512;  // values whose bytes stay in the cache

bool inflate(std::size_t most_bytes, FilterBuffer& buffer) {
    const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> coder(
        libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
    if (!coder) throw std::bad_alloc();
    FilterBuffer out(most_bytes);
    std::size_t n = 0;
    const auto result =
        libdeflate_zlib_decompress(coder.get(), buffer.bytes().data(), buffer.bytes().size(),
                                   out.bytes().data(), out.bytes().size(), &n);
    if (result != LIBDEFLATE_SUCCESS) return false;
    out.cut(n);
    buffer = std::move(out);
    return true;
}

/// Byte b of all values lies in stretch b; what is left over at the end was not moved.
void unshuffle(std::size_t value_bytes, FilterBuffer& buffer) {
    const std::span<const std::byte> in = std::as_const(buffer).bytes();
    const std::size_t n = in.size() / value_bytes;
    FilterBuffer out(in.size());
    std::byte* const to = out.bytes().data();
    for (std::size_t first = 0; first < n; first += k_shuffle_tile) {
        const std::size_t last = std::min(n, first + k_shuffle_tile);
        for (std::size_t b = 0; b < value_bytes; ++b) {
            const std::byte* const from = in.data() + b * n;
            for (std::size_t i = first; i < last; ++i) to[i * value_bytes + b] = from[i];
        }
    }
    const std::size_t moved = n * value_bytes;
    if (in.size() > moved) std::memcpy(to + moved, in.data() + moved, in.size() - moved);
    buffer = std::move(out);
}

/// Byte b of all values goes to stretch b.
void shuffle(std::size_t value_bytes, FilterBuffer& buffer) {
    const std::span<const std::byte> in = std::as_const(buffer).bytes();
    const std::size_t n = in.size() / value_bytes;
    FilterBuffer out(in.size());
    std::byte* const to = out.bytes().data();
    for (std::size_t first = 0; first < n; first += k_shuffle_tile) {
        const std::size_t last = std::min(n, first + k_shuffle_tile);
        for (std::size_t b = 0; b < value_bytes; ++b) {
            const std::byte* const from = in.data() + b;
            std::byte* const stretch = to + b * n;
            for (std::size_t i = first; i < last; ++i) stretch[i] = from[i * value_bytes];
        }
    }
    const std::size_t moved = n * value_bytes;
    if (in.size() > moved) std::memcpy(to + moved, in.data() + moved, in.size() - moved);
    buffer = std::move(out);
}

/// @return  false: longer than `most_bytes`; the buffer is as it was.
bool deflate(int level, std::size_t most_bytes, FilterBuffer& buffer) {
    const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> coder(
        libdeflate_alloc_compressor(level), &libdeflate_free_compressor);
    if (!coder) throw std::bad_alloc();
    FilterBuffer out(most_bytes);
    const std::size_t n =
        libdeflate_zlib_compress(coder.get(), buffer.bytes().data(), buffer.bytes().size(),
                                 out.bytes().data(), out.bytes().size());
    if (n == 0) return false;
    out.cut(n);
    buffer = std::move(out);
    return true;
}

/// As HDF5 computes it: values of two bytes, the first one high.
std::uint32_t fletcher32(std::span<const std::byte> bytes) {
    constexpr std::size_t k_until_overflow = 720;  // bytes
    const auto at = [&](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
    const auto fold = [](std::uint32_t sum) { return (sum & 0xffff) + (sum >> 16); };
    std::uint32_t sum1 = 0, sum2 = 0;
    const std::size_t even = bytes.size() & ~std::size_t{1};
    for (std::size_t first = 0; first < even; first += k_until_overflow) {
        const std::size_t last = std::min(even, first + k_until_overflow);
        for (std::size_t i = first; i < last; i += 2) {
            sum1 += at(i) << 8 | at(i + 1);
            sum2 += sum1;
        }
        sum1 = fold(sum1);
        sum2 = fold(sum2);
    }
    if (even < bytes.size()) {
        sum1 += at(even) << 8;
        sum2 += sum1;
        sum1 = fold(sum1);
        sum2 = fold(sum2);
    }
    return fold(sum2) << 16 | fold(sum1);
}

bool check_fletcher32(FilterBuffer& buffer) {
    if (buffer.bytes().size() < k_fletcher32_bytes) return false;
    const std::size_t n = buffer.bytes().size() - k_fletcher32_bytes;
    std::uint32_t stored = 0;
    for (std::size_t i = k_fletcher32_bytes; i-- > 0;)
        stored = stored << 8 | std::to_integer<std::uint32_t>(buffer.bytes()[n + i]);
    const std::uint32_t found = fletcher32(buffer.bytes().first(n));
    // HDF5 before 1.6.3 stored the bytes of each half the other way round on such machines.
    const std::uint32_t old = (found & 0x00ff00ff) << 8 | (found >> 8 & 0x00ff00ff);
    buffer.cut(n);
    return stored == found || stored == old;
}

void append_fletcher32(FilterBuffer& buffer) {
    const std::uint32_t sum = fletcher32(std::as_const(buffer).bytes());
    FilterBuffer out(buffer.bytes().size() + k_fletcher32_bytes);
    std::memcpy(out.bytes().data(), buffer.bytes().data(), buffer.bytes().size());
    for (std::size_t i = 0; i < k_fletcher32_bytes; ++i)
        out.bytes()[buffer.bytes().size() + i] = static_cast<std::byte>(sum >> (8 * i) & 0xff);
    buffer = std::move(out);
}

}  // namespace

bool is_builtin(unsigned filter_id) {
    return filter_id >= k_deflate_id && filter_id <= k_fletcher32_id;
}

bool decode_builtin(unsigned filter_id, std::span<const unsigned> cd_values, std::size_t most_bytes,
                    FilterBuffer& buffer) {
    if (filter_id == k_deflate_id) return inflate(most_bytes, buffer);
    if (filter_id == k_fletcher32_id) return check_fletcher32(buffer);
    if (filter_id != k_shuffle_id || cd_values.empty() || cd_values[0] == 0) return false;
    if (cd_values[0] > 1) unshuffle(cd_values[0], buffer);
    return true;
}

bool encode_builtin(unsigned filter_id, std::span<const unsigned> cd_values, std::size_t most_bytes,
                    FilterBuffer& buffer) {
    if (filter_id == k_fletcher32_id) {
        append_fletcher32(buffer);
        return true;
    }
    if (cd_values.empty()) return false;
    constexpr unsigned k_highest_level = 9;
    if (filter_id == k_deflate_id)
        return cd_values[0] <= k_highest_level &&
               deflate(static_cast<int>(cd_values[0]), most_bytes, buffer);
    if (filter_id != k_shuffle_id || cd_values[0] == 0) return false;
    if (cd_values[0] > 1) shuffle(cd_values[0], buffer);
    return true;
}

}  // namespace caesura::hdf5
