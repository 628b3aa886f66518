// The queries of caesura/service.h.
#include <nlohmann/json.hpp>

#include "capi/service/arguments.hpp"

using namespace caesura::capi;
using caesura::Status;
using caesura::transit::ObjectInfo;

struct caesura_found {
    caesura::transit::Objects::Found all;
    std::vector<std::vector<caesura_tag>> tags;     ///< of objects; they point into `all`
    std::vector<std::vector<std::string>> results;  ///< as JSON
};

namespace {

int kind_of(const caesura::ErrorBound& bound) {
    using K = caesura::ErrorBound::Kind;
    if (bound.kind == K::absolute) return CAESURA_ABSOLUTE;
    if (bound.kind == K::pointwise_relative) return CAESURA_POINTWISE_RELATIVE;
    return CAESURA_LOSSLESS;
}

caesura::Result<caesura::transit::Objects::Query> query_of(const caesura_query* given) {
    const auto all = struct_of(given, caesura_query(CAESURA_QUERY_DEFAULT));
    auto tags = tags_of(all.tags, all.tag_count);
    if (!tags.ok()) return tags.status();
    caesura::transit::Objects::Query query;
    query.container = text_of(all.container);
    query.name = text_of(all.name);
    query.tags = std::move(*tags);
    if (all.has_times != 0) query.times = {all.first_time, all.last_time};
    if (all.has_values != 0) query.values = {all.lowest, all.highest};
    query.regions = all.regions != 0;
    return query;
}

std::unique_ptr<caesura_found> make_found(caesura::transit::Objects::Found all) {
    auto found = std::make_unique<caesura_found>();
    found->all = std::move(all);
    for (const ObjectInfo& object : found->all.objects) {
        auto& tags = found->tags.emplace_back();
        for (const auto& [name, text] : object.tags) tags.push_back({name.c_str(), text.c_str()});
        auto& results = found->results.emplace_back();
        for (const auto& one : object.results) {
            const auto parsed = caesura::lambda::Results::parse(one.results);
            results.push_back(parsed.ok() ? parsed->to_json().dump() : "{}");
        }
    }
    return found;
}

template <class Info>
void set_range(const std::optional<caesura::transit::Range>& range, Info& info) {
    info.has_range = range ? 1 : 0;
    if (!range) return;
    info.lowest = range->lowest;
    info.highest = range->highest;
}

/// Errors: invalid_argument.
caesura::Result<const ObjectInfo*> object_of(const caesura_found* found, std::size_t number) {
    if (found == nullptr) return invalid("found is NULL");
    const auto& objects = found->all.objects;
    if (number < objects.size()) return &objects[number];
    return invalid("object " + std::to_string(number) + " of " + std::to_string(objects.size()));
}

}  // namespace

extern "C" {

caesura_code caesura_objects_find(caesura_objects* objects, const caesura_query* query,
                                  caesura_found** found) {
    return guarded([&]() -> Status {
        if (found == nullptr) return invalid("found is NULL");
        *found = nullptr;
        if (objects == nullptr) return invalid("objects is NULL");
        const auto wanted = query_of(query);
        if (!wanted.ok()) return wanted.status();
        auto all = objects->objects->find(*wanted);
        if (!all.ok()) return all.status();
        *found = make_found(std::move(*all)).release();
        return {};
    });
}

size_t caesura_found_count(const caesura_found* found) {
    return found == nullptr ? 0 : found->all.objects.size();
}

caesura_code caesura_found_object(const caesura_found* found, size_t number,
                                  caesura_object_info* info) {
    return guarded([&]() -> Status {
        const auto object = object_of(found, number);
        if (!object.ok()) return object.status();
        const ObjectInfo& from = **object;
        caesura_object_info all{};
        all.id = from.id;
        all.origin = static_cast<int>(from.origin);
        all.dtype = static_cast<int>(from.dtype);
        all.rank = from.shape.rank();
        all.bound_kind = kind_of(from.bound);
        for (int axis = 0; axis < all.rank; ++axis) all.shape[axis] = from.shape[axis];
        all.bound = from.bound.value;
        all.time = from.time;
        all.container = from.container.c_str();
        all.name = from.name.c_str();
        all.owner = from.owner.c_str();
        all.values = from.values;
        set_range(from.range, all);
        all.tags = found->tags[number].data();
        all.tag_count = from.tags.size();
        all.region_count = from.regions.size();
        all.result_count = from.results.size();
        return give_struct(all, info);
    });
}

caesura_code caesura_found_region(const caesura_found* found, size_t number, size_t region,
                                  caesura_region_info* info) {
    return guarded([&]() -> Status {
        const auto object = object_of(found, number);
        if (!object.ok()) return object.status();
        const auto& regions = (*object)->regions;
        if (region >= regions.size())
            return invalid("region " + std::to_string(region) + " of " +
                           std::to_string(regions.size()));
        const caesura::transit::RegionInfo& from = regions[region];
        caesura_region_info all{};
        all.rank = from.box.extent.rank();
        all.place = static_cast<int>(from.place);
        for (int axis = 0; axis < all.rank; ++axis) {
            all.offset[axis] = from.box.offset[axis];
            all.extent[axis] = from.box.extent[axis];
        }
        set_range(from.range, all);
        return give_struct(all, info);
    });
}

caesura_code caesura_found_result(const caesura_found* found, size_t number, size_t result,
                                  const char** call, const char** json) {
    return guarded([&]() -> Status {
        if (call == nullptr || json == nullptr) return invalid("call or json is NULL");
        *call = *json = nullptr;
        const auto object = object_of(found, number);
        if (!object.ok()) return object.status();
        const auto& results = (*object)->results;
        if (result >= results.size())
            return invalid("result " + std::to_string(result) + " of " +
                           std::to_string(results.size()));
        *call = results[result].call.c_str();
        *json = found->results[number][result].c_str();
        return {};
    });
}

uint64_t caesura_found_regions_kept(const caesura_found* found) {
    return found == nullptr ? 0 : found->all.regions_kept;
}

uint64_t caesura_found_regions_skipped(const caesura_found* found) {
    return found == nullptr ? 0 : found->all.regions_skipped;
}

void caesura_found_free(caesura_found* found) { delete found; }

}  // extern "C"
