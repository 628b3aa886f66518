// The store: one standard HDF5 file, written around the HDF5 library and committed through it.
//
// Invariants:
//  - Data first, then metadata beyond the old end, then the journal, then the in-place metadata:
//    no committed dump is lost whatever instant the process dies at (decision D3).
//  - Only Committer, recover and Reader call HDF5, and only on the caller's thread. Everything a
//    write lane calls (RegionWriter, CommitImage::flush) is plain pwrite and fdatasync.
//  - Chunk addresses point past the block's prefix record; the chunk's size is exact.
#pragma once

#include <functional>
#include <map>
#include <variant>

#include "caesura/base.hpp"

namespace caesura::base {
class File;
class FileSystem;
}  // namespace caesura::base

namespace caesura::store {

using AttributeValue =
    std::variant<std::int64_t, std::uint64_t, double, float, std::string, std::vector<double>,
                 std::vector<std::uint64_t>, std::vector<std::string>>;

struct Attribute {
    std::string name;
    AttributeValue value;
    friend bool operator==(const Attribute&, const Attribute&) = default;
};

struct GroupSpec {
    std::string path;  ///< absolute; missing parents are made
    std::vector<Attribute> attributes;
    friend bool operator==(const GroupSpec&, const GroupSpec&) = default;
};

struct DatasetSpec {
    std::string path;  ///< absolute, e.g. "/data/10/meshes/temperature"; missing parents are made
    DType dtype = float32;
    Shape shape;
    Shape chunk;  ///< same rank; the chunk grid starts at 0
    std::vector<FilterSpec> pipeline;
    std::vector<Attribute> attributes;
    friend bool operator==(const DatasetSpec&, const DatasetSpec&) = default;
};

/// Whose HDF5 tree a dump becomes part of.
enum class TreeOwner {
    caesura,      ///< the Writer's: groups and datasets are made from the manifest
    application,  ///< the application's own calls make them: only it can complete the dump
};

/// Everything HDF5 has to know about one dump besides its chunks. It also lies in rank 0's region
/// (as JSON) so that `recover` can finish a dump from the file alone.
struct DumpManifest {
    std::uint64_t dump = 0;       ///< sequence number, from 0, the unit of commit
    std::uint64_t iteration = 0;  ///< the application's own number
    /// An application's dump is never finished by `recover`, which drops and reports it; datasets
    /// then only say what blocks belong to.
    TreeOwner tree = TreeOwner::caesura;
    std::vector<Attribute> root;  ///< of the root group; written while that has none yet
    std::vector<GroupSpec> groups;
    std::vector<DatasetSpec> datasets;  ///< ChunkRecord::dataset indexes this
    friend bool operator==(const DumpManifest&, const DumpManifest&) = default;
};

/// Where one block lies. Trivially copyable: travels between ranks as bytes.
struct ChunkRecord {
    std::uint64_t dump = 0;
    std::uint32_t dataset = 0;      ///< index into DumpManifest::datasets
    std::uint32_t filter_mask = 0;  ///< as HDF5 has it
    std::uint64_t chunk = 0;        ///< row-major number of the chunk in the dataset's chunk grid
    std::uint64_t address = 0;      ///< of the chunk's first stored byte
    std::uint64_t bytes = 0;        ///< exact stored size
    std::uint64_t checksum = 0;     ///< XXH3-64 of the stored bytes
    friend bool operator==(const ChunkRecord&, const ChunkRecord&) = default;
};

/// 16 random bytes that every region, prefix record and journal of one file carries.
using RunId = std::array<std::byte, 16>;
RunId make_run_id();

inline constexpr std::uint64_t k_region_alignment = 4096;
constexpr std::uint64_t align_up(std::uint64_t bytes,
                                 std::uint64_t alignment = k_region_alignment) {
    return (bytes + alignment - 1) / alignment * alignment;
}
/// First byte a region may use: superblock page and reserved journal space lie before it.
std::uint64_t first_region_address();
/// Bytes a region needs beyond the stored bytes: header, manifest and one prefix record a block.
std::uint64_t region_overhead_bytes(std::uint64_t n_blocks, std::uint64_t manifest_bytes);
/// Where the slots of a region lie that keeps capacities[i] stored bytes for block i: offsets from
/// the region's begin, and after the last one the end of all, [n_blocks + 1]. {} for no blocks.
std::vector<std::uint64_t> slot_offsets(std::span<const std::uint64_t> capacities,
                                        std::uint64_t manifest_bytes);
/// The manifest as it will lie in a region.
std::string encode_manifest(const DumpManifest& manifest);
Result<DumpManifest> decode_manifest(std::string_view text);

// -------------------------------------------------------------------------------- writing

/// The shared file, opened by every rank of a run. Holds flock(LOCK_SH) until destroyed, so that
/// readers open it and stock writers are refused.
class SharedFile {
  public:
    /// On one rank, before the others open it. Empties a file that is there; writes the reserved
    /// header with `run`. Of several at once one gets the file, and the others do it no harm.
    /// @param durable  wait until header and name are on the disk: the directory is synced, by this
    ///                 rank alone.
    /// Errors: io (another run writes it, or made it just now), no_space (path and reason), e.g. a
    /// directory that is not there.
    static Result<SharedFile> create(base::FileSystem& file_system, const std::string& path,
                                     const RunId& run, bool durable = true);
    /// On the other ranks, after a barrier. Errors: corrupt if the header is not `run`'s.
    static Result<SharedFile> open(base::FileSystem& file_system, const std::string& path,
                                   const RunId& run);
    /// The run id of a file that exists, for open(). Takes no lock.
    /// Errors: io; unsupported, naming the path: no file of ours, or of a newer version.
    static Result<RunId> run_of(base::FileSystem& file_system, const std::string& path);
    base::File& file() const { return *file_; }
    const std::string& path() const { return path_; }
    const RunId& run() const { return run_; }

