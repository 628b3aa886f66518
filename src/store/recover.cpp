// Brings a file to its last consistent state after its run died: "Recovery" of
// docs/how/file_format.md.
//
// Invariants:
//  - A committed dump is never touched: writes go to the journal's own overwrites, to headers of
//    regions of uncommitted dumps, beyond the stored end, and through a Committer.
//  - It may be killed at any instant and started again.
#include "store/recover.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>

#include "store/committer.hpp"
#include "store/hdf5_write.hpp"
#include "store/in_flight.hpp"
#include "store/journal.hpp"
#include "store/recover_closed.hpp"
#include "store/region_writer.hpp"
#include "store/scan.hpp"
#include "store/shared_file_access.hpp"
#include "store/superblock.hpp"

namespace caesura::store {
namespace {

/// A dump that is not committed, as the scan found it.
struct Candidate {
    std::optional<DumpManifest> manifest;
    std::vector<RegionHeader> regions;
    std::vector<std::uint64_t> region_ends;  // of their used parts
    std::vector<ChunkRecord> blocks;         // intact, one per chunk, of known datasets
    std::vector<std::uint64_t> expected_of;  // by dataset; empty: not known
    std::vector<std::uint64_t> chunks_of;    // by dataset of our own tree: of its grid
    std::uint64_t expected = 0;
    std::uint64_t end = 0;   // of its regions' used part
    bool is_closed = false;  // of an application that had closed the file, with all its dumps
    bool is_application() const { return manifest && manifest->tree == TreeOwner::application; }
    bool whole() const {
        return manifest && expected_of.size() == manifest->datasets.size() &&
               blocks.size() == expected;
    }
    /// Can be committed from what lies in the file.
    bool complete() const { return whole() && (is_closed || !is_application()); }
};

using Candidates = std::map<std::uint64_t, Candidate>;  // by dump

struct Committed {
    CommitRecord record;
    bool has_superblock = false;
    std::uint64_t superblock_end = 0;
    /// Where regions and metadata end; once another program has written to the file, its end.
    std::uint64_t stored_end = k_first_region_address;
};

/// Read a fixed place; zeros where the file is too short; `overlay` over it.
Status read_fixed(base::File& file, const Overlay& overlay, std::uint64_t address,
                  std::span<std::byte> bytes) {
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
    Status status = file.read_at(address, bytes);
    if (!status.ok() && status.code() != StatusCode::insufficient_data) return status;
    overlay.read(address, bytes);
    return {};
}

Result<Committed> read_committed(base::File& file, const Overlay& overlay, const RunId& run,
                                 const std::string& path) {
    std::array<std::byte, k_superblock_bytes> front{};
    CommitRecordBytes record_bytes{};
    if (Status s = read_fixed(file, overlay, 0, front); !s.ok()) return s;
    if (Status s = read_fixed(file, overlay, k_commit_record_address, record_bytes); !s.ok())
        return s;
    Committed out;
    if (std::all_of(front.begin(), front.end(), [](std::byte b) { return b == std::byte{0}; }))
        return out;  // killed before the first commit
    const auto superblock = decode_superblock(front);
    const auto record = decode_commit_record(record_bytes, run);
    if (!superblock || !record)
        return Status{
            StatusCode::corrupt,
            fmt::format("{}: {} is damaged and no journal repairs it; nothing was changed", path,
                        superblock ? "the commit record" : "the superblock")};
    out.has_superblock = true;
    out.record = *record;
    out.superblock_end = superblock->end_of_file;
    // Later than what the run has used. If another program has written to the file since, it says
    // something else.
    const bool ahead = out.superblock_end == record->announced_end;
    out.stored_end = std::max(out.stored_end, ahead ? record->file_end : out.superblock_end);
    return out;
}

/// Of a dump of our own tree every chunk of its datasets, of an application's what its manifest
/// says.
void expect_blocks(Candidate& candidate) {
    if (!candidate.manifest) return;
    if (candidate.is_application())
        for (const PlacedIn& place : candidate.manifest->placed_in)
            candidate.expected_of.push_back(place.blocks);
    else
        for (const DatasetSpec& dataset : candidate.manifest->datasets) {
            auto grid = chunk_grid(dataset);
            if (!grid.ok()) {  // a manifest that nothing can be made of
                candidate.manifest.reset();
                candidate.expected_of.clear();
                candidate.chunks_of.clear();
                return;
            }
            candidate.chunks_of.push_back(grid->count());
            candidate.expected_of.push_back(dataset.partial_chunks.value_or(grid->count()));
        }
    for (const std::uint64_t blocks : candidate.expected_of) candidate.expected += blocks;
}

/// Which of the blocks found make up the dump? Of several for one chunk (a retried write) any
/// intact one.
/// @param trusted  one that is alone for its chunk is intact.
Status choose_blocks(base::File& file, std::span<const ChunkRecord> found, bool trusted,
                     Candidate& candidate) {
    expect_blocks(candidate);
    const auto &datasets = candidate.expected_of, &chunks = candidate.chunks_of;
    const bool checked = candidate.manifest && !candidate.is_application();
    using Key = std::pair<std::uint32_t, std::uint64_t>;
    std::map<Key, std::size_t> times;
    if (trusted)
        for (const ChunkRecord& record : found) ++times[Key(record.dataset, record.chunk)];
    std::map<Key, ChunkRecord> chosen;
    for (const ChunkRecord& record : found) {
        const Key key(record.dataset, record.chunk);
        const bool known =
            checked ? record.dataset < chunks.size() && record.chunk < chunks[record.dataset]
                    : datasets.empty() || record.dataset < datasets.size();
        if (!known || chosen.count(key) != 0) continue;
        auto intact = trusted && times[key] == 1 ? Result<bool>(true) : is_intact(file, record);
        if (!intact.ok()) return intact.status();
        if (*intact) chosen.emplace(key, record);
    }
    for (const auto& [key, record] : chosen) candidate.blocks.push_back(record);
    return {};
}

/// What a region's manifest says of its dump.
void note_begun(const RegionHeader& header, const DumpManifest& manifest, bool committed,
                Begun& begun) {
    if (begun.dumps.empty()) begun.root = manifest.root;
    begun.dumps[header.dump] = {manifest.iteration, committed};
    begun.of_application |= manifest.tree == TreeOwner::application;
}

/// @param begun  null: what is committed need not be looked at.
Result<Candidates> find_candidates(base::File& file, const RunId& run, const Committed& committed,
                                   std::uint64_t file_bytes, bool trusted, Begun* begun) {
    auto regions = scan_regions(file, run, file_bytes);
    if (!regions.ok()) return regions.status();
    Candidates out;
    std::map<std::uint64_t, std::vector<ChunkRecord>> blocks;
    for (const FoundRegion& region : *regions) {
        const bool is_committed = committed.record.contains(region.header.dump);
        if (begun != nullptr && !region.manifest.empty())
            if (auto said = decode_manifest(region.manifest);
                said.ok() && said->dump == region.header.dump)
                note_begun(region.header, *said, is_committed, *begun);
        if (is_committed) continue;
        Candidate& candidate = out[region.header.dump];
        candidate.regions.push_back(region.header);
        candidate.region_ends.push_back(region.end);
        candidate.end = std::max(candidate.end, region.end);
        auto& list = blocks[region.header.dump];
        list.insert(list.end(), region.blocks.begin(), region.blocks.end());
        if (region.manifest.empty() || candidate.manifest) continue;
        auto manifest = decode_manifest(region.manifest);
        if (manifest.ok() && manifest->dump == region.header.dump)
            candidate.manifest = std::move(*manifest);
    }
    for (auto& [dump, candidate] : out)
        if (Status s = choose_blocks(file, blocks[dump], trusted, candidate); !s.ok()) return s;
    return out;
}

/// The tree that the application had closed, if all dumps that belong to it lie in the file.
Result<std::optional<ClosedTree>> find_closed(base::File& file, const RunId& run,
                                              const Committed& committed, Candidates& candidates) {
    auto tree = read_closed_tree(file, run);
    if (!tree.ok() || !*tree || (*tree)->sequence != committed.record.sequence) {
        if (tree.ok()) tree->reset();
        return tree;
    }
    std::vector<Candidate*> dumps;
    for (std::uint64_t dump = (*tree)->first_dump; dump < (*tree)->dumps_end; ++dump) {
        if (committed.record.contains(dump)) continue;  // which the run had not heard of yet
        const auto found = candidates.find(dump);
        if (found == candidates.end() || !found->second.is_application() ||
            !found->second.whole()) {
            tree->reset();
            return tree;
        }
        dumps.push_back(&found->second);
    }
    for (Candidate* const dump : dumps) dump->is_closed = true;
    return tree;
}

/// Replay or drop the journal. `overlay` gets its overwrites, for a dry run.
Status settle_journal(base::File& file, const RunId& run, bool dry_run, RecoverReport& report,
                      Overlay& overlay) {
    auto journal = read_journal(file, run);
    if (!journal.ok()) return journal.status();
    report.journal_replayed = journal->state == Journal::State::valid;
    report.journal_dropped = journal->state == Journal::State::torn;
    if (journal->state == Journal::State::none) return {};
    for (const Extent& extent : journal->overwrites) overlay.write(extent.address, extent.bytes);
    if (dry_run) return {};
    for (const Extent& extent : journal->overwrites)
        if (Status s = file.write_at(extent.address, extent.bytes); !s.ok()) return s;
    if (Status s = file.sync(); !s.ok()) return s;
    if (Status s = clear_journal(file); !s.ok()) return s;
    return file.sync();
}

void report_dropped(std::uint64_t dump, const Candidate& candidate, RecoverReport& report) {
    RecoverReport::Dropped dropped;
    dropped.dump = dump;
    dropped.blocks_found = candidate.blocks.size();
    dropped.blocks_expected = candidate.expected;
    if (candidate.manifest) {
        dropped.iteration = candidate.manifest->iteration;
        dropped.tree = candidate.manifest->tree;
    }
    std::vector<std::uint64_t> lacking = candidate.expected_of;
    for (const ChunkRecord& block : candidate.blocks)
        if (block.dataset < lacking.size() && lacking[block.dataset] > 0) --lacking[block.dataset];
    for (std::size_t i = 0; i < lacking.size(); ++i)
        if (lacking[i] > 0)
            dropped.lacking.push_back({candidate.manifest->datasets[i].path, lacking[i]});
    report.dropped.push_back(dropped);
}

/// Without their headers the regions are not found again.
Status forget(base::File& file, const Candidate& candidate) {
    const RegionHeaderBytes zeros{};
    for (const RegionHeader& region : candidate.regions)
        if (Status s = file.write_at(region.address, zeros); !s.ok()) return s;
    return {};
}

/// HDF5 or the committer will not have this dump; trying again would not help.
bool is_refusal(const Status& status) {
    return status.code() == StatusCode::invalid_argument || status.code() == StatusCode::internal ||
           status.code() == StatusCode::unsupported;
}

/// Forget what cannot be committed. First the closed tree that it may belong to: its numbers come
/// again. Forgotten bytes may be overwritten by metadata afterwards.
Status drop(base::File& file, const Candidates& candidates, RecoverReport& report) {
    const bool any = std::any_of(candidates.begin(), candidates.end(),
                                 [](const auto& one) { return !one.second.complete(); });
    if (any)
        if (Status s = clear_closed_tree(file); !s.ok()) return s;
    for (const auto& [dump, candidate] : candidates) {
        if (candidate.complete()) continue;
        report_dropped(dump, candidate, report);
        if (Status s = forget(file, candidate); !s.ok()) return s;
    }
    return file.sync();
}

void note_finished(const Candidate& candidate, RecoverReport& report) {
    ++report.committed_dumps;
    report.finished_iterations.push_back(candidate.manifest->iteration);
}

/// if_whole: the closed tree's commit, or nothing. in_run: the same by the run itself.
enum class What : std::uint8_t { recover, dry_run, if_whole, in_run };
struct How {
    What what = What::recover;
    bool durable = true;
    bool only_if_whole() const { return what == What::if_whole || what == What::in_run; }
};

/// Blocks that had no room lie behind a hole, beyond all that the commit may need: they are copied
/// to where the others end, and the hole is cut off with what lies behind it. Killed here, the file
/// still has the first copy of each.
/// @param end  where the application's tree ends. @return  where all of it ends.
Result<std::uint64_t> close_hole(base::File& file, std::uint64_t end, Candidates& candidates) {
    struct Part {
        std::uint64_t begin, end;
        ChunkRecord* block;  // null: a region
    };
    std::vector<Part> parts;
    for (auto& [dump, candidate] : candidates) {
        if (!candidate.is_closed) continue;
        for (std::size_t i = 0; i < candidate.regions.size(); ++i)
            parts.push_back({candidate.regions[i].address, candidate.region_ends[i], nullptr});
        for (ChunkRecord& block : candidate.blocks)
            parts.push_back({block.address, block.address + block.bytes, &block});
    }
    std::sort(parts.begin(), parts.end(),
              [](const Part& a, const Part& b) { return a.begin < b.begin; });
    std::vector<std::byte> bytes;
    bool behind = false;
    for (const auto& [begin, part_end, block] : parts) {
        behind = behind || begin > end + k_least_hole_bytes;
        if (!behind) {
            end = std::max(end, part_end);
        } else if (block != nullptr) {
            if (end + block->bytes <= begin) {
                bytes.resize(block->bytes);
                if (Status s = file.read_at(begin, bytes); !s.ok()) return s;
                if (Status s = file.write_at(end, bytes); !s.ok()) return s;
                block->address = end;
            }
            end = std::max(end, block->address + block->bytes);
        }
    }
    return end;
}

/// The commit that the application would have made. What HDF5 refuses is dropped.
Status finish_closed(SharedFile& shared, const ClosedTree& tree, Candidates& candidates,
                     std::uint64_t regions_end, How how, RecoverReport& report) {
    std::vector<ClosedDump> dumps;
    for (const auto& [dump, candidate] : candidates)
        if (candidate.is_closed) dumps.push_back({*candidate.manifest, candidate.blocks});
    auto image = build_closed(shared, tree, dumps, regions_end);
    const bool refused =
        !image.ok() && (is_refusal(image.status()) || image.status().code() == StatusCode::corrupt);
    if (!image.ok() && (!refused || how.only_if_whole())) return image.status();
    if (refused) {
        for (auto& [dump, candidate] : candidates) candidate.is_closed = false;
        return drop(shared.file(), candidates, report);
    }
    if (Status s = image->flush(shared, how.durable); !s.ok()) return s;
    for (const auto& [dump, candidate] : candidates)
        if (candidate.is_closed) note_finished(candidate, report);
    return {};
}

/// Commit the complete dumps one by one, ascending, or those of a closed tree together.
Status finish(SharedFile& shared, Committed& committed, const std::optional<ClosedTree>& tree,
              Candidates& candidates, How how, RecoverReport& report) {
    std::uint64_t end = committed.stored_end;
    for (const auto& [dump, candidate] : candidates)
        if (candidate.complete()) end = std::max(end, align_up(candidate.end));
    if (tree) {
        const auto blocks_end = close_hole(
            shared.file(), std::max(committed.stored_end, align_up(tree->end)), candidates);
        if (!blocks_end.ok()) return blocks_end.status();
        if (Status s = finish_closed(shared, *tree, candidates, align_up(*blocks_end), how, report);
            !s.ok())
            return s;
        auto now = read_committed(shared.file(), {}, shared.run(), shared.path());
        if (!now.ok()) return now.status();
        committed = *now;
        return {};
    }
    Committer committer(shared);
    for (const auto& [dump, candidate] : candidates) {
        if (!candidate.complete()) continue;
        auto image = committer.build({&*candidate.manifest, 1}, candidate.blocks, end);
        if (!image.ok() && is_refusal(image.status())) {
            report_dropped(dump, candidate, report);
            if (Status s = forget(shared.file(), candidate); !s.ok()) return s;
            continue;
        }
        if (!image.ok()) return image.status();
        if (Status s = image->flush(shared); !s.ok()) return s;
        committed.stored_end = end = image->file_end();
        committed.has_superblock = true;
        note_finished(candidate, report);
    }
    return {};
}

void describe(const Candidates& candidates, RecoverReport& report) {
    for (const auto& [dump, candidate] : candidates) {
        if (!candidate.complete()) {
            report_dropped(dump, candidate, report);
            continue;
        }
        note_finished(candidate, report);
    }
}

Status check_length(const Committed& committed, std::uint64_t bytes, const std::string& path) {
    if (!committed.has_superblock || bytes >= committed.superblock_end) return {};
    return {StatusCode::corrupt,
            fmt::format("{}: has {} bytes, but its superblock says {}; it was cut off, for example "
                        "by an unfinished copy. Nothing was changed",
                        path, bytes, committed.superblock_end)};
}

/// What a caller wants to know of the file, and may refuse, before anything is changed.
struct Look {
    const std::function<Status(const Begun&)>& accept;
    Begun& begun;
};

/// The file as it lies there, before anything of it is changed but for its journal.
struct LeftInFile {
    Committed committed;
    Candidates candidates;
    std::optional<ClosedTree> tree;
    std::uint64_t bytes = 0;
    bool is_marked = false;  ///< as being written, by a process that has died
};

Result<LeftInFile> find_all(base::File& file, const std::string& path, const RunId& run, How how,
                            const Look* look, RecoverReport& report) {
    LeftInFile found;
    Overlay overlay;
    if (Status s = settle_journal(file, run, true, report, overlay); !s.ok()) return s;
    auto committed = read_committed(file, overlay, run, path);
    if (!committed.ok()) return committed.status();
    found.committed = *committed;
    auto bytes = file.size();
    if (!bytes.ok()) return bytes.status();
    found.bytes = *bytes;
    if (Status s = check_length(*committed, *bytes, path); !s.ok()) return s;
    report.committed_dumps = committed->record.count();
    auto candidates = find_candidates(file, run, *committed, *bytes, how.what == What::in_run,
                                      look != nullptr ? &look->begun : nullptr);
    if (!candidates.ok()) return candidates.status();
    found.candidates = std::move(*candidates);
    if (look != nullptr) {
        look->begun.has_tree = committed->has_superblock;
        look->begun.record = committed->record;
        if (Status s = look->accept(look->begun); !s.ok()) return s;
    }
    if (how.what == What::recover || how.what == What::in_run)
        if (Status s = settle_journal(file, run, false, report, overlay); !s.ok()) return s;
    auto tree = find_closed(file, run, *committed, found.candidates);
    if (!tree.ok()) return tree.status();
    found.tree = std::move(*tree);
    auto marked = is_marked_in_flight(file);
    if (!marked.ok()) return marked.status();
    found.is_marked = *marked;
    return found;
}

/// In the order that another kill needs.
Status repair(SharedFile& shared, LeftInFile& found, How how, bool finished,
              RecoverReport& report) {
    base::File& file = shared.file();
    if (found.bytes < k_first_region_address)  // killed while the file was made
        if (Status s = file.truncate(k_first_region_address); !s.ok()) return s;
    // HDF5 itself would refuse it. With a closed tree its commit takes the mark away: until then
    // others must not take the file for a whole one.
    if (!found.tree)
        if (Status s = unmark_in_flight(file); !s.ok()) return s;
    if (Status s = drop(file, found.candidates, report); !s.ok()) return s;
    if (Status s = finish(shared, found.committed, found.tree, found.candidates, how, report);
        !s.ok())
        return s;
    if (Status s = lower_end(file, found.committed.stored_end); !s.ok()) return s;
    if (Status s = file.truncate(found.committed.stored_end); !s.ok()) return s;
    if (how.durable)
        if (Status s = file.sync(); !s.ok()) return s;
    // Last: `caesura wait` waits for this.
    return found.tree || finished ? clear_closed_tree(file) : Status{};
}

Result<RecoverReport> recover_locked(std::shared_ptr<base::File> file, const std::string& path,
                                     const RunId& run, How how, const Look* look) {
    RecoverReport report;
    auto all = find_all(*file, path, run, how, look, report);
    if (!all.ok()) return all.status();
    LeftInFile& found = *all;
    const bool cut_off = report.journal_replayed || report.journal_dropped;
    report.was_clean =
        !cut_off && found.candidates.empty() && found.bytes == found.committed.stored_end &&
        found.committed.superblock_end <= found.committed.stored_end && !found.is_marked;
    const bool in_run = how.what == What::in_run;
    if (report.was_clean) {
        if (in_run)
            if (Status s = clear_closed_tree(*file); !s.ok()) return s;
        return report;
    }
    if (how.what == What::dry_run) {
        describe(found.candidates, report);
        return report;
    }
    // The run's own commit was cut off, or what comes after it.
    const bool finished = in_run && !found.tree && found.candidates.empty();
    const bool whole =
        finished || (found.tree && (in_run || !cut_off) &&
                     std::all_of(found.candidates.begin(), found.candidates.end(),
                                 [](const auto& one) { return one.second.complete(); }));
    if (how.only_if_whole() && !whole)
        return Status{StatusCode::cancelled, path + ": not all of it lies in the file"};
    SharedFile shared = SharedFileAccess::make(path, run, std::move(file));
    if (Status s = repair(shared, found, how, finished, report); !s.ok()) return s;
    return report;
}

/// Is the file one that is wanted? What cannot be read, recovery has an error for.
Status ask(base::File& file, const std::string& path, const Result<RunId>& run,
           const AcceptRoot& accept) {
    const auto info = read_info(file, path);
    if (info.ok() && !info->datasets.empty()) return accept(info->root);
    const auto bytes = file.size();
    if (!bytes.ok() || !run.ok()) return {};
    const auto regions = scan_regions(file, *run, *bytes);
    if (!regions.ok()) return {};
    for (const FoundRegion& region : *regions) {
        if (region.manifest.empty()) continue;
        const auto manifest = decode_manifest(region.manifest);
        if (!manifest.ok()) continue;
        if (Status status = accept(manifest->root); !status.ok()) return status;
    }
    return {};
}

/// With the exclusive lock. @return the file, and what was done.
Result<SharedFile> recover_file(base::FileSystem& file_system, const std::string& path, How how,
                                const AcceptRoot& accept, RecoverReport& report,
                                const Look* look = nullptr) try {
    using Mode = base::FileSystem::Mode;
    auto opened = file_system.open(path, how.what == What::dry_run ? Mode::read : Mode::read_write);
    if (!opened.ok()) return opened.status();
    std::shared_ptr<base::File> file = std::move(*opened);
    if (const Status status = file->lock(true); !status.ok())
        return status.with_context("cannot recover while a writer or reader has the file open");
    auto run = read_file_header(*file, path);
    if (accept)
        if (Status status = ask(*file, path, run, accept); !status.ok()) return status;
    if (!run.ok()) return run.status();
    auto recovered = recover_locked(file, path, *run, how, look);
    if (!recovered.ok()) return recovered.status();
    report = *std::move(recovered);
    return SharedFileAccess::make(path, *run, std::move(file));
} catch (const std::bad_alloc&) {
    return Status{StatusCode::no_space, path + ": out of memory while recovering"};
} catch (const std::exception& error) {
    return Status{StatusCode::internal, path + ": " + error.what()};
}

}  // namespace

Result<RecoverReport> recover(base::FileSystem& file_system, const std::string& path,
                              bool dry_run) {
    RecoverReport report;
    const How how{dry_run ? What::dry_run : What::recover};
    const auto file = recover_file(file_system, path, how, {}, report);
    if (!file.ok()) return file.status();
    return report;
}

Status finish_if_whole(base::FileSystem& file_system, const std::string& path) {
    RecoverReport report;
    return recover_file(file_system, path, {What::if_whole}, {}, report).status();
}

Status complete_closed(const SharedFile& file, bool durable) try {
    return recover_locked(file.keep(), file.path(), file.run(), {What::in_run, durable}, nullptr)
        .status();
} catch (const std::bad_alloc&) {
    return {StatusCode::no_space, file.path() + ": out of memory while completing it"};
} catch (const std::exception& error) {
    return {StatusCode::internal, file.path() + ": " + error.what()};
}

Result<SharedFile> recover_and_open(base::FileSystem& file_system, const std::string& path,
                                    const AcceptRoot& accept) {
    RecoverReport report;
    auto file = recover_file(file_system, path, {What::recover}, accept, report);
    // Down to the shared lock on the same file, on Linux's own file systems in one step. Where it
    // is not, or where there are no locks, nobody tells two such openers apart.
    if (file.ok())
        if (Status status = file->file().lock(false); !status.ok()) return status;
    return file;
}

Result<Recovered> recover_and_keep(base::FileSystem& file_system, const std::string& path,
                                   const std::function<Status(const Begun&)>& accept) {
    Recovered out;
    const Look look{accept, out.begun};
    auto file = recover_file(file_system, path, {What::recover}, {}, out.report, &look);
    if (!file.ok()) return file.status();
    out.file = std::move(*file);
    return out;
}

}  // namespace caesura::store
