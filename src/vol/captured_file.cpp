#include "vol/captured_file.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include "vol/agree.hpp"
#include "vol/file_blocks.hpp"

namespace caesura::vol {

CapturedFile::CapturedFile(std::unique_ptr<Communicator> communicator,
                           std::shared_ptr<const Config> config)
    : communicator_(std::move(communicator)), config_(std::move(config)) {}

namespace {

/// Where the configuration has no memory_bytes: what waits on a rank for the next collective.
constexpr std::uint64_t k_waiting_bytes = 256u << 20;

/// After MPI_Finalize nothing can be agreed on any more. HDF5 closes itself before (trap 4), from
/// its own callback on MPI_COMM_SELF, and nothing of ours is put off beyond a call.
Status can_communicate(const Communicator& communicator, const std::string& name) {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0 || communicator.size() == 1) return {};
    return {StatusCode::cancelled,
            fmt::format("{}: MPI has been finalized; close the file before MPI_Finalize", name)};
}

}  // namespace

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

Result<FileBlocks*> CapturedFile::blocks() {
    if (blocks_ == nullptr) {
        auto made = FileBlocks::make({communicator_, *shared_file_, *image_, config_});
        if (!made.ok()) return made.status();
        blocks_ = std::move(*made);
    }
    return blocks_.get();
}

Status CapturedFile::drain() {
    if (Status status = can_communicate(*communicator_, name_); !status.ok()) return status;
    return agree(*communicator_, write_raw());
}

Status CapturedFile::settle(const NativeObject& through) {
    if (Status status = drain(); !status.ok() || blocks_ == nullptr) return status;
    const auto pending = blocks_->anything_pending();
    if (!pending.ok() || !*pending) return pending.status();
    waiting_together_ = 0;
    return blocks_->flush(through, {}).with_context(name_);
}

Status CapturedFile::relieve_together(const NativeObject& through, std::uint64_t bytes) {
    // Half of it may wait, while what has been handed over before is compressed and written. The
    // Writer's own default is another on every rank, and all must decide alike.
    const std::uint64_t limit =
        config_->memory_bytes > 0 ? config_->memory_bytes / 2 : k_waiting_bytes;
    waiting_together_ += bytes / static_cast<std::uint64_t>(ranks());
    if (blocks_ == nullptr || waiting_together_ < limit) return {};
    waiting_together_ = 0;
    return blocks_->hand_over(through, write_raw()).with_context(name_);
}

Status CapturedFile::check_alike(const Status& mine) {
    if (!shared()) return mine;
    std::uint64_t end = image_->end();
    const Status all = agree(*communicator_, mine);
    if (!all.ok()) return all;
    std::vector<std::uint64_t> ends(static_cast<std::size_t>(communicator_->size()));
    if (Status status = communicator_->allgather(std::as_bytes(std::span(&end, 1)),
                                                 std::as_writable_bytes(std::span(ends)));
        !status.ok())
        return status;
    for (std::size_t rank = 0; rank < ends.size(); ++rank)
        if (ends[rank] != ends[0])
            return {StatusCode::invalid_argument,
                    fmt::format("{}: rank {} has not made the same calls as rank 0 (ends {} and "
                                "{}): what changes groups, attributes, types or the size of "
                                "datasets must be called by all ranks",
                                name_, rank, ends[rank], ends[0])};
    return {};
}

Status CapturedFile::commit(const NativeObject& through, bool last) {
    if (Status status = can_communicate(*communicator_, name_); !status.ok()) return status;
    if (!failed_.ok()) return failed_;
    const bool durable = config_->durability == Durability::durable;
    // 1. Every rank's own bytes; only then may metadata that name them be seen.
    Status mine = write_raw();
    if (mine.ok() && durable) mine = shared_file_->file().sync();
    if (blocks_ != nullptr) return commit_blocks(through, last, mine);
    if (Status all = check_alike(mine); !all.ok()) return all;
    // 2. The same image on all ranks, of which one rank's goes to the file.
    auto image = image_->commit({}, regions_end_, last);
    mine = image.ok() ? Status{} : image.status();
    if (mine.ok() && communicator_->rank() == 0) mine = image->flush(*shared_file_, durable);
    Status all = agree(*communicator_, mine.with_context(name_));
    if (all.ok()) all = agree(*communicator_, image_->committed());
    if (!all.ok()) failed_ = all;
    return all;
}

Status CapturedFile::commit_blocks(const NativeObject& through, bool last, const Status& mine) {
    waiting_together_ = 0;
    Status all = last ? blocks_->close(through, mine) : blocks_->flush(through, mine);
    blocks_->release();
    if (last) blocks_.reset();
    if (!all.ok()) failed_ = all.with_context(name_);
    return failed_;
}

void* CapturedFile::reopen() {
    void* under = nullptr;
    H5VL_file_specific_args_t args{};
    args.op_type = H5VL_FILE_REOPEN;
    args.args.reopen.file = &under;
    const herr_t status =
        H5VLfile_specific(under_, native_connector(), &args, H5P_DATASET_XFER_DEFAULT, nullptr);
    return status < 0 ? nullptr : under;
}

Status CapturedFile::commit_from(const Object& object, long references) {
    const NativeObject through{object.under, object.kind};
    if (flush_native(through) < 0)
        return store::hdf5_error(StatusCode::internal, name_ + ": flushing the image");
    return commit(through, weak_from_this().use_count() <= references);
}

Status CapturedFile::before_close(const Object& object) {
    const std::shared_ptr<CapturedFile>& file = object.file;
    if (file == nullptr || file->uses > 0 || file.use_count() > 1) return {};
    return file->commit_from(object, 1);
}

}  // namespace caesura::vol
