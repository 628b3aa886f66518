#include "caesura/checkpointer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "checkpoint/executor.hpp"

namespace caesura {
namespace {

using checkpoint::Arrived;
using checkpoint::Executor;

class Impl : public Checkpointer {
  public:
    Impl(device::Device& device, std::uint64_t checkpoint_bytes)
        : device_(device), checkpoint_bytes_(checkpoint_bytes) {}
    ~Impl() override { (void)leave_cache(); }

    Status begin(plan::CheckpointProfile expected, const CheckpointerOptions& options) {
        const auto arrival = [this](Arrived&& parcel) {
            arrive(std::move(parcel));
            return Status{};
        };
        auto executor =
            Executor::create(device_, std::move(expected), {}, arrival, options.content);
        if (executor.ok()) executor_ = *std::move(executor);
        return executor.status();
    }

    Status checkpoint(std::uint64_t id, const std::byte* data) override {
        if (places_.count(id) > 0)
            return {StatusCode::invalid_argument, fmt::format("checkpoint {} exists already", id)};
        if (Status status = leave_cache(); !status.ok()) return status;
        Status status = executor_->checkpoint(id, data);
        if (status.ok()) places_.insert({id, {}}), all_here_ = false;
        return status;
    }
    Status flush() override {
        const double begin_s = device_.now_s();
        Status status = executor_->finish();
        flush_s_ += device_.now_s() - begin_s;
        all_here_ = status.ok();
        return status;
    }
    Status restore(std::uint64_t id, std::byte* data) override {
        const auto found = places_.find(id);
        if (found == places_.end())
            return {StatusCode::invalid_argument, fmt::format("checkpoint {} was not made", id)};
        Status flushed;
        if (!all_here_) flushed = flush();
        if (found->second.parcel == k_nowhere) return flushed;
        const double begin_s = device_.now_s();
        Status status = bring(found->second, data);
        if (status.ok()) foresee(found->second.parcel);
        restore_s_ += device_.now_s() - begin_s;
        ++restores_;
        return status.ok() ? status : status.with_context(fmt::format("checkpoint {}", id));
    }
    CheckpointerReport report() const override {
        const checkpoint::Executed& done = executor_->executed();
        return {done.word,       done.stopped_s + flush_s_,
                restore_s_,      done.raw_bytes,
                done.link_bytes, restores_,
                prefetched_,     executor_->pool().peak_bytes()};
    }
    plan::CheckpointProfile recorded() const override { return executor_->recorded(); }

  private:
    static constexpr std::size_t k_nowhere = static_cast<std::size_t>(-1);
    struct Place {
        std::size_t parcel = k_nowhere;  ///< in parcels_
        std::uint64_t index = 0;         ///< in the parcel
    };
    /// A parcel in the device, or on its way there.
    struct Near {
        std::size_t parcel = k_nowhere;
        std::byte* memory = nullptr;
        device::Transfer transfer = 0;
    };

    void arrive(Arrived&& parcel) {
        for (std::uint64_t i = 0; i < parcel.ids.size(); ++i)
            places_[parcel.ids[i]] = {parcels_.size(), i};
        parcels_.push_back(std::move(parcel));
    }

    Status bring(const Place& place, std::byte* data) {
        auto near = find(place.parcel);
        if (near != near_.end()) {
            ++prefetched_;
        } else {
            // What is near was foreseen wrongly, or lies behind.
            if (Status status = leave_cache(); !status.ok()) return status;
            if (Status status = fetch(place.parcel); !status.ok()) return status;
            near = std::prev(near_.end());
        }
        if (Status status = device_.wait(near->transfer); !status.ok()) return status;
        const Arrived& parcel = parcels_[place.parcel];
        if (!parcel.compressed) return device_.copy(data, near->memory, checkpoint_bytes_);
        return device_.decompress({near->memory, parcel.bytes.size()}, place.index,
                                  {data, checkpoint_bytes_});
    }
    /// The parcel beside this one, on the side to which restores go, is on its way when it is
    /// wanted.
    void foresee(std::size_t parcel) {
        if (last_ != k_nowhere && last_ != parcel) backwards_ = parcel < last_;
        last_ = parcel;
        const bool is_last = backwards_ ? parcel == 0 : parcel + 1 == parcels_.size();
        const std::size_t next = backwards_ ? parcel - 1 : parcel + 1;
        if (is_last || find(next) != near_.end()) return;
        (void)leave_cache(parcel);
        // Without it the next restore only takes longer.
        if (parcels_[next].bytes.size() <= executor_->pool().free_bytes()) (void)fetch(next);
    }
    Status fetch(std::size_t parcel) {
        const auto& bytes = parcels_[parcel].bytes;
        const Result<std::byte*> memory = executor_->pool().take(bytes.size());
        if (!memory.ok()) return memory.status();
        const Result<device::Transfer> transfer = device_.to_device(*memory, bytes);
        if (!transfer.ok()) {
            (void)executor_->pool().give_back(*memory);
            return transfer.status();
        }
        near_.push_back({parcel, *memory, *transfer});
        return {};
    }
    std::vector<Near>::iterator find(std::size_t parcel) {
        return std::find_if(near_.begin(), near_.end(),
                            [&](const Near& near) { return near.parcel == parcel; });
    }
    /// The cache is the executor's again, but for one parcel.
    Status leave_cache(std::size_t but = k_nowhere) {
        for (std::size_t i = near_.size(); i-- > 0;) {
            if (near_[i].parcel == but) continue;
            if (Status status = device_.wait(near_[i].transfer); !status.ok()) return status;
            if (Status status = executor_->pool().give_back(near_[i].memory); !status.ok())
                return status;
            near_.erase(near_.begin() + static_cast<std::ptrdiff_t>(i));
        }
        return {};
    }

    device::Device& device_;
    std::uint64_t checkpoint_bytes_;
    std::map<std::uint64_t, Place> places_;
    std::vector<Arrived> parcels_;
    std::vector<Near> near_;
    bool all_here_ = true, backwards_ = true;  // adjoint codes read backwards
    std::size_t last_ = k_nowhere;
    double flush_s_ = 0.0, restore_s_ = 0.0;
    std::uint64_t restores_ = 0, prefetched_ = 0;
    std::unique_ptr<Executor> executor_;  // last: it goes first, and it hands over to us
};

}  // namespace

Result<std::unique_ptr<Checkpointer>> Checkpointer::create(device::Device& device,
                                                           plan::CheckpointProfile expected,
                                                           const CheckpointerOptions& options) {
    auto made = std::make_unique<Impl>(device, expected.checkpoint_bytes);
    if (Status status = made->begin(std::move(expected), options); !status.ok()) return status;
    return std::unique_ptr<Checkpointer>(std::move(made));
}

}  // namespace caesura
