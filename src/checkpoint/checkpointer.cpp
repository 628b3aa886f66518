#include "caesura/checkpointer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/process.hpp"
#include "checkpoint/host_cache.hpp"

namespace caesura {
namespace {

using checkpoint::Arrived;
using checkpoint::HostCache;
using checkpoint::WordRunner;

class Impl : public Checkpointer {
  public:
    Impl(device::Device& device, std::uint64_t checkpoint_bytes)
        : device_(device), checkpoint_bytes_(checkpoint_bytes) {}
    ~Impl() override {
        if (process_.is_forked()) {
            base::Process::leave(runner_);
            base::Process::leave(host_);
            return;
        }
        if (runner_) (void)leave_cache();
    }

    /// The store comes last: it may empty a file, and what is refused must not have cost one.
    Status begin(plan::CheckpointProfile expected, const CheckpointerOptions& options) {
        const std::uint64_t cache_bytes = expected.cache_bytes;
        header_bytes_ = expected.header_bytes;
        if (Status status = check_host(cache_bytes, options); !status.ok()) return status;
        const auto arrival = [this](Arrived&& parcel) {
            arrive(std::move(parcel));
            return Status{};
        };
        auto runner = WordRunner::create(device_, std::move(expected), {}, arrival, options.content,
                                         options.checkpoints);
        if (!runner.ok()) return runner.status();
        runner_ = *std::move(runner);
        return begin_host(cache_bytes, options);
    }
    Status check_host(std::uint64_t cache_bytes, const CheckpointerOptions& options) const {
        if (options.store && device::is_nvcomp(device_.coder()))
            return {StatusCode::unsupported,
                    fmt::format("coder {} and a file: only nvCOMP on a GPU could read what is in "
                                "it; packed (and codec on the host) go to files",
                                to_string(device_.coder()))};
        const std::uint64_t host_bytes = options.host_bytes;
        const bool limited = host_bytes < std::numeric_limits<std::uint64_t>::max();
        if (limited && !options.store)
            return {StatusCode::invalid_argument,
                    fmt::format("host_bytes is {} and there is no store: give it one, or no limit",
                                host_bytes)};
        if (host_bytes / 3 < cache_bytes)
            return {StatusCode::invalid_argument,
                    fmt::format("host_bytes is {}; at least three times the cache's {} are needed",
                                host_bytes, cache_bytes)};
        if (!(options.commit_every_s >= 0.0))
            return {StatusCode::invalid_argument,
                    fmt::format("commit_every_s is {}", options.commit_every_s)};
        return {};
    }
    Status begin_host(std::uint64_t cache_bytes, const CheckpointerOptions& options) {
        if (options.store)
            if (Status s = options.store->begin(checkpoint_bytes_, options.content); !s.ok())
                return s;
        // What is on the link or held is promised room, at most cache_bytes; half of the rest is
        // for what is written already and may leave at once.
        const std::uint64_t room_bytes = options.host_bytes - cache_bytes;
        const std::uint64_t beyond_bytes = options.write_all ? 0 : (room_bytes - cache_bytes) / 2;
        host_ = std::make_unique<HostCache>(checkpoint::HostCacheOptions{
            options.store, room_bytes, cache_bytes, beyond_bytes, options.commit_every_s});
        for (const CheckpointStore::Kept& kept : host_->begin()) {
            places_[kept.id] = {made_.size(), 0};
            made_.push_back(kept.id);
        }
        return {};
    }

    Status checkpoint(std::uint64_t id, const std::byte* data) override {
        if (Status here = check_process(); !here.ok()) return here;
        if (places_.count(id) > 0)
            return {StatusCode::invalid_argument, fmt::format("checkpoint {} exists already", id)};
        if (Status status = leave_cache(); !status.ok()) return status;
        const std::uint64_t coming_bytes = runner_->pool().used_bytes() + checkpoint_bytes_;
        if (Status status = host_->make_room(coming_bytes); !status.ok())
            return status.with_context(fmt::format("checkpoint {}: no room at the host", id));
        Status status = runner_->checkpoint(id, data);
        if (status.ok()) {
            places_.insert({id, {}});
            made_.push_back(id);
            all_here_ = false;
        }
        note_host_bytes();
        return status;
    }
    Status flush() override {
        if (Status here = check_process(); !here.ok()) return here;
        const double begin_s = device_.now_s();
        Status status = runner_->finish();
        flush_s_ += device_.now_s() - begin_s;
        all_here_ = status.ok();
        note_host_bytes();
        host_->advance();
        return status;
    }
    Status save() override {
        if (Status here = check_process(); !here.ok()) return here;
        if (!all_here_)
            if (Status status = flush(); !status.ok()) return status;
        return host_->save();
    }
    Status restore(std::uint64_t id, std::byte* data) override {
        if (Status here = check_process(); !here.ok()) return here;
        const auto found = places_.find(id);
        if (found == places_.end())
            return {StatusCode::invalid_argument, fmt::format("checkpoint {} was not made", id)};
        Status flushed;
        if (!all_here_) flushed = flush();
        if (found->second.parcel == k_nowhere) return flushed;
        const double begin_s = device_.now_s();
        Status status = bring(found->second, data);
        if (status.ok()) status = device_.wait_for_work();  // only then are the data there
        if (status.ok()) foresee(found->second.parcel);
        restore_s_ += device_.now_s() - begin_s;
        ++restores_;
        note_host_bytes();
        return status.ok() ? status : status.with_context(fmt::format("checkpoint {}", id));
    }
    CheckpointerReport report() const override {
        const checkpoint::Executed& done = runner_->executed();
        const checkpoint::HostCacheReport host = host_->report();
        return {done.word,        done.stopped_s + flush_s_,
                restore_s_,       done.raw_bytes,
                done.link_bytes,  restores_,
                prefetched_,      runner_->pool().peak_bytes(),
                peak_host_bytes_, host.written_bytes,
                host.reads,       host.read_ahead,
                host.waited_s,    host.trouble.message()};
    }
    std::vector<std::uint64_t> ids() const override { return made_; }
    plan::CheckpointProfile recorded() const override {
        plan::CheckpointProfile profile = runner_->recorded();
        profile.header_bytes = header_bytes_;  // the next run's device may need another
        return profile;
    }

