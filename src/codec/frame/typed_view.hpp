// Bytes seen as values of a type, whatever their alignment.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace caesura::codec {

template <class T>
bool is_aligned(const std::byte* bytes) {
    return reinterpret_cast<std::uintptr_t>(bytes) % alignof(T) == 0;
}

/// The values of `bytes` (whole values); in `copy` if they do not lie where a T may.
template <class T>
std::span<const T> typed_view(std::span<const std::byte> bytes, std::vector<T>& copy) {
    const std::size_t n = bytes.size() / sizeof(T);
    if (is_aligned<T>(bytes.data())) return {reinterpret_cast<const T*>(bytes.data()), n};
    copy.resize(n);
    std::memcpy(copy.data(), bytes.data(), n * sizeof(T));
    return {copy.data(), n};
}

}  // namespace caesura::codec
