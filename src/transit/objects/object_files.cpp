// Objects of dumps on their way, and datasets of files.
#include <fmt/format.h>

#include "base/invalid.hpp"
#include "read/chunk_layout.hpp"
#include "store/checksum.hpp"
#include "transit/objects/file_attributes.hpp"
#include "transit/objects/object_entry.hpp"

namespace caesura::transit {

namespace {

// Of one reading: what a list of them takes in memory.
constexpr std::uint64_t k_most_chunks = std::uint64_t{1} << 22;

/// What a list has of an entry beside it: a map's node, and what it is allocated in.
constexpr std::uint64_t k_node_bytes = 64;

/// Fields that the whole of a filed or dumped object is described by.
template <class Object>
void describe_as(Object& object, const store::DatasetSpec& spec) {
    object.name = spec.path;
    object.dtype = spec.dtype;
    object.shape = spec.shape;
    object.spec = spec;
}

}  // namespace

Result<std::vector<ObjectId>> ObjectStore::describe(const Asker& asker, const std::string& path,
                                                    const store::RunId& run, double time,
                                                    std::span<const DumpedDataset> datasets) {
    const std::lock_guard lock(mutex_);
    std::size_t more = 0;
    std::set<ObjectId> there_already;
    for (const DumpedDataset& dataset : datasets)
        if (const Object* const there = find_named(asker.owner, path, dataset.spec.path))
            there_already.insert(there->id);
        else
            ++more;
    // Those of the file's earlier dumps may go.
    const auto is_needed = [&](const Object& object) { return there_already.count(object.id) > 0; };
    if (Status status = make_room(more, is_needed); !status.ok()) return status.with_context(path);
    std::vector<ObjectId> ids;
    for (const DumpedDataset& dataset : datasets) {
        Object* const there = find_named(asker.owner, path, dataset.spec.path);
        if (there != nullptr && there->origin == Origin::dumped && there->run == run &&
            there->dtype == dataset.spec.dtype && there->shape == dataset.spec.shape &&
            there->spec.chunk == dataset.spec.chunk) {
            there->spec = dataset.spec;
            there->time = time;
            ids.push_back(there->id);
            continue;
        }
        if (there != nullptr && there->origin == Origin::put)
            return Status{StatusCode::invalid_argument,
                          fmt::format("{}: an object {} was put into a container of that name",
                                      path, dataset.spec.path)};
        if (there != nullptr) drop(there->id);
        auto object = std::make_unique<Object>();
        object->origin = Origin::dumped;
        object->container = path;
        object->owner = asker.owner;
        describe_as(*object, dataset.spec);
        object->time = time;
        object->bound = dataset.bound;
        object->files = asker.files;
        object->run = run;
        ids.push_back(add(std::move(object))->id);
    }
    return ids;
}

void ObjectStore::add_block(ObjectId id, std::uint64_t chunk, const std::optional<Range>& range,
                            const std::optional<store::ChunkRecord>& record) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(id);
    if (found == objects_.end()) return;
    Object& object = *found->second;
    const auto layout = read::ChunkLayout::of(object.shape, object.spec.chunk);
    if (chunk >= layout.grid.count()) return;
    Region& region = object.regions[chunk];
    if (region.box.extent.rank() > 0) {  // an application writes its dataset again
        object.is_unseen = true;
        object.found.clear();
        object.results.clear();
    }
    region.box = layout.inside(chunk);
    region.range = range;
    region.record = record;
}

