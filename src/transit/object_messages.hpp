// Messages about objects and functions on data: a part of messages.hpp, which says what holds of
// all. docs/reference/objects.md says what objects are.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "caesura/codec.hpp"
#include "transit/message_kinds.hpp"

namespace caesura::transit {

// ----------------------------------------------------------------------------------- limits

inline constexpr std::size_t k_object_name_limit_bytes = 1024;  ///< of objects, tags, patterns
inline constexpr std::size_t k_call_limit_bytes = 4096;
inline constexpr std::size_t k_calls_limit = 64;
inline constexpr std::size_t k_tags_limit = 256;  ///< of one object
inline constexpr std::size_t k_datasets_limit = 65536;
inline constexpr std::size_t k_found_limit = 65536;                   ///< objects of one answer
inline constexpr std::size_t k_regions_limit = std::size_t{1} << 20;  ///< of one object
inline constexpr std::size_t k_requests_limit = 512;      ///< about objects, of one client at once
inline constexpr std::size_t k_pass_boxes_limit = 16384;  ///< of one pass
inline constexpr std::size_t k_state_limit_bytes = std::size_t{16} << 20;
inline constexpr std::size_t k_version_limit_bytes = 256;  ///< of a function

/// Name, not empty, and text of the user's.
using Tag = std::pair<std::string, std::string>;

enum class ChainSide : std::uint8_t { client = 0, service = 1 };

/// What an object's regions go through before they are kept: a chain of transforms, as
/// lambda/chain.hpp has them.
struct ObjectChain {
    std::string text = {};               ///< "shuffle | zstd | aead"; empty: there is none
    ChainSide side = ChainSide::client;  ///< who applies it; without text the client
    friend bool operator==(const ObjectChain&, const ObjectChain&) = default;
};
/// Of what a chain makes of a region of so many bytes.
constexpr std::uint64_t chained_limit_bytes(std::uint64_t raw_bytes) {
    return raw_bytes + raw_bytes / 8 + (std::uint64_t{72} << 10);
}

/// Of finite values. lowest > highest: there is none.
struct Range {
    double lowest = 0.0, highest = 0.0;
    friend bool operator==(const Range&, const Range&) = default;
};

// ------------------------------------------------------------------------------ from a client

/// A dataset of a dump. Its type, chunk and bound are those of its codec.
struct DumpedObject {
    std::string path;  ///< in the file
    DType dtype = float32;
    Shape shape;
    friend bool operator==(const DumpedObject&, const DumpedObject&) = default;
};

/// Behind a BeginDump, before its blocks: what the datasets are. Gets an Answer. For the service to
/// check: that the dump is under way and has no blocks yet, that there is one for each codec and
/// types and axes are the same; the calls.
struct DescribeDump {
    static constexpr Kind k_kind = Kind::describe_dump;
    std::uint64_t request = 0, dump = 0;
    double time = 0.0;
    std::vector<DumpedObject> objects;
    std::vector<std::string> calls;  ///< analyses that the client wants of each
    friend bool operator==(const DescribeDump&, const DescribeDump&) = default;
};

/// Gets an Answer, whose number is the object's id: of a new one, or of that which is there with
/// the same type, shape, bound and chain. For the service to check: how many there are; the chain,
/// which is of functions that the service has.
struct CreateObject {
    static constexpr Kind k_kind = Kind::create_object;
    std::uint64_t request = 0;
    std::string container, name;  ///< name not empty; no control characters in either
    DType dtype = float32;
    Shape shape;
    double time = 0.0;
    ErrorBound bound;   ///< lossless, absolute or pointwise_relative
    bool keep = false;  ///< it stays when the client goes
    /// Of another service, whose regions have no room there: they stay in this one's memory, or are
    /// refused. For the service to check: not kept.
    bool guest = false;
    std::vector<Tag> tags;
    ObjectChain chain = {};  ///< with one the bound is lossless: the chain says what may be lost
    friend bool operator==(const CreateObject&, const CreateObject&) = default;
};

/// Payload: values of a box, dense, or what the object's chain made of them. Gets an Answer, and a
/// Credit for the payload. For the service to check: that the object is one that may be put to,
/// type, that the box is inside and free, whether the chain is the client's, and what it made; the
/// credit, memory.
struct PutRegion {
    static constexpr Kind k_kind = Kind::put_region;
    std::uint64_t request = 0, object = 0;
    DType dtype = float32;
    Box box;  ///< no extent is 0
    std::uint64_t payload_bytes = 0;
    bool chained = false;  ///< at most chained_limit_bytes() of the values
    friend bool operator==(const PutRegion&, const PutRegion&) = default;
};

/// Gets an Answer, with the values as payload, or what the object's chain made of one region. For
/// the service to check: whether this client may read the object; box; that it is no more than
/// k_io_limit_bytes.
struct GetRegion {
    static constexpr Kind k_kind = Kind::get_region;
    std::uint64_t request = 0, object = 0;
    Box box;
    bool chained = false;  ///< the box is a region's
    friend bool operator==(const GetRegion&, const GetRegion&) = default;
};

/// Gets an Answer. For the service to check: whose object it is.
struct DeleteObject {
    static constexpr Kind k_kind = Kind::delete_object;
    std::uint64_t request = 0, object = 0;
    friend bool operator==(const DeleteObject&, const DeleteObject&) = default;
};

/// Gets a FoundObjects with the same request.
struct FindObjects {
    static constexpr Kind k_kind = Kind::find_objects;
    std::uint64_t request = 0;
    std::string container;        ///< exactly; empty: any that is known
    std::string name;             ///< * and ? as in a shell; empty: any
    std::vector<Tag> tags;        ///< all of them
    std::optional<Range> times;   ///< lowest <= highest
    std::optional<Range> values;  ///< objects with a region that may have such a value
    bool regions = false;         ///< list them
    std::uint32_t most = 0;       ///< objects; 1 to k_found_limit
    std::uint64_t after = 0;      ///< objects with a larger id only: to go on
    friend bool operator==(const FindObjects&, const FindObjects&) = default;
};

/// Gets an Answer, with Results::bytes() as payload. For the service to check: as for GetRegion,
/// and the call.
struct RunFunction {
    static constexpr Kind k_kind = Kind::run_function;
    std::uint64_t request = 0, object = 0;
    std::optional<Box> box;  ///< none: all of it
    std::string call;        ///< "histogram(bins=64)"
    friend bool operator==(const RunFunction&, const RunFunction&) = default;
};

/// Gets an Answer, with Registry::help() as payload.
struct ListFunctions {
    static constexpr Kind k_kind = Kind::list_functions;
    std::uint64_t request = 0;
    friend bool operator==(const ListFunctions&, const ListFunctions&) = default;
};

/// One pass of an analysis over regions of an object that is a guest. Gets an Answer, with the
/// state behind the pass as payload. For the service to check: whether this client may read the
/// object; boxes; the state.
struct RunPass {
    static constexpr Kind k_kind = Kind::run_pass;
    std::uint64_t request = 0, object = 0;
    std::vector<Box> boxes;        ///< each in one region
    std::vector<std::byte> state;  ///< AnalysisState::bytes() before the pass
    friend bool operator==(const RunPass&, const RunPass&) = default;
};

/// A region to analyse, of another service that has this one as a device. Payload: its values,
/// dense. Gets an AnalysedRegion. For the service to check: its size, the credit; that it has the
/// function, and in this version; the state.
struct AnalyseRegion {
    static constexpr Kind k_kind = Kind::analyse_region;
    std::uint64_t request = 0;
    std::string function, version;
    std::string object;    ///< name; this, id, time, owner and tags as the asking service has them
    std::uint64_t id = 0;  ///< of the object
    DType dtype = float32;
    Shape shape;  ///< of the object
    Box box;      ///< inside
    double time = 0.0;
    std::string owner;
    std::vector<Tag> tags;
    std::vector<std::byte> state;  ///< AnalysisState::bytes() before the region
    std::uint64_t payload_bytes = 0;
    friend bool operator==(const AnalyseRegion&, const AnalyseRegion&) = default;
};

/// Which analyses an AnalyseRegion may name. Gets an Answer, with a line for each as payload:
/// "NAME VERSION".
struct ListVersions {
    static constexpr Kind k_kind = Kind::list_versions;
    std::uint64_t request = 0;
    friend bool operator==(const ListVersions&, const ListVersions&) = default;
};

/// Objects that were put, into a new file. Gets an Answer once the file has committed them, whose
/// number is how many there are. For the service to check: whose objects they are, that all of
/// their values are there, the path, that nothing is lost by it, the codec.
struct PersistObjects {
    static constexpr Kind k_kind = Kind::persist_objects;
    std::uint64_t request = 0;
    std::string path;                    ///< of the file
    std::string container;               ///< all that were put into it; or
    std::vector<std::uint64_t> objects;  ///< these, and no container
    CodecSpec codec;
    std::optional<ErrorBound> bound;  ///< as CreateObject::bound; none: each object's own
    friend bool operator==(const PersistObjects&, const PersistObjects&) = default;
};

// ----------------------------------------------------------------------------- from the service

enum class RegionPlace : std::uint8_t {
    memory = 0,
    sink = 1,
    file = 2,
    passing = 3,  ///< a block that has come and is not where it can be read
    member = 4,   ///< in the memory of another service
    device = 5    ///< in the memory of a device, and in the sink or a file
};

struct RegionInfo {
    Box box;
    RegionPlace place = RegionPlace::memory;
    std::optional<Range> range;      ///< none: it is not known
    std::uint64_t stored_bytes = 0;  ///< where it lies; 0: it is not known
    friend bool operator==(const RegionInfo&, const RegionInfo&) = default;
};

/// What was found of an object.
struct ResultInfo {
    std::string call;
    std::vector<std::byte> results;  ///< Results::bytes()
    friend bool operator==(const ResultInfo&, const ResultInfo&) = default;
};

enum class Origin : std::uint8_t { put = 0, dumped = 1, filed = 2 };

struct ObjectInfo {
    std::uint64_t id = 0;
    Origin origin = Origin::put;
    std::string container, name;
    DType dtype = float32;
    Shape shape;
    double time = 0.0;
    ErrorBound bound;
    ObjectChain chain;
    std::string owner;
    std::vector<Tag> tags;
    std::uint64_t values = 0;  ///< of regions that are there
    std::uint64_t regions_known = 0;
    std::uint64_t stored_bytes = 0;  ///< of regions of which it is known
    std::optional<Range> range;      ///< of all regions, if all are known
    std::vector<ResultInfo> results;
    std::vector<RegionInfo> regions;  ///< if asked for; of a value range only those that may fit
    friend bool operator==(const ObjectInfo&, const ObjectInfo&) = default;
};

/// To FindObjects. For the client to check: that he has asked.
struct FoundObjects {
    static constexpr Kind k_kind = Kind::found_objects;
    std::uint64_t request = 0;
    Status status;
    std::uint64_t regions_skipped = 0, regions_kept = 0;  ///< by the value range
    bool more = false;  ///< ask again after the last id; or with a narrower query
    std::vector<ObjectInfo> objects;
    friend bool operator==(const FoundObjects& a, const FoundObjects& b);
};

/// Before a dump's Finished, one for each of its datasets and calls: the state of the analysis over
/// this client's blocks. For the client to check: that the dump is under way; the state.
struct FoundInDump {
    static constexpr Kind k_kind = Kind::found_in_dump;
    std::uint64_t dump = 0;
    std::uint32_t dataset = 0;
    std::uint64_t values = 0;      ///< that it has seen
    std::vector<std::byte> state;  ///< AnalysisState::bytes()
    friend bool operator==(const FoundInDump&, const FoundInDump&) = default;
};

/// To an AnalyseRegion. Payload: the state behind the region; none with an error. For the client to
/// check: that he has asked; the state.
struct AnalysedRegion {
    static constexpr Kind k_kind = Kind::analysed_region;
    std::uint64_t request = 0;
    Status status;
    double compute_s = 0.0;           ///< from its message to its result, waiting included
    double utilisation = 0.0;         ///< as in PressedBlock
    std::string device;               ///< for people
    std::uint64_t payload_bytes = 0;  ///< 1 to k_state_limit_bytes; 0 with an error
    friend bool operator==(const AnalysedRegion& a, const AnalysedRegion& b);
};

}  // namespace caesura::transit
