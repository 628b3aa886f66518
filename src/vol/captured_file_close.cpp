// How a captured file is closed: at once, or its last blocks are left to the lanes and it is
// completed by a later call (vol/pending_files.hpp).
//
// Invariant: a file that one process has for itself is locked by it until it is complete.
#include <fmt/format.h>

#include <algorithm>

#include "base/all_ranks.hpp"
#include "base/file.hpp"
#include "store/closed_tree.hpp"
#include "store/in_flight.hpp"
#include "store/recover.hpp"
#include "store/region_format.hpp"
#include "store/region_writer.hpp"
#include "vol/agree.hpp"
#include "vol/block_io.hpp"
#include "vol/captured_file.hpp"
#include "vol/library_state.hpp"
#include "vol/losses.hpp"
#include "vol/other_process.hpp"
#include "vol/report.hpp"
#include "vol/shutdown.hpp"

namespace caesura::vol {

/// Nothing is committed any more, of what came since the last commit and of what comes.
Status CapturedFile::fail_for_good(const Status& why) {
    failed_ = why;
    give_up(why);
    return failed_;
}

/// Blocks stay: the application may still read what it has written.
void CapturedFile::give_up(const Status& why, GivenUp how, bool alone) {
    if (blocks_ == nullptr) return losses::give_up(this, how, why, {}, {}, alone);
    losses::give_up(this, how, why, blocks_->uncommitted(), blocks_->report(), alone);
}

/// After the Writer's last collective call, which has committed everything.
void CapturedFile::end_blocks(Completed completed) {
    report_blocks({config_, name_, *communicator_}, blocks_->report(),
                  completed != Completed::by_close);
    losses::forget(this);
    // Nothing is in flight any more. If it stays, the next opening looks once too often. The mark
    // is gone with the commit, if there was one left to make.
    if (communicator_->rank() == 0 && completed != Completed::by_thread) {
        (void)store::unmark_in_flight(shared_file_->file());
        (void)store::clear_closed_tree(shared_file_->file());
    }
    tree_->forget_datasets();
    blocks_.reset();
}

/// Objects that were left open, and what of the runtime is still there, may differ from rank to
/// rank: the answer must not. `last`, which becomes the same too: nothing uses the file any more.
Result<CapturedFile::Closing> CapturedFile::put_off(bool unused, bool& last) {
    struct Vote {
        std::uint64_t node;
        std::uint8_t last, unused, may, waiting;
    };
    // Decision D38: what one process makes and closes is there for all; what it opens again for
    // writing it will open once more.
    const bool is_shown = alone_ && (!was_there_ || !completer::is_there());
    const bool may =
        durability_ == Durability::close && !is_shown && !members_.empty() && may_put_off();
    static const std::uint64_t node = message::node_number();
    const Vote mine{node, last, unused, may, blocks_->anything_pending_here()};
    const auto all = base::from_all(*communicator_, mine);
    if (!all.ok()) return all.status();
    bool off = true, waiting = false;
    Closing closing;
    for (const Vote& vote : *all) {
        closing.several_nodes |= vote.node == 0 || vote.node != all->front().node;
        last = last && vote.last != 0;
        off = off && vote.unused != 0 && vote.may != 0;
        waiting = waiting || vote.waiting != 0;
    }
    closing.off = off && waiting;
    return closing;
}

/// What `recover` needs to make the commit if the run dies before it does. Rank 0.
Status CapturedFile::write_closed_tree() {
    auto tree = image_->closing();
    if (!tree.ok()) return tree.status();
    std::uint64_t bytes = 0;
    for (const store::Extent& page : tree->pages) bytes += page.bytes.size();
    // Beyond all that comes before or with the commit: blocks without room, its metadata, its
    // journal. A hole, which the commit cuts off.
    tree->address = store::align_up(std::max(image_->end(), blocks_->spill_end()) + 8 * bytes +
                                    store::k_least_hole_bytes);
    tree->first_dump = ledger_->book().committed();
    tree->dumps_end = ledger_->book().next_dump();
    return store::write_closed_tree(*shared_file_, *tree).status();
}

/// Rank 0: from now on ranks may tell that their blocks lie in the file.
Hearer CapturedFile::begin_completion(bool several_nodes) {
    const auto unlock = [file = shared_file_->keep()] { file->unlock(); };
    completion_ = completer::begin(
        {*shared_file_, ranks(), durability_ == Durability::durable, unlock}, several_nodes);
    if (completion_ == nullptr) return {};
    return {completer::address(), completion_->number()};
}

/// @return  false: it was not possible after all, and nothing is lost. The same on all ranks.
Result<bool> CapturedFile::begin_close(const NativeObject& through, const Closing& closing,
                                       Status mine) {
    if (mine.ok()) mine = write_raw();
    pending_bytes_ = blocks_->held_bytes();
    const Status begun = blocks_->pause(through, mine);
    blocks_->release();
    if (!begun.ok()) return fail_for_good(begun.with_context(name_));
    // A commit on the way may have left something in the library.
    mine = flush_native(through) < 0
               ? store::hdf5_error(StatusCode::internal, name_ + ": flushing the image")
               : Status{};
    // A disk that refuses it has an error for the blocks too: told when they are due.
    const bool commits = communicator_->rank() == 0;
    const bool can_be_completed = mine.ok() && commits && write_closed_tree().ok();
    // Trap 11: a file that was committed before opens, and lacks what the lanes are at.
    if (mine.ok() && commits) mine = store::mark_in_flight(*shared_file_);
    hearer_ = {};
    if (mine.ok() && can_be_completed) hearer_ = begin_completion(closing.several_nodes);
    return tell(*communicator_, std::as_writable_bytes(std::span(&hearer_, 1)), mine).ok();
}

Result<CapturedFile::Ended> CapturedFile::end(const Object& file, long references) {
    const NativeObject through{file.under, file.kind};
    if (given_up_) {
        give_up(uncommitted_);
        if (blocks_ != nullptr) blocks_->release();  // what reads have opened since
        return Ended::complete;
    }
    Status mine;
    if (flush_native(through) < 0)
        mine = store::hdf5_error(StatusCode::internal, name_ + ": flushing the image");
    const bool unused = weak_from_this().use_count() <= references;
    bool last = unused || close_degree_ == H5F_CLOSE_STRONG;
    bool off = false;
    bool have = false;
    Status all = can_communicate();
    if (all.ok() && failed_.ok()) {
        const auto found = have_blocks(through, mine);
        all = found.status();
        have = found.ok() && *found;
    }
    if (all.ok() && have) {
        const auto agreed = put_off(unused, last);
        all = agreed.status();
        if (all.ok() && agreed->off) {
            const auto begun = begin_close(through, *agreed, mine);
            all = begun.status();
            off = all.ok() && *begun;
        }
    }
    if (all.ok() && !off) all = commit_with(have, through, last, mine);
    uncommitted_ = all;
    given_up_ = !all.ok();
    if (!all.ok()) return all;
    if (!off) {
        // The rank that returns first may make the file anew by itself, which others' locks forbid.
        if (last) shared_file_->file().unlock();
        if (Status s = shared() ? communicator_->barrier() : Status{}; !s.ok()) return s;
        return Ended::complete;
    }
    kept_ = file.under;
    leave_open_files();
    stay_pending();
    return Ended::pending;
}

// ------------------------------------------------------------------------- after the close

bool CapturedFile::may_go_on(const std::string& name, hid_t access) const {
    return alone_ && name == name_ && kept_ != nullptr && !finished() &&
           H5Pequal(access, access_.get()) > 0;
}

bool CapturedFile::take_back() {
    (void)blocks_->take_back_call();  // the lane gets another call at the next close
    return completion_ == nullptr || completion_->take_back();
}

void CapturedFile::stay_pending() {
    blocks_->forget_types();
    losses::set_pending(this, blocks_->uncommitted(), [this] {
        if (is_complete()) return losses::Progress::complete;
        return blocks_->has_written_all() ? losses::Progress::written : losses::Progress::begun;
    });
    if (completion_ != nullptr)
        blocks_->when_written([to = completion_, rank = rank()] { to->heard(rank); });
    else if (hearer_.number != 0)
        blocks_->when_written([to = hearer_, rank = rank(), file = shared_file_->keep()] {
            // If it is not heard, the next call completes the file.
            (void)message::tell(to.address, {to.number, static_cast<std::uint64_t>(rank)});
            file->unlock();
        });
}

/// What lies behind all that is reserved was for `recover` alone, and other things come there. The
/// file stays marked until the next commit: it lacks what had been closed.
Status CapturedFile::cut_closed_tree() {
    base::File& file = shared_file_->file();
    if (Status status = store::mark_open(*shared_file_); !status.ok()) return status;
    const std::uint64_t end = std::max(image_->end(), ledger_->book().file_end());
    const auto bytes = file.size();
    if (!bytes.ok() || *bytes <= end) return bytes.status();
    return file.truncate(end);
}

Result<void*> CapturedFile::go_on() {
    completion_.reset();
    hearer_ = {};
    Status status = blocks_->go_on();
    if (status.ok()) status = cut_closed_tree();
    if (!status.ok()) return status.with_context(name_);
    void* const under = std::exchange(kept_, nullptr);
    goes_on_ = true;
    losses::set_open(this);
    join_open_files();
    begin_use(under);
    return under;
}

std::uint64_t CapturedFile::held_bytes() const {
    return blocks_ == nullptr ? 0 : blocks_->held_bytes();
}

bool CapturedFile::finished() const {
    return blocks_->finished() && (completion_ == nullptr || !completion_->at_work());
}

bool CapturedFile::is_complete() const {
    const auto closed = hearer_.number != 0 ? store::is_closed(shared_file_->file()) : true;
    return closed.ok() && !*closed;
}

Status CapturedFile::wait_until_completed() const {
    Patience patience;
    for (bool waits = hearer_.number != 0; waits; waits = patience.wait()) {
        if (is_complete()) return {};
        if (completion_ != nullptr && completion_->has_failed()) return completion_->outcome();
    }
    return {StatusCode::unsupported,
            fmt::format("{}: was closed by {} ranks and is still being written, and not all of "
                        "these make this call: open it with all of them first, or let H5Fclose "
                        "wait, with durability = \"durable\" (or \"complete\") in the "
                        "connector's configuration",
                        name_, ranks())};
}

Status CapturedFile::abandon(const Status& why) {
    if (is_complete()) {
        losses::forget(this);
        return {};
    }
    const bool written = blocks_->has_written_all();
    give_up(why, written ? GivenUp::for_recover : GivenUp::lost, !written);
    return why;
}

/// All ranks' blocks lie in the file, and the thread has made the commit: nothing is left to
/// commit. If its commit failed, it is tried once more, by the application's HDF5. Collective; the
/// same on all ranks.
/// @return  how long ago; nothing: a rank's blocks do not lie there, and the thread never commits.
Result<std::optional<double>> CapturedFile::completed_since() {
    if (hearer_.number == 0) return std::optional<double>();
    const std::uint8_t mine_lie_there = blocks_->wait_for_call() ? 1 : 0;
    const auto lie_there = base::from_all(*communicator_, mine_lie_there);
    if (!lie_there.ok()) return lie_there.status();
    double since_s = -1.0;
    Status mine;
    if (completion_ != nullptr && completion_->ends_with(*lie_there)) {
        since_s = completion_->since_s();
        mine = completion_->outcome();
        if (!mine.ok())
            mine = store::complete_closed(*shared_file_, durability_ == Durability::durable);
    }
    if (Status all = tell(*communicator_, std::as_writable_bytes(std::span(&since_s, 1)), mine);
        !all.ok())
        return all;
    return since_s < 0.0 ? std::optional<double>() : since_s;
}

Status CapturedFile::complete() {
    const KeepErrors keep;
    const LibraryState state;
    const NativeObject through{kept_, H5I_FILE};
    Status all = can_communicate();
    std::optional<double> since_s;
    if (all.ok()) {
        const auto found = completed_since();
        all = found.status();
        if (found.ok()) since_s = *found;
    }
    if (all.ok()) all = since_s ? blocks_->close_completed(*since_s) : blocks_->close(through, {});
    blocks_->release();
    if (all.ok())
        end_blocks(since_s ? Completed::by_thread : Completed::by_later_call);
    else
        (void)fail_for_good(all.with_context(name_));
    const herr_t closed =
        H5VLfile_close(kept_, native_connector(), H5P_DATASET_XFER_DEFAULT, nullptr);
    forget_wrapper_of(std::exchange(kept_, nullptr));
    if (closed < 0 && all.ok())
        all = store::hdf5_error(StatusCode::internal, name_ + ": closing its image");
    return all;
}

}  // namespace caesura::vol