void ObjectStore::merge(ObjectId id, lambda::AnalysisState state, std::uint64_t values,
                        StateShare share) {
    const std::string call = state.call();
    std::optional<lambda::AnalysisState> whole;
    {
        const std::lock_guard lock(mutex_);
        const auto found = objects_.find(id);
        if (found == objects_.end() || found->second->is_unseen) return;
        Object& object = *found->second;
        const auto known = object.found.find(call);
        if (known == object.found.end()) {
            object.found.emplace(call, Object::Found{std::move(state), values, std::move(share)});
        } else {
            if (!known->second.state || !known->second.state->merge(state).ok()) return;
            known->second.values += values;
            known->second.share.absorb(std::move(share));
        }
        const auto now = object.found.find(call);
        if (Object::Found& found_now = now->second; found_now.values != object.shape.count()) {
            if (found_now.share.set(bytes_of(*found_now.state)).ok()) return;
            found_now.share.give_back();
            found_now.state.reset();
            return states_.note_refusal();
        }
        whole = std::move(now->second.state);
        object.found.erase(now);
    }
    const auto results = whole->finish();
    if (results.ok()) keep_results(id, call, results->bytes());
}

void ObjectStore::forget_states(ObjectId id) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(id);
    if (found == objects_.end()) return;
    found->second->found.clear();
    found->second->is_unseen = true;
}

Status ObjectStore::list_file(const Asker& asker, const std::string& path) {
    auto opened = read::Source::open(*asker.files, path);
    if (!opened.ok()) return opened.status();
    const std::shared_ptr<const read::Source> source = std::move(*opened);
    const std::string key = source_key(asker.owner, path);
    const std::lock_guard lock(mutex_);
    forget_changed(key, *source);
    std::size_t more = 0;
    for (const store::DatasetInfo& dataset : source->datasets())
        if (dataset.members.empty() && !find_named(asker.owner, path, dataset.spec.path)) ++more;
    // A part of the file's list would look like all of it.
    const auto is_of_file = [&](const Object& object) { return object.source_key() == key; };
    if (Status status = make_room(more, is_of_file); !status.ok()) {
        forget_file(key);
        return status.with_context(path);
    }
    for (const store::DatasetInfo& dataset : source->datasets()) {
        if (!dataset.members.empty()) continue;
        Object* there = find_named(asker.owner, path, dataset.spec.path);
        if (there != nullptr && there->origin != Origin::filed) continue;
        if (there == nullptr) {
            const auto added = add_filed(asker, path, dataset);
            if (!added.ok()) {
                forget_file(key);
                return added.status();
            }
            there = *added;
        }
        there->files = asker.files;
        filed_used_.splice(filed_used_.end(), filed_used_, there->used);
    }
    if (by_source_.contains(key)) sources_.add(key, source);
    return {};
}

Result<ObjectStore::Object*> ObjectStore::add_filed(const Asker& asker, const std::string& path,
                                                    const store::DatasetInfo& dataset) {
    auto object = std::make_unique<Object>();
    object->origin = Origin::filed;
    object->container = path;
    object->owner = asker.owner;
    describe_as(*object, dataset.spec);
    const FiledNotes notes = notes_of(dataset.spec.attributes);
    object->time = notes.time.value_or(static_cast<double>(dataset.iteration));
    object->tags = notes.tags;
    object->results = notes.results;
    object->filed_bytes = listed_bytes_of(*object);
    if (!make_filed_room(object->source_key(), object->filed_bytes))
        return Status{StatusCode::no_space,
                      fmt::format("{}: its datasets take more than the {} bytes that the service "
                                  "has for lists of files",
                                  path, limits_.filed_bytes)};
    const auto layout = read::ChunkLayout::of(dataset.spec.shape, dataset.spec.chunk);
    const std::uint64_t regions = layout.grid.count();
    const std::uint64_t regions_bytes =
        std::min<std::uint64_t>(regions, k_regions_limit) * (sizeof(Region) + k_node_bytes);
    if (regions > k_regions_limit ||
        !make_filed_room(object->source_key(), object->filed_bytes + regions_bytes)) {
        object->unlisted = unlisted_of(dataset.chunks);
        return add(std::move(object));
    }
    object->filed_bytes += regions_bytes;
    for (std::uint64_t chunk = 0; chunk < regions; ++chunk)
        object->regions[chunk].box = layout.inside(chunk);
    for (const store::ChunkRecord& chunk : dataset.chunks)
        if (chunk.chunk < regions) object->regions[chunk.chunk].record = chunk;
    return add(std::move(object));
}

