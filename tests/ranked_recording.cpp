#include "ranked_recording.hpp"

namespace caesura::testing {

class RankedRecording::ViewFile final : public base::File {
  public:
    ViewFile(RankedRecording& recording, int rank, std::unique_ptr<base::File> inner)
        : recording_(recording), rank_(rank), inner_(std::move(inner)) {}

    Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        return in_order([&] { return inner_->write_at(offset, bytes); });
    }
    Status write_at(std::uint64_t offset,
                    std::span<const std::span<const std::byte>> buffers) override {
        return in_order([&] { return inner_->write_at(offset, buffers); });
    }
    Status sync() override {
        return in_order([&] { return inner_->sync(); });
    }
    Status truncate(std::uint64_t bytes) override {
        return in_order([&] { return inner_->truncate(bytes); });
    }
    Status read_at(std::uint64_t offset, std::span<std::byte> bytes) override {
        return inner_->read_at(offset, bytes);
    }
    Result<std::uint64_t> size() override { return inner_->size(); }
    Status lock(bool exclusive) override { return inner_->lock(exclusive); }

  private:
    template <class Operate>
    Status in_order(Operate operate) {
        const std::lock_guard lock(recording_.order_);
        Status status = operate();
        recording_.ranks_.resize(recording_.log_.size(), rank_);
        return status;
    }

    RankedRecording& recording_;
    int rank_;
    std::unique_ptr<base::File> inner_;
};

class RankedRecording::View final : public base::FileSystem {
  public:
    View(RankedRecording& recording, int rank) : recording_(recording), rank_(rank) {}

    Result<std::unique_ptr<base::File>> open(const std::string& path, Mode mode) override {
        const std::lock_guard lock(recording_.order_);
        auto inner = recording_.log_.open(path, mode);
        if (!inner.ok()) return inner.status();
        recording_.ranks_.resize(recording_.log_.size(), rank_);
        return std::unique_ptr<base::File>(
            std::make_unique<ViewFile>(recording_, rank_, std::move(*inner)));
    }

  private:
    RankedRecording& recording_;
    int rank_;
};

RankedRecording::RankedRecording(base::FileSystem& inner, int n_ranks) : log_(inner) {
    for (int rank = 0; rank < n_ranks; ++rank)
        views_.push_back(std::make_unique<View>(*this, rank));
}

bool RankedRecording::is_synced(std::size_t i, std::size_t count) const {
    for (std::size_t later = i + 1; later < count; ++later)
        if (ranks_[later] == ranks_[i] && operations()[later].kind == store::Operation::Kind::sync)
            return true;
    return false;
}

}  // namespace caesura::testing
