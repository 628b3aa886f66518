#include "vol/captured_file.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <map>

#include "base/all_ranks.hpp"
#include "store/in_flight.hpp"
#include "store/region_writer.hpp"
#include "vol/agree.hpp"
#include "vol/block_io.hpp"
#include "vol/library_state.hpp"
#include "vol/pending_files.hpp"
#include "vol/report.hpp"
#include "vol/shutdown.hpp"

namespace caesura::vol {

CapturedFile::CapturedFile(std::unique_ptr<Communicator> communicator,
                           std::shared_ptr<const Config> config)
    : communicator_(std::move(communicator)), config_(std::move(config)) {}

namespace {

/// Where the configuration has no memory_bytes: what waits on a rank for the next collective.
constexpr std::uint64_t k_waiting_bytes = 256u << 20;
/// Likewise, where chunks that are full would wait for those that come.
constexpr std::uint64_t k_full_bytes = 16u << 20;

/// The same on all ranks: the Writer's own default is another on each.
std::uint64_t most_waiting_bytes(const Config& config) {
    // Half of it, while what has been handed over before is compressed and written.
    return config.memory_bytes > 0 ? config.memory_bytes / 2 : k_waiting_bytes;
}

/// What is learned of an application goes from file to file of the same ranks, and so do the pages
/// that hold copies of its data. Never destroyed: lanes may end after our statics.
std::shared_ptr<writer::Experience> experience_of(
    const Ranks& members, const Config& config,
    const std::shared_ptr<writer::Transport>& transport) {
    using Key = std::pair<Ranks, writer::Transport*>;
    static auto& known = *new std::map<Key, std::shared_ptr<writer::Experience>>;
    const auto make = [&] {
        auto made = std::make_shared<writer::Experience>(pending_files::most_bytes(config));
        if (transport != nullptr) made->use(transport);
        return made;
    };
    if (members.empty()) return make();
    auto& experience = known[Key(members, transport.get())];
    if (experience == nullptr) experience = make();
    return experience;
}

}  // namespace

/// After MPI_Finalize nothing can be agreed on any more. HDF5 closes itself before (trap 4), from
/// its own callback on MPI_COMM_SELF, and what is pending is completed before that.
Status CapturedFile::can_communicate() const {
    if (is_forked())
        return {StatusCode::cancelled,
                fmt::format("{}: this process was forked after the file was opened", name_)};
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0 || !shared()) return {};
    return {StatusCode::cancelled,
            fmt::format("{}: MPI has been finalized; close the file before MPI_Finalize", name_)};
}

Status CapturedFile::write_fill() {
    const auto fill = image_->take_fill();
    if (fill == nullptr) return {};  // on all ranks alike
    const bool writes = communicator_->rank() == 0;
    Status mine = writes ? fill->write(shared_file_->file()) : Status{};
    const Status all = tell(*communicator_, {}, mine);
    if (all.ok() && !writes) fill->mark_written();
    return all.with_context(name_ + ": fill values");
}

Status CapturedFile::write_raw() {
    if (auto raw = image_->take_raw()) unwritten_.push_back(std::move(raw));
    // In the order taken; what fails stays, and is tried again by the next call.
    while (!unwritten_.empty()) {
        if (Status status = unwritten_.front()->write(shared_file_->file()); !status.ok())
            return status.with_context(fmt::format("{}: rank {}", name_, communicator_->rank()));
        unwritten_.erase(unwritten_.begin());
    }
    return {};
}

BlockIo& CapturedFile::local_blocks() {
    if (blocks_ == nullptr)
        blocks_ = BlockIo::make({communicator_, *ledger_, *tree_, config_,
                                 experience_of(members_, *config_, transport_),
                                 durability_ == Durability::durable, alone_, &named_coordinates});
    return *blocks_;
}

Result<BlockIo*> CapturedFile::blocks() {
    if (Status status = local_blocks().start(); !status.ok()) return status;
    return blocks_.get();
}

