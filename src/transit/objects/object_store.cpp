// Objects that are put, and their memory. object_files.cpp has those in files, object_find.cpp what
// is asked.
#include "transit/objects/object_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/invalid.hpp"
#include "transit/objects/object_entry.hpp"

namespace caesura::transit {

using base::invalid;

namespace {

constexpr std::size_t k_most_results = 64;                       // of one object
constexpr std::uint64_t k_pool_bytes = std::uint64_t{64} << 20;  // kept for later

Status no_such(ObjectId id) {
    return invalid(fmt::format("there is no object {}, or it is another user's", id));
}

}  // namespace

std::string bound_text(const ErrorBound& bound) {
    static constexpr std::array<std::string_view, 5> k_words = {
        "without loss", "within {}", "within {} of the range", "within {} of each value",
        "with a PSNR of {} dB"};
    return fmt::format(fmt::runtime(k_words[static_cast<std::size_t>(bound.kind)]), bound.value);
}

Range widened(const Range& range, const ErrorBound& bound) {
    if (bound.kind == ErrorBound::Kind::lossless || range.lowest > range.highest) return range;
    const bool absolute = bound.kind == ErrorBound::Kind::absolute;
    const auto off = [&](double value) {
        return absolute ? bound.value : std::abs(value) * bound.value;
    };
    constexpr double k_infinity = std::numeric_limits<double>::infinity();
    return {std::nextafter(range.lowest - off(range.lowest), -k_infinity),
            std::nextafter(range.highest + off(range.highest), k_infinity)};
}

Reading Reading::without_parts() const {
    Reading other;
    other.object = object;
    other.name = name, other.owner = owner;
    other.is_guest = is_guest;
    other.form = form;
    other.tags = tags;
    other.dtype = dtype;
    other.shape = shape;
    other.time = time;
    other.box = box;
    return other;
}

lambda::RegionView Reading::view(const Part& part, std::span<const std::byte> values) const {
    lambda::RegionView region;
    region.object = name;
    region.id = object;
    region.dtype = dtype;
    region.shape = shape;
    region.box = part.box;
    region.time = time;
    region.owner = owner;
    region.tags = tags;
    region.values = values;
    return region;
}

ObjectStore::ObjectStore(const StoreLimits& limits, std::unique_ptr<Spool> spool, FarMemory* far,
                         std::vector<std::unique_ptr<DeviceMemory>> devices)
    : limits_(limits),
      spool_(std::move(spool)),
      far_(far),
      states_(limits.states_bytes),
      devices_(std::move(devices)),
      sources_(limits.open_files, limits.open_bytes) {}

ObjectStore::~ObjectStore() = default;

base::BufferPool& ObjectStore::pool() {
    static auto& pool = *new base::BufferPool(k_pool_bytes);
    return pool;
}

// ------------------------------------------------------------------------ which there are

ObjectStore::Object* ObjectStore::find_readable(const Asker& asker, ObjectId id) {
    const auto found = objects_.find(id);
    if (found == objects_.end()) return nullptr;
    const std::string& owner = found->second->owner;
    const bool may = owner == asker.owner ||
                     std::any_of(asker.reads.begin(), asker.reads.end(),
                                 [&](const auto& one) { return one == "*" || one == owner; });
    return may ? found->second.get() : nullptr;
}

ObjectStore::Object* ObjectStore::find_named(const std::string& owner, const std::string& container,
                                             const std::string& name) {
    Object wanted;
    wanted.owner = owner, wanted.container = container, wanted.name = name;
    const auto found = by_name_.find(wanted.key());
    return found == by_name_.end() ? nullptr : objects_.at(found->second).get();
}

// The oldest that can be had from their files are forgotten for new ones.
Status ObjectStore::make_room(std::size_t more,
                              const std::function<bool(const Object&)>& is_needed) {
    if (objects_.size() + more <= limits_.objects) return {};
    const std::size_t excess = objects_.size() + more - limits_.objects;
    std::vector<ObjectId> gone;
    for (auto id = from_files_.begin(); id != from_files_.end() && gone.size() < excess; ++id)
        if (!is_needed(*objects_.at(*id))) gone.push_back(*id);
    if (gone.size() < excess)
        return {StatusCode::no_space,
                fmt::format("there is no room for {} objects more: of the {} that the service "
                            "keeps at most, {} are of the same list or were put",
                            more, limits_.objects, objects_.size() - gone.size())};
    for (const ObjectId id : gone) drop(id);
    return {};
}

// There is room for it.
ObjectStore::Object* ObjectStore::add(std::unique_ptr<Object> object) {
    object->id = next_id_++;
    if (object->origin != Origin::put) from_files_.insert(object->id);
    if (object->origin == Origin::filed) {
        object->used = filed_used_.insert(filed_used_.end(), object->id);
        filed_regions_ += object->regions.size();
        filed_bytes_ += object->filed_bytes;
        OfFile& of_file = by_source_[object->source_key()];
        of_file.ids.insert(object->id);
        of_file.bytes += object->filed_bytes;
    }
    Object* const added = object.get();
    by_name_[object->key()] = object->id;
    objects_[object->id] = std::move(object);
    return added;
}

void ObjectStore::drop(ObjectId id) {
    const auto found = objects_.find(id);
    for (auto& [number, region] : found->second->regions) {
        if (region.memory) leave_memory(*found->second, region);
        leave_device(region);
    }
    from_files_.erase(id);
    if (found->second->origin == Origin::filed) {
        filed_regions_ -= found->second->regions.size();
        filed_bytes_ -= found->second->filed_bytes;
        filed_used_.erase(found->second->used);
        const auto of_file = by_source_.find(found->second->source_key());
        of_file->second.ids.erase(id);
        of_file->second.bytes -= found->second->filed_bytes;
        if (of_file->second.ids.empty()) by_source_.erase(of_file);
    }
    const auto named = by_name_.find(found->second->key());
    if (named != by_name_.end() && named->second == id) by_name_.erase(named);
    objects_.erase(found);
}

Result<ObjectId> ObjectStore::create(const Asker& asker, const CreateObject& order,
                                     std::optional<lambda::ChainedObject> chain) {
    if (is_integer(order.dtype) && order.bound.kind != ErrorBound::Kind::lossless)
        return invalid(
            fmt::format("object {}: an error bound for {}; integers are kept without loss",
                        order.name, to_string(order.dtype)));
    if (is_complex(order.dtype))
        return invalid(fmt::format("object {}: {} has two parts; make an object of each",
                                   order.name, to_string(order.dtype)));
    const std::lock_guard lock(mutex_);
    if (Object* const there = find_named(asker.owner, order.container, order.name)) {
        const bool same_chain = there->form
                                    ? chain && there->form->side == order.chain.side &&
                                          there->form->object.text() == chain->text() &&
                                          there->time == order.time  // regions are bound to it
                                    : !chain;
        if (there->origin == Origin::put && there->dtype == order.dtype &&
            there->shape == order.shape && there->bound == order.bound && same_chain)
            return there->id;
        return invalid(fmt::format(
            "object {} of container '{}' is there: {} of {}, {}{}{}", order.name, order.container,
            to_string(there->shape), to_string(there->dtype), bound_text(there->bound),
            there->bound == order.bound ? std::string()
                                        : " and not " + bound_text(order.bound) + " as asked for",
            there->form
                ? ", time " + fmt::to_string(there->time) + ", chain " + there->form->object.text()
                : std::string()));
    }
    auto object = std::make_unique<Object>();
    object->container = order.container;
    object->name = order.name;
    object->owner = asker.owner;
    object->dtype = order.dtype;
    object->shape = order.shape;
    object->time = order.time;
    object->bound = order.bound;
    object->tags = order.tags;
    object->client = order.keep ? 0 : asker.client;
    object->guest = order.guest;
    if (Status status = make_room(1, [](const Object&) { return false; }); !status.ok())
        return status;
    Object* const added = add(std::move(object));
    if (chain) {
        chain->set_id(added->id);
        added->form =
            std::make_shared<const RegionForm>(RegionForm{std::move(*chain), order.chain.side});
    }
    return added->id;
}

std::shared_ptr<const RegionForm> ObjectStore::form_of(ObjectId id) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(id);
    return found == objects_.end() ? nullptr : found->second->form;
}

