#include "transit/client/object_chains.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/invalid.hpp"

namespace caesura::transit {
namespace {

/// Those that are built in: a client has no plugins of the operator's.
const lambda::Registry& functions() {
    static const auto& all = *new lambda::Registry;
    return all;
}

template <class Described>
lambda::RegionView view_of(std::uint64_t id, const Described& object) {
    lambda::RegionView view;
    view.object = object.name;
    view.id = id;
    view.dtype = object.dtype;
    view.shape = object.shape;
    view.time = object.time;
    return view;
}

Status not_encrypted(std::string_view name) {
    return base::invalid(fmt::format(
        "object {} is not encrypted by its client; this connection takes nothing else", name));
}

}  // namespace

Result<ObjectChains::Known> ObjectChains::make(const ObjectChain& chain,
                                               const lambda::RegionView& object) const {
    if (chain.text.empty() || chain.side != ChainSide::client) return Known();
    auto made = lambda::ChainedObject::make(functions(), chain.text, by_, object);
    if (!made.ok()) return made.status().with_context(fmt::format("object {}", object.object));
    return Known(std::make_shared<const lambda::ChainedObject>(std::move(*made)));
}

Status ObjectChains::check(const CreateObject& order) const {
    const auto made = make(order.chain, view_of(0, order));
    if (!made.ok()) return made.status();
    if (encrypted_only_ && (!*made || !(*made)->is_keyed())) return not_encrypted(order.name);
    if (*made && !(*made)->can_apply())
        return base::invalid(
            fmt::format("object {}: {} needs a key; name its file when you connect", order.name,
                        (*made)->text()));
    return {};
}

void ObjectChains::created(std::uint64_t id, const CreateObject& order) {
    auto made = make(order.chain, view_of(id, order));
    const std::lock_guard lock(mutex_);
    if (made.ok()) known_[id] = std::move(*made);
}

Status ObjectChains::learn(const ObjectInfo& info) {
    auto made = make(info.chain, view_of(info.id, info));
    if (!made.ok()) return made.status();
    const std::lock_guard lock(mutex_);
    const auto [there, is_new] = known_.try_emplace(info.id, *made);
    if (is_new) return {};
    const Known& before = there->second;
    if (static_cast<bool>(before) == static_cast<bool>(*made) &&
        (!before || before->is_same_as(**made)))
        return {};
    return {StatusCode::corrupt,
            fmt::format("object {}: the service says it is {} ({}), and said before it is {} ({})",
                        info.id, info.name, info.chain.text, before ? before->name() : "another",
                        before ? before->text() : "no chain")};
}

Status ObjectChains::learn_found(const ObjectInfo& info) {
    bool is_known = false;
    {
        const std::lock_guard lock(mutex_);
        is_known = known_.count(info.id) > 0;
    }
    const bool is_ours = !info.chain.text.empty() && info.chain.side == ChainSide::client;
    if (!is_known && !is_ours) return {};
    const Status status = learn(info);
    return is_known || status.code() == StatusCode::corrupt ? status : Status{};
}

void ObjectChains::forget(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    known_.erase(id);
}

Result<std::optional<ObjectChains::Known>> ObjectChains::find(std::uint64_t id) const {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(id);
    if (found == known_.end()) return std::optional<Known>();
    const Known& known = found->second;
    if (encrypted_only_ && (!known || !known->is_keyed()))
        return not_encrypted(known ? known->name() : fmt::to_string(id));
    if (known && !known->can_apply())
        return base::invalid(
            fmt::format("object {} is encrypted ({}); name the key's file when you connect",
                        known->name(), known->text()));
    return std::optional(known);
}

Result<std::vector<std::pair<Box, Box>>> parts_of(const Box& box,
                                                  const std::vector<RegionInfo>& regions,
                                                  const std::string& name) {
    std::vector<std::pair<Box, Box>> parts;  // of the box, and the region it is a part of
    std::uint64_t values = 0;
    for (const RegionInfo& region : regions) {
        const auto part = intersect(region.box, box);
        if (!part || region.place == RegionPlace::passing) continue;
        values += part->extent.count();
        parts.emplace_back(*part, region.box);
    }
    // One region twice would hide that another is missing.
    std::sort(parts.begin(), parts.end(),
              [](const auto& a, const auto& b) { return a.first.offset[0] < b.first.offset[0]; });
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::uint64_t end = parts[i].first.offset[0] + parts[i].first.extent[0];
        for (std::size_t k = i + 1; k < parts.size() && parts[k].first.offset[0] < end; ++k)
            if (intersect(parts[i].first, parts[k].first))
                return Status{
                    StatusCode::corrupt,
                    fmt::format("object {}: the service names regions that overlap, at "
                                "{} and {}",
                                name, to_string(parts[i].second), to_string(parts[k].second))};
    }
    if (values != box.extent.count())
        return Status{StatusCode::insufficient_data,
                      fmt::format("object {}: {} of {} values have not been put", name,
                                  box.extent.count() - values, box.extent.count())};
    return parts;
}

}  // namespace caesura::transit