  private:
    friend struct SharedFileAccess;  // recover's way in, with the exclusive lock
    Status check_run() const;
    std::string path_;
    RunId run_{};
    std::shared_ptr<base::File> file_;
};

/// A block handed to a region.
struct BlockView {
    std::uint32_t dataset = 0;
    std::uint32_t filter_mask = 0;
    std::uint64_t chunk = 0;
    std::span<const std::byte> bytes;
    std::uint32_t slot = 0;  ///< of a region with slots
};

/// One rank's region of one dump: blocks lie back to back behind prefix records or, in a region
/// with slots, each at the place kept for it, with a gap behind it.
/// No HDF5, no locks; used by one thread at a time (the write lane).
class RegionWriter {
  public:
    struct Place {
        int rank = 0;
        std::uint64_t dump = 0;
        std::uint64_t address = 0;   ///< 4 KiB-aligned
        std::uint64_t bytes = 0;     ///< reserved; 4 KiB-aligned
        std::uint64_t previous = 0;  ///< address of this rank's region before, 0 if none
    };
    /// @param manifest  encode_manifest(...) on rank 0's region of the dump, else empty.
    /// @param slots     slot_offsets(...) for a region with slots, else empty.
    /// Writes nothing yet: the header goes out with the first blocks (or finish()).
    RegionWriter(SharedFile& file, const Place& place, std::string manifest,
                 std::vector<std::uint64_t> slots = {});

    /// Bytes still free for stored bytes of one more block (0 if not even its prefix fits, and for
    /// a region with slots).
    std::uint64_t free_bytes() const;
    /// Stored bytes that a slot holds; 0 if there is no such slot.
    std::uint64_t slot_bytes(std::uint32_t slot) const;
    bool has_slots() const { return !slots_.empty(); }
    /// Write blocks, those that lie back to back as one large write. All must fit. Appends their
    /// records to `records`.
    /// @param early  the disk begins at once with what will be synced soon (File::write_early)
    Status write(std::span<const BlockView> blocks, std::vector<ChunkRecord>& records,
                 bool early = false);
    /// What place() has settled: the block's record, and what goes before it and behind it.
    struct Placed {
        ChunkRecord record;
        std::vector<std::byte> prefix, padding;
    };
    /// Take the next place for a block and write nothing: whoever does writes prefix, block and
    /// padding to record.address - prefix.size(), and finish() the header.
    Result<Placed> place(const BlockView& block);
    /// Write the header if no block did. Does not sync.
    Status finish();
    /// Is anything written, or does a block have its place?
    bool begun() const { return used_bytes_ > 0; }
    /// The unused, 4 KiB-aligned tail, to be kept for the rank's next dump: {address, bytes}.
    std::pair<std::uint64_t, std::uint64_t> tail() const;

  private:
    std::uint64_t opening_bytes() const;
    std::uint64_t next_free() const { return used_bytes_ > 0 ? used_bytes_ : opening_bytes(); }
    ChunkRecord record_of(const BlockView& block, std::uint64_t at) const;
    std::uint64_t behind(const BlockView& block, std::uint64_t at) const;
    Status check_block(const BlockView& block, std::uint64_t at) const;

    SharedFile* file_;
    Place place_;
    std::string manifest_;
    std::vector<std::uint64_t> slots_;
    std::uint64_t used_bytes_ = 0;
    bool header_written_ = false;
};

/// Metadata of finished dumps, ready to be flushed; see Committer::build.
class CommitImage {
  public:
    CommitImage();
    ~CommitImage();
    CommitImage(CommitImage&&) noexcept;
    CommitImage& operator=(CommitImage&&) noexcept;

    /// New metadata, sync, journal, sync, in-place bytes with the superblock last, sync, journal
    /// cleared. No HDF5. Any thread. After an error it may be called again; until it has
    /// succeeded the file is as before, or its journal brings it to the new state.
    /// @param durable  false leaves the syncs out: safe against the end of the process, not
    ///                 against the end of the machine.
    Status flush(SharedFile& file, bool durable = true);
    /// End of the file after this commit: nothing may be reserved below it.
    std::uint64_t file_end() const;
    /// Bytes of metadata (new and in place).
    std::uint64_t metadata_bytes() const;

    struct State;  ///< private to the store

