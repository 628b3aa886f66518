#include "writer/spill.hpp"

#include <thread>

namespace caesura::writer {

void Spill::take(const store::RegionWriter::Place& room) {
    if (use_ != Use::ended) return;
    room_.emplace(file_, room, std::string());
    written_ = 0;
    use_ = Use::free;
}

// A few blocks at most are being written: the write lane is at normal priority.
void Spill::end() {
    for (;;) {
        Use seen = Use::free;
        if (use_.compare_exchange_strong(seen, Use::ended) || seen == Use::ended) return;
        std::this_thread::yield();
    }
}

void Spill::add(const run::Job& job) {
    jobs_.push_back(&job);
    (void)make_whole();
}

bool Spill::make_whole() {
    if (jobs_.empty()) return true;
    Use seen = Use::free;
    if (!use_.compare_exchange_strong(seen, Use::busy)) return false;
    bool wrote = true;
    for (; wrote && written_ < jobs_.size(); written_ += wrote) {
        const run::Job& job = *jobs_[written_];
        const store::BlockView block{job.dataset, job.filter_mask, job.chunk, job.stored.bytes(),
                                     0};
        std::vector<store::ChunkRecord> not_its_place;
        wrote = job.stored.size() <= room_->free_bytes() &&
                room_->write({&block, 1}, not_its_place).ok();
    }
    use_ = wrote ? Use::free : Use::ended;
    return wrote;
}

}  // namespace caesura::writer
