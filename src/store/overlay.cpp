#include "store/overlay.hpp"

#include <algorithm>
#include <cstring>

namespace caesura::store {
namespace {

/// An extent grows to about this at its end: large enough for few writes, small enough to move.
constexpr std::size_t k_appendable_bytes = std::size_t{1} << 20;

}  // namespace

Overlay::Map::const_iterator Overlay::first_after(std::uint64_t address) const {
    auto it = extents_.upper_bound(address);
    if (it != extents_.begin()) {
        const auto before = std::prev(it);
        if (before->first + before->second.size() > address) return before;
    }
    return it;
}

void Overlay::write(std::uint64_t address, std::span<const std::byte> bytes) {
    const std::uint64_t end = address + bytes.size();
    std::uint64_t at = address;
    while (at < end) {
        // The const iterator names the place; the map is ours to change.
        const auto found = first_after(at);
        const auto it = extents_.erase(found, found);
        const std::byte* source = bytes.data() + (at - address);
        if (it != extents_.end() && it->first <= at) {  // inside an extent: overwrite its part
            const std::uint64_t stop = std::min(end, it->first + it->second.size());
            std::memcpy(it->second.data() + (at - it->first), source, stop - at);
            at = stop;
        } else {  // in a gap: a new extent up to the next one
            const std::uint64_t stop = it == extents_.end() ? end : std::min(end, it->first);
            bytes_ += stop - at;
            const auto before = it == extents_.begin() ? extents_.end() : std::prev(it);
            if (before != extents_.end() && before->first + before->second.size() == at &&
                before->second.size() < k_appendable_bytes)
                before->second.insert(before->second.end(), source, source + (stop - at));
            else
                extents_.emplace_hint(it, at, std::vector<std::byte>(source, source + (stop - at)));
            at = stop;
        }
    }
}

void Overlay::erase(std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t end = address + bytes;
    const auto found = first_after(address);
    for (auto it = extents_.erase(found, found); it != extents_.end() && it->first < end;) {
        const std::uint64_t start = it->first, stop = start + it->second.size();
        bytes_ -= std::min(end, stop) - std::max(address, start);
        if (stop > end)
            extents_.emplace(end, std::vector<std::byte>(
                                      it->second.begin() + static_cast<std::ptrdiff_t>(end - start),
                                      it->second.end()));
        if (start < address) {
            it->second.resize(address - start);
            ++it;
        } else {
            it = extents_.erase(it);
        }
    }
}

void Overlay::read(std::uint64_t address, std::span<std::byte> bytes) const {
    const std::uint64_t end = address + bytes.size();
    for (auto it = first_after(address); it != extents_.end() && it->first < end; ++it) {
        const std::uint64_t start = std::max(address, it->first);
        const std::uint64_t stop = std::min(end, it->first + it->second.size());
        std::memcpy(bytes.data() + (start - address), it->second.data() + (start - it->first),
                    stop - start);
    }
}

bool Overlay::covers(std::uint64_t address, std::uint64_t bytes) const {
    std::uint64_t at = address;
    for (auto it = first_after(address); it != extents_.end() && it->first <= at; ++it) {
        at = it->first + it->second.size();
        if (at >= address + bytes) return true;
    }
    return bytes == 0;
}

std::uint64_t Overlay::end() const {
    if (extents_.empty()) return 0;
    const auto last = std::prev(extents_.end());
    return last->first + last->second.size();
}

std::vector<Extent> Overlay::extents(std::uint64_t begin, std::uint64_t end) const {
    std::vector<Extent> out;
    for (auto it = first_after(begin); it != extents_.end() && it->first < end; ++it) {
        const std::uint64_t start = std::max(begin, it->first);
        const std::uint64_t stop = std::min(end, it->first + it->second.size());
        if (out.empty() || out.back().end() != start) out.push_back({start, {}});
        const auto from = it->second.begin() + static_cast<std::ptrdiff_t>(start - it->first);
        out.back().bytes.insert(out.back().bytes.end(), from,
                                from + static_cast<std::ptrdiff_t>(stop - start));
    }
    return out;
}

}  // namespace caesura::store
