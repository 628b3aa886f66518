#include "writer/region_sink.hpp"

#include "base/file.hpp"

namespace caesura::writer {

std::uint64_t block_overhead_bytes() {
    return store::region_overhead_bytes(1, 0) - store::region_overhead_bytes(0, 0);
}

RegionSink::RegionSink(store::SharedFile& file, std::vector<store::RegionWriter::Place> places,
                       std::string manifest, bool durable)
    : file_(file), durable_(durable) {
    for (std::size_t i = 0; i < places.size(); ++i) {
        const bool last = i + 1 == places.size();
        regions_.emplace_back(file, places[i], last ? manifest : std::string());
        region_ends_.push_back(places[i].address + places[i].bytes);
    }
}

Status RegionSink::write(std::span<run::Job* const> jobs) {
    std::vector<store::BlockView> batch;
    std::vector<run::Job*> batched;
    std::uint64_t batch_bytes = 0;
    const auto flush = [&]() -> Status {
        if (batch.empty()) return {};
        const Status status = regions_[current_].write(batch, records_);
        if (!status.ok()) return status;
        for (run::Job* job : batched)
            job->state.store(run::JobState::written, std::memory_order_release);
        batch.clear();
        batched.clear();
        batch_bytes = 0;
        return {};
    };
    for (run::Job* job : jobs) {
        const std::uint64_t bytes = job->stored.size();
        // On to the next region when this one is full; the last one is only left by overflowing.
        while (current_ + 1 < regions_.size() &&
               batch_bytes + bytes > regions_[current_].free_bytes()) {
            if (Status status = flush(); !status.ok()) return status;
            ++current_;
        }
        if (regions_.empty() || batch_bytes + bytes > regions_[current_].free_bytes()) {
            job->state.store(run::JobState::overflowed, std::memory_order_release);
            continue;
        }
        batch.push_back({job->dataset, job->filter_mask, job->chunk, job->stored.bytes()});
        batched.push_back(job);
        batch_bytes += bytes + block_overhead_bytes();
    }
    return flush();
}

Status RegionSink::finish() {
    for (store::RegionWriter& region : regions_)
        if (Status status = region.finish(); !status.ok()) return status;
    return durable_ && !regions_.empty() ? file_.file().sync() : Status{};
}

std::pair<std::uint64_t, std::uint64_t> RegionSink::tail() const {
    return regions_.empty() ? std::pair<std::uint64_t, std::uint64_t>{0, 0}
                            : regions_.back().tail();
}

std::uint64_t RegionSink::used_end() const {
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < regions_.size(); ++i)
        end = std::max(end, region_ends_[i] - regions_[i].tail().second);
    return end;
}

}  // namespace caesura::writer
