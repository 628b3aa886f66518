// The stretch of the file that one rank has in one dump, and the blocks in it.
#pragma once

#include "store/shared_file.hpp"

namespace caesura::store {

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
        friend bool operator==(const Place&, const Place&) = default;
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

}  // namespace caesura::store
