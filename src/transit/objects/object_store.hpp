// Objects that a service knows: those that clients put, those of dumps on their way, and datasets
// of files. docs/reference/objects.md says what they are.
//
// Invariants:
//  - What a call gives to read stays readable, whatever happens to the object meanwhile.
//  - Regions of an object that was put do not overlap.
//  - Values in memory are at most limits.memory_bytes, what is being put, and what is leaving.
//    The least recently used go first: to another service's memory, or to the spool; nowhere, if
//    they lie in a file too. Guests stay, and are refused beyond half of it.
//  - A copy in a device's memory is one of what lies in the spool or a file. It goes when the
//    device has no room for a later one, the least recently used first.
//  - An id is never used again.
//  - No worker at idle priority calls the store: it could be preempted under the store's lock, and
//    the lanes would wait for it (decision D22). A lane asks for what a worker is to fill, such as
//    room in a device, and gives the store what has come of it.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "lambda/registry.hpp"
#include "store/shared_file.hpp"
#include "transit/messages.hpp"
#include "transit/objects/far_memory.hpp"
#include "transit/objects/open_sources.hpp"
#include "transit/objects/region_values.hpp"
#include "transit/objects/state_budget.hpp"

namespace caesura::transit {

using ObjectId = std::uint64_t;
using RegionId = std::uint64_t;  ///< of an object; of one in a file the chunk's number

/// Who asks for something.
struct Asker {
    std::uint64_t client = 0;
    std::string owner;               ///< to whom belongs what he makes
    std::vector<std::string> reads;  ///< other owners whose objects he may read; "*": all
    std::shared_ptr<base::FileSystem> files;
};

struct StoreLimits {
    std::uint64_t memory_bytes = std::uint64_t{256} << 20;
    std::size_t objects = 65536;
    std::size_t regions = 16384;  ///< of an object that is put
    /// Files of filed objects that stay open; the others are opened when they are read. A process
    /// has 1024 descriptors where nobody has raised that, and clients need them.
    std::size_t open_files = 64;
    /// What all filed objects take, regions included; beyond, those that were used longest ago are
    /// forgotten. Of a file that takes more by itself some objects have no list of regions.
    std::uint64_t filed_bytes = std::uint64_t{512} << 20;
    /// Of the lists of chunks of files that stay open, but for the file that was used last.
    std::uint64_t open_bytes = std::uint64_t{256} << 20;
    /// Of what a find answers at once: with less than a message may have, so that it is never one
    /// that cannot be sent. The rest comes with the next answer.
    std::size_t answer_bytes = std::size_t{32} << 20;
    std::uint64_t states_bytes = std::uint64_t{256} << 20;  ///< of analyses under way
};

/// What there is of an object in a box.
struct Reading {
    ObjectId object = 0;
    std::string name, owner;
    bool is_guest = false;
    std::shared_ptr<const RegionForm> form;  ///< null: it has no chain
    std::vector<lambda::Tag> tags;
    DType dtype = float32;
    Shape shape;
    double time = 0.0;
    Box box;
    struct Part {
        Box box;
        RegionId region = 0;
        std::shared_ptr<const RegionValues> values;
        bool is_whole = false;    ///< the region has no more
        bool is_sunk = false;     ///< not in memory; it comes back when it is read
        bool is_rounded = false;  ///< a bound was spent on its values
        /// It is read whole from a disk, memory has no room for it and a device has.
        bool wants_copy = false;
        /// All of it, as it is, in a device too; null: in none.
        std::shared_ptr<const DeviceValues> copy = nullptr;
    };
    std::vector<Part> parts;
    Reading without_parts() const;
    /// @param values  of the part.
    lambda::RegionView view(const Part& part, std::span<const std::byte> values) const;
};

/// What decoded values can be, if these were put.
Range widened(const Range& range, const ErrorBound& bound);

/// The dataset of a dump.
struct DumpedDataset {
    store::DatasetSpec spec;  ///< path, type, shape, chunk, pipeline
    ErrorBound bound;
};

/// Any thread of normal priority.
class ObjectStore {
  public:
    using DeviceRoom = std::shared_ptr<DeviceMemory::Block>;
    using DeviceBlock = std::shared_ptr<const DeviceMemory::Block>;
    /// @param spool    null: what has no room in memory is refused.
    /// @param far      null: there are no other services. Outlives the store.
    /// @param devices  that have memory for objects.
    ObjectStore(const StoreLimits& limits, std::unique_ptr<Spool> spool, FarMemory* far = nullptr,
                std::vector<std::unique_ptr<DeviceMemory>> devices = {});
    ~ObjectStore();