// Is there a Writer? The same answer on all ranks, after what one of them has found in the file is
// known to all. `mine` takes this rank's error.
Result<bool> CapturedFile::have_blocks(const NativeObject& through, Status& mine) {
    if (may_hold_blocks_) {
        Status united = local_blocks().unite(through);
        if (!united.ok() && !blocks_->started()) return united;
        if (mine.ok()) mine = std::move(united);
    }
    return blocks_ != nullptr && blocks_->started();
}

Status CapturedFile::drain() {
    if (Status status = can_communicate(); !status.ok()) return status;
    written_together_.clear();
    return agree(*communicator_, write_raw());
}

Status CapturedFile::before_writing_together(std::span<const H5O_token_t> datasets) {
    const bool again = std::any_of(datasets.begin(), datasets.end(), [&](const auto& token) {
        return written_together_.contains(key_of_token(token));
    });
    if (again)
        if (Status status = drain(); !status.ok()) return status;
    for (const H5O_token_t& token : datasets) written_together_.insert(key_of_token(token));
    return {};
}

Status CapturedFile::settle(const NativeObject& through) {
    Status mine;
    if (Status status = drain(); !status.ok()) return status;
    if (auto have = have_blocks(through, mine); !have.ok() || !*have) return have.status();
    const auto pending = blocks_->anything_pending(mine);
    if (!pending.ok() || !*pending) return pending.status();
    waiting_together_ = 0;
    return blocks_->flush(through, mine).with_context(name_);
}

Status CapturedFile::flush_from(const NativeObject& through) {
    if (Status others = pending_files::advance({communicator_.get(), members_}, 0); !others.ok())
        return others;
    Status mine;
    if (flush_native(through) < 0)
        mine = store::hdf5_error(StatusCode::internal, name_ + ": flushing the image");
    return commit(through, false, mine);
}

Status CapturedFile::settle_alone(const NativeObject& through, std::string_view call) {
    if (!shared()) return settle(through);
    if (blocks_ == nullptr || !blocks_->may_wait()) return {};
    return {
        StatusCode::unsupported,
        fmt::format("{}: {}: rank {} asks by itself, and values of this file wait that only all "
                    "its ranks can write: let all of them call H5Fflush before",
                    name_, call, communicator_->rank())};
}

Status CapturedFile::relieve_together(const NativeObject& through, std::uint64_t bytes) {
    waiting_together_ += bytes;
    const std::uint64_t limit = most_waiting_bytes(*config_);
    // All of a dataset may be much more than was written. Blocks that are handed over in part are
    // compressed again, and without loss: so this is asked before.
    return waiting_together_ < limit ? Status{} : hand_over_above(limit, through);
}

Status CapturedFile::before_growing(const NativeObject& through, bool full) {
    const std::uint64_t limit = most_waiting_bytes(*config_);
    return hand_over_above(full ? std::min(limit, k_full_bytes) : limit, through);
}

Status CapturedFile::hand_over_above(std::uint64_t bytes, const NativeObject& through) {
    const auto all = base::from_all(*communicator_, blocks_ ? blocks_->waiting_bytes() : 0);
    if (!all.ok()) return all.status();
    waiting_together_ = *std::max_element(all->begin(), all->end());
    return waiting_together_ < bytes ? Status{} : hand_over(through);
}

Status CapturedFile::hand_over(const NativeObject& through) {
    waiting_together_ = 0;
    Status mine = write_raw();
    if (auto have = have_blocks(through, mine); !have.ok() || !*have)
        return have.ok() ? mine : have.status();
    return blocks_->hand_over(through, mine).with_context(name_);
}

Status CapturedFile::check_alike(const Status& mine) {
    if (!shared()) return mine;
    if (Status all = agree(*communicator_, mine); !all.ok()) return all;
    const auto found = base::from_all(*communicator_, image_->end());
    if (!found.ok()) return found.status();
    const std::vector<std::uint64_t>& ends = *found;
    for (std::size_t rank = 0; rank < ends.size(); ++rank)
        if (ends[rank] != ends[0])
            return {StatusCode::invalid_argument,
                    fmt::format("{}: rank {} has not made the same calls as rank 0 (ends {} and "
                                "{}): what changes groups, attributes, types or the size of "
                                "datasets must be called by all ranks",
                                name_, rank, ends[rank], ends[0])};
    return {};
}