Status ObjectStore::remove(const Asker& asker, ObjectId id) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(id);
    if (found == objects_.end() || found->second->owner != asker.owner) return no_such(id);
    if (found->second->origin != Origin::put)
        return invalid(fmt::format("object {} lies in {}; only what was put can be deleted",
                                   found->second->name, found->second->container));
    drop(id);
    return {};
}

void ObjectStore::forget_client(std::uint64_t client) {
    const std::lock_guard lock(mutex_);
    std::vector<ObjectId> gone;
    for (const auto& [id, object] : objects_)
        if (object->origin == Origin::put && object->client == client) gone.push_back(id);
    for (const ObjectId id : gone) drop(id);
}

// ---------------------------------------------------------------------------------- put

Result<RegionId> ObjectStore::begin_put(const Asker& asker, const PutRegion& order) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(order.object);
    if (found == objects_.end() || found->second->owner != asker.owner)
        return no_such(order.object);
    Object& object = *found->second;
    if (object.origin != Origin::put)
        return invalid(fmt::format("object {} is a dump's", object.name));
    if (order.dtype != object.dtype || !is_inside(order.box, object.shape))
        return invalid(fmt::format("object {}: a region at {} of {} in one of {} of {}",
                                   object.name, to_string(order.box), to_string(order.dtype),
                                   to_string(object.shape), to_string(object.dtype)));
    const bool wants_chained = object.form && object.form->side == ChainSide::client;
    if (order.chained != wants_chained)
        return invalid(fmt::format("object {} takes {}", object.name,
                                   wants_chained ? "what its client's chain made of a region: " +
                                                       object.form->object.text()
                                                 : "values as they are"));
    if (object.regions.size() >= limits_.regions)
        return Status{StatusCode::no_space, fmt::format("object {} has {} regions, the most there "
                                                        "may be; put larger ones",
                                                        object.name, object.regions.size())};
    for (const auto& [number, region] : object.regions)
        if (intersect(region.box, order.box))
            return invalid(fmt::format("object {}: a region at {} lies on one at {}", object.name,
                                       to_string(order.box), to_string(region.box)));
    leave_copies(order.payload_bytes);
    const bool has_room = memory_bytes_ + order.payload_bytes <= limits_.memory_bytes;
    if (object.guest &&
        (!has_room || guest_bytes_ + order.payload_bytes > limits_.memory_bytes / 2))
        return Status{StatusCode::no_space,
                      fmt::format("no room for {} bytes of a guest: {} of {} are in use",
                                  order.payload_bytes, memory_bytes_, limits_.memory_bytes)};
    if (!spool_ && (far_ == nullptr || object.form) && !has_room)
        return Status{
            StatusCode::no_space,
            fmt::format("object {}: {} bytes beside {} of {} that the service keeps in "
                        "memory, and it has {}",
                        object.name, order.payload_bytes, memory_bytes_, limits_.memory_bytes,
                        far_ == nullptr ? "neither sink nor members"
                                        : "no sink: members take no regions with a chain")};
    const RegionId number = object.next_region++;
    object.regions[number].box = order.box;
    memory_bytes_ += order.payload_bytes;  // from now on, so that nobody else takes it
    putting_bytes_ += order.payload_bytes;
    if (object.guest) guest_bytes_ += order.payload_bytes;
    return number;
}

