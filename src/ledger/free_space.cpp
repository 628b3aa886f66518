#include "ledger/free_space.hpp"

#include <algorithm>
#include <numeric>

namespace caesura::ledger {

void FreeSpace::add(Extent extent) {
    if (extent.bytes == 0) return;
    auto after =
        std::lower_bound(extents_.begin(), extents_.end(), extent,
                         [](const Extent& a, const Extent& b) { return a.address < b.address; });
    after = extents_.insert(after, extent);
    const auto join_next = [&](std::vector<Extent>::iterator at) {
        if (at + 1 == extents_.end() || at->end() != (at + 1)->address) return;
        at->bytes += (at + 1)->bytes;
        extents_.erase(at + 1);
    };
    join_next(after);
    if (after != extents_.begin()) join_next(after - 1);
    if (extents_.size() > k_most_extents)
        extents_.erase(
            std::min_element(extents_.begin(), extents_.end(),
                             [](const Extent& a, const Extent& b) { return a.bytes < b.bytes; }));
}

std::uint64_t FreeSpace::bytes() const {
    return std::accumulate(extents_.begin(), extents_.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const Extent& e) { return sum + e.bytes; });
}

void FreeSpace::cut(std::uint64_t file_end) {
    for (Extent& extent : extents_)
        extent.bytes = std::min(extent.bytes, file_end - std::min(file_end, extent.address));
    std::erase_if(extents_, [](const Extent& e) { return e.bytes == 0; });
}

}  // namespace caesura::ledger