Status CapturedFile::commit(const NativeObject& through, bool last, Status mine) {
    if (Status status = can_communicate(); !status.ok()) return status;
    if (!failed_.ok()) return failed_;
    const auto have = have_blocks(through, mine);
    if (!have.ok()) return fail_for_good(have.status());
    uncommitted_ = commit_with(*have, through, last, mine);
    if (uncommitted_.ok()) given_up_ = false;
    return uncommitted_;
}

/// @param blocks  as have_blocks() has just said: asking is collective.
Status CapturedFile::commit_with(bool blocks, const NativeObject& through, bool last, Status mine) {
    if (!failed_.ok()) return failed_;
    const bool durable = durability_ == Durability::durable;
    // 1. Every rank's own bytes; only then may metadata that name them be seen.
    if (mine.ok()) mine = write_raw();
    if (mine.ok() && durable) mine = shared_file_->file().sync();
    if (blocks) return commit_blocks(through, last, mine);
    if (blocks_ != nullptr) blocks_->release();  // found, and not written to
    if (Status all = check_alike(mine); !all.ok()) return all;
    // 2. The same image on all ranks, of which one rank's goes to the file.
    tree_->go_through(through);
    mine = ledger_->build(last);
    tree_->go_through({});
    if (mine.ok() && ledger_->flush_due()) mine = ledger_->flush();
    Status all = agree(*communicator_, mine.with_context(name_));
    if (all.ok()) all = agree(*communicator_, ledger_->settle());
    if (all.ok() && shared()) all = ledger_->agree_on_end();
    return all.ok() ? all : fail_for_good(all);
}

Status CapturedFile::commit_blocks(const NativeObject& through, bool last, const Status& mine) {
    waiting_together_ = 0;
    const Status all = last ? blocks_->close(through, mine) : blocks_->flush(through, mine);
    blocks_->release();
    if (!all.ok()) return fail_for_good(all.with_context(name_));
    if (last) end_blocks(Completed::by_close);
    return {};
}

Status CapturedFile::commit_from(const Object& object, long references) {
    const NativeObject through{object.under, object.kind};
    Status mine;
    if (flush_native(through) < 0)
        mine = store::hdf5_error(StatusCode::internal, name_ + ": flushing the image");
    return commit(through, weak_from_this().use_count() <= references, mine);
}

namespace {

/// Does it alone keep a file open?
bool is_last_of(const Object& object) {
    return object.file != nullptr && object.file->uses() == 0 && object.file.use_count() == 1;
}

}  // namespace

Status CapturedFile::before_close(const Object& object) {
    if (!is_last_of(object)) return {};
    return object.file->commit_from(object, 1);
}

std::unique_ptr<Object> CapturedFile::keep_for_deletion(const Object& object) {
    // A flush looks at all datasets that the library lists, and a type holds nothing.
    const bool may_hold_links = object.kind == H5I_GROUP || object.kind == H5I_ATTR;
    if (!may_hold_links || !is_last_of(object)) return nullptr;
    const KeepErrors keep;
    const NativeObject native{object.under, object.kind};
    const auto links = links_of(native);
    if (!links.ok() || *links > 0) return nullptr;
    auto root = object_near(object, H5I_GROUP);
    root->under = open_root_of(native);
    return root->under == nullptr ? nullptr : std::move(root);
}

/// All that can be lost here is the deletion, and the application's object is closed already: an
/// error is told as a loss.
void CapturedFile::close_last(std::unique_ptr<Object> root) {
    const KeepErrors keep;
    (void)before_close(*root);
    H5VLgroup_close(root->under, root->connector, H5P_DATASET_XFER_DEFAULT, nullptr);
}

}  // namespace caesura::vol
