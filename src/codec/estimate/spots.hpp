// Where to look into a block: a few hundred short runs of values spread over it, and from what
// goes on there the places that are worth a closer look.
//
// Every place is a wait for memory, so all are known before the first is read. Where a field is
// bursty the bytes are where the bursts are: places are picked with probabilities proportional to
// the activity of their spot, and their weights make up for it.
//
// Invariants:
//  - Spots depend on the shape alone, picks on values and step: the same everywhere (integers).
//  - A quantity's mean over the picks, each times its weight, is its mean over the spots.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "caesura/base.hpp"
#include "codec/bound/quantiser.hpp"

namespace caesura::codec {

/// A block as four axes, the last one (x) contiguous. Axes of extent 1 are left out, and those it
/// lacks are in front, of extent 1. It may be part of a larger array.
struct FourAxes {
    static constexpr std::size_t k_x = 3;  ///< along which values are contiguous
    static constexpr std::size_t k_y = 2;  ///< rows follow each other along it
    std::array<std::uint64_t, 4> extent{1, 1, 1, 1};
    std::array<std::uint64_t, 4> stride{};
    std::array<int, 4> axis{-1, -1, -1, -1};  ///< which of the block's it is

    explicit FourAxes(const Shape& shape) : FourAxes(shape, shape) {}
    FourAxes(const Shape& shape, const Shape& array);
    std::uint64_t count() const { return extent[0] * extent[1] * extent[2] * extent[3]; }
};

inline constexpr std::size_t k_line_bytes = 64;  ///< of the cache
/// How even the picks are that serve to choose settings; see Spots::pick().
inline constexpr std::uint64_t k_even_quarters = 2;

using Index4 = std::array<std::uint64_t, 4>;

/// One of n places that fill a box evenly, whatever n is: the i-th.
Index4 spread(const Index4& extent, std::uint64_t i, std::uint64_t n);

struct Pick {
    Index4 at{};
    double weight = 1;
};

/// Keeps its memory from block to block.
template <class T>
class Spots {
  public:
    /// Look into a block. `values` must outlive what follows.
    void look(std::span<const T> values, const Shape& shape) { look(values.data(), shape, shape); }
    /// A block that begins at `first` in an array; its rows are whole in memory.
    /// @param most  spots.
    void look(const T* first, const Shape& shape, const Shape& array, std::size_t most = k_most);
    /// The same block at more spots, for what is rare; to be rated anew.
    Spots closer() const;
    const T* values() const { return values_; }
    const FourAxes& axes() const { return axes_; }
    /// The values of all spots.
    std::span<const T> sample() const { return {rows_.data(), places_.size() * run_}; }

    /// See what goes on at every spot, on a lattice of this step. Before pick().
    void rate(const Quantiser<T>& quantiser);
    /// @param quarters  how even: the activity that every spot is granted beside its own, in
    ///                  quarters of the mean. 0: none; many: places are picked without regard.
    std::vector<Pick> pick(std::size_t n, std::uint64_t quarters) const;
    /// What goes on at the mean spot: bits of a value's change. After rate().
    double activity() const;
    /// The variance of the spots' activity, in squares of its mean; 0 where nothing goes on.
    double unevenness() const;

  private:
    void read(std::size_t most);

    static constexpr std::size_t k_most = 512;
    static constexpr std::size_t k_most_closer = 4096;
    static constexpr std::size_t k_run = 16;  // a cache line of float32

    const T* values_ = nullptr;
    FourAxes axes_{Shape{1}};
    std::size_t run_ = 0;
    std::vector<Index4> places_;
    std::vector<T> rows_;  // the spots' runs, then the runs of their neighbours
    std::vector<std::int32_t> indices_;
    std::vector<std::uint32_t> activity_;
    std::uint64_t sum_ = 0;
};

}  // namespace caesura::codec
