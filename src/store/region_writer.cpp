// One rank's region of one dump, see docs/how/file_format.md "Regions".
//
// Invariant: used_bytes_ counts what is written or placed, is a multiple of 8, and is 0 before the
// first block or header. The header may come after blocks that somebody else writes.
#include "store/region_writer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.hpp"
#include "store/byte_order.hpp"
#include "store/checksum.hpp"
#include "store/region_format.hpp"

namespace caesura::store {
namespace {

constexpr std::array<std::byte, 8> k_zeros{};

std::span<const std::byte> padding(std::uint64_t bytes) {
    return std::span(k_zeros).first(static_cast<std::size_t>(round_up_8(bytes) - bytes));
}

RegionHeaderBytes header_of(const RegionWriter::Place& place, const std::string& manifest,
                            std::span<const std::byte> slot_table, const RunId& run) {
    RegionHeader header;
    header.rank = static_cast<std::uint32_t>(place.rank);
    header.dump = place.dump;
    header.address = place.address;
    header.bytes = place.bytes;
    header.previous = place.previous;
    header.manifest_bytes = manifest.size();
    header.manifest_checksum = checksum(std::as_bytes(std::span(manifest)));
    if (!slot_table.empty()) {
        header.slots = slot_table.size() / 8 - 1;
        header.slots_checksum = checksum(slot_table);
    }
    return encode_region_header(header, run);
}

Status check_place(const RegionWriter::Place& place, std::uint64_t opening) {
    const bool aligned = place.address % k_region_alignment == 0 &&
                         place.bytes % k_region_alignment == 0 &&
                         place.address >= k_first_region_address;
    if (aligned && place.bytes >= opening) return {};
    return {StatusCode::invalid_argument,
            fmt::format("rank {} dump {}: region [{}, +{}) must be 4 KiB-aligned, lie at or beyond "
                        "{} and hold at least {} bytes",
                        place.rank, place.dump, place.address, place.bytes, k_first_region_address,
                        opening)};
}

std::vector<std::byte> encode_slots(std::span<const std::uint64_t> offsets) {
    std::vector<std::byte> out(8 * offsets.size());
    RecordWriter writer(out);
    for (const std::uint64_t offset : offsets) writer.u64(offset);
    return out;
}

/// Writes pieces one after the other, as few gathered writes as the gaps between them allow.
class GatheredWrite {
  public:
    GatheredWrite(base::File& file, bool early) : file_(file), early_(early) {}

    Status add(std::uint64_t address, std::span<const std::byte> bytes) {
        if (address != end_)
            if (Status status = flush(); !status.ok()) return status;
        if (parts_.empty()) begin_ = address;
        parts_.push_back(bytes);
        end_ = address + bytes.size();
        return {};
    }
    Status flush() {
        if (parts_.empty()) return {};
        const Status status =
            early_ ? file_.write_early(begin_, parts_) : file_.write_at(begin_, parts_);
        parts_.clear();
        return status;
    }

