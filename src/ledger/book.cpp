#include "ledger/book.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "store/region_writer.hpp"

namespace caesura::ledger {
namespace {

constexpr std::string_view name_of(Stage stage) {
    switch (stage) {
        case Stage::writing:
            return "is being written";
        case Stage::overflowing:
            return "waits for room";
        case Stage::durable:
            return "is durable";
        case Stage::abandoned:
            return "is abandoned";
        case Stage::gathered:
            return "is gathered";
        case Stage::built:
            return "is built";
        case Stage::committed:
            break;
    }
    return "is committed";
}

Status out_of_order(std::string_view call, std::uint64_t dump, Stage stage) {
    return {StatusCode::internal,
            fmt::format("ledger: {} of dump {}, which {}", call, dump, name_of(stage))};
}

bool done(Stage stage) { return stage == Stage::durable || stage == Stage::abandoned; }

}  // namespace

Book::Book(const Opening& opening)
    : rank_(opening.rank),
      runs_ahead_(opening.runs_ahead),
      first_(opening.next_dump),
      next_(first_),
      gathered_(first_),
      built_(first_),
      committed_(first_),
      file_end_(opening.file_end),
      used_end_(opening.file_end) {
    heard_ = {first_, 0, 0, file_end_};
}

// --------------------------------------------------------------------------------- space

void Book::give_back(std::span<const Extent> extents) {
    for (const Extent& extent : extents) free_.add(extent);
}

// Where the next regions may begin. What is skipped lies behind metadata, which rank 0 writes: so
// it is rank 0's to use, and no other rank comes into that stripe.
void Book::to_next_stripe() {
    const std::uint64_t from = store::align_up(file_end_);
    file_end_ = store::align_up(file_end_, stripe_bytes_);
    if (rank_ != 0 || file_end_ == from) return;
    free_.add({from, file_end_ - from});
    reserved_bytes_ += file_end_ - from;
}

Result<Extent> Book::reserve(std::span<const std::uint64_t> bytes) {
    if (bytes.size() > 1 && !end_is_agreed_)
        return Status{StatusCode::internal, "ledger: reserve() after build() and before hear()"};
    to_next_stripe();
    Extent mine;
    for (std::size_t r = 0; r < bytes.size(); ++r) {
        if (static_cast<int>(r) == rank_) mine = {file_end_, bytes[r]};
        file_end_ += bytes[r];
    }
    reserved_bytes_ += mine.bytes;
    return mine;
}

// --------------------------------------------------------------------------------- dumps

Book::Place Book::place(std::uint64_t dump, const Extent& extent) {
    const std::uint64_t before = std::exchange(last_region_, extent.address);
    return {rank_, dump, extent.address, extent.bytes, before};
}

std::vector<Book::Place> Book::begin(std::span<const Extent> extents) {
    std::vector<Place> places;
    for (const Extent& extent : extents)
        if (extent.bytes > 0) places.push_back(place(next_, extent));
    open_.emplace_back();
    ++next_;
    return places;
}

Stage Book::stage(std::uint64_t dump) const {
    if (dump < committed_) return Stage::committed;
    if (dump < built_) return Stage::built;
    if (dump < gathered_) return Stage::gathered;
    return open_[dump - gathered_].stage;
}

Result<Book::Entry*> Book::find(std::uint64_t dump, std::string_view call) {
    if (dump >= next_)
        return Status{StatusCode::internal,
                      fmt::format("ledger: {} of dump {}, the next is {}", call, dump, next_)};
    if (dump < gathered_) return out_of_order(call, dump, stage(dump));
    return &open_[dump - gathered_];
}

Status Book::wrote(std::uint64_t dump, std::span<const Extent> tails, std::uint64_t used_end,
                   const Overflow& overflow) {
    auto found = find(dump, "wrote()");
    if (!found.ok()) return found.status();
    Entry& entry = **found;
    if (entry.stage != Stage::writing) return out_of_order("wrote()", dump, entry.stage);
    give_back(tails);
    used_end_ = std::max(used_end_, used_end);
    entry.stage = overflow.blocks == 0 ? Stage::durable : Stage::overflowing;
    if (overflow.blocks > 0)
        entry.overflow_bytes = store::align_up(
            store::region_overhead_bytes(overflow.blocks, 0) + overflow.stored_bytes,
            stripe_bytes_);
    return {};
}

Status Book::abandon(std::uint64_t dump) {
    auto found = find(dump, "abandon()");
    if (!found.ok()) return found.status();
    Entry& entry = **found;
    if (done(entry.stage)) return out_of_order("abandon()", dump, entry.stage);
    entry = {Stage::abandoned, 0};
    return {};
}

std::uint64_t Book::durable_dumps() const {
    const auto late = std::find_if(open_.begin(), open_.end(),
                                   [](const Entry& entry) { return !done(entry.stage); });
    return gathered_ + static_cast<std::uint64_t>(late - open_.begin());
}

// --------------------------------------------------------------------------------- the exchange

Statement Book::statement(std::uint64_t tree_end, bool tree_changed, bool flushed) const {
    Statement mine;
    mine.durable_dumps = durable_dumps();
    for (const Entry& entry : open_)
        if (entry.stage == Stage::overflowing) mine.overflow_bytes += entry.overflow_bytes;
    mine.used_end = used_end_;
    mine.file_end = file_end_;
    const bool lies_there = flushed && image_ == Image::flushed;
    mine.committed_dumps = lies_there ? built_ : committed_;
    mine.image_pending = image_ != Image::none && !lies_there;
    mine.tree_end = tree_end;
    mine.tree_changed = tree_changed;
    mine.spoiled = spoiled_;
    return mine;
}

bool Book::hear(std::span<const Statement> all) {
    heard_ = {next_, 0, 0, 0};
    for (std::size_t r = 0; r < all.size(); ++r) {
        const Statement& theirs = all[r];
        heard_.durable_dumps = std::min(heard_.durable_dumps, theirs.durable_dumps);
        if (static_cast<int>(r) < rank_) heard_.overflow_before += theirs.overflow_bytes;
        heard_.overflow_bytes += theirs.overflow_bytes;
        heard_.used_end = std::max({heard_.used_end, theirs.used_end, theirs.tree_end});
        tree_changed_ |= theirs.tree_changed != 0;
        spoiled_ |= theirs.spoiled != 0;
    }
    file_end_ = std::max(all[0].file_end, store::align_up(all[0].tree_end));
    end_is_agreed_ = true;
    committed_ = all[0].committed_dumps;
    image_pending_ = all[0].image_pending != 0;
    if (image_pending_) return false;
    // Rank 0's image lies in the file. A rank whose own tree has failed keeps the account going, so
    // that all ranks take the same steps. Its tree has nothing to settle.
    const bool settled = std::exchange(unsettled_, false);
    if (image_ == Image::failed) return false;
    image_ = Image::none;
    return settled;
}

std::vector<Book::Place> Book::place_overflow() {
    std::vector<Place> places;
    if (heard_.overflow_bytes == 0 || !end_is_agreed_) return places;
    to_next_stripe();
    std::uint64_t address = file_end_ + heard_.overflow_before;
    file_end_ += heard_.overflow_bytes;
    heard_.overflow_bytes = 0;
    for (std::size_t i = 0; i < open_.size(); ++i) {
        if (open_[i].stage != Stage::overflowing) continue;
        const std::uint64_t bytes = open_[i].overflow_bytes;
        places.push_back(place(gathered_ + i, {address, bytes}));
        address += bytes;
        reserved_bytes_ += bytes;
        open_[i] = {};
    }
    return places;
}

// --------------------------------------------------------------------------------- the commit

Status Book::gather(std::uint64_t until) {
    if (until > durable_dumps() || until < gathered_)
        return {StatusCode::internal,
                fmt::format("ledger: gather() of dumps [{}, {}), of which those from {} on are "
                            "not durable",
                            gathered_, until, durable_dumps())};
    open_.erase(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(until - gathered_));
    gathered_ = until;
    return {};
}

// What the tree has of itself waits for blocks that are on their way: a file that shows a dataset
// and not yet its values would look complete.
bool Book::may_build(bool trim) const {
    const bool of_itself = tree_changed_ && gathered_ == next_;
    return !spoiled_ && !image_pending_ && !unsettled_ && (gathered_ > built_ || trim || of_itself);
}

Result<std::uint64_t> Book::build(bool trim) {
    if (image_pending_ || unsettled_)
        return Status{StatusCode::internal,
                      fmt::format("ledger: build() while dumps before {} are not settled", built_)};
    if (trim) {
        file_end_ = store::align_up(heard_.used_end);
        free_.cut(file_end_);
    }
    built_ = gathered_;
    tree_changed_ = false;
    unsettled_ = true;
    end_is_agreed_ = false;
    return file_end_;
}

void Book::withdraw_build() {
    built_ = committed_;
    image_ = Image::none;
    unsettled_ = false;
}

void Book::made_image(std::uint64_t image_end) {
    image_ = Image::pending;
    file_end_ = image_end;
    used_end_ = std::max(used_end_, image_end);
}

Status Book::flushed() {
    if (image_ != Image::pending)
        return {StatusCode::internal, "ledger: flushed() without an image that is pending"};
    image_ = Image::flushed;
    return {};
}

Status Book::settle() {
    if (image_ == Image::pending || image_ == Image::failed)
        return {StatusCode::internal, "ledger: settle() before the image is flushed"};
    if (!unsettled_) return {StatusCode::internal, "ledger: settle() without a build"};
    image_ = Image::none;
    image_pending_ = unsettled_ = false;
    committed_ = built_;
    return {};
}

void Book::note_completed() {
    gathered_ = built_ = committed_ = next_;
    open_.clear();
    image_ = Image::none;
    unsettled_ = image_pending_ = tree_changed_ = false;
}

// One step of finishing everything, from what was heard last: the same on all ranks.
Step Book::next_step(const Finishing& state) const {
    const bool goes_on = !state.failed;
    if (goes_on && heard_.overflow_bytes > 0) return Step::place_overflow;
    const bool all_durable = heard_.durable_dumps == next_;
    // With everything on disk the reserved ends nobody needed are given back.
    if (heard_.durable_dumps > gathered_)
        return state.closing && goes_on && all_durable ? Step::gather_and_trim : Step::gather;
    const bool committing = image_pending_ || (tree_changed_ && goes_on) || committed_ < gathered_;
    if (committing && !state.rank_0_failed && !spoiled_) return Step::build;
    const bool too_long = runs_ahead_ || store::align_up(heard_.used_end) < file_end_;
    if (goes_on && state.closing && all_durable && !state.trimmed && next_ > first_ && too_long)
        return Step::trim;
    return Step::nothing;
}

}  // namespace caesura::ledger
