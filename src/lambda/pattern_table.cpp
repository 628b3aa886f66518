#include "lambda/pattern_table.hpp"

#include <algorithm>
#include <atomic>
#include <random>

namespace caesura::lambda {

std::uint64_t PatternTable::new_order() {
    static const std::uint64_t of_process = std::random_device()();
    static std::atomic<std::uint64_t> tables{0};
    return hash_of(of_process << 32 | tables.fetch_add(1, std::memory_order_relaxed)) | 1;
}

void PatternTable::reserve(std::size_t patterns) {
    constexpr std::size_t k_first_slots = 64;
    const std::size_t slots = std::max(k_first_slots, std::bit_ceil(patterns / 3 * 4 + 4));
    if (slots > slots_.size()) resize(slots);
}

void PatternTable::resize(std::size_t slots) {
    std::vector<Slot> before(slots);
    before.swap(slots_);
    shift_ = 64 - std::countr_zero(slots_.size());
    for (const Slot& slot : before)
        if (slot.times > 0) slots_[place_of(slot.pattern)] = slot;
}

// What follows in the chain moves up, so that no search ends at the hole.
std::uint64_t PatternTable::take(std::uint64_t pattern) {
    if (size_ == 0) return 0;
    const std::size_t mask = slots_.size() - 1;
    std::size_t hole = place_of(pattern);
    const std::uint64_t times = slots_[hole].times;
    if (times == 0) return 0;
    for (std::size_t at = (hole + 1) & mask; slots_[at].times > 0; at = (at + 1) & mask) {
        const std::size_t home = home_of(slots_[at].pattern);
        if (((at - home) & mask) < ((at - hole) & mask)) continue;
        slots_[hole] = slots_[at];
        hole = at;
    }
    slots_[hole] = Slot();
    --size_;
    return times;
}

}  // namespace caesura::lambda