// Without its regions.
std::uint64_t ObjectStore::listed_bytes_of(const Object& object) {
    std::uint64_t bytes = sizeof(Object) + 2 * object.key().size() + 4 * k_node_bytes;
    for (const Tag& tag : object.tags)
        bytes += sizeof(Tag) + tag.first.capacity() + tag.second.capacity();
    for (const ResultInfo& one : object.results)
        bytes += sizeof(ResultInfo) + one.call.capacity() + one.results.capacity();
    return bytes;
}

ObjectStore::Unlisted ObjectStore::unlisted_of(std::span<const store::ChunkRecord> chunks) {
    Unlisted unlisted;
    for (const store::ChunkRecord& chunk : chunks) unlisted.stored_bytes += chunk.bytes;
    unlisted.digest = store::checksum(std::as_bytes(chunks));
    return unlisted;
}

// Is it still what was listed?
bool ObjectStore::is_same(const Object& object, const store::DatasetInfo& dataset) {
    if (object.spec != dataset.spec) return false;
    if (object.unlisted) return *object.unlisted == unlisted_of(dataset.chunks);
    std::size_t listed = 0;
    for (const auto& [number, region] : object.regions) listed += region.record ? 1 : 0;
    std::size_t same = 0;
    for (const store::ChunkRecord& chunk : dataset.chunks) {
        const auto region = object.regions.find(chunk.chunk);
        if (region == object.regions.end()) continue;
        if (region->second.record != chunk) return false;
        ++same;
    }
    return same == listed;
}

// Objects of other files than this one make room for so many bytes. False: there is none.
bool ObjectStore::make_filed_room(const std::string& key, std::uint64_t bytes) {
    const auto of_file = by_source_.find(key);
    const std::uint64_t own_bytes = of_file == by_source_.end() ? 0 : of_file->second.bytes;
    if (own_bytes + bytes > limits_.filed_bytes) return false;
    for (auto next = filed_used_.begin();
         next != filed_used_.end() && filed_bytes_ + bytes > limits_.filed_bytes;) {
        const ObjectId id = *next++;
        if (objects_.at(id)->source_key() != key) drop(id);
    }
    return filed_bytes_ + bytes <= limits_.filed_bytes;
}

void ObjectStore::forget_file(const std::string& key) {
    const auto of_file = by_source_.find(key);
    if (of_file == by_source_.end()) return;
    const std::set<ObjectId> ids = of_file->second.ids;
    for (const ObjectId id : ids) drop(id);
}

// ------------------------------------------------------------------------------ reading

// Its file may have been closed meanwhile.
Result<Reading> ObjectStore::read_filed(ObjectId id, Reading reading) {
    std::shared_ptr<const read::Source> source;
    std::shared_ptr<base::FileSystem> files;
    std::string path, key;
    {
        const std::lock_guard lock(mutex_);
        const auto found = objects_.find(id);
        if (found == objects_.end())
            return base::invalid(fmt::format("object {} has just been forgotten", id));
        files = found->second->files;
        path = found->second->container;
        key = found->second->source_key();
        source = sources_.find(key);
    }
    if (!source) {
        auto opened = read::Source::open(*files, path);
        if (!opened.ok()) return opened.status();
        source = std::move(*opened);
        take_source(key, source);
    }
    const auto dataset = source->find(reading.name);
    if (const std::lock_guard lock(mutex_); !dataset.ok() || !objects_.contains(id))
        return base::invalid(
            fmt::format("object {} of {} has changed since it was listed; find it "
                        "again",
                        reading.name, path));
    return read_from(std::move(source), *dataset, std::move(reading));
}

void ObjectStore::take_source(const std::string& key,
                              const std::shared_ptr<const read::Source>& source) {
    const std::lock_guard lock(mutex_);
    sources_.add(key, source);
    forget_changed(key, *source);
}

