#include "store/commit_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "base/file.hpp"
#include "store/committer.hpp"
#include "store/journal.hpp"
#include "store/region_writer.hpp"
#include "store/superblock.hpp"

namespace caesura::store {

Result<Before> read_before(SharedFile& shared) {
    base::File& file = shared.file();
    Before before;
    auto size = file.size();
    if (!size.ok()) return size.status();
    before.file_bytes = *size;
    std::array<std::byte, k_superblock_bytes> front{};
    CommitRecordBytes record_bytes{};
    if (Status s = file.read_at(0, front); !s.ok()) return s;
    if (Status s = file.read_at(k_commit_record_address, record_bytes); !s.ok()) return s;
    const auto superblock = decode_superblock(front);
    const auto record = decode_commit_record(record_bytes, shared.run());
    const bool untouched =
        std::all_of(front.begin(), front.end(), [](std::byte b) { return b == std::byte{0}; });
    if (untouched) return before;  // a record without superblock: a first commit that was cut off
    if (!superblock || !record)
        return Status{
            StatusCode::corrupt,
            fmt::format("{}: superblock or commit record is damaged; run recover", shared.path())};
    before.has_superblock = true;
    before.is_readable = superblock->status_flags == 0;
    before.stored_end = std::max(superblock->end_of_file, before.stored_end);
    before.record = *record;
    return before;
}

CommitRecord fill_image(CommitImage::State& image, const Overlay& overlay,
                        const CommitBounds& bounds, const CommitRecord& before, CommitRecord record,
                        const RunId& run, std::vector<Extent> early) {
    image.run = run;
    image.stored_end = bounds.stored_end;
    image.fresh = overlay.extents(bounds.fresh_begin, bounds.stored_end);
    std::move(early.begin(), early.end(), std::back_inserter(image.fresh));
    for (const Extent& extent : image.fresh) image.metadata_bytes += extent.bytes.size();
    record.sequence = image.sequence = before.sequence + 1;
    record.file_end = bounds.stored_end;
    record.metadata_bytes = before.metadata_bytes + image.metadata_bytes;

    image.in_place = overlay.extents(k_superblock_bytes, bounds.fresh_begin);
    auto superblock = overlay.extents(0, k_superblock_bytes);
    const CommitRecordBytes bytes = encode_commit_record(record, run);
    superblock.push_back({k_commit_record_address, {bytes.begin(), bytes.end()}});
    if (!bounds.is_readable) std::reverse(superblock.begin(), superblock.end());
    image.in_place.insert(bounds.is_readable ? image.in_place.begin() : image.in_place.end(),
                          superblock.begin(), superblock.end());
    for (const Extent& extent : image.in_place) image.metadata_bytes += extent.bytes.size();

    image.file_end = image.stored_end;
    auto payload = encode_journal_payload(image.in_place);
    if (payload.size() <= k_journal_inside_bytes) return record;
    image.journal_outside_address = align_up(image.stored_end);
    image.file_end = align_up(image.journal_outside_address + payload.size());
    image.journal_outside = std::move(payload);
    return record;
}

bool record_order(const ChunkRecord& a, const ChunkRecord& b) {
    return std::tie(a.dump, a.dataset, a.chunk) < std::tie(b.dump, b.dataset, b.chunk);
}

Shape chunk_begin(const DatasetSpec& dataset, std::uint64_t number) {
    Shape begin = Shape::filled(dataset.shape.rank(), 0);
    for (int axis = dataset.shape.rank() - 1; axis >= 0; --axis) {
        const std::uint64_t n = (dataset.shape[axis] - 1) / dataset.chunk[axis] + 1;
        begin[axis] = number % n * dataset.chunk[axis];
        number /= n;
    }
    return begin;
}

}  // namespace caesura::store
