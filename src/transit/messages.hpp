// What a client and the service tell each other: plain structs, their byte forms, and what makes
// one safe to act on. docs/reference/transit_protocol.md has kinds, fields and limits as tables.
//
// A message is a kind (one byte) and the kind's fields, little-endian. Bulk data are its payload,
// which travels beside it and is never copied here: a message only says how long that is.
//
// Invariants:
//  - parse() is safe on any bytes. Counts and lengths are checked against what is left and against
//    the limits below before memory is taken: less than eight times the message's own length.
//  - Nothing is left over behind the last field, and one message has one byte form: what parse()
//    takes, encode() gives back byte for byte.
//  - What passed is consistent in itself: enums are known, numbers in range, boxes inside each
//  other,
//    sizes free of overflow, sources inside the payload. Beside each struct stands what the
//    receiver still has to check against what only he knows.
//  - The two directions have kinds of their own, so that no message can be sent back as another.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/file.hpp"
#include "base/shared_memory.hpp"
#include "codec/bound/missing.hpp"
#include "codec/bundle/bundle.hpp"
#include "ledger/free_space.hpp"
#include "store/region_writer.hpp"
#include "transit/object_messages.hpp"

namespace caesura::transit {

/// Goes up with every change of a byte form, with every kind that a peer must understand, and with
/// every value that a field could not have before: to an older peer the message is corrupt, and he
/// parts with who has sent it. Peers of two versions part in peace: the begin of Hello and Welcome
/// (kind, magic, version) and all of Refusal never change.
/// 3: bool, float16, bfloat16, complex64 and complex128.
inline constexpr std::uint32_t k_protocol_version = 4;

// ----------------------------------------------------------------------------------- limits

inline constexpr std::size_t k_message_limit_bytes = std::size_t{64} << 20;  ///< without payload
inline constexpr std::size_t k_path_limit_bytes = 4096;
inline constexpr std::size_t k_label_limit_bytes = 512;
inline constexpr std::size_t k_name_limit_bytes = 256;  ///< of applications, codecs, devices
inline constexpr std::size_t k_reason_limit_bytes = 4096;
inline constexpr std::size_t k_manifest_limit_bytes = std::size_t{16} << 20;
inline constexpr std::size_t k_statistics_limit_bytes = std::size_t{64} << 10;
/// Of one read or write of a file, which the receiver needs memory for. Longer ones go as several.
inline constexpr std::uint64_t k_io_limit_bytes = std::uint64_t{64} << 20;
/// Of a chunk, raw or stored; HDF5 keeps its size in 32 bits.
inline constexpr std::uint64_t k_block_limit_bytes = 0xffffffff;
/// Of a dense array that a block's values lie in, and of a client's shared memory.
inline constexpr std::uint64_t k_arena_limit_bytes = std::uint64_t{1} << 47;
/// File offsets and coordinates: so a sum of two of them is still a number.
inline constexpr std::uint64_t k_offset_limit = (std::uint64_t{1} << 63) - 1;
inline constexpr std::size_t k_pieces_limit = std::size_t{1} << 20;
inline constexpr std::size_t k_parts_limit = std::size_t{1} << 20;
inline constexpr std::size_t k_blocks_limit = std::size_t{1} << 20;  ///< of one client and dump
inline constexpr std::size_t k_places_limit = 1024;
inline constexpr std::size_t k_codecs_limit = 65536;
inline constexpr std::size_t k_cd_values_limit = 1024;
inline constexpr std::uint32_t k_ranks_limit = 1u << 24;
inline constexpr double k_weight_limit = 1000.0;
inline constexpr double k_seconds_limit = 1e9;

// ------------------------------------------------------------------- client: session

/// Processes of one host whose namespaces are the same can share memory.
struct HostIdentity {
    std::array<std::byte, 16> boot{};  ///< of /proc/sys/kernel/random/boot_id
    std::uint64_t pid_namespace = 0;   ///< inode of /proc/self/ns/pid
    std::uint64_t ipc_namespace = 0;   ///< inode of /proc/self/ns/ipc
    friend bool operator==(const HostIdentity&, const HostIdentity&) = default;
};

/// The first message. For the service to check: whether it wants this client at all.
struct Hello {
    static constexpr Kind k_kind = Kind::hello;
    std::uint32_t version = k_protocol_version;  ///< parse() refuses others: unsupported
    std::string application;                     ///< for people; one line
    std::int32_t rank = 0, size = 1;             ///< of the Writer
    HostIdentity host;
    std::uint64_t budget_bytes = 0;  ///< memory that the client may use
    double weight = 1.0;             ///< its share beside other clients, as it wishes; > 0
    friend bool operator==(const Hello&, const Hello&) = default;
};

/// The client's memory, that blocks point into. For the service to check: that it can be opened,
/// that it cannot shrink (a page that went is a SIGBUS), and that it trusts this client's user. The
/// client can change values while a codec reads them, which no codec promises to survive.
struct Share {
    static constexpr Kind k_kind = Kind::share;
    base::SharedMemory::Key key;
    friend bool operator==(const Share&, const Share&) = default;
};

/// Nothing else was to be said lately.
struct Heartbeat {
    static constexpr Kind k_kind = Kind::heartbeat;
    friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};

/// The client goes in an orderly way; nothing of it is left in the service.
struct Bye {
    static constexpr Kind k_kind = Kind::bye;
    friend bool operator==(const Bye&, const Bye&) = default;
};

// --------------------------------------------------------------------- client: files
//
// base::FileSystem and base::File, call by call. Each gets an Answer with its `request`, a number
// that the client does not use twice. For the service to check: that `file` is open and this
// client's, that a path stays where this client may write, and how much is open or under way.

struct OpenFile {
    static constexpr Kind k_kind = Kind::open;
    std::uint64_t request = 0;
    std::string path;  ///< not empty, no NUL; may have any "..": see above
    base::FileSystem::Mode mode = base::FileSystem::Mode::read;
    /// What the client's environment and access list come to. The service's environment goes first.
    base::FileLocking locking = base::FileLocking::best_effort;
    friend bool operator==(const OpenFile&, const OpenFile&) = default;
};

struct CloseFile {
    static constexpr Kind k_kind = Kind::close_file;
    std::uint64_t request = 0;
    std::uint32_t file = 0;  ///< Answer::number of the OpenFile; so in all below
    friend bool operator==(const CloseFile&, const CloseFile&) = default;
};

/// Payload: the bytes.
struct WriteFile {
    static constexpr Kind k_kind = Kind::write;
    std::uint64_t request = 0;
    std::uint32_t file = 0;
    std::uint64_t offset = 0;
    bool early = false;               ///< File::write_early
    std::uint64_t payload_bytes = 0;  ///< <= k_io_limit_bytes
    friend bool operator==(const WriteFile&, const WriteFile&) = default;
};

struct ReadFile {
    static constexpr Kind k_kind = Kind::read;
    std::uint64_t request = 0;
    std::uint32_t file = 0;
    std::uint64_t offset = 0, bytes = 0;  ///< bytes <= k_io_limit_bytes
    friend bool operator==(const ReadFile&, const ReadFile&) = default;
};

struct SyncFile {
    static constexpr Kind k_kind = Kind::sync;
    std::uint64_t request = 0;
    std::uint32_t file = 0;
    friend bool operator==(const SyncFile&, const SyncFile&) = default;
};

struct TruncateFile {
    static constexpr Kind k_kind = Kind::truncate;
    std::uint64_t request = 0;
    std::uint32_t file = 0;
    std::uint64_t bytes = 0;
    friend bool operator==(const TruncateFile&, const TruncateFile&) = default;
};

struct SizeOfFile {
    static constexpr Kind k_kind = Kind::size;
    std::uint64_t request = 0;
    std::uint32_t file = 0;
    friend bool operator==(const SizeOfFile&, const SizeOfFile&) = default;
};

struct LockFile {
    static constexpr Kind k_kind = Kind::lock;
    std::uint64_t request = 0;
    std::uint32_t file = 0;
    bool exclusive = false;
    friend bool operator==(const LockFile&, const LockFile&) = default;
};

struct UnlockFile {
    static constexpr Kind k_kind = Kind::unlock;
    std::uint64_t request = 0;
    std::uint32_t file = 0;
    friend bool operator==(const UnlockFile&, const UnlockFile&) = default;
};

struct SyncDirectory {
    static constexpr Kind k_kind = Kind::sync_directory;
    std::uint64_t request = 0;
    std::string path;  ///< of a file in it, as OpenFile::path
    friend bool operator==(const SyncDirectory&, const SyncDirectory&) = default;
};

// --------------------------------------------------------------------- client: dumps

/// make_block_codec()'s arguments, of one dataset of the dump.
struct DatasetCodec {
    CodecSpec spec;
    DType dtype = float32;
    Shape chunk;       ///< below 4 GiB
    ErrorBound bound;  ///< lossless, absolute or pointwise_relative
    TableSet tables;
    bool gather = false;                      ///< SharedTables::gather
    std::vector<std::uint64_t> missing = {};  ///< SharedTables::missing; <= k_most_missing
    friend bool operator==(const DatasetCodec&, const DatasetCodec&) = default;
};

/// The client's blocks of a dump follow. Gets an Answer.
///
/// Places are aligned, lie behind the file's header and apart from each other, and hold what opens
/// a region; slots lie inside the last of them, as RegionWriter wants them. For the service to
/// check: that `file` is open and of Caesura, that `dump` is not under way, that each place's rank
/// is the client's, and which codecs a client may ask for (one may load a plugin).
/// `dump` is the client's own number, of all its files, and names the dump in what follows; the
/// file's number stands in the places, and is the same in all.
struct BeginDump {
    static constexpr Kind k_kind = Kind::begin_dump;
    std::uint64_t request = 0;
    std::uint64_t dump = 0;
    std::uint32_t file = 0;
    std::uint64_t iteration = 0;
    std::uint32_t n_jobs = 0;  ///< numbers of jobs are below; <= k_blocks_limit
    std::vector<store::RegionWriter::Place> places;
    std::string manifest;               ///< for one of the places, or empty
    std::uint32_t manifest_region = 0;  ///< number of that place; without manifest it says nothing
    bool durable = true;
    std::vector<std::uint64_t> slots;  ///< store::slot_offsets, or empty
    std::optional<store::RegionWriter::Place> spill;
    std::vector<DatasetCodec> codecs;
    /// The client has promised it to be written so many seconds from now, and keeps a margin; >= 0,
    /// infinity: never. Clocks of nodes differ, so it is no time.
    double due_in_s = std::numeric_limits<double>::infinity();
    friend bool operator==(const BeginDump&, const BeginDump&) = default;
};

/// Where the values of a piece lie.
enum class Source : std::uint8_t {
    arena = 0,   ///< the client's shared memory
    payload = 1  ///< the message's payload
};

/// run::PutPart.
struct Piece {
    Box part;        ///< inside the block's valid part and source_box
    Box source_box;  ///< of the dense array that holds it
    Source source = Source::payload;
    std::uint64_t offset = 0;  ///< of the array's first byte; a multiple of the values' size
    friend bool operator==(const Piece&, const Piece&) = default;
};

/// A block to compress and write: a run::Job. Payload: what its pieces say lies there. It begins at
/// a multiple of 8 in memory. For the service to check: fits(), arena_end() against the shared
/// memory, that this job has not come before, credits; and covers_all(), without which the buffer
/// that pieces are gathered in must be cleared first. Region and slot may be any numbers:
/// RegionSink takes those that are none as places that are full.
struct Block {
    static constexpr Kind k_kind = Kind::block;
    std::uint64_t dump = 0;
    std::uint32_t job = 0;
    std::string label;  ///< for people; of a longer one the end is sent
    std::uint32_t dataset = 0;
    std::uint64_t chunk = 0;
    DType dtype = float32;
    Box chunk_box;
    Shape valid;                ///< of chunk_box.extent, from its corner
    std::vector<Piece> pieces;  ///< at least one; what comes later covers what came before
    std::optional<std::array<std::byte, 8>> fill;
    std::uint32_t codec = 0;                ///< number in BeginDump::codecs
    std::vector<codec::BundlePart> parts;   ///< together as many values as `valid`; or empty
    bool bundled = false, exactly = false;  ///< as in Job; not bundled: one part or none
    double absolute_bound = 0.0;
    std::uint32_t region = 0, slot = 0;
    double expected_compress_s = 0.0;
    std::uint64_t payload_bytes = 0;  ///< 0 if no piece lies there