  private:
    base::File& file_;
    bool early_;
    std::uint64_t begin_ = 0, end_ = 0;
    std::vector<std::span<const std::byte>> parts_;
};

}  // namespace

RegionWriter::RegionWriter(SharedFile& file, const Place& place, std::string manifest,
                           std::vector<std::uint64_t> slots)
    : file_(&file), place_(place), manifest_(std::move(manifest)), slots_(std::move(slots)) {}

std::uint64_t RegionWriter::opening_bytes() const {
    const std::uint64_t slots = slots_.empty() ? 0 : slots_.size() - 1;
    return k_region_header_bytes + round_up_8(manifest_.size()) + slot_table_bytes(slots);
}

std::uint64_t RegionWriter::free_bytes() const {
    if (has_slots()) return 0;
    const std::uint64_t needed = next_free() + k_block_prefix_bytes;
    return place_.bytes > needed ? place_.bytes - needed : 0;
}

std::uint64_t RegionWriter::slot_bytes(std::uint32_t slot) const {
    if (std::uint64_t{slot} + 1 >= slots_.size()) return 0;
    return slots_[slot + 1] - slots_[slot] - k_block_prefix_bytes;
}

Status RegionWriter::check_block(const BlockView& block, std::uint64_t at) const {
    const std::uint64_t room = has_slots() ? slot_bytes(block.slot)
                               : place_.bytes > at + k_block_prefix_bytes
                                   ? place_.bytes - at - k_block_prefix_bytes
                                   : 0;
    if (!block.bytes.empty() && block.bytes.size() <= room) return {};
    return {StatusCode::invalid_argument,
            fmt::format("rank {} dump {} dataset {} chunk {}: a block of {} bytes does not fit "
                        "into the region's {} free bytes",
                        place_.rank, place_.dump, block.dataset, block.chunk, block.bytes.size(),
                        room)};
}

ChunkRecord RegionWriter::record_of(const BlockView& block, std::uint64_t at) const {
    return {place_.dump,
            block.dataset,
            block.filter_mask,
            block.chunk,
            place_.address + at + k_block_prefix_bytes,
            block.bytes.size(),
            checksum(block.bytes)};
}

// What is used once this block lies there. What is behind the slots belongs to nobody; what is
// between them to its block alone.
std::uint64_t RegionWriter::behind(const BlockView& block, std::uint64_t at) const {
    return has_slots() ? slots_.back() : round_up_8(at + k_block_prefix_bytes + block.bytes.size());
}

Result<RegionWriter::Placed> RegionWriter::place(const BlockView& block) {
    if (const Status status = check_place(place_, opening_bytes()); !status.ok()) return status;
    const std::uint64_t used = next_free();
    if (const Status status = check_block(block, used); !status.ok()) return status;
    const std::uint64_t at = has_slots() ? slots_[block.slot] : used;
    Placed placed;
    placed.record = record_of(block, at);
    const BlockPrefixBytes prefix = encode_block_prefix(placed.record, run_tag(file_->run()));
    placed.prefix.assign(prefix.begin(), prefix.end());
    const auto zeros = padding(block.bytes.size());
    placed.padding.assign(zeros.begin(), zeros.end());
    used_bytes_ = behind(block, at);
    return placed;
}

Status RegionWriter::write(std::span<const BlockView> blocks, std::vector<ChunkRecord>& records,
                           bool early) {
    const std::uint64_t opening = opening_bytes();
    if (const Status status = check_place(place_, opening); !status.ok()) return status;
    std::uint64_t used = next_free();

    // Addresses first: the prefixes must not move once the gather list points to them.
    std::vector<ChunkRecord> fresh;
    std::vector<BlockPrefixBytes> prefixes;
    fresh.reserve(blocks.size());
    prefixes.reserve(blocks.size());
    const std::uint64_t tag = run_tag(file_->run());
    for (const BlockView& block : blocks) {
        if (const Status status = check_block(block, used); !status.ok()) return status;
        const std::uint64_t at = has_slots() ? slots_[block.slot] : used;
        fresh.push_back(record_of(block, at));
        prefixes.push_back(encode_block_prefix(fresh.back(), tag));
        used = behind(block, at);
    }

    GatheredWrite out(file_->file(), early);
    Status status;
    const auto put = [&](std::uint64_t address, std::span<const std::byte> bytes) {
        if (status.ok() && !bytes.empty()) status = out.add(address, bytes);
    };
    RegionHeaderBytes header;
    const std::vector<std::byte> slot_table = encode_slots(slots_);
    if (!header_written_) {
        header = header_of(place_, manifest_, slot_table, file_->run());
        std::uint64_t at = place_.address;
        put(at, header);
        put(at += k_region_header_bytes, std::as_bytes(std::span(manifest_)));
        put(at += manifest_.size(), padding(manifest_.size()));
        put(at += padding(manifest_.size()).size(), slot_table);
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const auto bytes = blocks[i].bytes;
        put(fresh[i].address - k_block_prefix_bytes, prefixes[i]);
        put(fresh[i].address, bytes);
        put(fresh[i].address + bytes.size(), padding(bytes.size()));
    }
    if (status.ok()) status = out.flush();
    if (!status.ok())
        return status.with_context(fmt::format("rank {} dump {}", place_.rank, place_.dump));
    used_bytes_ = has_slots() ? slots_.back() : used;
    header_written_ = true;
    records.insert(records.end(), fresh.begin(), fresh.end());
    return {};
}

Status RegionWriter::finish() {
    if (header_written_) return {};
    std::vector<ChunkRecord> none;
    return write({}, none);
}

std::pair<std::uint64_t, std::uint64_t> RegionWriter::tail() const {
    const std::uint64_t used = align_up(used_bytes_);
    return {place_.address + used, place_.bytes - std::min(place_.bytes, used)};
}

}  // namespace caesura::store