    // ---- objects that are put
    /// @param chain  of the order, if it has one.
    /// Errors: invalid_argument (another one of this name), no_space (too many objects).
    Result<ObjectId> create(const Asker& asker, const CreateObject& order,
                            std::optional<lambda::ChainedObject> chain = {});
    /// Errors: invalid_argument (no such object of his, or one that was not put).
    Status remove(const Asker& asker, ObjectId id);
    /// A client is gone: so are objects of his that are not kept.
    void forget_client(std::uint64_t client);
    /// Keeps the box free for it. Errors: invalid_argument (no such object, type, box), no_space.
    Result<RegionId> begin_put(const Asker& asker, const PutRegion& order);
    bool is_guest(ObjectId id) const;
    /// Null: it has no chain, or is not there.
    std::shared_ptr<const RegionForm> form_of(ObjectId id) const;
    /// @param bytes  values, or what the object's chain made of them. @param reserved  as many as
    /// the order had. @param range  none: it is not known. @param guest  as is_guest() said.
    void finish_put(ObjectId id, RegionId region, base::Buffer bytes, std::uint64_t reserved,
                    const std::optional<Range>& range, bool guest = false);
    /// Instead: nothing has come of it. @param bytes  of the order.
    void abandon_put(ObjectId id, RegionId region, std::uint64_t bytes);
    /// A region that was put, and for which there is no room after all.
    void withdraw(ObjectId id, RegionId region);

    // ---- memory
    struct Victim {
        ObjectId object = 0;
        RegionId region = 0;
        std::shared_ptr<const MemoryValues> values;
        Box box;
        DType dtype = float32;
        ErrorBound bound;
        CreateObject object_as_guest;  ///< elsewhere; its container is to be filled in
    };
    /// What is to leave memory next; none: there is room, or others are at it. What lies in the
    /// spool or in a file too leaves at once.
    std::optional<Victim> next_victim();
    /// @param frame  its values, compressed; what a chain made of them as it is.
    /// @param copy   of it, in a device; null or not written: there is none. Errors: those of the
    /// spool; then it stays.
    Status sink(const Victim& victim, std::span<const std::byte> frame, DeviceBlock copy = {});
    /// Its values are in another service now.
    void move_away(const Victim& victim, std::shared_ptr<const FarValues> far);
    void spare(const Victim& victim);
    /// A region that was read from the spool or its file, if there is room for it.
    /// @param copy  of it, in a device; null or not written: there is none.
    void bring_back(ObjectId id, RegionId region, base::Buffer values, DeviceBlock copy = {});
    /// For a copy that a worker writes; copies that were used longest ago make room. Null: no
    /// device has so much, or they have failed.
    DeviceRoom room_on_device(std::uint64_t bytes);
    /// Likewise, and nothing makes room.
    DeviceRoom free_room_on_device(std::uint64_t bytes);
    /// Of values and answers; it outlives all of them, wherever they still are.
    static base::BufferPool& pool();
    bool has_spool() const { return spool_ != nullptr; }
    FarMemory* far() const { return far_; }
    StateBudget& states() { return states_; }

    // ---- objects that were put, into files (persisted_objects.cpp)
    /// What an order means, by id, with regions. Errors: invalid_argument (no such object of his,
    /// or one that was not put; nothing in the container; a bound of another kind),
    /// insufficient_data (values have not been put).
    Result<std::vector<ObjectInfo>> to_persist(const Asker& asker, const PersistObjects& order);
    /// All of it lies in a dataset now. It leaves memory for it when that is short, and every other
    /// place at once. @param bound  that its values keep from now on.
    void enter_file(ObjectId id, const std::shared_ptr<const read::Source>& source,
                    std::size_t dataset, const ErrorBound& bound);

    // ---- objects in files
    /// Of a dump that begins: an object for each dataset, new or as it is known of other ranks.
    /// Errors: no_space.
    Result<std::vector<ObjectId>> describe(const Asker& asker, const std::string& path,
                                           const store::RunId& run, double time,
                                           std::span<const DumpedDataset> datasets);
    /// A block of it has come. @param record  where it lies; none: not yet where it can be read.
    void add_block(ObjectId id, std::uint64_t chunk, const std::optional<Range>& range,
                   const std::optional<store::ChunkRecord>& record);
    /// What an analysis has seen of a dump's object. When all of it has been seen, the results stay
    /// with it; there are none if the states have no room. @param values  how many it has seen.
    /// @param share  what counts the state.
    void merge(ObjectId id, lambda::AnalysisState state, std::uint64_t values, StateShare share);
    /// Some of it will not be seen: what is kept of the others is of no use.
    void forget_states(ObjectId id);
    /// The datasets of a file, as the asker sees it: all of them, or none and an error. Calls HDF5.
    /// Errors: those of Source::open; no_space (there are too many).
    Status list_file(const Asker& asker, const std::string& path);

    // ---- asking
    FoundObjects find(const Asker& asker, const FindObjects& query);
    /// Objects of the query that have regions without a range.
    std::vector<ObjectId> without_range(const Asker& asker, const FindObjects& query);
    void set_range(ObjectId id, RegionId region, const Range& range);
    /// @param box  none: all of it. Calls HDF5 for what lies in files.
    /// Errors: invalid_argument (no such object, box), insufficient_data (values are missing, how
    /// many and why), those of opening the file.
    Result<Reading> read(const Asker& asker, ObjectId id, const std::optional<Box>& box);
    /// Results of a call over all of an object.
    void keep_results(ObjectId id, const std::string& call, std::vector<std::byte> results);

