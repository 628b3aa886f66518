// What a query finds.
#include <fnmatch.h>

#include <algorithm>

#include "transit/objects/object_entry.hpp"

namespace caesura::transit {
namespace {

bool meets(const Range& a, const Range& b) {
    return a.lowest <= b.highest && b.lowest <= a.highest;
}

// Of a message, at most.
constexpr std::size_t k_region_bytes = 27 + 16 + 16 * k_max_rank;

std::size_t bytes_of(const ObjectInfo& info) {
    std::size_t bytes = 256 + info.container.size() + info.name.size() + info.chain.text.size() +
                        info.owner.size() + k_region_bytes * info.regions.size();
    for (const Tag& tag : info.tags) bytes += 16 + tag.first.size() + tag.second.size();
    for (const ResultInfo& one : info.results) bytes += 16 + one.call.size() + one.results.size();
    return bytes;
}

/// Without its regions if an answer cannot hold them, and with the latest results that it can. The
/// listing goes on, and who misses them asks for this object by itself.
void cut(ObjectInfo& info, std::size_t most_bytes) {
    if (bytes_of(info) > most_bytes) info.regions.clear();
    while (bytes_of(info) > most_bytes && !info.results.empty())
        info.results.erase(info.results.begin());
}

}  // namespace

bool ObjectStore::matches(const Asker& asker, const Object& object, const FindObjects& query) {
    const bool may = object.owner == asker.owner ||
                     std::any_of(asker.reads.begin(), asker.reads.end(), [&](const auto& one) {
                         return one == "*" || one == object.owner;
                     });
    if (!may || (!query.container.empty() && query.container != object.container)) return false;
    if (!query.name.empty() && ::fnmatch(query.name.c_str(), object.name.c_str(), 0) != 0)
        return false;
    if (query.times && !(object.time >= query.times->lowest && object.time <= query.times->highest))
        return false;
    return std::all_of(query.tags.begin(), query.tags.end(), [&](const Tag& tag) {
        return std::find(object.tags.begin(), object.tags.end(), tag) != object.tags.end();
    });
}

ObjectInfo ObjectStore::info_of(const Object& object) const {
    ObjectInfo info;
    info.id = object.id;
    info.origin = object.origin;
    info.container = object.container;
    info.name = object.name;
    info.dtype = object.dtype;
    info.shape = object.shape;
    info.time = object.time;
    info.bound = object.bound;
    if (object.form) info.chain = {object.form->object.text(), object.form->side};
    info.owner = object.owner;
    info.tags = object.tags;
    info.results = object.results;
    info.regions_known = object.regions.size();
    Range all{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
    bool known = true;
    for (const auto& [number, region] : object.regions) {
        if (object.place_of(region) != RegionPlace::passing)
            info.values += region.box.extent.count();
        info.stored_bytes += region.stored_bytes(object.dtype);
        known = known && region.range;
        if (!region.range) continue;
        all.lowest = std::min(all.lowest, region.range->lowest);
        all.highest = std::max(all.highest, region.range->highest);
    }
    if (object.unlisted) {
        info.values = object.shape.count();
        info.stored_bytes = object.unlisted->stored_bytes;
        known = false;
    }
    if (known && info.values == object.shape.count()) info.range = all;
    return info;
}

// Of a value range: has it any region that may have such a value? A region of which nothing is
// known may.
bool ObjectStore::select(const Object& object, const FindObjects& query, ObjectInfo& info,
                         FoundObjects& found) const {
    std::uint64_t kept = 0;
    for (const auto& [number, region] : object.regions) {
        const bool fits = !query.values || !region.range || meets(*region.range, *query.values);
        if (query.values) ++(fits ? found.regions_kept : found.regions_skipped);
        if (!fits) continue;
        ++kept;
        if (query.regions)
            info.regions.push_back({region.box, object.place_of(region), region.range,
                                    region.stored_bytes(object.dtype)});
    }
    return !query.values || kept > 0 || object.unlisted;
}

FoundObjects ObjectStore::find(const Asker& asker, const FindObjects& query) {
    const std::lock_guard lock(mutex_);
    FoundObjects found;
    found.request = query.request;
    std::size_t bytes = 0;
    for (auto it = objects_.upper_bound(query.after); it != objects_.end(); ++it) {
        const Object& object = *it->second;
        if (!matches(asker, object, query)) continue;
        ObjectInfo info = info_of(object);
        FoundObjects of_it;
        const bool is_selected = select(object, query, info, of_it);
        if (is_selected) {
            cut(info, limits_.answer_bytes);
            const std::size_t more_bytes = bytes_of(info);
            if (!found.objects.empty() &&
                (found.objects.size() >= query.most || bytes + more_bytes > limits_.answer_bytes)) {
                found.more = true;  // the next answer begins with it
                return found;
            }
            bytes += more_bytes;
            found.objects.push_back(std::move(info));
        }
        found.regions_skipped += of_it.regions_skipped;
        found.regions_kept += of_it.regions_kept;
    }
    return found;
}

std::vector<ObjectId> ObjectStore::without_range(const Asker& asker, const FindObjects& query) {
    const std::lock_guard lock(mutex_);
    std::vector<ObjectId> ids;
    for (const auto& [id, object] : objects_) {
        if (object->origin != Origin::filed || !matches(asker, *object, query)) continue;
        if (std::any_of(object->regions.begin(), object->regions.end(),
                        [](const auto& one) { return !one.second.range; }))
            ids.push_back(id);
    }
    return ids;
}

}  // namespace caesura::transit
