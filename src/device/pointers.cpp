// Whose memory a pointer of an application points into: an emulated device's, CUDA's, or the
// host's.
#include "device/cuda/pointers.hpp"

#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <map>
#include <mutex>

#include "base/invalid.hpp"
#include "caesura/device.hpp"

namespace caesura::device {
namespace {

/// All memory of emulated devices: where each piece begins, and its bytes.
struct Pieces {
    std::mutex mutex;
    std::map<const std::byte*, std::uint64_t, std::less<>> all;
};

Pieces& pieces() {
    static auto& one = *new Pieces;  // never destroyed: devices may be after our statics
    return one;
}

/// Bytes from a place to the end of its piece; 0: it is in none.
std::uint64_t emulated_bytes_from(const void* memory) {
    const auto* const at = static_cast<const std::byte*>(memory);
    Pieces& known = pieces();
    const std::lock_guard lock(known.mutex);
    auto after = known.all.upper_bound(at);
    if (after == known.all.begin()) return 0;
    const auto& [begin, bytes] = *--after;
    return at < begin + bytes ? static_cast<std::uint64_t>(begin + bytes - at) : 0;
}

}  // namespace

EmulatedMemory::EmulatedMemory(std::uint64_t bytes) : bytes_(bytes) {
    const std::lock_guard lock(pieces().mutex);
    pieces().all.emplace(bytes_.data(), bytes);
}

EmulatedMemory::~EmulatedMemory() {
    if (bytes_.empty()) return;
    const std::lock_guard lock(pieces().mutex);
    pieces().all.erase(bytes_.data());
}

bool owns_memory(const void* memory) {
    return memory != nullptr && (emulated_bytes_from(memory) > 0 || cuda::owns_memory(memory));
}

Status fetch(std::span<std::byte> host, const void* memory) {
    if (const std::uint64_t left = emulated_bytes_from(memory); left > 0) {
        if (host.size() > left)
            return base::invalid(
                fmt::format("{} bytes of a device where {} are allocated", host.size(), left));
        std::memcpy(host.data(), memory, host.size());
        return {};
    }
    return cuda::fetch(host, memory);
}

bool has_cuda() { return cuda::is_here(); }

}  // namespace caesura::device
