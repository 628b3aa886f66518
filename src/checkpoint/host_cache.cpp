#include "checkpoint/host_cache.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.hpp"

namespace caesura::checkpoint {
namespace {

// A batch is a dump of the store: large enough for a write to be worth its sync, small enough that
// little is lost with the one that was in flight.
constexpr std::uint64_t k_batch_bytes = 64u << 20;
// Reading ahead looks so far.
constexpr std::size_t k_ahead_parcels = 64;

double now_s() { return base::Clock::steady().now_s(); }

}  // namespace

HostCache::~HostCache() {
    if (!options_.store) return;
    if (batch_ && batch_->ticket != 0) background_.wait(batch_->ticket);
    if (commit_ticket_ != 0) background_.wait(commit_ticket_);
    note_done();
    commit_if_due(0.0);
}

std::vector<CheckpointStore::Kept> HostCache::begin() {
    if (!options_.store) return {};
    std::vector<CheckpointStore::Kept> kept = options_.store->kept();
    for (const CheckpointStore::Kept& one : kept) {
        Parcel parcel;
        parcel.ids = {one.id};
        parcel.compressed = one.compressed;
        parcel.written = true;
        parcel.where = Where::store;
        parcel.size = one.bytes;
        parcels_.push_back(std::move(parcel));
    }
    evicted_ = unwritten_ = parcels_.size();
    committed_at_s_ = now_s();
    return kept;
}

std::size_t HostCache::add(Arrived&& arrived) {
    Parcel parcel;
    parcel.ids = std::move(arrived.ids);
    parcel.compressed = arrived.compressed;
    parcel.bytes = std::move(arrived.bytes);
    parcel.size = parcel.bytes.size();
    arrived_bytes_ += parcel.size;
    unwritten_bytes_ += parcel.size;
    parcels_.push_back(std::move(parcel));
    return parcels_.size() - 1;
}

// ------------------------------------------------------------------------------------ to the store

void HostCache::advance() {
    if (!options_.store) return;
    note_done();
    write_oldest(options_.write_beyond_bytes);
    commit_if_due(options_.commit_every_s);
}

void HostCache::note_done() {
    for (Background::Done& done : background_.take_done()) {
        if (batch_ && batch_->ticket == done.ticket) {
            note_written(done.status);
        } else if (commit_ticket_ == done.ticket) {
            commit_ticket_ = 0;
            commit_trouble_ = std::move(done.status);
        } else {
            for (const std::size_t copy : copies_) {
                Parcel& parcel = parcels_[copy];
                if (parcel.where != Where::coming || parcel.ticket != done.ticket) continue;
                // Who asks for it reads it again, and gets the error.
                parcel.where = done.status.ok() ? Where::memory : Where::store;
                if (!done.status.ok()) forget_bytes(parcel);
                break;
            }
            std::erase_if(copies_, [&](std::size_t i) { return !parcels_[i].is_copy; });
        }
    }
}

void HostCache::note_written(const Status& status) {
    write_trouble_ = status;
    if (!status.ok()) {
        batch_->ticket = 0;
        return;
    }
    for (std::size_t i = batch_->first; i < batch_->end; ++i) {
        parcels_[i].written = true;
        report_.written_bytes += parcels_[i].size;
    }
    batch_.reset();
    uncommitted_ = true;
}

/// One batch at a time: what comes meanwhile goes together with the next.
void HostCache::write_oldest(std::uint64_t beyond_bytes) {
    if (batch_) {
        if (batch_->ticket == 0 && beyond_bytes == 0) give_batch();
        return;
    }
    if (unwritten_ == parcels_.size() || unwritten_bytes_ <= beyond_bytes) return;
    Batch batch{unwritten_, unwritten_, {}, 0};
    std::uint64_t bytes = 0;
    std::vector<CheckpointStore::Parcel> views;
    while (batch.end < parcels_.size() && (views.empty() || bytes < k_batch_bytes) &&
           unwritten_bytes_ > beyond_bytes) {
        const Parcel& parcel = parcels_[batch.end++];
        views.push_back({parcel.ids, parcel.compressed, parcel.bytes});
        bytes += parcel.size;
        unwritten_bytes_ -= parcel.size;
    }
    unwritten_ = batch.end;
    Result<CheckpointStore::Work> work = options_.store->place(views);
    if (!work.ok()) {
        write_trouble_ = work.status();
        unwritten_ = batch.first;
        unwritten_bytes_ += bytes;
        return;
    }
    batch.work = *std::move(work);
    batch_ = std::move(batch);
    give_batch();
}

void HostCache::give_batch() {
    const Result<std::uint64_t> ticket = background_.give(batch_->work);
    if (ticket.ok())
        batch_->ticket = *ticket;
    else
        write_trouble_ = ticket.status();
}

void HostCache::commit_if_due(double every_s) {
    if (!uncommitted_ || commit_ticket_ != 0 || now_s() - committed_at_s_ < every_s) return;
    committed_at_s_ = now_s();
    Result<CheckpointStore::Work> work = options_.store->commit();
    commit_trouble_ = work.status();
    if (!work.ok()) return;
    // Only the store knows whether this is all: it may be an earlier commit, tried again.
    uncommitted_ = static_cast<bool>(*work);
    if (!uncommitted_) return;
    const Result<std::uint64_t> ticket = background_.give(*std::move(work));
    commit_trouble_ = ticket.status();
    if (ticket.ok()) commit_ticket_ = *ticket;
}

Status HostCache::wait_for_batch() {
    if (!batch_ || batch_->ticket == 0) return write_trouble_;
    const double begin_s = now_s();
    background_.wait(batch_->ticket);
    report_.waited_s += now_s() - begin_s;
    note_done();
    return batch_ ? write_trouble_ : Status{};
}

Status HostCache::make_room(std::uint64_t bytes) {
    if (!options_.store) return {};
    note_done();
    while (arrived_bytes_ + bytes > options_.room_bytes) {
        if (evicted_ < parcels_.size() && parcels_[evicted_].written &&
            parcels_[evicted_].pins == 0) {
            forget_bytes(parcels_[evicted_++]);
            continue;
        }
        if (evicted_ == parcels_.size() || parcels_[evicted_].pins > 0)
            return {StatusCode::internal,
                    fmt::format("{} bytes wanted beside {} that cannot leave, of {}", bytes,
                                arrived_bytes_, options_.room_bytes)};
        write_oldest(0);
        if (Status status = wait_for_batch(); !status.ok()) return status;
    }
    advance();
    return {};
}

Status HostCache::save() {
    if (!options_.store)
        return {StatusCode::invalid_argument,
                "save without a file: give CheckpointerOptions a store"};
    note_done();
    while (batch_ || unwritten_ < parcels_.size()) {
        write_oldest(0);
        if (Status status = wait_for_batch(); !status.ok()) return status;
    }
    return commit_all();
}

Status HostCache::commit_all() {
    while (commit_ticket_ != 0 || uncommitted_) {
        const bool is_new = commit_ticket_ == 0;  // else it is of before the last batch
        commit_if_due(0.0);
        if (commit_ticket_ == 0) return commit_trouble_;
        background_.wait(commit_ticket_);
        note_done();
        if (is_new && !commit_trouble_.ok()) return commit_trouble_;
    }
    return {};
}

HostCacheReport HostCache::report() const {
    HostCacheReport report = report_;
    report.trouble = write_trouble_.ok() ? commit_trouble_ : write_trouble_;
    return report;
}

// ------------------------------------------------------------------------------------ and back

Result<std::span<const std::byte>> HostCache::pin(std::size_t index) {
    Parcel& parcel = parcels_[index];
    if (parcel.where == Where::coming) {
        const double begin_s = now_s();
        background_.wait(parcel.ticket);
        report_.waited_s += now_s() - begin_s;
        note_done();
    }
    if (parcel.where == Where::store) {
        (void)make_back_room(parcel.size, index, index);
        if (Status status = read_now(parcel); !status.ok()) return status;
        copies_.push_back(index);
    }
    ++parcel.pins;
    return std::span<const std::byte>(parcel.bytes);
}

void HostCache::unpin(std::size_t parcel) { --parcels_[parcel].pins; }

Status HostCache::read_now(Parcel& parcel) {
    const double begin_s = now_s();
    HostBytes bytes(parcel.size);
    Status status = options_.store->read(parcel.ids, parcel.compressed, bytes.span());
    report_.waited_s += now_s() - begin_s;
    if (!status.ok()) return status;
    parcel.bytes = std::move(bytes);
    parcel.where = Where::memory;
    parcel.is_copy = true;
    back_bytes_ += parcel.size;
    ++report_.reads;
    return {};
}

void HostCache::read_ahead(std::size_t parcel, std::ptrdiff_t step) {
    if (!options_.store) return;
    advance();
    std::uint64_t sum = parcels_[parcel].is_copy ? parcels_[parcel].size : 0;
    std::size_t next = parcel;
    for (std::size_t n = 0; n < k_ahead_parcels; ++n) {
        next += static_cast<std::size_t>(step);
        if (next >= parcels_.size()) return;  // before the first, too: it has wrapped
        Parcel& wanted = parcels_[next];
        sum += wanted.size;
        if (sum > options_.ahead_bytes) return;
        if (wanted.where != Where::store) continue;
        if (!make_back_room(wanted.size, std::min(parcel, next), std::max(parcel, next))) return;
        HostBytes bytes(wanted.size);
        // While this one is read and looked at, the disk is at the one behind it.
        const std::size_t behind = next + static_cast<std::size_t>(step);
        const bool follows = behind < parcels_.size() && parcels_[behind].where == Where::store;
        const auto job = [store = options_.store, ids = wanted.ids, compressed = wanted.compressed,
                          room = bytes.span(),
                          ids_behind = follows ? parcels_[behind].ids : decltype(wanted.ids)()] {
            if (!ids_behind.empty()) store->will_read(ids_behind);
            return store->read(ids, compressed, room);
        };
        const Result<std::uint64_t> ticket = background_.give(job);
        if (!ticket.ok()) return;  // it is read when it is asked for
        wanted.ticket = *ticket;
        wanted.bytes = std::move(bytes);
        wanted.where = Where::coming;
        wanted.is_copy = true;
        back_bytes_ += wanted.size;
        copies_.push_back(next);
        ++report_.reads;
        ++report_.read_ahead;
    }
}

/// Copies outside [from, to] leave until there is room; false if that is not enough.
bool HostCache::make_back_room(std::uint64_t bytes, std::size_t from, std::size_t to) {
    for (std::size_t i = 0; i < copies_.size() && back_bytes_ + bytes > options_.ahead_bytes;) {
        const std::size_t copy = copies_[i];
        const bool wanted = copy >= from && copy <= to;
        if (parcels_[copy].where == Where::coming && !wanted) {
            background_.wait(parcels_[copy].ticket);
            note_done();
            i = 0;  // it may have failed, and be none any more
            continue;
        }
        if (wanted || parcels_[copy].pins > 0) {
            ++i;
            continue;
        }
        forget_bytes(parcels_[copy]);
        copies_.erase(copies_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return back_bytes_ + bytes <= options_.ahead_bytes;
}

void HostCache::forget_bytes(Parcel& parcel) {
    (parcel.is_copy ? back_bytes_ : arrived_bytes_) -= parcel.size;
    parcel.bytes = {};
    parcel.is_copy = false;
    parcel.where = Where::store;
}

}  // namespace caesura::checkpoint
