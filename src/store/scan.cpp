#include "store/scan.hpp"

#include <algorithm>

#include "store/byte_order.hpp"
#include "store/checksum.hpp"
#include "store/region_writer.hpp"

namespace caesura::store {
namespace {

/// A part of the file in memory, read anew when something outside it is asked for.
class Window {
  public:
    Window(base::File& file, std::uint64_t end) : file_(file), end_(end) {}

    /// `bytes` bytes at `address`, fewer at the end of the file. A miss reads `ahead` bytes.
    /// On an error the view is empty, and status() says why.
    std::span<const std::byte> view(std::uint64_t address, std::uint64_t bytes,
                                    std::uint64_t ahead) {
        if (address >= end_) return {};
        bytes = std::min(bytes, end_ - address);
        if (address < start_ || address + bytes > start_ + data_.size()) {
            status_ = read_ahead(address, std::max(bytes, ahead));
            if (status_.code() == StatusCode::insufficient_data && is_shorter_now()) {
                status_ = {};
                return view(address, bytes, ahead);
            }
            if (!status_.ok()) data_.clear();
        }
        if (data_.empty()) return {};
        return std::span(data_).subspan(static_cast<std::size_t>(address - start_),
                                        static_cast<std::size_t>(bytes));
    }
    const Status& status() const { return status_; }

  private:
    Status read_ahead(std::uint64_t address, std::uint64_t bytes) {
        start_ = address;
        data_.resize(static_cast<std::size_t>(std::min(bytes, end_ - address)));
        return file_.read_at(start_, data_);
    }
    /// A run that ends meanwhile cuts off what it has not used.
    bool is_shorter_now() {
        const auto bytes = file_.size();
        if (!bytes.ok() || *bytes >= end_) return false;
        end_ = *bytes;
        return true;
    }

    base::File& file_;
    std::uint64_t end_;
    std::uint64_t start_ = 0;
    std::vector<std::byte> data_;
    Status status_;
};

// Looking for headers reads whole stretches; following the blocks of a region mostly jumps.
constexpr std::uint64_t k_search_bytes = 1 << 20, k_follow_bytes = 32 << 10;

std::string read_manifest(Window& window, const RegionHeader& header) {
    if (header.manifest_bytes == 0) return {};
    const auto bytes = window.view(header.address + k_region_header_bytes, header.manifest_bytes,
                                   header.manifest_bytes);
    if (bytes.size() != header.manifest_bytes || checksum(bytes) != header.manifest_checksum)
        return {};
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A region with slots: the table says where a block may begin. Slots may be empty, in any order.
void follow_slots(Window& window, FoundRegion& region, std::uint64_t table_at, std::uint64_t tag,
                  std::uint64_t limit) {
    const RegionHeader& header = region.header;
    const std::uint64_t bytes = slot_table_bytes(header.slots);
    const auto table = window.view(table_at, bytes, bytes);
    if (table.size() != bytes || checksum(table) != header.slots_checksum) return;
    std::vector<std::uint64_t> offsets;
    for (RecordReader reader(table); offsets.size() <= header.slots;)
        offsets.push_back(reader.u64());
    for (std::size_t i = 0; i < header.slots; ++i) {
        const bool sound = offsets[i] <= offsets[i + 1] && offsets[i + 1] <= header.bytes &&
                           offsets[i + 1] - offsets[i] >= k_block_prefix_bytes;
        if (!sound) return;  // no writer of ours: nothing behind it can be trusted
        const std::uint64_t at = header.address + offsets[i];
        if (at + k_block_prefix_bytes > limit) return;
        const auto prefix = window.view(at, k_block_prefix_bytes, k_block_prefix_bytes);
        const auto record = decode_block_prefix(prefix, tag, at);
        // Nothing else lies inside a slot: the search for headers goes on behind it.
        region.end = std::min(limit, header.address + offsets[i + 1]);
        if (!record || record->dump != header.dump) continue;
        if (record->bytes > offsets[i + 1] - offsets[i] - k_block_prefix_bytes) continue;
        if (record->bytes > limit - record->address) continue;
        region.blocks.push_back(*record);
    }
}

FoundRegion follow(Window& window, const RegionHeader& header, std::uint64_t tag,
                   std::uint64_t file_end) {
    FoundRegion region;
    region.header = header;
    region.manifest = read_manifest(window, header);
    const std::uint64_t limit = std::min(file_end, header.address + header.bytes);
    std::uint64_t at = header.address + k_region_header_bytes + round_up_8(header.manifest_bytes);
    region.end = std::min(at, limit);
    if (header.slots > 0) {
        follow_slots(window, region, at, tag, limit);
        return region;
    }
    while (at + k_block_prefix_bytes <= limit) {
        const auto bytes = window.view(at, k_block_prefix_bytes, k_follow_bytes);
        const auto record = decode_block_prefix(bytes, tag, at);
        if (!record || record->dump != header.dump) break;
        if (record->bytes > limit - record->address) break;
        region.blocks.push_back(*record);
        region.end = record->address + record->bytes;
        at = round_up_8(region.end);
    }
    return region;
}

}  // namespace

Result<std::vector<FoundRegion>> scan_regions(base::File& file, const RunId& run,
                                              std::uint64_t end) {
    Window window(file, end);
    const std::uint64_t tag = run_tag(run);
    std::vector<FoundRegion> out;
    std::uint64_t asked = 0;  // holes were asked for up to here
    for (std::uint64_t at = k_first_region_address; at < end;) {
        const auto bytes = window.view(at, k_region_header_bytes, k_search_bytes);
        const auto header = decode_region_header(bytes, run, at);
        if (header) {
            out.push_back(follow(window, *header, tag, end));
            // A tail kept for a later dump has a header of its own behind the used part.
            at = align_up(out.back().end);
        } else {
            at += k_region_alignment;
            if (at >= asked) {  // a file that is being written ends with a long hole
                at = std::max(at, file.next_data(at) / k_region_alignment * k_region_alignment);
                asked = at + std::min(end, k_search_bytes);
            }
        }
        if (!window.status().ok()) return window.status();
    }
    return out;
}

Result<bool> is_intact(base::File& file, const ChunkRecord& record) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(record.bytes));
    const Status status = file.read_at(record.address, bytes);
    if (status.code() == StatusCode::insufficient_data) return false;
    if (!status.ok()) return status;
    return checksum(bytes) == record.checksum;
}

}  // namespace caesura::store
