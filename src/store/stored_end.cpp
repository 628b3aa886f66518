#include "store/stored_end.hpp"

#include <algorithm>

#include "base/file.hpp"
#include "store/journal.hpp"

namespace caesura::store {

std::uint64_t covered_end(std::uint64_t end) {
    constexpr std::uint64_t k_least_bytes = std::uint64_t{1} << 20;
    return end + std::max(k_least_bytes, end - std::min(end, k_first_region_address));
}

std::uint64_t end_without_cover(const Superblock& superblock, const CommitRecord& record) {
    std::uint64_t cover = record.file_end;
    while (cover > 0 && cover < superblock.end_of_file) cover = covered_end(cover);
    return cover == superblock.end_of_file ? record.file_end : superblock.end_of_file;
}

namespace {

struct Ends {
    SuperblockBytes bytes{};  ///< as they lie in the file
    Superblock superblock;
    CommitRecord record;
};

/// nullopt: nothing is committed.
Result<std::optional<Ends>> read_ends(base::File& file, const RunId& run) {
    Ends ends;
    const auto superblock = read_superblock(file, ends.bytes);
    if (!superblock.ok()) return superblock.status();
    if (!*superblock) return std::optional<Ends>();
    ends.superblock = **superblock;
    CommitRecordBytes bytes{};
    if (Status s = file.read_at(k_commit_record_address, bytes); !s.ok()) return s;
    const auto record = decode_commit_record(bytes, run);
    if (!record) return Status{StatusCode::corrupt, "the commit record is damaged"};
    ends.record = *record;
    return std::optional<Ends>(ends);
}

/// As a commit overwrites it: a write that is torn is repaired from the journal.
Status write_end(base::File& file, const RunId& run, Ends ends, std::uint64_t end) {
    patch_superblock(ends.bytes, {end, ends.superblock.status_flags});
    const Extent superblock{0, {ends.bytes.begin(), ends.bytes.end()}};
    const auto journal =
        encode_journal(run, ends.record.sequence, k_journal_address + k_journal_header_bytes,
                       encode_journal_payload({&superblock, 1}));
    if (Status s = file.write_at(k_journal_address, journal); !s.ok()) return s;
    if (Status s = file.sync(); !s.ok()) return s;
    if (Status s = file.write_at(0, ends.bytes); !s.ok()) return s;
    if (Status s = file.sync(); !s.ok()) return s;
    return clear_journal(file);
}

}  // namespace

Status raise_stored_end(SharedFile& file, std::uint64_t end) {
    const auto ends = read_ends(file.file(), file.run());
    if (!ends.ok()) return ends.status();
    if (!*ends || (*ends)->superblock.end_of_file >= end) return {};
    std::uint64_t cover = (*ends)->superblock.end_of_file;
    while (cover < end) cover = covered_end(cover);
    if (Status s = file.file().reach(cover); !s.ok()) return s;
    return write_end(file.file(), file.run(), **ends, cover);
}

Status take_cover_off(base::File& file, const RunId& run, std::uint64_t reserved_end) {
    const auto ends = read_ends(file, run);
    if (!ends.ok()) return ends.status();
    if (!*ends) return {};
    const std::uint64_t end = end_without_cover((*ends)->superblock, (*ends)->record);
    if (end == (*ends)->superblock.end_of_file) return {};
    if (Status s = write_end(file, run, **ends, end); !s.ok()) return s;
    const auto length = file.size();
    if (!length.ok()) return length.status();
    const std::uint64_t kept = std::max(end, reserved_end);
    return kept < *length ? file.truncate(kept) : Status{};
}

}  // namespace caesura::store
