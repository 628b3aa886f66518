// Builds the metadata of dumps in memory: HDF5 works on the placing driver, the result becomes a
// CommitImage. Nothing here writes to the file.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <set>

#include "store/commit_parts.hpp"
#include "store/committer.hpp"
#include "store/continuations.hpp"
#include "store/dump_path.hpp"
#include "store/hdf5_write.hpp"
#include "store/placing_driver.hpp"
#include "store/region_writer.hpp"
#include "store/superblock.hpp"

namespace caesura::store {

using Stage = CommitProgress::Stage;

struct Committer::State {
    SharedFile* file = nullptr;
    std::shared_ptr<CommitProgress> last;  ///< of the image built before
    ContinuationPlaces places;             ///< as the file has them
    ContinuationPlaces next_places;        ///< once the image built before is in the file
    bool for_readers = false;
    AnnouncedEnd end;       ///< as the file has it
    AnnouncedEnd next_end;  ///< once the image built before is in the file
};

/// What a commit does to the open file.
struct Change {
    /// Adds the object headers of datasets that it has made.
    std::function<Status(hid_t file, FilterAliases& aliases, std::vector<std::uint64_t>& headers)>
        make;
    std::set<std::string> groups;  ///< that may have other links afterwards; absolute paths
    ContinuationMove move;
};

Committer::Committer(SharedFile& file, bool for_readers) : state_(std::make_unique<State>()) {
    state_->file = &file;
    state_->for_readers = for_readers;
}
Committer::~Committer() = default;
Committer::Committer(Committer&&) noexcept = default;

namespace {

/// Chunk records of one dataset, sorted by chunk.
using Records = std::span<const ChunkRecord>;

struct PlannedDataset {
    const DatasetSpec* spec = nullptr;
    Records records;
};

Status check_record(const DatasetSpec& spec, const ChunkRecord& record, std::uint64_t file_end) {
    const auto bad = [&](std::string_view reason) {
        return Status{StatusCode::invalid_argument,
                      fmt::format("dataset {} chunk {}: {}", spec.path, record.chunk, reason)};
    };
    if (record.bytes == 0 || record.bytes >> 32 != 0)
        return bad(fmt::format("{} stored bytes; a chunk has 1 byte to 4 GiB - 1", record.bytes));
    if (record.address < k_first_region_address || record.address >= file_end ||
        record.bytes > file_end - record.address)
        return bad(fmt::format("bytes [{}, +{}) do not lie in the regions, which end at {}",
                               record.address, record.bytes, file_end));
    const std::uint64_t full = spec.chunk.count() * size_of(spec.dtype);
    if (spec.pipeline.empty() && (record.bytes != full || record.filter_mask != 0))
        return bad(fmt::format("{} bytes, mask {:#x}; without filters a chunk has exactly {} and 0",
                               record.bytes, record.filter_mask, full));
    return {};
}

/// Every chunk of the grid exactly once; of a dataset that is written in parts so many of them.
Status check_complete(const DatasetSpec& spec, const Shape& grid, Records records,
                      std::uint64_t file_end) {
    std::uint64_t expected = 0, found = 0;
    for (const ChunkRecord& record : records) {
        if (record.chunk >= grid.count())
            return {StatusCode::invalid_argument,
                    fmt::format("dataset {}: chunk {} is outside the grid of {} chunks", spec.path,
                                record.chunk, grid.count())};
        if (record.chunk < expected)
            return {StatusCode::invalid_argument,
                    fmt::format("dataset {}: chunk {} was written twice", spec.path, record.chunk)};
        if (record.chunk > expected && !spec.partial_chunks) break;
        if (Status status = check_record(spec, record, file_end); !status.ok()) return status;
        expected = record.chunk + 1;
        ++found;
    }
    if (found == spec.partial_chunks.value_or(grid.count())) return {};
    if (spec.partial_chunks)
        return {StatusCode::invalid_argument,
                fmt::format("dataset {}: {} chunks of the {} that were put", spec.path, found,
                            *spec.partial_chunks)};
    return {StatusCode::invalid_argument, fmt::format("dataset {}: chunk {} of {} is missing",
                                                      spec.path, expected, grid.count())};
}

/// Match sorted records to the datasets of the manifests.
Result<std::vector<PlannedDataset>> plan(std::span<const DumpManifest> dumps,
                                         std::span<const ChunkRecord> sorted,
                                         std::uint64_t file_end) {
    std::vector<PlannedDataset> out;
    std::size_t at = 0;
    for (std::size_t d = 0; d < dumps.size(); ++d) {
        if (d > 0 && dumps[d].dump <= dumps[d - 1].dump)
            return Status{StatusCode::invalid_argument,
                          fmt::format("dump {} after dump {}: dumps must ascend", dumps[d].dump,
                                      dumps[d - 1].dump)};
        for (std::uint32_t i = 0; i < dumps[d].datasets.size(); ++i) {
            const DatasetSpec& spec = dumps[d].datasets[i];
            auto grid = chunk_grid(spec);
            if (!grid.ok()) return grid.status();
            const std::size_t first = at;
            while (at < sorted.size() && sorted[at].dump == dumps[d].dump &&
                   sorted[at].dataset == i)
                ++at;
            const Records mine = sorted.subspan(first, at - first);
            if (Status s = check_complete(spec, *grid, mine, file_end); !s.ok()) return s;
            out.push_back({&spec, mine});
        }
    }
    if (at == sorted.size()) return out;
    return Status{StatusCode::invalid_argument,
                  fmt::format("a block of dump {} dataset {} belongs to no dataset of this commit",
                              sorted[at].dump, sorted[at].dataset)};
}

/// The driver's own error says more than HDF5's stack about it.
Status reason(const PlacingState& state, Status status) {
    if (state.error.ok()) return status;
    return Status{state.error.code(), state.error.message()}.with_context(status.message());
}

Status place_chunks(PlacingState& state, hid_t dataset, const PlannedDataset& planned) {
    // Never looked at: the driver drops the write. 8 bytes, in case a library peeks.
    static constexpr std::array<std::byte, 8> k_dummy{};
    const DatasetSpec& spec = *planned.spec;
    std::array<hsize_t, k_max_rank> offset{};
    for (const ChunkRecord& record : planned.records) {
        const Shape begin = chunk_begin(spec, record.chunk);
        std::copy_n(begin.data(), begin.rank(), offset.begin());
        state.armed = Placement{record.address, record.bytes};
        state.allocated = state.dropped = false;
        const herr_t done = H5Dwrite_chunk(dataset, H5P_DEFAULT, record.filter_mask, offset.data(),
                                           static_cast<std::size_t>(record.bytes), k_dummy.data());
        const bool placed = state.allocated && state.dropped;
        state.armed.reset();
        if (done < 0 || !placed)
            return hdf5_error(StatusCode::internal,
                              fmt::format("dataset {} chunk {}", spec.path, record.chunk));
    }
    return {};
}

/// A group's path, and those of all groups above it.
void add_groups(std::string path, std::set<std::string>& groups) {
    while (!path.empty() && groups.insert(path).second) path.resize(path.rfind('/'));
    groups.insert("/");
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::set<std::string> groups_of(std::span<const DumpManifest> dumps) {
    std::set<std::string> out = {"/"};
    for (const DumpManifest& dump : dumps) {
        for (const GroupSpec& one : dump.groups) add_groups(one.path, out);
        for (const ArraySpec& one : dump.arrays) add_groups(parent_of(one.path), out);
        for (const DatasetSpec& one : dump.datasets) add_groups(parent_of(one.path), out);
    }
    return out;
}

/// Everything of the dumps, by HDF5 calls on the open file.
Status write_dumps(PlacingState& state, hid_t file, std::span<const DumpManifest> dumps,
                   std::span<const PlannedDataset> planned, FilterAliases& aliases,
                   std::vector<std::uint64_t>& headers) {
    for (const DumpManifest& dump : dumps) {
        // First: the library would let the root's header, if it were last in the file, grow there.
        const DumpPath place(dump.root);
        for (const std::string& group : groups_of({&dump, 1}))
            if (!place.is_in_dump(group))
                if (Status s = make_group_of_dumps(file, group); !s.ok()) return s;
        if (Status s = write_root_attributes(file, dump.root); !s.ok()) return s;
        if (Status s = replace_root_attributes(file, dump.root_set); !s.ok()) return s;
        for (const GroupSpec& group : dump.groups)
            if (Status s = write_group(file, group); !s.ok()) return s;
        for (const ArraySpec& array : dump.arrays)
            if (Status s = write_array(file, array); !s.ok()) return s;
    }
    for (const PlannedDataset& one : planned) {
        auto dataset = create_dataset(file, *one.spec, aliases);
        if (!dataset.ok()) return dataset.status();
        if (Status s = place_chunks(state, dataset->get(), one); !s.ok()) return s;
        auto address = object_address(dataset->get());
        if (!address.ok()) return address.status();
        headers.push_back(*address);
    }
    return {};
}

/// Object headers of those of these groups that were there before.
Result<std::vector<std::uint64_t>> headers_before(hid_t file, const Change& change) {
    std::vector<std::uint64_t> out;
    std::string is_new = "//";  // the last path of a group that was not there before
    for (const std::string& path : change.groups) {
        if (path.starts_with(is_new)) continue;
        const Handle group(H5Gopen2(file, path.c_str(), H5P_DEFAULT), H5Gclose);
        if (!group.ok()) return hdf5_error(StatusCode::internal, "group " + path);
        auto address = object_address(group.get());
        if (!address.ok()) return address.status();
        if (*address >= change.move.old_end)
            is_new = path + "/";
        else
            out.push_back(*address);
    }
    return out;
}

/// Adds the continuations to `early` that go to places in the old part of the file. Afterwards the
/// library opens nothing.
Status move_all_continuations(PlacingState& state, hid_t file, const Change& change,
                              ContinuationPlaces& places, std::vector<Extent>& early) {
    const auto headers = headers_before(file, change);
    if (!headers.ok()) return headers.status();
    for (const std::uint64_t address : *headers) {
        auto moved = move_continuations(state, address, change.move, places);
        if (!moved.ok()) return moved.status();
        if (*moved) early.push_back(std::move(**moved));
    }
    return {};
}

/// Open (or make) the HDF5 file on `state`, change it, close it. Afterwards the overlay holds the
/// new metadata except `early`, and state.eoa says where regions and metadata end.
Status run_hdf5(PlacingState& state, const Change& change, bool pad, ContinuationPlaces& places,
                std::vector<Extent>& early) {
    const QuietErrors quiet;
    auto access = placing_access(state);
    if (!access.ok()) return access.status();
    auto creation = file_creation();
    if (!creation.ok()) return creation.status();
    // The name is never opened; it only appears in HDF5's messages.
    Handle file(state.creating ? H5Fcreate("caesura", H5F_ACC_TRUNC, creation->get(), access->get())
                               : H5Fopen("caesura", H5F_ACC_RDWR, access->get()),
                H5Fclose);
    if (!file.ok()) return reason(state, hdf5_error(StatusCode::internal, "opening the file"));
    // Before any change: the library may extend a block at the old end without asking the driver.
    // A new file has its root group beyond the floor by now, so trimming never lowers that one.
    state.eoa = state.creating ? std::max(state.eoa, state.floor) : state.floor;
    FilterAliases aliases;
    std::vector<std::uint64_t> headers;
    Status status = change.make(file.get(), aliases, headers);
    if (status.ok() && H5Fflush(file.get(), H5F_SCOPE_GLOBAL) < 0)
        status = hdf5_error(StatusCode::internal, "flushing metadata");
    if (status.ok() && !state.creating)
        status = move_all_continuations(state, file.get(), change, places, early);
    // What was freed at the end stays the file's: the image begins behind it.
    state.eoa = std::max(state.eoa, state.floor);
    // The last byte must be ours to write (flush.cpp step 1). The superblock takes the end from
    // the driver when the file is closed.
    const bool grown = state.eoa > state.floor || state.creating;
    if (pad || grown) state.eoa = align_up(std::max(state.eoa, state.floor) + 1);
    const std::uint64_t end = state.eoa;
    if (file.reset() < 0 && status.ok())
        status = hdf5_error(StatusCode::internal, "closing the file");
    if (!status.ok()) return reason(state, status);
    if (state.eoa != end)
        return {StatusCode::internal, fmt::format("the end of the file moved from {} to {} while "
                                                  "it was closed",
                                                  end, state.eoa)};
    if ((pad || grown) && state.overlay.end() < end) {
        const std::byte last{0};
        state.overlay.write(end - 1, {&last, 1});
    }
    for (const std::uint64_t header : headers)
        if (status = aliases.resolve(state.overlay, header); !status.ok()) return status;
    std::array<std::byte, k_superblock_bytes> front{};
    state.overlay.read(0, front);
    const auto superblock = decode_superblock(front);
    if (!superblock || superblock->end_of_file != end || superblock->status_flags != 0)
        return {StatusCode::internal, "the superblock is not as expected after the commit"};
    return {};
}

Status take_out(hid_t file, std::span<const std::string> groups) {
    for (const std::string& group : groups)
        if (H5Ldelete(file, group.c_str(), H5P_DEFAULT) < 0)
            return hdf5_error(StatusCode::internal, "taking out group " + group);
    return {};
}

}  // namespace

Status Committer::expect_flushed() {
    if (!state_->last) return {};
    auto expected = Stage::dropped;
    state_->last->stage.compare_exchange_strong(expected, Stage::superseded);
    const Stage stage = state_->last->stage;
    if (stage == Stage::done) {
        state_->places = std::exchange(state_->next_places, {});
        state_->end = state_->last->has_extended ? state_->next_end : AnnouncedEnd{};
    }
    if (stage == Stage::done || stage == Stage::superseded) {
        state_->last.reset();
        return {};
    }
    return {StatusCode::cancelled,
            "the commit before has not been flushed; flush it (again) first"};
}

Result<CommitImage> Committer::take_out(std::span<const std::string> groups) try {
    if (Status status = expect_flushed(); !status.ok()) return status;
    auto before = read_before(*state_->file);
    if (!before.ok()) return before.status();
    if (!before->has_superblock)
        return Status{StatusCode::invalid_argument, "nothing is committed that could be taken out"};
    PlacingState state;
    state.file = &state_->file->file();
    state.file_bytes = before->file_bytes;
    state.floor = align_up(before->stored_end);
    Change change;
    change.make = [&](hid_t file, FilterAliases&, std::vector<std::uint64_t>&) {
        return store::take_out(file, groups);
    };
    for (const std::string& group : groups) add_groups(parent_of(group), change.groups);
    CommitRecord record = before->record;
    record.drop(groups.size());
    return image_of(state, change, *before, std::move(record), true);
} catch (const std::bad_alloc&) {
    return Status{StatusCode::no_space, "out of memory while building a commit"};
} catch (const std::exception& error) {
    return Status{StatusCode::internal, error.what()};
}

/// Say a later end than this commit needs.
void Committer::announce(PlacingState& state, const Before& before, CommitImage::State& image,
                         CommitRecord& record) {
    const bool is_first = !before.has_superblock;
    AnnouncedEnd last = state_->end;
    if (last.superblock == 0 && !is_first)  // of a run before, or nothing was said
        last = {before.record.file_end, before.stored_end, before.file_bytes};
    image.announced = state_->next_end = announce_end(state.eoa, last);
    std::array<std::byte, k_superblock_bytes> front{};
    state.overlay.read(0, front);
    patch_superblock(front, {image.announced.superblock, 0});
    state.overlay.write(0, front);
    record.announced_end = image.announced.superblock;
}

Result<CommitImage> Committer::image_of(PlacingState& state, Change& change, const Before& before,
                                        CommitRecord record, bool trim) {
    change.move = {state.floor, before.record.sequence + 1, trim};
    ContinuationPlaces places = state_->places;
    std::vector<Extent> early;
    if (Status status = run_hdf5(state, change, !trim, places, early); !status.ok()) return status;
    CommitImage image;
    image.state_ = std::make_unique<CommitImage::State>();
    record.announced_end = 0;
    if (state_->for_readers && !trim) announce(state, before, *image.state_, record);
    fill_image(*image.state_, state.overlay, {state.floor, state.eoa, before.is_readable},
               before.record, std::move(record), state_->file->run(), std::move(early));
    image.state_->trim = trim;
    image.state_->progress = state_->last = std::make_shared<CommitProgress>();
    state_->next_places = std::move(places);
    return image;
}

Result<CommitImage> Committer::build(std::span<const DumpManifest> dumps,
                                     std::span<const ChunkRecord> records, std::uint64_t file_end,
                                     bool trim) try {
    if (Status status = expect_flushed(); !status.ok()) return status;
    auto before = read_before(*state_->file);
    if (!before.ok()) return before.status();
    CommitRecord record = before->record;
    for (const DumpManifest& dump : dumps) {
        if (record.contains(dump.dump))
            return Status{StatusCode::invalid_argument,
                          fmt::format("dump {} is committed already", dump.dump)};
        if (Status status = record.add(dump.dump); !status.ok()) return status;
    }
    std::vector<ChunkRecord> sorted(records.begin(), records.end());
    std::sort(sorted.begin(), sorted.end(), record_order);
    auto planned = plan(dumps, sorted, file_end);
    if (!planned.ok()) return planned.status();

    PlacingState state;
    state.file = &state_->file->file();
    state.file_bytes = before->file_bytes;
    state.creating = !before->has_superblock;
    state.floor = align_up(trim ? std::max(file_end, k_first_region_address)
                                : std::max(file_end, before->record.file_end));
    Change change;
    change.make = [&](hid_t file, FilterAliases& aliases, std::vector<std::uint64_t>& headers) {
        return write_dumps(state, file, dumps, *planned, aliases, headers);
    };
    change.groups = groups_of(dumps);
    return image_of(state, change, *before, std::move(record), trim);
} catch (const std::bad_alloc&) {
    return Status{StatusCode::no_space, "out of memory while building a commit"};
} catch (const std::exception& error) {
    return Status{StatusCode::internal, error.what()};
}

}  // namespace caesura::store