// Of a file that was opened again: what is not in it any more.
void ObjectStore::forget_changed(const std::string& key, const read::Source& source) {
    const auto of_file = by_source_.find(key);
    if (of_file == by_source_.end()) return;
    std::vector<ObjectId> gone;
    for (const ObjectId id : of_file->second.ids) {
        const Object& object = *objects_.at(id);
        const auto dataset = source.find(object.name);
        if (!dataset.ok() || !is_same(object, source.datasets()[*dataset])) gone.push_back(id);
    }
    for (const ObjectId id : gone) drop(id);
}

Result<Reading> ObjectStore::read_from(std::shared_ptr<const read::Source> source,
                                       std::size_t dataset, Reading reading) {
    const store::DatasetInfo& info = source->datasets()[dataset];
    const auto layout = read::ChunkLayout::of(info.spec.shape, info.spec.chunk);
    const auto values = std::make_shared<FileValues>(std::move(source), dataset, info.spec.dtype);
    const read::TouchedChunks chunks(layout, reading.box);
    if (chunks.count() > k_most_chunks)
        return Status{StatusCode::no_space,
                      fmt::format("object {}: {} chunks at once; at most {}", reading.name,
                                  chunks.count(), k_most_chunks)};
    for (std::uint64_t i = 0; i < chunks.count(); ++i) {
        const Box inside = layout.inside(chunks[i]);
        const Box part = *intersect(inside, reading.box);
        reading.parts.push_back({part, chunks[i], values, part == inside, false});
    }
    return reading;
}

// From where its blocks are known to lie; else from the file as it is committed.
Result<Reading> ObjectStore::read_dumped(const Asker&, ObjectId id, Reading reading) {
    store::DatasetInfo dataset;
    std::shared_ptr<base::FileSystem> files;
    std::string path;
    std::uint64_t unknown = 0;
    {
        const std::lock_guard lock(mutex_);
        const auto found = objects_.find(id);
        if (found == objects_.end())
            return base::invalid(fmt::format("object {} has just been forgotten", id));
        const Object& object = *found->second;
        dataset.spec = object.spec;
        files = object.files;
        path = object.container;
        const auto layout = read::ChunkLayout::of(object.shape, object.spec.chunk);
        const read::TouchedChunks chunks(layout, reading.box);
        // A shape is a client's word, and may have more chunks than anybody can count.
        const bool countable = chunks.count() <= object.regions.size();
        if (!countable) unknown = reading.box.extent.count();
        for (std::uint64_t i = 0; countable && i < chunks.count(); ++i) {
            const auto region = object.regions.find(chunks[i]);
            if (region != object.regions.end() && region->second.record)
                dataset.chunks.push_back(*region->second.record);
            else
                unknown += intersect(layout.inside(chunks[i]), reading.box)->extent.count();
        }
    }
    if (unknown == 0) {
        auto file = files->open(path, base::FileSystem::Mode::read);
        if (!file.ok()) return file.status();
        auto source = read::Source::over(std::move(*file), path, {std::move(dataset)});
        if (!source.ok()) return source.status();
        return read_from(std::move(*source), 0, std::move(reading));
    }
    const Status missing{StatusCode::insufficient_data,
                         fmt::format("object {} of {}: {} of {} values are not written, or are "
                                     "where only a commit says; its dump is under way",
                                     reading.name, path, unknown, reading.box.extent.count())};
    auto source = read::Source::open(*files, path);
    if (!source.ok()) return missing;
    const auto number = (*source)->find(reading.name);
    if (!number.ok()) return missing;
    const store::DatasetInfo& info = (*source)->datasets()[*number];
    if (info.spec.shape != reading.shape || info.spec.dtype != reading.dtype ||
        !info.members.empty())
        return missing;
    return read_from(std::move(*source), *number, std::move(reading));
}

}  // namespace caesura::transit
