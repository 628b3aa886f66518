#include "writer/region_sink.hpp"

#include <algorithm>

#include "base/file.hpp"
#include "store/region_writer.hpp"

namespace caesura::writer {

std::uint64_t block_overhead_bytes() {
    return store::region_overhead_bytes(1, 0) - store::region_overhead_bytes(0, 0);
}

RegionSink::RegionSink(SinkOrder order)
    : file_(order.file), spill_(std::make_shared<Spill>(file_)), durable_(order.durable) {
    const std::size_t n = order.places.size();
    if (!order.manifest.empty() && order.manifest_region < n)
        manifest_region_ = order.manifest_region;
    for (std::size_t i = 0; i < n; ++i) {
        const bool last = i + 1 == n;
        regions_.emplace_back(file_, order.places[i],
                              i == manifest_region_ ? order.manifest : std::string(),
                              last ? std::move(order.slots) : std::vector<std::uint64_t>());
    }
    if (order.spill) spill_->take(*order.spill);
}

// `taken`: bytes of each region that blocks of this batch will take.
std::optional<std::size_t> RegionSink::place_for(const run::Job& job,
                                                 std::span<const std::uint64_t> taken) const {
    const std::uint64_t bytes = job.stored.size();
    const auto holds = [&](std::size_t r) {
        return regions_[r].has_slots() ? bytes <= regions_[r].slot_bytes(job.slot)
                                       : taken[r] + bytes <= regions_[r].free_bytes();
    };
    if (job.region < regions_.size() && holds(job.region)) return job.region;
    std::optional<std::size_t> best;
    for (std::size_t r = 0; r < regions_.size(); ++r) {
        if (r == job.region || regions_[r].has_slots() || !holds(r)) continue;
        if (!best ||
            regions_[r].free_bytes() - taken[r] < regions_[*best].free_bytes() - taken[*best])
            best = r;
    }
    return best;
}

Status RegionSink::write(std::span<run::Job* const> jobs) {
    struct Batch {
        std::vector<store::BlockView> blocks;
        std::vector<run::Job*> jobs;
    };
    std::vector<Batch> batches(regions_.size());
    std::vector<std::uint64_t> taken(regions_.size(), 0);
    for (run::Job* job : jobs) {
        const auto region = place_for(*job, taken);
        if (!region) {
            spill_->add(*job);
            job->state.store(run::JobState::overflowed, std::memory_order_release);
            continue;
        }
        batches[*region].blocks.push_back(
            {job->dataset, job->filter_mask, job->chunk, job->stored.bytes(), job->slot});
        batches[*region].jobs.push_back(job);
        taken[*region] += job->stored.size() + block_overhead_bytes();
    }
    for (std::size_t r = 0; r < regions_.size(); ++r) {
        if (batches[r].blocks.empty()) continue;
        if (Status s = regions_[r].write(batches[r].blocks, records_); !s.ok()) return s;
        for (run::Job* job : batches[r].jobs)
            job->state.store(run::JobState::written, std::memory_order_release);
    }
    return {};
}

Result<std::optional<run::Placement>> RegionSink::place(const run::Job& job,
                                                        std::span<std::byte> front,
                                                        std::span<std::byte> back) {
    const std::vector<std::uint64_t> taken(regions_.size(), 0);
    const auto region = place_for(job, taken);
    if (!region) {
        spill_->add(job);
        return std::optional<run::Placement>();
    }
    auto placed = regions_[*region].place(
        {job.dataset, job.filter_mask, job.chunk, job.stored.bytes(), job.slot});
    if (!placed.ok()) return placed.status();
    const std::size_t front_bytes = placed->prefix.size(), back_bytes = placed->padding.size();
    if (front_bytes > front.size() || back_bytes > back.size())
        return Status{StatusCode::internal, "a prefix record has outgrown shared memory"};
    std::copy(placed->prefix.begin(), placed->prefix.end(), front.end() - front_bytes);
    std::copy(placed->padding.begin(), placed->padding.end(), back.begin());
    records_.push_back(placed->record);
    return std::optional<run::Placement>(
        {placed->record.address - front_bytes, front_bytes, back_bytes});
}

Status RegionSink::finish() {
    for (std::size_t r = 0; r < regions_.size(); ++r) {
        if (r != manifest_region_ && !regions_[r].begun()) continue;
        if (Status status = regions_[r].finish(); !status.ok()) return status;
    }
    return durable_ && !regions_.empty() ? file_.file().sync() : Status{};
}

std::vector<Extent> RegionSink::tails() const {
    std::vector<Extent> out;
    for (const store::RegionWriter& region : regions_) {
        const auto [address, bytes] = region.tail();
        if (bytes > 0) out.push_back({address, bytes});
    }
    return out;
}

std::uint64_t RegionSink::used_end() const {
    std::uint64_t end = 0;
    for (const store::RegionWriter& region : regions_)
        if (region.begun()) end = std::max(end, region.tail().first);
    return end;
}

}  // namespace caesura::writer
