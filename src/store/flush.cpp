// The order in which a commit reaches the disk (decision D3).
#include <fmt/format.h>

#include "base/file.hpp"
#include "store/commit_image.hpp"
#include "store/committer.hpp"
#include "store/journal.hpp"
#include "store/superblock.hpp"

namespace caesura::store {

CommitImage::CommitImage() = default;
CommitImage::CommitImage(CommitImage&&) noexcept = default;

CommitImage& CommitImage::operator=(CommitImage&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
}

CommitImage::~CommitImage() {
    if (!state_ || !state_->progress) return;  // empty, or memory ran out while it was made
    auto expected = CommitProgress::Stage::built;
    state_->progress->stage.compare_exchange_strong(expected, CommitProgress::Stage::dropped);
}

std::uint64_t CommitImage::file_end() const { return state_ ? state_->file_end : 0; }
std::uint64_t CommitImage::metadata_bytes() const { return state_ ? state_->metadata_bytes : 0; }

namespace {

using Stage = CommitProgress::Stage;

Status write_all(base::File& file, std::span<const Extent> extents) {
    for (const Extent& extent : extents)
        if (Status status = file.write_at(extent.address, extent.bytes); !status.ok())
            return status;
    return {};
}

Status write_journal(base::File& file, const CommitImage::State& image) {
    const bool outside = !image.journal_outside.empty();
    const auto payload = outside ? image.journal_outside : encode_journal_payload(image.in_place);
    const std::uint64_t address =
        outside ? image.journal_outside_address : k_journal_address + k_journal_header_bytes;
    return file.write_at(k_journal_address,
                         encode_journal(image.run, image.sequence, address, payload));
}

/// Make the file longer than it needs to be, or say its real end.
void announce(base::File& file, CommitImage::State& image) {
    AnnouncedEnd& end = image.announced;
    if (end.file == 0) return;
    if (file.extend(end.file).ok()) {
        image.progress->has_extended = true;
        return;
    }
    end.file = 0;
    for (Extent& extent : image.in_place)
        if (extent.address == 0) patch_superblock(extent.bytes, {end.used, 0});
    if (!image.journal_outside.empty())
        image.journal_outside = encode_journal_payload(image.in_place);
}

Status flush_steps(base::File& file, CommitImage::State& image, bool durable) {
    const auto sync = [&] { return durable ? file.sync() : Status{}; };

    announce(file, image);
    // 1. New metadata, where no reader looks yet. Its last byte is the file's new end, so that the
    //    file grows by a write: ftruncate could cut off what another rank has just written beyond.
    if (Status status = write_all(file, image.fresh); !status.ok()) return status;
    if (!image.journal_outside.empty())
        if (Status s = file.write_at(image.journal_outside_address, image.journal_outside); !s.ok())
            return s;
    if (image.trim) {  // nobody else writes any more
        auto size = file.size();
        if (!size.ok()) return size.status();
        if (*size < image.file_end)
            if (Status status = file.truncate(image.file_end); !status.ok()) return status;
    }
    if (Status status = sync(); !status.ok()) return status;

    // 2. The journal. From here on the commit may come to life by replay.
    image.progress->stage = Stage::journal;
    if (Status status = write_journal(file, image); !status.ok()) return status;
    if (Status status = sync(); !status.ok()) return status;

    // 3. In place.
    if (Status status = write_all(file, image.in_place); !status.ok()) return status;
    if (Status status = sync(); !status.ok()) return status;

    // 4. The journal has done its work. Not synced: replaying it again would change nothing.
    if (Status status = clear_journal(file); !status.ok()) return status;
    if (image.trim) {
        if (Status status = file.truncate(image.stored_end); !status.ok()) return status;
        if (Status status = sync(); !status.ok()) return status;
    }
    image.progress->stage = Stage::done;
    return {};
}

}  // namespace

Status CommitImage::flush(SharedFile& file, bool durable) {
    if (!state_) return {StatusCode::invalid_argument, "flush: the image is empty"};
    auto& stage = state_->progress->stage;
    if (stage == Stage::done || stage == Stage::superseded)
        return {StatusCode::invalid_argument,
                fmt::format("commit {}: flushed already, or a newer one has been built",
                            state_->sequence)};
    if (stage != Stage::journal) stage = Stage::flushing;  // else this is a second attempt
    const Status status = flush_steps(file.file(), *state_, durable);
    if (!status.ok() && stage == Stage::flushing) stage = Stage::dropped;
    return status.with_context(fmt::format("commit {}", state_->sequence));
}

}  // namespace caesura::store
