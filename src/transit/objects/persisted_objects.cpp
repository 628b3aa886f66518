// Objects that were put, on their way into a file, and what is different afterwards.
#include <fmt/format.h>

#include <algorithm>

#include "base/invalid.hpp"
#include "transit/objects/object_entry.hpp"

namespace caesura::transit {

using base::invalid;

namespace {

/// The bound of values of which some are held to their object's and others to the file's.
/// nullopt: no single one says it.
std::optional<ErrorBound> loosest(const ErrorBound& own, const std::optional<ErrorBound>& wanted) {
    if (!wanted || wanted->kind == ErrorBound::Kind::lossless) return own;
    if (own.kind == ErrorBound::Kind::lossless) return wanted;
    if (own.kind != wanted->kind) return std::nullopt;
    return own.value > wanted->value ? own : *wanted;
}

}  // namespace

Result<std::vector<ObjectInfo>> ObjectStore::to_persist(const Asker& asker,
                                                        const PersistObjects& order) {
    const std::lock_guard lock(mutex_);
    std::vector<ObjectId> ids = order.objects;
    if (ids.empty())
        for (const auto& [id, object] : objects_)
            if (object->owner == asker.owner && object->container == order.container &&
                object->origin == Origin::put && !object->guest)
                ids.push_back(id);
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    if (ids.empty())
        return invalid(fmt::format("nothing was put into container '{}'", order.container));
    std::vector<ObjectInfo> all;
    for (const ObjectId id : ids) {
        const auto found = objects_.find(id);
        if (found == objects_.end() || found->second->owner != asker.owner)
            return invalid(fmt::format("there is no object {}, or it is another user's", id));
        const Object& object = *found->second;
        if (object.origin != Origin::put || object.guest)
            return invalid(fmt::format("object {} was not put by a client", object.name));
        if (object.form)
            return invalid(
                fmt::format("object {} goes through a chain ({}), which a file cannot "
                            "have; put it without one",
                            object.name, object.form->object.text()));
        ObjectInfo info = info_of(object);
        if (info.values != object.shape.count())
            return Status{StatusCode::insufficient_data,
                          fmt::format("object {}: {} of {} values have not been put", object.name,
                                      object.shape.count() - info.values, object.shape.count())};
        const auto bound = loosest(object.bound, order.bound);
        if (!bound)
            return invalid(
                fmt::format("object {} has a bound of another kind than the file is to "
                            "have; give it the same kind, or lossless, or none",
                            object.name));
        info.bound = *bound;
        for (const auto& [number, region] : object.regions)
            info.regions.push_back({region.box, object.place_of(region), region.range});
        all.push_back(std::move(info));
    }
    return all;
}

void ObjectStore::enter_file(ObjectId id, const std::shared_ptr<const read::Source>& source,
                             std::size_t dataset, const ErrorBound& bound) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(id);
    if (found == objects_.end()) return;  // deleted meanwhile; the file has it
    Object& object = *found->second;
    object.bound = bound;
    const auto values = std::make_shared<const FileValues>(source, dataset, object.dtype);
    for (auto& [number, region] : object.regions) {
        region.file = values;
        region.sunk.reset();
        region.far.reset();
        if (region.device)  // the copy of what lay in the sink is one of what lies in the file
            region.device = std::make_shared<const DeviceValues>(region.box, object.dtype,
                                                                 region.device->block(), values);
        region.rounded |= bound.kind != ErrorBound::Kind::lossless;
        if (region.range) region.range = widened(*region.range, bound);
    }
}

}  // namespace caesura::transit