    std::uint64_t raw_bytes() const { return valid.count() * size_of(dtype); }
    friend bool operator==(const Block&, const Block&) = default;
};

/// A block that is compressed already, because it has overflowed before. Payload: its bytes. For
/// the service to check: fits(), that this job has not come before, credits.
struct StoredBlock {
    static constexpr Kind k_kind = Kind::stored_block;
    std::uint64_t dump = 0;
    std::uint32_t job = 0;
    std::string label;
    std::uint32_t dataset = 0;
    std::uint64_t chunk = 0;
    std::uint32_t filter_mask = 0;
    std::uint32_t region = 0, slot = 0;
    std::uint64_t payload_bytes = 0;
    friend bool operator==(const StoredBlock&, const StoredBlock&) = default;
};

/// All blocks have been sent: make them durable. Gets a Finished, behind the results of all blocks.
struct FinishDump {
    static constexpr Kind k_kind = Kind::finish_dump;
    std::uint64_t request = 0, dump = 0;
    friend bool operator==(const FinishDump&, const FinishDump&) = default;
};

/// RegionSink::end_spill. Gets an Answer: only after it something else may be written there.
struct EndSpill {
    static constexpr Kind k_kind = Kind::end_spill;
    std::uint64_t request = 0, dump = 0;
    friend bool operator==(const EndSpill&, const EndSpill&) = default;
};

/// Nobody wants the dump any more. Gets an Answer: from then on nothing of it is written.
struct DropDump {
    static constexpr Kind k_kind = Kind::drop_dump;
    std::uint64_t request = 0, dump = 0;
    friend bool operator==(const DropDump&, const DropDump&) = default;
};

/// A block to compress and send back, of another service that has this one as a device. Payload:
/// its values, dense. Gets a PressedBlock. For the service to check: its size, the credit, and that
/// the codec is one of Caesura's own, which loads nothing.
struct PressBlock {
    static constexpr Kind k_kind = Kind::press;
    std::uint64_t request = 0;
    DatasetCodec codec;
    Shape valid;           ///< of the chunk, from its corner
    bool exactly = false;  ///< as in Block
    std::uint64_t payload_bytes = 0;
    friend bool operator==(const PressBlock&, const PressBlock&) = default;
};

using ClientMessage =
    std::variant<Hello, Share, Heartbeat, Bye, OpenFile, CloseFile, WriteFile, ReadFile, SyncFile,
                 TruncateFile, SizeOfFile, LockFile, UnlockFile, SyncDirectory, BeginDump, Block,
                 StoredBlock, FinishDump, EndSpill, DropDump, PressBlock, DescribeDump,
                 CreateObject, PutRegion, GetRegion, DeleteObject, FindObjects, RunFunction,
                 ListFunctions, RunPass, PersistObjects, AnalyseRegion, ListVersions>;

// --------------------------------------------------------------------------- service

/// What one client may have in the service at once.
struct Limits {
    std::uint64_t block_bytes = 0;  ///< of a chunk; 1 to k_block_limit_bytes
    std::uint64_t io_bytes = 0;     ///< of one read or write; 1 to k_io_limit_bytes
    std::uint32_t files = 0, dumps = 0;
    friend bool operator==(const Limits&, const Limits&) = default;
};

struct Welcome {
    static constexpr Kind k_kind = Kind::welcome;
    std::uint32_t version = k_protocol_version;  ///< parse() refuses others: unsupported
    std::uint64_t credits_bytes = 0;             ///< raw bytes that may be under way
    double lease_s = 0.0;  ///< the client is dropped when it has not been heard for so long; > 0
    Limits limits;
    bool shares_memory = false;  ///< Share may follow
    friend bool operator==(const Welcome&, const Welcome&) = default;
};

/// Instead of a Welcome, or because a message broke the protocol: the session is over.
struct Refusal {
    static constexpr Kind k_kind = Kind::refusal;
    Status status;  ///< never ok
    friend bool operator==(const Refusal& a, const Refusal& b);
};

struct ServiceHeartbeat {
    static constexpr Kind k_kind = Kind::service_heartbeat;
    friend bool operator==(const ServiceHeartbeat&, const ServiceHeartbeat&) = default;
};

/// The service goes down in an orderly way: what it has is finished, nothing new is taken.
struct Draining {
    static constexpr Kind k_kind = Kind::draining;
    friend bool operator==(const Draining&, const Draining&) = default;
};

/// To a request. Payload: what was read; none with an error. For the client to check: that he has
/// asked, and that a read has got as many bytes as it wanted.
struct Answer {
    static constexpr Kind k_kind = Kind::answer;
    std::uint64_t request = 0;
    Status status;
    std::uint64_t number = 0;  ///< the opened file, or the size of one
    std::uint64_t payload_bytes = 0;
    friend bool operator==(const Answer& a, const Answer& b);
};

/// The block's source is not needed any more.
struct Taken {
    static constexpr Kind k_kind = Kind::taken;
    std::uint64_t dump = 0;
    std::uint32_t job = 0;
    friend bool operator==(const Taken&, const Taken&) = default;
};

/// So many bytes more may be under way.
struct Credit {
    static constexpr Kind k_kind = Kind::credit;
    std::uint64_t bytes = 0;  ///< 1 to k_offset_limit
    friend bool operator==(const Credit&, const Credit&) = default;
};

enum class BlockState : std::uint8_t { written = 0, overflowed = 1 };

/// What became of a block. Payload: its stored bytes if it has overflowed. For the client to check:
/// that the job is under way.
struct BlockResult {
    static constexpr Kind k_kind = Kind::result;
    std::uint64_t dump = 0;
    std::uint32_t job = 0;
    BlockState state = BlockState::written;
    std::uint64_t stored_bytes = 0;  ///< 1 to k_block_limit_bytes
    std::uint32_t filter_mask = 0;
    std::optional<double> max_error;  ///< EncodedBlock::max_error; none: it was not verified
    bool fell_back = false, stored_raw = false;
    double compress_s = 0.0;
    std::vector<std::byte> statistics;  ///< TableStatistics::bytes() or empty
    std::string device;                 ///< which variant compressed it, for people
    std::uint64_t payload_bytes = 0;    ///< stored_bytes or 0
    friend bool operator==(const BlockResult&, const BlockResult&) = default;
};

/// To FinishDump. For the client to check: lies_in().
struct Finished {
    static constexpr Kind k_kind = Kind::finished;
    std::uint64_t request = 0;
    Status status;  ///< the first error of any of its blocks, too
    std::vector<store::ChunkRecord> records;
    std::vector<ledger::Extent> tails;
    std::uint64_t used_end = 0;
    bool is_whole = true;
    friend bool operator==(const Finished& a, const Finished& b);
};

/// To a PressBlock. Payload: the block as it is to be stored; none with an error. For the client to
/// check: that he has asked, and before he stores it that it decodes.
struct PressedBlock {
    static constexpr Kind k_kind = Kind::pressed;
    std::uint64_t request = 0;
    Status status;
    std::uint32_t filter_mask = 0;
    std::optional<double> max_error;  ///< as in BlockResult
    bool fell_back = false;
    double compress_s = 0.0;            ///< from its message to its result, waiting included
    double utilisation = 0.0;           ///< of the service's cores by others, 0 to 1
    std::vector<std::byte> statistics;  ///< TableStatistics::bytes() or empty
    std::string device;                 ///< for people
    std::uint64_t payload_bytes = 0;    ///< 1 to k_block_limit_bytes; 0 with an error
    friend bool operator==(const PressedBlock& a, const PressedBlock& b);
};

using ServiceMessage =
    std::variant<Welcome, Refusal, ServiceHeartbeat, Draining, Answer, Taken, Credit, BlockResult,
                 Finished, PressedBlock, FoundObjects, FoundInDump, AnalysedRegion>;

// ------------------------------------------------------------------------------ bytes

/// The byte form, without the payload. Texts for people (labels, reasons, names) are cut to their
/// limits. Errors: invalid_argument (what parse() would refuse: kind, field, value), no_space.
/// Calls: independent, thread-safe; so are all below. O(bytes), besides sorting places.
Result<std::vector<std::byte>> encode(const ClientMessage& message);
Result<std::vector<std::byte>> encode(const ServiceMessage& message);

/// The message that a client has sent. @param payload_bytes  how long the payload beside it is.
/// Errors: insufficient_data (it ends early), corrupt (a field, or bytes behind the last; names
/// kind, field and value), unsupported (a kind or version that this library does not know),
/// no_space.
Result<ClientMessage> parse_client(std::span<const std::byte> bytes, std::uint64_t payload_bytes);
/// The message that a service has sent.
Result<ServiceMessage> parse_service(std::span<const std::byte> bytes, std::uint64_t payload_bytes);

/// The length of the payload that a message says it has.
std::uint64_t payload_bytes_of(const ClientMessage& message);
std::uint64_t payload_bytes_of(const ServiceMessage& message);

// --------------------------------------------------------------- messages beside each other

/// Does a block belong to this dump: its number, a job of it, a codec of its type and chunk?
/// Errors: corrupt, naming the value.
Status fits(const Block& block, const BeginDump& dump);
Status fits(const StoredBlock& block, const BeginDump& dump);
/// So many bytes the client's shared memory must have for this block; 0: none.
std::uint64_t arena_end(const Block& block);
/// Do its pieces surely leave nothing of the valid part open? False for more than k_cover_pieces of
/// which none has all, and for some that overlap: whoever gathers them then clears his buffer first
/// (memory of others might show through), unless there is a fill value.
bool covers_all(const Block& block);
inline constexpr std::size_t k_cover_pieces = 64;
/// Do the records and tails of a finished dump lie in its places? Errors: corrupt.
Status lies_in(const Finished& finished, const BeginDump& dump);

}  // namespace caesura::transit
