// Bytes written over a file without touching it: HDF5's metadata writes collect here.
//
// Invariant: extents are disjoint, none is empty. What is written directly behind an extent is
// appended to it while it is short; other adjacent extents are not merged while writing (a long
// commit in descending order would copy for ever); extents() merges them once.
#pragma once

#include <map>

#include "caesura/base.hpp"

namespace caesura::store {

struct Extent {
    std::uint64_t address = 0;
    std::vector<std::byte> bytes;
    std::uint64_t end() const { return address + bytes.size(); }
};

class Overlay {
  public:
    void write(std::uint64_t address, std::span<const std::byte> bytes);
    /// Nothing was written in the interval.
    void erase(std::uint64_t address, std::uint64_t bytes);
    /// Replace in `bytes` (which lie at `address`) what has been written here.
    void read(std::uint64_t address, std::span<std::byte> bytes) const;
    /// True if every byte of the interval has been written.
    bool covers(std::uint64_t address, std::uint64_t bytes) const;
    /// One past the last byte written; 0 when empty.
    std::uint64_t end() const;
    /// Everything in [begin, end), adjacent pieces merged, ascending.
    std::vector<Extent> extents(std::uint64_t begin, std::uint64_t end) const;
    using Map = std::map<std::uint64_t, std::vector<std::byte>>;
    /// Everything as it lies here, by address.
    const Map& pieces() const { return extents_; }
    bool empty() const { return extents_.empty(); }
    /// Memory held, the book-keeping of each extent estimated.
    std::uint64_t memory_bytes() const { return bytes_ + k_extent_memory_bytes * extents_.size(); }

  private:
    /// First extent that ends after `address`.
    Map::const_iterator first_after(std::uint64_t address) const;
    Map extents_;
    std::uint64_t bytes_ = 0;
    static constexpr std::uint64_t k_extent_memory_bytes = 112;  // a node of the map, two headers
};

}  // namespace caesura::store
