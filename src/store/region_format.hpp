// The records of ours that lie in the file beside HDF5's: file header, region header, block prefix
// and commit record. docs/how/file_format.md is the normative text; this is its code.
//
// Invariants:
//  - Little-endian, fixed length, magic and version in front, checksum (seeded with the record's
//    own address) at the end.
//  - decode_* returns nullopt for anything that is not exactly such a record of this run at this
//    address; a bad record is never half accepted.
#pragma once

#include "store/shared_file.hpp"

namespace caesura::store {

inline constexpr std::uint32_t k_format_version = 1;

// Fixed places. [0, 4096) belongs to the superblock.
inline constexpr std::uint64_t k_file_header_address = 4096;
inline constexpr std::uint64_t k_commit_record_address = 5120;
inline constexpr std::uint64_t k_journal_address = 8192;
inline constexpr std::uint64_t k_first_region_address = 65536;

inline constexpr std::size_t k_file_header_bytes = 128;
inline constexpr std::size_t k_region_header_bytes = 128;
inline constexpr std::size_t k_block_prefix_bytes = 64;
inline constexpr std::size_t k_commit_record_bytes = 3072;

using FileHeaderBytes = std::array<std::byte, k_file_header_bytes>;
FileHeaderBytes encode_file_header(const RunId& run);
/// Errors: corrupt (not a Caesura file), unsupported (a newer version).
Result<RunId> decode_file_header(std::span<const std::byte> bytes, const std::string& path);
/// Read and decode it. Errors: also corrupt when the file is too short.
Result<RunId> read_file_header(base::File& file, const std::string& path);

struct RegionHeader {
    std::uint32_t rank = 0;
    std::uint64_t dump = 0;
    std::uint64_t address = 0;   ///< of this header
    std::uint64_t bytes = 0;     ///< reserved, header included
    std::uint64_t previous = 0;  ///< this rank's region before, 0 if none
    std::uint64_t manifest_bytes = 0;
    std::uint64_t manifest_checksum = 0;
    std::uint64_t slots = 0;  ///< 0: blocks lie back to back
    std::uint64_t slots_checksum = 0;
    friend bool operator==(const RegionHeader&, const RegionHeader&) = default;
};
/// Bytes of the table of so many slots: their offsets and the end of the last.
constexpr std::uint64_t slot_table_bytes(std::uint64_t slots) {
    return slots == 0 ? 0 : 8 * (slots + 1);
}
using RegionHeaderBytes = std::array<std::byte, k_region_header_bytes>;
RegionHeaderBytes encode_region_header(const RegionHeader& header, const RunId& run);
std::optional<RegionHeader> decode_region_header(std::span<const std::byte> bytes, const RunId& run,
                                                 std::uint64_t address);
/// Cheap first look: does a region header start here?
bool looks_like_region(std::span<const std::byte> bytes);

/// 8 bytes that stand for the run in a block prefix.
std::uint64_t run_tag(const RunId& run);

using BlockPrefixBytes = std::array<std::byte, k_block_prefix_bytes>;
/// record.address is the payload's: the prefix lies k_block_prefix_bytes before it.
BlockPrefixBytes encode_block_prefix(const ChunkRecord& record, std::uint64_t tag);
/// @param address  of the prefix.
std::optional<ChunkRecord> decode_block_prefix(std::span<const std::byte> bytes, std::uint64_t tag,
                                               std::uint64_t address);

/// What has been committed. Written in place, under the journal, together with the superblock.
struct CommitRecord {
    std::uint64_t sequence = 0;        ///< number of commits so far
    std::uint64_t file_end = 0;        ///< where regions and metadata end
    std::uint64_t announced_end = 0;   ///< what the superblock says if that is later; else 0
    std::uint64_t metadata_bytes = 0;  ///< new metadata of all commits
    std::vector<std::pair<std::uint64_t, std::uint64_t>> dumps;  ///< committed, half-open, sorted
    std::uint64_t dropped = 0;  ///< of these: not in the tree any more, or lost

    bool contains(std::uint64_t dump) const;
    /// Errors: unsupported when the record has no room for one more gap.
    Status add(std::uint64_t dump);
    /// So many of the dumps leave the tree. Their numbers, and those of lost dumps, stay taken:
    /// what lies in the file of them is nobody's, and no dump to come can be taken for one.
    void drop(std::uint64_t dumps_out);
    /// Of dumps in the tree.
    std::uint64_t count() const;
    /// Every number that was ever committed is below it.
    std::uint64_t end() const { return dumps.empty() ? 0 : dumps.back().second; }
    friend bool operator==(const CommitRecord&, const CommitRecord&) = default;
};
using CommitRecordBytes = std::array<std::byte, k_commit_record_bytes>;
CommitRecordBytes encode_commit_record(const CommitRecord& record, const RunId& run);
std::optional<CommitRecord> decode_commit_record(std::span<const std::byte> bytes,
                                                 const RunId& run);

}  // namespace caesura::store
