// Slabs: a large array as contiguous parts that are coded independently, side by side.
//
// Invariants:
//  - Slabs tile the array in memory order; each is a contiguous run of the caller's values with a
//    shape of its own, so nothing is copied.
//  - An array of at most k_slab_limit_bytes is one slab. No slab that choose_slabs makes is larger
//    than that (a single value along the cut axis always fits; the last axis can always be cut).
//  - A cut is two numbers (axis, thickness), so a frame says how it was cut and the rule below may
//    change without a new format.
#pragma once

#include <cstdint>
#include <functional>

#include "caesura/base.hpp"

namespace caesura::codec {

inline constexpr std::uint64_t k_slab_limit_bytes = std::uint64_t{16} << 20;

/// Every index of the axes before `axis` is cut along `axis` into pieces of `thickness`, the last
/// of which may be thinner.
struct SlabCut {
    int axis = 0;
    std::uint64_t thickness = 0;  ///< 1 to the axis' extent
    friend bool operator==(const SlabCut&, const SlabCut&) = default;
};

struct Slab {
    std::uint64_t first = 0;  ///< index of its first value in the array
    Shape shape;
};

/// The slabs of an array. shape: rank >= 1, extents >= 1, fewer than 2^63 values.
class Slabs {
  public:
    /// Errors of a cut read from a frame: corrupt (axis or thickness outside the shape).
    static Result<Slabs> make(const Shape& shape, const SlabCut& cut);
    /// The whole array as one slab.
    static Slabs one(const Shape& shape);

    std::uint64_t count() const { return leading_ * pieces_; }
    Slab operator[](std::uint64_t index) const;
    const SlabCut& cut() const { return cut_; }

  private:
    Shape shape_;
    SlabCut cut_;
    std::uint64_t leading_ = 1;  // product of the extents before the axis
    std::uint64_t pieces_ = 1;   // per index of those
    std::uint64_t inner_ = 1;    // values per index of the axis
};

/// Slabs of 8 to 16 MiB where the shape allows it, along the slowest axis that does.
Slabs choose_slabs(const Shape& shape, std::size_t value_bytes);

/// Call work(worker, index) for index = 0 .. n-1, each once, in up to `threads` threads (0: as many
/// as the machine has), worker < the number of threads. Indices start in ascending order. After an
/// error no further index starts; the result is the error of the lowest index that has one.
/// std::bad_alloc and std::length_error in a worker are no_space.
Status for_each_parallel(std::uint64_t n, int threads,
                         const std::function<Status(int worker, std::uint64_t index)>& work);
/// How many workers for_each_parallel would use.
int worker_count(std::uint64_t n, int threads);

}  // namespace caesura::codec
