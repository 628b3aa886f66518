// One rank's region of one dump, see docs/file_format.md "Regions".
//
// Invariant: used_bytes_ counts what is written, is a multiple of 8, and is 0 until the header is.
#include <fmt/format.h>

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

std::uint64_t opening_bytes(const std::string& manifest) {
    return k_region_header_bytes + round_up_8(manifest.size());
}

RegionHeaderBytes header_of(const RegionWriter::Place& place, const std::string& manifest,
                            const RunId& run) {
    RegionHeader header;
    header.rank = static_cast<std::uint32_t>(place.rank);
    header.dump = place.dump;
    header.address = place.address;
    header.bytes = place.bytes;
    header.previous = place.previous;
    header.manifest_bytes = manifest.size();
    header.manifest_checksum = checksum(std::as_bytes(std::span(manifest)));
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

}  // namespace

RegionWriter::RegionWriter(SharedFile& file, const Place& place, std::string manifest)
    : file_(&file), place_(place), manifest_(std::move(manifest)) {}

std::uint64_t RegionWriter::free_bytes() const {
    const std::uint64_t used = header_written_ ? used_bytes_ : opening_bytes(manifest_);
    const std::uint64_t needed = used + k_block_prefix_bytes;
    return place_.bytes > needed ? place_.bytes - needed : 0;
}

Status RegionWriter::write(std::span<const BlockView> blocks, std::vector<ChunkRecord>& records) {
    const std::uint64_t opening = opening_bytes(manifest_);
    if (const Status status = check_place(place_, opening); !status.ok()) return status;
    std::uint64_t used = header_written_ ? used_bytes_ : opening;

    // Addresses first: the prefixes must not move once the gather list points to them.
    std::vector<ChunkRecord> fresh;
    std::vector<BlockPrefixBytes> prefixes;
    fresh.reserve(blocks.size());
    prefixes.reserve(blocks.size());
    const std::uint64_t tag = run_tag(file_->run());
    for (const BlockView& block : blocks) {
        const std::uint64_t end = used + k_block_prefix_bytes + block.bytes.size();
        if (block.bytes.empty() || end > place_.bytes)
            return {StatusCode::invalid_argument,
                    fmt::format(
                        "rank {} dump {} dataset {} chunk {}: a block of {} bytes does not "
                        "fit into the region's {} free bytes",
                        place_.rank, place_.dump, block.dataset, block.chunk, block.bytes.size(),
                        place_.bytes - std::min(place_.bytes, used + k_block_prefix_bytes))};
        fresh.push_back({place_.dump, block.dataset, block.filter_mask, block.chunk,
                         place_.address + used + k_block_prefix_bytes, block.bytes.size(),
                         checksum(block.bytes)});
        prefixes.push_back(encode_block_prefix(fresh.back(), tag));
        used = round_up_8(end);
    }

    std::vector<std::span<const std::byte>> parts;
    parts.reserve(3 + 3 * blocks.size());
    RegionHeaderBytes header;
    if (!header_written_) {
        header = header_of(place_, manifest_, file_->run());
        parts.push_back(header);
        parts.push_back(std::as_bytes(std::span(manifest_)));
        parts.push_back(padding(manifest_.size()));
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        parts.push_back(prefixes[i]);
        parts.push_back(blocks[i].bytes);
        parts.push_back(padding(blocks[i].bytes.size()));
    }
    if (parts.empty()) return {};
    const Status status =
        file_->file().write_at(place_.address + (header_written_ ? used_bytes_ : 0), parts);
    if (!status.ok())
        return status.with_context(fmt::format("rank {} dump {}", place_.rank, place_.dump));
    used_bytes_ = used;
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
    return {place_.address + used, place_.bytes - used};
}

}  // namespace caesura::store