  private:
    static constexpr std::size_t k_nowhere = static_cast<std::size_t>(-1);
    struct InParcel {
        std::size_t parcel = k_nowhere;  ///< in host_
        std::uint64_t index = 0;         ///< in the parcel
    };
    /// A parcel in the device, or on its way there.
    struct Near {
        std::size_t parcel = k_nowhere;
        std::byte* memory = nullptr;
        device::Transfer transfer = 0;
    };

    Status check_process() const { return process_.check("the Checkpointer"); }
    void arrive(Arrived&& parcel) {
        for (std::uint64_t i = 0; i < parcel.ids.size(); ++i)
            places_[parcel.ids[i]] = {host_->parcels(), i};
        (void)host_->add(std::move(parcel));
    }
    void note_host_bytes() {
        peak_host_bytes_ =
            std::max(peak_host_bytes_, host_->memory_bytes() + runner_->queued_bytes());
    }

    Status bring(const InParcel& place, std::byte* data) {
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
        if (!host_->is_compressed(place.parcel))
            return device_.copy(data, near->memory, checkpoint_bytes_);
        return device_.decompress({near->memory, host_->bytes(place.parcel)}, place.index,
                                  {data, checkpoint_bytes_});
    }
    /// The parcel beside this one, on the side to which restores go, is on its way when it is
    /// wanted.
    void foresee(std::size_t parcel) {
        if (last_ != k_nowhere && last_ != parcel) backwards_ = parcel < last_;
        last_ = parcel;
        const bool is_last = backwards_ ? parcel == 0 : parcel + 1 == host_->parcels();
        const std::size_t next = backwards_ ? parcel - 1 : parcel + 1;
        if (is_last) return;
        if (find(next) == near_.end()) (void)leave_cache(parcel);
        host_->read_ahead(parcel, backwards_ ? -1 : 1);
        if (find(next) != near_.end() || !host_->in_memory(next)) return;
        // Without it the next restore only takes longer.
        if (host_->bytes(next) <= runner_->pool().free_bytes()) (void)fetch(next);
    }
    Status fetch(std::size_t parcel) {
        const Result<std::byte*> memory = runner_->pool().take(host_->bytes(parcel));
        if (!memory.ok()) return memory.status();
        Status status;
        const Result<std::span<const std::byte>> bytes = host_->pin(parcel);
        if (bytes.ok()) {
            const Result<device::Transfer> transfer = device_.to_device(*memory, *bytes);
            if (transfer.ok()) {
                near_.push_back({parcel, *memory, *transfer});
                return {};
            }
            host_->unpin(parcel);
            status = transfer.status();
        } else {
            status = bytes.status();
        }
        (void)runner_->pool().give_back(*memory);
        return status;
    }
    std::vector<Near>::iterator find(std::size_t parcel) {
        return std::find_if(near_.begin(), near_.end(),
                            [&](const Near& near) { return near.parcel == parcel; });
    }
    /// The cache is the word runner's again, but for one parcel.
    Status leave_cache(std::size_t but = k_nowhere) {
        for (std::size_t i = near_.size(); i-- > 0;) {
            if (near_[i].parcel == but) continue;
            if (Status status = device_.wait(near_[i].transfer); !status.ok()) return status;
            if (Status status = runner_->pool().give_back(near_[i].memory); !status.ok())
                return status;
            host_->unpin(near_[i].parcel);
            near_.erase(near_.begin() + static_cast<std::ptrdiff_t>(i));
        }
        return {};
    }

    const base::Process process_;
    device::Device& device_;
    std::uint64_t checkpoint_bytes_;
    std::map<std::uint64_t, InParcel> places_;
    std::vector<std::uint64_t> made_;  ///< ids in order
    std::vector<Near> near_;
    std::uint64_t peak_host_bytes_ = 0;
    std::unique_ptr<HostCache> host_;
    bool all_here_ = true, backwards_ = true;  // adjoint codes read backwards
    std::size_t last_ = k_nowhere;
    double flush_s_ = 0.0, restore_s_ = 0.0;
    std::uint64_t restores_ = 0, prefetched_ = 0;
    std::uint64_t header_bytes_ = 0;      ///< as the caller gave it
    std::unique_ptr<WordRunner> runner_;  // last: it goes first, and it hands over to us
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
