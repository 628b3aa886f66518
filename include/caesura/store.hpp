// A file that Caesura wrote, seen from outside a run: what is in it, its blocks, and recovery after
// a run that was killed. It is one standard HDF5 file.
//
// Calls: independent; they call HDF5, so on the thread that may.
#pragma once

#include <optional>
#include <variant>

#include "caesura/base.hpp"

namespace caesura::base {
class File;
}  // namespace caesura::base

#pragma GCC visibility push(default)

namespace caesura::store {

using AttributeValue =
    std::variant<std::int64_t, std::uint64_t, double, float, std::string, std::vector<double>,
                 std::vector<std::uint64_t>, std::vector<std::string>, std::vector<std::int64_t>,
                 std::uint32_t>;

struct Attribute {
    std::string name;
    AttributeValue value;
    friend bool operator==(const Attribute&, const Attribute&) = default;
};

struct DatasetSpec {
    std::string path;  ///< absolute, e.g. "/data/10/meshes/temperature"; missing parents are made
    DType dtype = float32;
    Shape shape;
    Shape chunk;  ///< same rank; the chunk grid starts at 0
    std::vector<FilterSpec> pipeline;
    std::vector<Attribute> attributes;
    /// Of a dataset that is written in parts only: how many of its chunks are. Unset: all.
    std::optional<std::uint64_t> partial_chunks = {};
    /// What a chunk holds that is not written: one value, as this machine has it. Empty: zero.
    std::vector<std::byte> fill = {};
    friend bool operator==(const DatasetSpec&, const DatasetSpec&) = default;
};

/// Whose HDF5 tree a dump becomes part of.
enum class TreeOwner {
    caesura,      ///< the Writer's: groups and datasets are made from the manifest
    application,  ///< the application's own calls make them: only it can complete the dump
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

// -------------------------------------------------------------------------------- recovery

struct RecoverReport {
    bool was_clean = true;  ///< nothing had to be done
    bool journal_replayed = false;
    bool journal_dropped = false;                    ///< torn: the old state is intact
    std::uint64_t committed_dumps = 0;               ///< after recovery
    std::vector<std::uint64_t> finished_iterations;  ///< complete but uncommitted: committed now
    struct Dropped {
        std::uint64_t dump = 0;                  ///< its number, from 0 on
        std::optional<std::uint64_t> iteration;  ///< none: its manifest is not in the file
        std::uint64_t blocks_found = 0;
        std::uint64_t blocks_expected = 0;  ///< 0: not known
        TreeOwner tree = TreeOwner::caesura;
        struct Lack {
            std::string dataset;
            std::uint64_t blocks = 0;
        };
        std::vector<Lack> lacking;  ///< datasets of which blocks are not in the file, and how many
    };
    /// Dumps that are incomplete, or part of a tree that its application had not closed; their
    /// bytes stay unused.
    std::vector<Dropped> dropped;
};

/// Replay an unfinished journal, then finish or drop every dump in flight. Needs only the file.
/// Takes the exclusive lock: Errors: io if a writer still runs, corrupt (not a Caesura file).
Result<RecoverReport> recover(const std::string& path, bool dry_run = false);

// -------------------------------------------------------------------------------- reading

struct DatasetInfo {
    DatasetSpec spec;  ///< attributes included
    std::uint64_t iteration = 0;
    std::uint64_t raw_bytes = 0, stored_bytes = 0;
    std::vector<ChunkRecord> chunks;  ///< row-major by chunk; dump and dataset as in the file
    /// Of a compound type, each of the spec's dtype; empty: a value is one number.
    std::vector<std::string> members;
    bool big_endian =
        false;  ///< so the file has the values; compounds are as this machine has them
    /// What a chunk holds that was never written: one value (all members), as this machine has it;
    /// zeros where the file names none.
    std::vector<std::byte> fill;
};

struct GroupInfo {
    std::string path;
    std::vector<Attribute> attributes;
    /// Of an attribute "value" that is one number: its type, and the number as this machine has it.
    /// Complex numbers have `members`, of the dtype each.
    std::optional<DType> value_dtype = {};
    std::vector<std::byte> value = {};
    std::vector<std::string> members = {};
};

/// A dataset that is read through HDF5 (1 to 4 axes).
struct OtherDataset {
    enum class Kind : std::uint8_t { signed_integer, unsigned_integer, floating };
    std::string path;
    Kind kind = Kind::floating;
    std::size_t value_bytes = 0;
    std::vector<std::string> members = {};  ///< of a compound type of floats
    Shape shape;
    Shape chunk;  ///< the shape, where it has no chunks
    std::vector<FilterSpec> pipeline = {};
    std::vector<Attribute> attributes = {};
    std::uint64_t iteration = 0, stored_bytes = 0;
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
    /// Float datasets that HDF5 stores in one piece, unfiltered, in the same order. Each has its
    /// own shape as chunk, and one chunk, or none where nothing was ever written.
    std::vector<DatasetInfo> contiguous;
    /// Paths of all other datasets: integers, strings, more than four axes, values inside the
    /// object header.
    std::vector<std::string> others;
    /// Those of the others that are of integers (also enumerations) or floats of any width.
    std::vector<OtherDataset> other_datasets;
    std::vector<GroupInfo> groups;  ///< all but the root, by path
};

/// Open read-only and list everything. Chunk lists come without a quadratic loop also on
/// HDF5 1.10. Works for any HDF5 file with chunked or contiguous float datasets; checksums only
/// for ours (0 elsewhere). Errors: io, corrupt.
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

#pragma GCC visibility pop
