#include "store/list_regions.hpp"

#include <map>

#include "store/manifest.hpp"
#include "store/own_front.hpp"
#include "store/scan.hpp"

namespace caesura::store {
namespace {

RegionUse use_of(const FoundRegion& region, const CommitRecord& record) {
    RegionUse use;
    use.rank = region.header.rank;
    use.dump = region.header.dump;
    use.committed = record.contains(region.header.dump);
    use.address = region.header.address;
    use.bytes = region.header.bytes;
    use.blocks = region.blocks.size();
    for (const ChunkRecord& block : region.blocks) use.stored_bytes += block.bytes;
    return use;
}

/// The regions, and the front that says which of their dumps are committed.
struct Found {
    OwnFront front;
    std::vector<FoundRegion> regions;
};

Result<Found> find(base::File& file, const std::string& path) {
    const auto bytes = file.size();
    if (!bytes.ok()) return bytes.status();
    PlacingState state;
    state.file = &file;
    state.file_bytes = *bytes;
    auto front = read_own_front(state, path);
    if (!front.ok()) return front.status();
    Found found{std::move(*front), {}};
    if (!found.front.ours) return found;
    auto regions = scan_regions(file, found.front.run, state.file_bytes);
    if (!regions.ok()) return regions.status();
    found.regions = std::move(*regions);
    return found;
}

}  // namespace

Result<std::vector<RegionUse>> list_regions(base::File& file, const std::string& path) try {
    const auto found = find(file, path);
    if (!found.ok()) return found.status();
    std::vector<RegionUse> uses;
    std::map<std::uint64_t, std::uint64_t> iteration_of;  // by dump
    for (const FoundRegion& region : found->regions) {
        uses.push_back(use_of(region, found->front.record));
        if (region.manifest.empty()) continue;
        const auto manifest = decode_manifest(region.manifest);
        if (manifest.ok()) iteration_of[region.header.dump] = manifest->iteration;
    }
    for (RegionUse& use : uses) {
        const auto at = iteration_of.find(use.dump);
        if (at != iteration_of.end()) use.iteration = at->second;
    }
    return uses;
} catch (const std::bad_alloc&) {
    return Status{StatusCode::no_space, path + ": out of memory while reading"};
}

Result<std::vector<WrittenBlocks>> list_written(base::File& file, const std::string& path) try {
    const auto found = find(file, path);
    if (!found.ok()) return found.status();
    std::map<std::uint64_t, DumpManifest> manifests;  // by dump
    for (const FoundRegion& region : found->regions) {
        if (region.manifest.empty() || !found->front.record.contains(region.header.dump)) continue;
        auto manifest = decode_manifest(region.manifest);
        if (manifest.ok()) manifests[region.header.dump] = std::move(*manifest);
    }
    std::map<std::pair<std::uint64_t, std::uint32_t>, WrittenBlocks> written;
    for (const FoundRegion& region : found->regions)
        for (const ChunkRecord& block : region.blocks) {
            const auto at = manifests.find(block.dump);
            if (at == manifests.end() || block.dataset >= at->second.datasets.size()) continue;
            WrittenBlocks& of = written[{block.dump, block.dataset}];
            of.chunks.push_back(block.chunk);
            if (!of.path.empty()) continue;
            const DatasetSpec& dataset = at->second.datasets[block.dataset];
            of.path = dataset.path;
            of.shape = dataset.shape;
            of.chunk = dataset.chunk;
            if (block.dataset < at->second.placed_in.size())
                of.header = at->second.placed_in[block.dataset].header;
        }
    std::vector<WrittenBlocks> out;
    for (auto& [key, blocks] : written) out.push_back(std::move(blocks));
    return out;
} catch (const std::bad_alloc&) {
    return Status{StatusCode::no_space, path + ": out of memory while reading"};
}

}  // namespace caesura::store
