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

}  // namespace

Result<std::vector<RegionUse>> list_regions(base::File& file, const std::string& path) try {
    const auto bytes = file.size();
    if (!bytes.ok()) return bytes.status();
    PlacingState state;
    state.file = &file;
    state.file_bytes = *bytes;
    const auto front = read_own_front(state, path);
    if (!front.ok()) return front.status();
    std::vector<RegionUse> uses;
    if (!front->ours) return uses;
    const auto regions = scan_regions(file, front->run, state.file_bytes);
    if (!regions.ok()) return regions.status();
    std::map<std::uint64_t, std::uint64_t> iteration_of;  // by dump
    for (const FoundRegion& region : *regions) {
        uses.push_back(use_of(region, front->record));
        if (region.manifest.empty()) continue;
        const auto manifest = decode_manifest(region.manifest);
        if (manifest.ok()) iteration_of[region.header.dump] = manifest->iteration;
    }
    for (RegionUse& use : uses) {
        const auto found = iteration_of.find(use.dump);
        if (found != iteration_of.end()) use.iteration = found->second;
    }
    return uses;
} catch (const std::bad_alloc&) {
    return Status{StatusCode::no_space, path + ": out of memory while reading"};
}

}  // namespace caesura::store
