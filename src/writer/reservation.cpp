#include "writer/reservation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "store/region_writer.hpp"

namespace caesura::writer {
namespace {

// Small blocks find a place in small stretches; below this only the write grows, not the yield.
constexpr std::size_t k_most_kept = 16;
constexpr std::size_t k_most_blocks_tried = 128;
constexpr std::size_t k_steps = 2048;  // resolution of the filling

/// What a block takes in a region: stored bytes with a margin of its own (in a full stretch there
/// is no neighbour whose error could make up for it), prefix, alignment.
std::uint64_t allowance(const predict::Bytes& block, std::uint64_t most_bytes, double sigmas) {
    return predict::reserve_bytes({&block, 1}, most_bytes, sigmas) +
           store::region_overhead_bytes(1, 0) - store::region_overhead_bytes(0, 0);
}

/// The subset of `sizes` (all <= capacity) with the largest sum that is not above the capacity, as
/// indices. Sums are kept in k_steps steps, rounded up: never too much.
std::vector<std::size_t> best_subset(std::span<const std::uint64_t> sizes, std::uint64_t capacity) {
    std::vector<std::size_t> chosen(sizes.size());
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
    if (std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}) <= capacity) return chosen;
    chosen.clear();
    const std::uint64_t step = capacity / k_steps + 1;
    const std::size_t top = static_cast<std::size_t>(capacity / step);
    constexpr std::uint32_t k_none = ~std::uint32_t{0};
    // from[i * (top + 1) + s]: is sum s reached with the first i sizes, the last of them taken?
    std::vector<std::uint32_t> last(top + 1, k_none);  // the size that first reached this sum
    std::vector<char> reached(top + 1, 0);
    reached[0] = 1;
    for (std::size_t i = 0; i < sizes.size() && !reached[top]; ++i) {
        const auto width = static_cast<std::size_t>((sizes[i] + step - 1) / step);
        for (std::size_t s = top; s >= width && width > 0; --s) {
            if (reached[s] || !reached[s - width]) continue;
            reached[s] = 1;
            last[s] = static_cast<std::uint32_t>(i);
        }
    }
    std::size_t s = top;
    while (!reached[s]) --s;
    while (s > 0) {
        const std::size_t i = last[s];
        chosen.push_back(i);
        s -= static_cast<std::size_t>((sizes[i] + step - 1) / step);
    }
    return chosen;
}

Reservation reserve_slots(std::vector<Extent> free, const Wanted& wanted, std::uint64_t round) {
    Reservation out;
    out.rest = std::move(free);
    out.regions.assign(wanted.blocks.size(), 0);
    std::vector<std::uint64_t> capacities;
    for (std::size_t i = 0; i < wanted.blocks.size(); ++i)
        capacities.push_back(
            predict::slot_bytes(wanted.blocks[i], wanted.most_bytes[i], wanted.slot_space));
    out.slots = store::slot_offsets(capacities, wanted.manifest_bytes);
    const std::uint64_t bytes = out.slots.empty()
                                    ? store::region_overhead_bytes(0, wanted.manifest_bytes)
                                    : out.slots.back();
    out.fresh_bytes = store::align_up(bytes, round);
    return out;
}

}  // namespace

Reservation reserve(std::vector<Extent> free, const Wanted& wanted) {
    const std::size_t n = wanted.blocks.size();
    const std::uint64_t round = std::max(wanted.alignment, store::k_region_alignment);
    if (n == 0 && wanted.manifest_bytes == 0) {
        Reservation nothing;
        nothing.rest = std::move(free);
        return nothing;
    }
    if (wanted.policy == Reserve::slots) return reserve_slots(std::move(free), wanted, round);

    Reservation out;
    constexpr std::uint32_t k_fresh = ~std::uint32_t{0};
    out.regions.assign(n, k_fresh);
    std::vector<std::uint64_t> sizes(n);
    for (std::size_t i = 0; i < n; ++i)
        sizes[i] = allowance(wanted.blocks[i], wanted.most_bytes[i], wanted.sigmas);
    std::sort(free.begin(), free.end(), [](const Extent& a, const Extent& b) {
        return a.bytes != b.bytes ? a.bytes > b.bytes : a.address < b.address;
    });
    // The manifest goes into the largest stretch: with stripes, fresh space for it alone is dear.
    const std::uint64_t with_manifest = store::region_overhead_bytes(0, wanted.manifest_bytes);
    const bool manifest_kept =
        wanted.manifest_bytes > 0 && !free.empty() && free[0].bytes >= with_manifest;
    for (const Extent& extent : free) {
        const bool first = out.kept.empty() && out.rest.empty();
        const std::uint64_t opening =
            first && manifest_kept ? with_manifest : store::region_overhead_bytes(0, 0);
        std::vector<std::size_t> jobs;
        std::vector<std::uint64_t> fitting;
        for (std::size_t i = 0; i < n && jobs.size() < k_most_blocks_tried; ++i)
            if (out.regions[i] == k_fresh && opening + sizes[i] <= extent.bytes) {
                jobs.push_back(i);
                fitting.push_back(sizes[i]);
            }
        const bool useful = !jobs.empty() || (first && manifest_kept);
        if (!useful || out.kept.size() == k_most_kept) {
            out.rest.push_back(extent);
            continue;
        }
        for (const std::size_t chosen : best_subset(fitting, extent.bytes - opening))
            out.regions[jobs[chosen]] = static_cast<std::uint32_t>(out.kept.size());
        out.kept.push_back(extent);
    }
    std::vector<predict::Bytes> fresh;
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < n; ++i)
        if (out.regions[i] == k_fresh) {
            out.regions[i] = static_cast<std::uint32_t>(out.kept.size());
            fresh.push_back(wanted.blocks[i]);
            most += wanted.most_bytes[i];
        }
    const std::uint64_t fresh_manifest = manifest_kept ? 0 : wanted.manifest_bytes;
    if (!manifest_kept) out.manifest_region = static_cast<std::uint32_t>(out.kept.size());
    if (fresh.empty() && fresh_manifest == 0) return out;
    const std::uint64_t bytes = predict::reserve_bytes(fresh, most, wanted.sigmas) +
                                store::region_overhead_bytes(fresh.size(), fresh_manifest);
    out.fresh_bytes = store::align_up(bytes, round);
    return out;
}

}  // namespace caesura::writer