bool ObjectStore::is_guest(ObjectId id) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(id);
    return found != objects_.end() && found->second->guest;
}

// Null: it was deleted meanwhile.
ObjectStore::Region* ObjectStore::find_region(ObjectId id, RegionId number) {
    const auto found = objects_.find(id);
    if (found == objects_.end()) return nullptr;
    const auto region = found->second->regions.find(number);
    return region == found->second->regions.end() ? nullptr : &region->second;
}

void ObjectStore::finish_put(ObjectId id, RegionId number, base::Buffer bytes,
                             std::uint64_t reserved, const std::optional<Range>& range,
                             bool guest) {
    const std::lock_guard lock(mutex_);
    memory_bytes_ -= reserved;
    putting_bytes_ -= reserved;
    if (guest) guest_bytes_ -= reserved;
    Region* const region = find_region(id, number);
    if (region == nullptr) return;
    Object& object = *objects_.at(id);
    if (range) region->range = widened(*range, object.bound);
    if (object.form) {
        chained_raw_bytes_ += region->bytes(object.dtype);
        chained_bytes_ += bytes.size();
    }
    enter_memory(object, number, *region, std::move(bytes));
}

void ObjectStore::abandon_put(ObjectId id, RegionId number, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    memory_bytes_ -= bytes;
    putting_bytes_ -= bytes;
    if (find_region(id, number) != nullptr) objects_.at(id)->regions.erase(number);
}

