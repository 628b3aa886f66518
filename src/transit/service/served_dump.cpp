#include "transit/service/served_dump.hpp"

#include <cmath>

#include "base/clock.hpp"

namespace caesura::transit {

bool ServedBlock::is_wanted() const { return dump_.listener_.is_alive(); }

void ServedBlock::look() {
    if (dump_.notes_) seen = dump_.notes_->look(job);
}

void ServedBlock::ready() { lane_.done(*this); }

void ServedBlock::take_up() { dump_.take_up(*this); }

ServedDump::ServedDump(BeginDump order, std::vector<std::shared_ptr<const BlockCodec>> codecs,
                       store::SharedFile& file, DumpListener& listener)
    : order_(std::move(order)),
      due_s_(base::Clock::steady().now_s() + order_.due_in_s),
      codecs_(std::move(codecs)),
      listener_(listener),
      sink_({file, order_.places, order_.manifest, order_.manifest_region, order_.durable,
             order_.slots, order_.spill}),
      blocks_(order_.n_jobs),
      came_(order_.n_jobs) {}

ServedBlock* ServedDump::add(std::uint32_t number, Lane& lane, base::BufferPool& pool) {
    if (dropped_ || finish_request_ || number >= came_.size() || came_[number]) return nullptr;
    came_[number] = true;
    ++n_came_;
    ++open_;
    blocks_[number] = std::make_unique<ServedBlock>(*this, lane, pool);
    blocks_[number]->number = number;
    return blocks_[number].get();
}

void ServedDump::finish(std::uint64_t request) {
    finish_request_ = request;
    end_if_over();
}

void ServedDump::drop() {
    dropped_ = true;
    end_if_over();
}

void ServedDump::take_up(ServedBlock& block) {
    block.payload = {};
    if (listener_.is_alive()) listener_.taken(*this, block);
    if (!dropped_ && listener_.is_alive()) {
        if (!block.encoded.ok() && error_.ok())
            error_ = block.encoded.status().with_context("compressing " + block.job.label);
        if (error_.ok()) write(block);
    }
    --open_;
    blocks_[block.number].reset();
    end_if_over();
}

void ServedDump::write(ServedBlock& block) {
    run::Job& job = block.job;
    BlockResult result;
    if (!block.compressed_before) {
        const bool raw = block.encoded->is_raw(job);
        job.stored = std::move(block.encoded->stored);
        job.filter_mask = block.encoded->filter_mask;
        result.stored_raw = raw;
        result.fell_back = block.encoded->fell_back;
        if (std::isfinite(block.encoded->max_error)) result.max_error = block.encoded->max_error;
        const auto statistics = block.encoded->statistics.bytes();
        result.statistics.assign(statistics.begin(), statistics.end());
        result.compress_s = block.compress_s;
        result.device = block.device;
    }
    run::Job* const one[] = {&job};
    const double begin_s = base::Clock::steady().now_s();
    if (Status status = sink_.write(one); !status.ok()) {
        error_ = std::move(status);
        return;
    }
    if (job.state.load() == run::JobState::written)
        listener_.wrote(job.stored.size(), base::Clock::steady().now_s() - begin_s);
    result.dump = order_.dump;
    result.job = block.number;
    result.stored_bytes = job.stored.size();
    result.filter_mask = job.filter_mask;
    const bool overflowed = job.state.load() == run::JobState::overflowed;
    if (notes_ && !block.compressed_before)
        notes_->note(job, std::move(block.seen),
                     overflowed ? std::nullopt : std::optional(sink_.records().back()));
    result.state = overflowed ? BlockState::overflowed : BlockState::written;
    result.payload_bytes = overflowed ? job.stored.size() : 0;
    listener_.result(*this, std::move(result), overflowed ? std::move(job.stored) : base::Buffer());
}

// The listener may free this: nothing is touched afterwards.
void ServedDump::end_if_over() {
    if (ended_ || open_ > 0 || !(dropped_ || finish_request_)) return;
    ended_ = true;
    if (dropped_ || !listener_.is_alive()) {
        listener_.ended(*this, std::nullopt);
        return;
    }
    Finished finished;
    finished.request = *finish_request_;
    if (error_.ok()) error_ = sink_.finish();
    finished.status = error_;
    if (error_.ok() && notes_)
        for (const FoundInDump& found : notes_->finish(order_.dump)) listener_.found(*this, found);
    if (error_.ok()) {
        finished.records = sink_.records();
        finished.tails = sink_.tails();
        finished.used_end = sink_.used_end();
        finished.is_whole = sink_.overflow() == nullptr;
    }
    listener_.ended(*this, std::move(finished));
}

}  // namespace caesura::transit
