#include "store/live_image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "store/commit_parts.hpp"
#include "store/committer.hpp"
#include "store/in_flight.hpp"
#include "store/journal.hpp"
#include "store/region_writer.hpp"
#include "store/superblock.hpp"

namespace caesura::store {

using Stage = CommitProgress::Stage;

struct LiveImage::State {
    SharedFile* file = nullptr;
    PlacingState placing;
    bool creating = false;                 ///< nothing is committed yet
    CommitRecord committed;                ///< as in the file
    CommitRecord pending;                  ///< with the dumps of the commit that is not settled
    std::uint64_t fresh_begin = 0;         ///< nothing at or beyond it is part of what is committed
    std::uint64_t pending_begin = 0;       ///< fresh_begin once the commit is settled
    std::uint64_t flushes = 0;             ///< of the library, at the last commit
    std::shared_ptr<CommitProgress> last;  ///< of the image that is not settled; or null
    LiveLayers& layers() { return *placing.live; }
};

LiveImage::LiveImage(std::unique_ptr<State> state) : state_(std::move(state)) {}
LiveImage::~LiveImage() = default;

namespace {

Status no_journal(SharedFile& file) {
    auto journal = read_journal(file.file(), file.run());
    if (!journal.ok()) return journal.status();
    if (journal->state != Journal::State::valid) return {};
    return {StatusCode::corrupt,
            fmt::format("{}: a commit was cut off; run recover before writing to it", file.path())};
}

/// Whatever is wrong with the placing state goes before what HDF5 says.
Status with_reason(const PlacingState& placing, Status status) {
    if (placing.error.ok()) return status;
    return Status{placing.error.code(), placing.error.message()}.with_context(status.message());
}

}  // namespace

Result<std::unique_ptr<LiveImage>> LiveImage::make(SharedFile& file) {
    if (Status status = no_journal(file); !status.ok()) return status;
    auto before = read_before(file);
    if (!before.ok()) return before.status();
    auto state = std::make_unique<State>();
    state->file = &file;
    state->creating = !before->has_superblock;
    state->committed = state->pending = before->record;
    // The file may be longer than its superblock says: nothing of that is ours to write to.
    state->fresh_begin = align_up(std::max(before->stored_end, before->file_bytes));
    PlacingState& placing = state->placing;
    placing.file = &file.file();
    placing.file_bytes = before->file_bytes;
    placing.creating = state->creating;
    placing.floor = state->fresh_begin;
    placing.live = std::make_unique<LiveLayers>();
    placing.live->virgin_begin = state->fresh_begin;
    return std::unique_ptr<LiveImage>(new LiveImage(std::move(state)));
}

bool LiveImage::creating() const { return state_->creating; }

std::uint64_t LiveImage::next_dump() const {
    return state_->pending.dumps.empty() ? 0 : state_->pending.dumps.back().second;
}

std::uint64_t LiveImage::end() const {
    return std::max(state_->placing.eoa, state_->placing.floor);
}

void LiveImage::move_end(std::uint64_t floor) {
    PlacingState& placing = state_->placing;
    placing.floor = std::max(placing.floor, floor);
    // The library extends a block that ends at its end of allocation without asking the driver:
    // the end must not be where a block ends. (Not before the file is made or opened: the library
    // would take the number for the end of a file.)
    if (placing.eoa > 0) placing.eoa = std::max(placing.eoa, placing.floor);
}

Status LiveImage::set_driver(hid_t fapl) {
    if (Status status = set_placing_driver(fapl, state_->placing); !status.ok()) return status;
    return set_properties(fapl);
}

// ------------------------------------------------------------------------- placing

Status LiveImage::place_once(std::uint64_t address, std::uint64_t bytes,
                             const std::function<herr_t(const void*, std::size_t)>& chunk_write) {
    // Never looked at: the driver drops the write. 8 bytes, in case a library peeks.
    static constexpr std::array<std::byte, 8> k_dummy{};
    PlacingState& placing = state_->placing;
    placing.live->kept.reset();
    placing.armed = Placement{address, bytes};
    placing.allocated = placing.dropped = false;
    const herr_t done = chunk_write(k_dummy.data(), static_cast<std::size_t>(bytes));
    placing.armed.reset();
    const bool placed = placing.allocated && placing.dropped;
    if (done >= 0 && placing.error.ok() && (placed || placing.live->kept)) return {};
    if (placing.error.ok())
        placing.error = {StatusCode::internal,
                         fmt::format("the library did not place {} bytes at {}", bytes, address)};
    return with_reason(placing, hdf5_error(StatusCode::internal, "placing a chunk"));
}

Status LiveImage::place(std::uint64_t address, std::uint64_t bytes,
                        const std::function<herr_t(const void*, std::size_t)>& chunk_write) {
    PlacingState& placing = state_->placing;
    if (!placing.error.ok()) return placing.error;
    if (bytes == 0 || bytes >> 32 != 0 || address < k_first_region_address ||
        address >= placing.eoa || bytes > placing.eoa - address)
        return {StatusCode::invalid_argument,
                fmt::format("a chunk of {} bytes at {}: must have 1 byte to 4 GiB - 1, and lie in "
                            "[{}, {})",
                            bytes, address, k_first_region_address, placing.eoa)};
    if (Status s = place_once(address, bytes, chunk_write); !s.ok()) return s;
    const auto old = placing.live->kept;
    if (!old || *old == address) return {};
    // The chunk has this size already and keeps its place. With another size it moves.
    const std::uint64_t other = bytes > 1 ? bytes - 1 : bytes + 1;
    if (Status s = place_once(address, other, chunk_write); !s.ok()) return s;
    if (placing.live->kept)
        return {StatusCode::unsupported,
                fmt::format("a chunk without filters stays at {} and cannot move to {}; write it "
                            "there",
                            *old, address)};
    return place_once(address, bytes, chunk_write);
}

// ------------------------------------------------------------------------- raw data

LiveImage::Filling::Filling(LiveImage& image, bool at_once, bool alone)
    : placing_(&image.state_->placing), at_once_(at_once) {
    placing_->live->raw_is = LiveLayers::Raw::fill;
    placing_->live->new_from = alone ? placing_->live->allocated_end : 0;
    if (at_once) placing_->allocate_at_once(true);
}

LiveImage::Filling::~Filling() {
    placing_->live->raw_is = LiveLayers::Raw::data;
    if (at_once_) placing_->allocate_at_once(false);
}

LiveImage::Describing::Describing(LiveImage& image) : layers_(image.state_->placing.live.get()) {
    layers_->raw_is = LiveLayers::Raw::metadata;
}

LiveImage::Describing::~Describing() { layers_->raw_is = LiveLayers::Raw::data; }

namespace {

std::shared_ptr<RawBatch> take(LiveLayers& layers, Overlay& from) {
    if (from.empty()) return nullptr;
    auto batch = std::make_shared<RawBatch>(std::exchange(from, {}));
    layers.taken.push_back(batch);
    return batch;
}

}  // namespace

std::shared_ptr<RawBatch> LiveImage::take_fill() {
    return take(state_->layers(), state_->layers().fill);
}

std::shared_ptr<RawBatch> LiveImage::take_raw() {
    return take(state_->layers(), state_->layers().raw);
}

std::uint64_t LiveImage::metadata_memory_bytes() const {
    return state_->placing.overlay.memory_bytes() + state_->layers().frozen.memory_bytes();
}

// ------------------------------------------------------------------------- commit

/// An image that was let go comes to life again in the next one.
Status LiveImage::settle_last() {
    if (!state_->last) return {};
    auto expected = Stage::dropped;
    state_->last->stage.compare_exchange_strong(expected, Stage::superseded);
    switch (state_->last->stage) {
        case Stage::superseded:
            return {};
        case Stage::done:
            return {StatusCode::invalid_argument,
                    "the last commit has been flushed: call committed() on all ranks first"};
        default:
            return {StatusCode::cancelled,
                    "the commit before has not been flushed; flush it (again) first"};
    }
}

/// Move the overlay to what is frozen, with a superblock as it is to be in the file.
Status LiveImage::freeze(std::uint64_t end, bool pad) {
    PlacingState& placing = state_->placing;
    std::array<std::byte, k_superblock_bytes> front{};
    if (Status s = placing.read(0, front); !s.ok()) return s;
    if (!decode_superblock(front))
        return {StatusCode::invalid_argument,
                fmt::format("{}: has no superblock of version 2 or 3; make the HDF5 file on the "
                            "image and flush it before a commit",
                            state_->file->path())};
    // While the library has the file open for writing, its own superblock says so, and stock
    // readers would refuse it; and it does not know of the regions behind its last block.
    patch_superblock(front, {end, 0});
    placing.overlay.write(0, front);
    if (pad) {  // the file grows by this write (flush.cpp step 1)
        const std::byte last{0};
        placing.overlay.write(end - 1, {&last, 1});
    }
    for (const auto& [address, bytes] : placing.overlay.pieces())
        state_->layers().frozen.write(address, bytes);
    placing.overlay = {};
    return {};
}

Result<CommitImage> LiveImage::commit(std::span<const std::uint64_t> dumps, std::uint64_t file_end,
                                      bool trim) try {
    PlacingState& placing = state_->placing;
    LiveLayers& layers = state_->layers();
    if (!placing.error.ok()) return placing.error;
    if (Status s = settle_last(); !s.ok()) return s;
    if (layers.flushes == state_->flushes)
        return Status{StatusCode::invalid_argument,
                      "commit: H5Fflush has not been called on the file since the last commit"};
    CommitRecord record = state_->pending;
    for (const std::uint64_t dump : dumps) {
        if (state_->committed.contains(dump))
            return Status{StatusCode::invalid_argument,
                          fmt::format("dump {} is committed already", dump)};
        if (record.contains(dump)) continue;  // of a commit that was let go
        if (Status s = record.add(dump); !s.ok()) return s;
    }
    // At least one byte of padding: the library must not find a block of its own ending at the end,
    // and the last byte must not be raw data.
    const std::uint64_t used = std::max({layers.allocated_end, file_end, k_first_region_address});
    const std::uint64_t end = trim ? used : align_up(std::max(used, this->end()) + 1);
    if (Status s = freeze(end, !trim); !s.ok()) return s;
    const auto readable = lets_readers_in(state_->file->file());
    if (!readable.ok()) return readable.status();

    CommitImage image;
    image.state_ = std::make_unique<CommitImage::State>();
    state_->pending =
        fill_image(*image.state_, layers.frozen, {state_->fresh_begin, end, *readable},
                   state_->committed, std::move(record), state_->file->run());
    image.state_->trim = trim;
    image.state_->progress = state_->last = std::make_shared<CommitProgress>();
    state_->flushes = layers.flushes;
    // Beyond a journal that does not fit into its slot, too.
    state_->pending_begin = image.file_end();
    move_end(image.file_end());
    return image;
} catch (const std::bad_alloc&) {
    return Status{StatusCode::no_space, "out of memory while building a commit"};
} catch (const std::exception& error) {
    return Status{StatusCode::internal, error.what()};
}

Status LiveImage::committed() {
    if (!state_->last) return {};
    const Stage stage = state_->last->stage;
    if (stage == Stage::journal || stage == Stage::flushing)
        return {StatusCode::internal, "committed: this process's own flush has not succeeded"};
    state_->layers().frozen = {};
    state_->committed = state_->pending;
    state_->fresh_begin = state_->pending_begin;
    state_->creating = state_->placing.creating = false;
    state_->last.reset();
    return {};
}

// ------------------------------------------------------------------------- a closed file

Result<ClosedTree> LiveImage::closing() const {
    const PlacingState& placing = state_->placing;
    if (!placing.error.ok()) return placing.error;
    const bool flushed = state_->last && state_->last->stage == Stage::done;
    const bool dropped = state_->last && state_->last->stage == Stage::dropped;
    if (state_->last && !flushed && !dropped)
        return Status{StatusCode::cancelled, "the commit before has not been flushed"};
    ClosedTree tree;
    tree.sequence = (flushed ? state_->pending : state_->committed).sequence;
    tree.end = placing.live->allocated_end;
    Overlay pages;
    if (dropped)
        for (const auto& [address, bytes] : placing.live->frozen.pieces())
            pages.write(address, bytes);
    for (const auto& [address, bytes] : placing.overlay.pieces()) pages.write(address, bytes);
    tree.pages = pages.extents(0, pages.end());
    return tree;
}

Status LiveImage::restore(const ClosedTree& tree, std::uint64_t floor) {
    PlacingState& placing = state_->placing;
    if (tree.sequence != state_->committed.sequence)
        return {StatusCode::corrupt,
                fmt::format("the closed tree builds on commit {}, and {} is committed",
                            tree.sequence, state_->committed.sequence)};
    for (const Extent& page : tree.pages) placing.overlay.write(page.address, page.bytes);
    const std::uint64_t end = std::max(tree.end, k_first_region_address);
    // To the driver the file is there, and as long as its superblock says. What lies in the file
    // stays: only a byte that nobody has written becomes 0.
    state_->creating = placing.creating = false;
    if (std::max(placing.file_bytes, placing.overlay.end()) < end) {
        const std::byte last{0};
        placing.overlay.write(end - 1, {&last, 1});
    }
    std::array<std::byte, k_superblock_bytes> front{};
    if (Status s = placing.read(0, front); !s.ok()) return s;
    if (!decode_superblock(front))
        return {StatusCode::corrupt, "the closed tree has no superblock"};
    patch_superblock(front, {end, 0});
    placing.overlay.write(0, front);
    state_->fresh_begin = placing.floor = align_up(std::max(floor, end));
    return {};
}

}  // namespace caesura::store