void ObjectStore::withdraw(ObjectId id, RegionId number) {
    const std::lock_guard lock(mutex_);
    Region* const region = find_region(id, number);
    if (region == nullptr) return;
    Object& object = *objects_.at(id);
    if (region->memory) leave_memory(object, *region);
    leave_device(*region);
    object.regions.erase(number);
}

// ------------------------------------------------------------------------------- memory

void ObjectStore::enter_memory(Object& object, RegionId id, Region& region, base::Buffer values) {
    memory_bytes_ += values.size();
    if (object.guest) guest_bytes_ += values.size();
    region.memory =
        std::make_shared<MemoryValues>(region.box, object.dtype, std::move(values), object.form);
    region.used = used_.insert(used_.end(), {object.id, id});
}

void ObjectStore::leave_memory(Object& object, Region& region) {
    const std::uint64_t bytes = region.memory->bytes().size();
    memory_bytes_ -= bytes;
    if (object.guest) guest_bytes_ -= bytes;
    used_.erase(region.used);
    region.memory.reset();
}

void ObjectStore::touch(Region& region) {
    if (region.memory) used_.splice(used_.end(), used_, region.used);
    if (region.device) device_used_.splice(device_used_.end(), device_used_, region.device_used);
}

// What lies elsewhere too makes room for so many bytes.
void ObjectStore::leave_copies(std::uint64_t bytes) {
    for (auto it = used_.begin();
         it != used_.end() && memory_bytes_ + bytes > limits_.memory_bytes;) {
        const auto [id, number] = *it;
        ++it;
        Object& object = *objects_.at(id);
        Region& region = object.regions.at(number);
        if (region.lies_elsewhere() && !region.leaving) leave_memory(object, region);
    }
}

std::optional<ObjectStore::Victim> ObjectStore::next_victim() {
    const std::lock_guard lock(mutex_);
    const auto is_full = [&] {
        return memory_bytes_ > limits_.memory_bytes + putting_bytes_ + leaving_bytes_;
    };
    for (auto it = used_.begin(); it != used_.end() && is_full();) {
        const auto [id, number] = *it;
        ++it;
        Object& object = *objects_.at(id);
        Region& region = object.regions.at(number);
        if (region.lies_elsewhere()) {
            leave_memory(object, region);
            continue;
        }
        if (region.leaving || object.guest || (!spool_ && (far_ == nullptr || object.form)))
            continue;
        region.leaving = true;
        leaving_bytes_ += region.memory->bytes().size();
        Victim victim{id, number, region.memory, region.box, object.dtype, object.bound, {}};
        victim.object_as_guest = {
            0,           {},           object.name, object.dtype, object.shape,
            object.time, object.bound, false,       true,         object.tags,
            {}};
        return victim;
    }
    return std::nullopt;
}

Status ObjectStore::sink(const Victim& victim, std::span<const std::byte> frame, DeviceBlock copy) {
    auto stretch = spool_->write(frame);
    const std::lock_guard lock(mutex_);
    leaving_bytes_ -= victim.values->bytes().size();
    Region* const region = find_region(victim.object, victim.region);
    if (region == nullptr) return {};
    region->leaving = false;
    if (!stretch.ok()) return stretch.status();
    Object& object = *objects_.at(victim.object);
    region->sunk =
        std::make_shared<SunkValues>(victim.box, victim.dtype, std::move(*stretch), object.form);
    region->rounded |= victim.bound.kind != ErrorBound::Kind::lossless;
    if (copy && copy->is_written()) add_copy(object, victim.region, *region, std::move(copy));
    leave_memory(object, *region);
    ++sunk_;
    return {};
}

void ObjectStore::move_away(const Victim& victim, std::shared_ptr<const FarValues> far) {
    const std::lock_guard lock(mutex_);
    leaving_bytes_ -= victim.values->bytes().size();
    Region* const region = find_region(victim.object, victim.region);
    if (region == nullptr) return;  // deleted meanwhile, and there with it
    region->leaving = false;
    region->far = std::move(far);
    leave_memory(*objects_.at(victim.object), *region);
    ++moved_away_;
}

void ObjectStore::spare(const Victim& victim) {
    const std::lock_guard lock(mutex_);
    leaving_bytes_ -= victim.values->bytes().size();
    if (Region* const region = find_region(victim.object, victim.region)) region->leaving = false;
}

