// Counts of 64-bit patterns: an open hash table with room for what is there.
//
// Invariants:
//  - At most 3/4 of the slots are taken; a count of 0 marks a free one.
//  - Every table orders its slots in its own way: filling one in the order of another would pile up
//    what is there in one place, and so could whoever knows the order. Visitors must not depend on
//    it.
//  - The memory is that of the slots, 16 bytes each, and half as much again while they double.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace caesura::lambda {

/// Stafford's mixer 13: every bit of the pattern moves every bit of the hash.
inline std::uint64_t hash_of(std::uint64_t pattern) {
    std::uint64_t x = pattern + 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

class PatternTable {
  public:
    /// How many patterns fit so many bytes.
    static std::size_t patterns_in(std::size_t bytes) {
        return std::bit_floor(bytes / sizeof(Slot)) / 4 * 3;
    }
    std::size_t size() const { return size_; }
    void add(std::uint64_t pattern, std::uint64_t times) {
        if (4 * (size_ + 1) > 3 * slots_.size()) reserve(size_ + 1);
        Slot& slot = slots_[place_of(pattern)];
        if (slot.times == 0) {
            slot.pattern = pattern;
            ++size_;
        }
        slot.times += times;
    }
    bool add_if_there(std::uint64_t pattern, std::uint64_t times) {
        if (size_ == 0) return false;
        Slot& slot = slots_[place_of(pattern)];
        if (slot.times == 0) return false;
        slot.times += times;
        return true;
    }
    /// Room for so many patterns, without growing in between.
    void reserve(std::size_t patterns);
    /// Take a pattern out; 0 if it is not there.
    std::uint64_t take(std::uint64_t pattern);
    void prefetch(std::uint64_t pattern) const {
        if (!slots_.empty()) __builtin_prefetch(&slots_[home_of(pattern)], 1);
    }
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const Slot& slot : slots_)
            if (slot.times > 0) visit(slot.pattern, slot.times);
    }

  private:
    struct Slot {
        std::uint64_t pattern = 0;
        std::uint64_t times = 0;
    };
    static std::uint64_t new_order();
    std::size_t home_of(std::uint64_t pattern) const {
        return (hash_of(pattern) * order_) >> shift_;
    }
    std::size_t place_of(std::uint64_t pattern) const {
        std::size_t at = home_of(pattern);
        while (slots_[at].times != 0 && slots_[at].pattern != pattern)
            at = (at + 1) & (slots_.size() - 1);
        return at;
    }
    void resize(std::size_t slots);
    std::vector<Slot> slots_;  // a power of two
    std::size_t size_ = 0;
    std::uint64_t order_ = new_order();  // odd
    int shift_ = 64;                     // 64 less the bits of a slot's number
};

}  // namespace caesura::lambda