  private:
    friend class Committer;
    friend class LiveImage;
    std::unique_ptr<State> state_;
};

/// Builds the HDF5 metadata of dumps in memory. Exists on one rank. Calls HDF5.
class Committer {
  public:
    explicit Committer(SharedFile& file);
    ~Committer();
    Committer(Committer&&) noexcept;

    /// @param dumps       manifests, ascending by dump.
    /// @param records     all chunks of those dumps, any order (sorted here).
    /// @param file_end    end of all reserved regions: metadata goes at or beyond it, and the
    ///                    stored end of the file is never below it.
    /// @param trim        at close: the caller promises that nothing at or beyond file_end is in
    ///                    use. The stored end may then become lower, and flush cuts the file there.
    /// The image of the commit before must have been flushed. On error the file is as before.
    /// Groups and group attributes that exist already stay as they are. Touches no filter that
    /// the process has registered, and loads no plugin.
    /// Errors: invalid_argument (a chunk missing, twice, or outside the grid: names the dataset),
    /// cancelled (an image is not flushed yet), internal (HDF5 refused; carries its message).
    Result<CommitImage> build(std::span<const DumpManifest> dumps,
                              std::span<const ChunkRecord> records, std::uint64_t file_end,
                              bool trim = false);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// -------------------------------------------------------------------------------- recovery

struct RecoverReport {
    bool was_clean = true;  ///< nothing had to be done
    bool journal_replayed = false;
    bool journal_dropped = false;                    ///< torn: the old state is intact
    std::uint64_t committed_dumps = 0;               ///< after recovery
    std::vector<std::uint64_t> finished_iterations;  ///< complete but uncommitted: committed now
    struct Dropped {
        std::uint64_t iteration = 0;
        std::uint64_t blocks_found = 0;
        std::uint64_t blocks_expected = 0;  ///< 0: not known
        TreeOwner tree = TreeOwner::caesura;
    };
    /// Dumps that are incomplete, or part of an application's tree; their bytes stay unused.
    std::vector<Dropped> dropped;
};

/// Replay an unfinished journal, then finish or drop every dump in flight. Needs only the file.
/// Takes the exclusive lock: Errors: io if a writer still runs, corrupt (not a Caesura file).
Result<RecoverReport> recover(base::FileSystem& file_system, const std::string& path,
                              bool dry_run = false);
/// Whether a file with these attributes of its root group is wanted.
using AcceptRoot = std::function<Status(const std::vector<Attribute>& root)>;
/// The same, and the file is this process's to go on with: the lock that recovery held is kept, as
/// the shared one of a SharedFile, so that of two processes that try this one is refused.
/// @param accept  asked under the lock, before anything is changed, about what is committed, or
///                where nothing is, about each dump that was begun. Errors: also its own.
Result<SharedFile> recover_and_open(base::FileSystem& file_system, const std::string& path,
                                    const AcceptRoot& accept);

// -------------------------------------------------------------------------------- reading

struct DatasetInfo {
    DatasetSpec spec;  ///< attributes included
    std::uint64_t iteration = 0;
    std::uint64_t raw_bytes = 0, stored_bytes = 0;
    std::vector<ChunkRecord> chunks;  ///< row-major by chunk; dump and dataset as in the file
};

struct FileInfo {
    std::string path;
    std::uint64_t file_bytes = 0;       ///< its length
    std::uint64_t allocated_bytes = 0;  ///< disk blocks held (holes do not count)
    std::uint64_t metadata_bytes = 0;
    std::uint64_t unused_bytes = 0;  ///< reserved and never used, prefix records, alignment
    bool needs_recover = false;      ///< an unfinished journal or uncommitted blocks
    std::vector<Attribute> root;
    std::vector<DatasetInfo> datasets;  ///< in order of iteration, then path
};

/// Open read-only and list everything. Chunk lists come without a quadratic loop also on
/// HDF5 1.10. Works for any HDF5 file with chunked float datasets; checksums only for ours (0
/// elsewhere). Errors: io, corrupt.
Result<FileInfo> read_info(base::FileSystem& file_system, const std::string& path);
/// The same of a file that is open already, without asking for a lock.
Result<FileInfo> read_info(base::File& file, const std::string& path);

// The same on the operating system's files, for callers outside the library.
Result<RecoverReport> recover(const std::string& path, bool dry_run = false);
Result<FileInfo> read_info(const std::string& path);
/// A file to call read_chunk with. Errors: io (path and reason).
Result<std::shared_ptr<base::File>> open_for_reading(const std::string& path);

/// The stored bytes of one chunk, checked against its prefix record's checksum.
/// Errors: corrupt naming dataset, chunk and both checksums.
Result<std::vector<std::byte>> read_chunk(base::File& file, const DatasetInfo& dataset,
                                          const ChunkRecord& chunk);
/// The same into the caller's memory, and none besides. After an error nothing is to be read there.
/// Errors: also invalid_argument (bytes.size() is not chunk.bytes).
Status read_chunk(base::File& file, const DatasetInfo& dataset, const ChunkRecord& chunk,
                  std::span<std::byte> bytes);

}  // namespace caesura::store