    struct Counts {
        std::uint64_t objects = 0, memory_bytes = 0, spool_bytes = 0, sunk = 0, came_back = 0;
        std::uint64_t moved_away = 0, guest_bytes = 0;
        /// Of puts that went through a chain so far.
        std::uint64_t chained_raw_bytes = 0, chained_bytes = 0;
        struct OnDevice {
            std::string name;
            std::uint64_t bytes = 0, most_bytes = 0;
            bool is_lost = false;
        };
        std::vector<OnDevice> devices = {};
        std::uint64_t open_files = 0, open_bytes = 0, filed_regions = 0, filed_bytes = 0;
        std::uint64_t states_bytes = 0, states_refused = 0;
    };
    Counts counts() const;

  private:
    struct Region;
    struct Object;
    /// Of a filed object whose regions would take too much memory, and are not listed: what there
    /// is to say of its chunks without them.
    struct Unlisted {
        std::uint64_t stored_bytes = 0;
        std::uint64_t digest = 0;  ///< of all records of chunks, to see whether they have changed
        friend bool operator==(const Unlisted&, const Unlisted&) = default;
    };
    struct OfFile {
        std::set<ObjectId> ids;
        std::uint64_t bytes = 0;
    };
    Region* find_region(ObjectId id, RegionId region);
    Object* find_readable(const Asker& asker, ObjectId id);
    Object* find_named(const std::string& owner, const std::string& container,
                       const std::string& name);
    Object* add(std::unique_ptr<Object> object);
    void drop(ObjectId id);
    /// @param is_needed  says which must not go for them. Errors: no_space.
    Status make_room(std::size_t more, const std::function<bool(const Object&)>& is_needed);
    void leave_memory(Object& object, Region& region);
    void enter_memory(Object& object, RegionId id, Region& region, base::Buffer values);
    void leave_copies(std::uint64_t bytes);
    // Copies in devices (device_copies.cpp).
    DeviceMemory* device_for(std::uint64_t bytes) const;
    void add_copy(Object& object, RegionId id, Region& region, DeviceBlock copy);
    void leave_device(Region& region);
    bool wants_copy(const Region& region, std::uint64_t bytes) const;
    void touch(Region& region);
    Result<Reading> read_put(Object& object, Reading reading);
    Result<Reading> read_dumped(const Asker& asker, ObjectId id, Reading reading);
    Result<Reading> read_filed(ObjectId id, Reading reading);
    static Result<Reading> read_from(std::shared_ptr<const read::Source> source,
                                     std::size_t dataset, Reading reading);
    static bool is_same(const Object& object, const store::DatasetInfo& dataset);
    void take_source(const std::string& key, const std::shared_ptr<const read::Source>& source);
    void forget_changed(const std::string& key, const read::Source& source);
    static std::string source_key(const std::string& owner, const std::string& path) {
        return owner + '\0' + path;
    }
    Result<Object*> add_filed(const Asker& asker, const std::string& path,
                              const store::DatasetInfo& dataset);
    static std::uint64_t listed_bytes_of(const Object& object);
    static Unlisted unlisted_of(std::span<const store::ChunkRecord> chunks);
    bool make_filed_room(const std::string& key, std::uint64_t bytes);
    void forget_file(const std::string& key);
    ObjectInfo info_of(const Object& object) const;
    static bool matches(const Asker& asker, const Object& object, const FindObjects& query);
    bool select(const Object& object, const FindObjects& query, ObjectInfo& info,
                FoundObjects& found) const;

    const StoreLimits limits_;
    const std::unique_ptr<Spool> spool_;
    FarMemory* const far_;
    StateBudget states_;
    const std::vector<std::unique_ptr<DeviceMemory>> devices_;  ///< outlive regions
    mutable std::mutex mutex_;
    std::map<ObjectId, std::unique_ptr<Object>> objects_;
    std::map<std::string, ObjectId> by_name_;
    ObjectId next_id_ = 1;
    std::set<ObjectId> from_files_;            ///< dumped and filed ones
    std::map<std::string, OfFile> by_source_;  ///< filed ones, by source_key()
    OpenSources sources_;                      ///< of filed objects
    std::uint64_t filed_regions_ = 0, filed_bytes_ = 0;
    std::list<ObjectId> filed_used_;  ///< filed objects, the least recently used first
    std::uint64_t memory_bytes_ = 0;
    /// Regions in memory, the least recently used first.
    std::list<std::pair<ObjectId, RegionId>> used_;
    std::list<std::pair<ObjectId, RegionId>> device_used_;  ///< likewise, those with a copy
    std::uint64_t sunk_ = 0, came_back_ = 0, moved_away_ = 0;
    std::uint64_t chained_raw_bytes_ = 0, chained_bytes_ = 0;
    std::uint64_t putting_bytes_ = 0, leaving_bytes_ = 0, guest_bytes_ = 0;  ///< of memory_bytes_
};

}  // namespace caesura::transit
