// Stretches of the file that belong to one rank and are not used: plain numbers.
//
// Invariants:
//  - Free stretches are disjoint and 4 KiB-aligned; two that touch are one.
//  - FreeSpace forgets only the smallest of more than k_most_extents, and what cut() cuts off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace caesura::ledger {

/// A stretch of the file.
struct Extent {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t end() const { return address + bytes; }
    friend bool operator==(const Extent&, const Extent&) = default;
};

/// The free stretches of a rank, joined where they touch.
class FreeSpace {
  public:
    static constexpr std::size_t k_most_extents = 256;
    /// @param extent  4 KiB-aligned; of length 0: nothing happens.
    void add(Extent extent);
    const std::vector<Extent>& extents() const { return extents_; }  ///< ascending by address
    std::vector<Extent> take_all() { return std::exchange(extents_, {}); }
    std::uint64_t bytes() const;
    /// Forget what lies at or beyond the end of the file.
    void cut(std::uint64_t file_end);

  private:
    std::vector<Extent> extents_;
};

}  // namespace caesura::ledger
