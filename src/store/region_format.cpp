#include "store/region_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include "base/file.hpp"
#include "store/byte_order.hpp"
#include "store/checksum.hpp"
#include "store/region_writer.hpp"

namespace caesura::store {
namespace {

using Magic = std::array<char, 8>;
// The first byte is not ASCII and the last a newline, as in PNG and HDF5: no text looks like it.
constexpr Magic k_file_magic = {'\x8a', 'C', 'A', 'E', 'S', 'F', 'L', '\n'};
constexpr Magic k_region_magic = {'\x8a', 'C', 'A', 'E', 'S', 'R', 'G', '\n'};
constexpr Magic k_commit_magic = {'\x8a', 'C', 'A', 'E', 'S', 'C', 'M', '\n'};
constexpr std::uint32_t k_block_magic = 0x4b42438au;  // 8a 'C' 'B' 'K'

std::span<const std::byte> as_bytes(const Magic& magic) { return std::as_bytes(std::span(magic)); }

bool starts_with(std::span<const std::byte> bytes, const Magic& magic) {
    return bytes.size() >= magic.size() &&
           std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

/// The last 8 bytes of a record are the checksum of those before.
void seal(std::span<std::byte> record, std::uint64_t address) {
    const auto body = record.first(record.size() - 8);
    RecordWriter(record.last(8)).u64(checksum(body, address));
}

bool is_sealed(std::span<const std::byte> record, std::uint64_t address) {
    const auto body = record.first(record.size() - 8);
    return RecordReader(record.last(8)).u64() == checksum(body, address);
}

}  // namespace

RunId make_run_id() {
    RunId run;
    std::random_device device;
    for (std::size_t i = 0; i < run.size(); i += 4) {
        const std::uint32_t word = device();
        RecordWriter(std::span(run).subspan(i, 4)).u32(word);
    }
    return run;
}

std::uint64_t first_region_address() { return k_first_region_address; }

std::uint64_t region_overhead_bytes(std::uint64_t n_blocks, std::uint64_t manifest_bytes) {
    return k_region_header_bytes + round_up_8(manifest_bytes) +
           n_blocks * (k_block_prefix_bytes + 7);
}

std::vector<std::uint64_t> slot_offsets(std::span<const std::uint64_t> capacities,
                                        std::uint64_t manifest_bytes) {
    if (capacities.empty()) return {};
    std::vector<std::uint64_t> offsets{k_region_header_bytes + round_up_8(manifest_bytes) +
                                       slot_table_bytes(capacities.size())};
    for (const std::uint64_t bytes : capacities)
        offsets.push_back(offsets.back() + k_block_prefix_bytes + round_up_8(bytes));
    return offsets;
}

// ------------------------------------------------------------------------------ file header

FileHeaderBytes encode_file_header(const RunId& run) {
    FileHeaderBytes out{};
    RecordWriter(out)
        .bytes(as_bytes(k_file_magic))
        .u32(k_format_version)
        .u32(0)
        .bytes(run)
        .u64(k_commit_record_address)
        .u64(k_journal_address)
        .u64(k_first_region_address);
    seal(out, k_file_header_address);
    return out;
}

Result<RunId> decode_file_header(std::span<const std::byte> bytes, const std::string& path) {
    if (bytes.size() < k_file_header_bytes || !starts_with(bytes, k_file_magic))
        return Status{StatusCode::corrupt,
                      fmt::format("{}: not a Caesura file (no header at byte {})", path,
                                  k_file_header_address)};
    RecordReader reader(bytes);
    reader.skip_to(8);
    const std::uint32_t version = reader.u32();
    if (!is_sealed(bytes.first(k_file_header_bytes), k_file_header_address))
        return Status{StatusCode::corrupt,
                      fmt::format("{}: the file header at byte {} does not match its checksum",
                                  path, k_file_header_address)};
    if (version != k_format_version)
        return Status{StatusCode::unsupported,
                      fmt::format("{}: file format version {}, this build knows {}; use a newer "
                                  "Caesura (any HDF5 reader still reads the committed dumps)",
                                  path, version, k_format_version)};
    RunId run;
    reader.skip_to(16);
    reader.bytes(run);
    return run;
}

Result<RunId> read_file_header(base::File& file, const std::string& path) {
    FileHeaderBytes bytes;
    const Status status = file.read_at(k_file_header_address, bytes);
    if (status.code() == StatusCode::insufficient_data)
        return Status{StatusCode::corrupt,
                      fmt::format("{}: not a Caesura file (ends before byte {})", path,
                                  k_file_header_address + k_file_header_bytes)};
    if (!status.ok()) return status;
    return decode_file_header(bytes, path);
}

// ---------------------------------------------------------------------------- region header

RegionHeaderBytes encode_region_header(const RegionHeader& header, const RunId& run) {
    RegionHeaderBytes out{};
    RecordWriter(out)
        .bytes(as_bytes(k_region_magic))
        .u32(k_format_version)
        .u32(header.rank)
        .bytes(run)
        .u64(header.dump)
        .u64(header.address)
        .u64(header.bytes)
        .u64(header.previous)
        .u64(header.manifest_bytes)
        .u64(header.manifest_checksum)
        .u64(header.slots)
        .u64(header.slots_checksum);
    seal(out, header.address);
    return out;
}

bool looks_like_region(std::span<const std::byte> bytes) {
    return starts_with(bytes, k_region_magic);
}

std::optional<RegionHeader> decode_region_header(std::span<const std::byte> bytes, const RunId& run,
                                                 std::uint64_t address) {
    if (bytes.size() < k_region_header_bytes || !looks_like_region(bytes)) return std::nullopt;
    bytes = bytes.first(k_region_header_bytes);
    if (!is_sealed(bytes, address)) return std::nullopt;
    RecordReader reader(bytes);
    reader.skip_to(8);
    if (reader.u32() != k_format_version) return std::nullopt;
    RegionHeader header;
    header.rank = reader.u32();
    RunId found;
    reader.bytes(found);
    header.dump = reader.u64();
    header.address = reader.u64();
    header.bytes = reader.u64();
    header.previous = reader.u64();
    header.manifest_bytes = reader.u64();
    header.manifest_checksum = reader.u64();
    header.slots = reader.u64();
    header.slots_checksum = reader.u64();
    if (header.bytes < k_region_header_bytes) return std::nullopt;
    // A scan goes on behind the region: it must not come round to where it was.
    if (header.bytes > std::numeric_limits<std::uint64_t>::max() - address) return std::nullopt;
    const std::uint64_t room = header.bytes - k_region_header_bytes;
    const bool fits = header.manifest_bytes <= room && header.slots < room / 8 &&
                      slot_table_bytes(header.slots) <= room - header.manifest_bytes;
    if (found != run || header.address != address || !fits) return std::nullopt;
    return header;
}

// ----------------------------------------------------------------------------- block prefix

std::uint64_t run_tag(const RunId& run) { return checksum(run); }

BlockPrefixBytes encode_block_prefix(const ChunkRecord& record, std::uint64_t tag) {
    BlockPrefixBytes out{};
    RecordWriter(out)
        .u32(k_block_magic)
        .u32(record.filter_mask)
        .u64(tag)
        .u64(record.dump)
        .u64(record.chunk)
        .u64(record.bytes)
        .u64(record.checksum)
        .u32(record.dataset)
        .u32(k_format_version);
    seal(out, record.address - k_block_prefix_bytes);
    return out;
}

std::optional<ChunkRecord> decode_block_prefix(std::span<const std::byte> bytes, std::uint64_t tag,
                                               std::uint64_t address) {
    if (bytes.size() < k_block_prefix_bytes) return std::nullopt;
    bytes = bytes.first(k_block_prefix_bytes);
    RecordReader reader(bytes);
    if (reader.u32() != k_block_magic || !is_sealed(bytes, address)) return std::nullopt;
    ChunkRecord record;
    record.filter_mask = reader.u32();
    if (reader.u64() != tag) return std::nullopt;
    record.dump = reader.u64();
    record.chunk = reader.u64();
    record.bytes = reader.u64();
    record.checksum = reader.u64();
    record.dataset = reader.u32();
    if (reader.u32() != k_format_version) return std::nullopt;
    record.address = address + k_block_prefix_bytes;
    return record;
}

// ---------------------------------------------------------------------------- commit record

namespace {
constexpr std::size_t k_commit_fixed_bytes = 64;
constexpr std::size_t k_max_intervals = (k_commit_record_bytes - k_commit_fixed_bytes - 8) / 16;
constexpr std::size_t k_commit_dropped_at = k_commit_record_bytes - 16;
static_assert(k_commit_fixed_bytes + 16 * k_max_intervals <= k_commit_dropped_at);
}  // namespace

bool CommitRecord::contains(std::uint64_t dump) const {
    for (const auto& [begin, end] : dumps)
        if (dump >= begin && dump < end) return true;
    return false;
}

std::uint64_t CommitRecord::count() const {
    std::uint64_t n = 0;
    for (const auto& [begin, end] : dumps) n += end - begin;
    return n - std::min(n, dropped);
}

void CommitRecord::drop(std::uint64_t dumps_out) {
    const std::uint64_t left = count() - std::min(count(), dumps_out);
    if (dumps.empty()) return;
    dumps = {{0, end()}};
    dropped = end() - left;
}

Status CommitRecord::add(std::uint64_t dump) {
    auto after = std::upper_bound(
        dumps.begin(), dumps.end(), dump,
        [](std::uint64_t value, const auto& interval) { return value < interval.first; });
    const bool joins_before = after != dumps.begin() && std::prev(after)->second == dump;
    const bool joins_after = after != dumps.end() && after->first == dump + 1;
    if (joins_before && joins_after) {
        std::prev(after)->second = after->second;
        dumps.erase(after);
    } else if (joins_before) {
        std::prev(after)->second = dump + 1;
    } else if (joins_after) {
        after->first = dump;
    } else if (dumps.size() == k_max_intervals) {
        return {StatusCode::unsupported,
                fmt::format("dump {}: the file already has {} gaps of lost dumps, which is all the "
                            "commit record can hold; write to a new file",
                            dump, k_max_intervals)};
    } else {
        dumps.insert(after, {dump, dump + 1});
    }
    return {};
}

CommitRecordBytes encode_commit_record(const CommitRecord& record, const RunId& run) {
    CommitRecordBytes out{};
    RecordWriter writer(out);
    writer.bytes(as_bytes(k_commit_magic))
        .u32(k_format_version)
        .u32(static_cast<std::uint32_t>(record.dumps.size()))
        .bytes(run)
        .u64(record.sequence)
        .u64(record.file_end)
        .u64(record.metadata_bytes)
        .u64(record.announced_end)
        .pad_to(k_commit_fixed_bytes);
    for (const auto& [begin, end] : record.dumps) writer.u64(begin).u64(end);
    writer.pad_to(k_commit_dropped_at).u64(record.dropped);
    seal(out, k_commit_record_address);
    return out;
}

std::optional<CommitRecord> decode_commit_record(std::span<const std::byte> bytes,
                                                 const RunId& run) {
    if (bytes.size() < k_commit_record_bytes || !starts_with(bytes, k_commit_magic))
        return std::nullopt;
    bytes = bytes.first(k_commit_record_bytes);
    if (!is_sealed(bytes, k_commit_record_address)) return std::nullopt;
    RecordReader reader(bytes);
    reader.skip_to(8);
    if (reader.u32() != k_format_version) return std::nullopt;
    const std::uint32_t n = reader.u32();
    RunId found;
    reader.bytes(found);
    if (n > k_max_intervals || found != run) return std::nullopt;
    CommitRecord record;
    record.sequence = reader.u64();
    record.file_end = reader.u64();
    record.metadata_bytes = reader.u64();
    record.announced_end = reader.u64();
    reader.skip_to(k_commit_fixed_bytes);
    for (std::uint32_t i = 0; i < n; ++i) {
        const std::uint64_t begin = reader.u64();
        record.dumps.emplace_back(begin, reader.u64());
    }
    reader.skip_to(k_commit_dropped_at);
    record.dropped = reader.u64();
    return record;
}

}  // namespace caesura::store