void ObjectStore::bring_back(ObjectId id, RegionId number, base::Buffer values, DeviceBlock copy) {
    const std::lock_guard lock(mutex_);
    Region* const region = find_region(id, number);
    if (region == nullptr) return;
    Object& object = *objects_.at(id);
    if (copy && copy->is_written() && region->lies_elsewhere() && !region->lies_on_device())
        add_copy(object, number, *region, std::move(copy));
    if (region->memory || memory_bytes_ + values.size() > limits_.memory_bytes) return;
    enter_memory(object, number, *region, std::move(values));
    ++came_back_;
}

void ObjectStore::set_range(ObjectId id, RegionId number, const Range& range) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(id);
    if (found == objects_.end()) return;
    const auto region = found->second->regions.find(number);
    if (region != found->second->regions.end()) region->second.range = range;
}

void ObjectStore::keep_results(ObjectId id, const std::string& call,
                               std::vector<std::byte> results) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(id);
    if (found == objects_.end()) return;
    auto& all = found->second->results;
    std::erase_if(all, [&](const ResultInfo& one) { return one.call == call; });
    if (all.size() >= k_most_results) all.erase(all.begin());
    all.push_back({call, std::move(results)});
}

// A put changes an object: what was found of it before does not hold any more.
Result<Reading> ObjectStore::read_put(Object& object, Reading reading) {
    std::uint64_t values = 0;
    for (auto& [number, region] : object.regions) {
        const auto part = intersect(region.box, reading.box);
        std::shared_ptr<const RegionValues> lies = region.values();
        if (!part || !lies) continue;
        touch(region);
        values += part->extent.count();
        // What a chain made stays in the sink: decoded values would be no region of it.
        const bool is_sunk = !region.memory && region.lies_elsewhere() && !object.form;
        const bool is_whole = *part == region.box;
        const std::uint64_t bytes = region.bytes(object.dtype);
        reading.parts.push_back(
            {*part, number, std::move(lies), is_whole, is_sunk, region.rounded,
             is_sunk && is_whole && wants_copy(region, bytes),
             is_whole && !object.form && region.lies_on_device() ? region.device : nullptr});
    }
    const std::uint64_t missing = reading.box.extent.count() - values;
    if (missing > 0)
        return Status{StatusCode::insufficient_data,
                      fmt::format("object {}: {} of {} values have not been put", object.name,
                                  missing, reading.box.extent.count())};
    return reading;
}

Result<Reading> ObjectStore::read(const Asker& asker, ObjectId id, const std::optional<Box>& box) {
    std::unique_lock lock(mutex_);
    Object* const object = find_readable(asker, id);
    if (object == nullptr) return no_such(id);
    Reading reading;
    reading.object = id;
    reading.name = object->name;
    reading.owner = object->owner;
    reading.is_guest = object->guest;
    reading.form = object->form;
    reading.tags = object->tags;
    reading.dtype = object->dtype;
    reading.shape = object->shape;
    reading.time = object->time;
    reading.box = box ? *box : Box{Shape::filled(object->shape.rank(), 0), object->shape};
    if (!is_inside(reading.box, object->shape))
        return invalid(fmt::format("object {}: the box at {} is not inside {}", object->name,
                                   to_string(reading.box), to_string(object->shape)));
    if (object->origin == Origin::put) return read_put(*object, std::move(reading));
    if (object->origin == Origin::dumped) {
        lock.unlock();
        return read_dumped(asker, id, std::move(reading));
    }
    filed_used_.splice(filed_used_.end(), filed_used_, object->used);
    lock.unlock();
    return read_filed(id, std::move(reading));
}

ObjectStore::Counts ObjectStore::counts() const {
    const std::lock_guard lock(mutex_);
    Counts counts{objects_.size(), memory_bytes_,      spool_ ? spool_->used_bytes() : 0,
                  sunk_,           came_back_,         moved_away_,
                  guest_bytes_,    chained_raw_bytes_, chained_bytes_};
    for (const auto& device : devices_)
        counts.devices.push_back(
            {device->name(), device->used_bytes(), device->most_bytes(), device->is_lost()});
    counts.open_files = sources_.size();
    counts.open_bytes = sources_.bytes();
    counts.filed_regions = filed_regions_;
    counts.filed_bytes = filed_bytes_;
    counts.states_bytes = states_.used_bytes();
    counts.states_refused = states_.refused();
    return counts;
}

}  // namespace caesura::transit
