// Connected components of cells above a threshold, region by region.
//
// Invariants:
//  - Cells are neighbours through a face (6-connectivity; 4 in 2-D, 2 in 1-D).
//  - A region leaves behind its components' sizes and, for each of its faces inside the object (or
//    on its border, where that is periodic), the runs of cells above the threshold with their
//    component. Once a face has met all its neighbours it goes: memory follows the surface of what
//    has been seen, not its volume.
//  - Regions and states come in any order; the components are those of the whole.
// Source: union-find over runs, as in He, Chao, Suzuki, A run-based two-scan labeling algorithm,
// 2008; S4 §III-B asks for functions on whole objects.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "lambda/byte_sink.hpp"

namespace caesura::lambda {

/// Which labels are one component, and how many cells each has.
class Components {
  public:
    std::uint32_t add(std::uint64_t cells);
    std::uint32_t root(std::uint32_t label) const;
    /// @return  the root of both.
    std::uint32_t unite(std::uint32_t a, std::uint32_t b);
    void grow(std::uint32_t label, std::uint64_t cells) { cells_[root(label)] += cells; }
    std::uint64_t cells(std::uint32_t root) const { return cells_[root]; }
    std::size_t size() const { return parents_.size(); }

  private:
    mutable std::vector<std::uint32_t> parents_;
    std::vector<std::uint64_t> cells_;
};

/// Cells above the threshold side by side in a row of a face.
struct FaceRun {
    std::uint32_t row = 0, begin = 0, end = 0;  ///< [begin, end), from the face's corner
    std::uint32_t label = 0;
};

/// One side of a region, a rectangle of cells.
struct Face {
    std::array<std::uint64_t, 2> corner{}, extent{};  ///< rows, columns: the other two axes
    std::vector<FaceRun> runs;                        ///< by row, then by column; apart
    std::uint64_t matched = 0;                        ///< cells that have met their neighbour
    std::uint64_t area() const { return extent[0] * extent[1]; }
};

/// Where faces meet.
struct Plane {
    std::uint8_t axis = 0;
    bool is_end = false;  ///< the region lies before the plane
    std::uint64_t at = 0;
    friend auto operator<=>(const Plane&, const Plane&) = default;
};

struct LabelledRegion {
    std::vector<std::uint64_t> cells;        ///< [components] how many each has
    std::vector<std::array<Face, 2>> faces;  ///< [3] begin and end along each axis
};

/// The components of one region by itself.
/// @param extent  three axes, each >= 1; at most 2^32 values.
/// Limit: one read of the values where few are above; 0.6 ns a value there.
LabelledRegion label_region(std::span<const float> values, const Shape& extent, double threshold);
LabelledRegion label_region(std::span<const double> values, const Shape& extent, double threshold);
/// The same of cells that are marked already.
/// @param marks  a bit a cell, from the lowest of the first word; at least as many as there are.
LabelledRegion label_marks(std::span<const std::uint64_t> marks, const Shape& extent);

/// Components of all that was given, and the faces that wait for neighbours.
class ClusterSet {
  public:
    ClusterSet(std::size_t largest, std::uint64_t least_cells, bool periodic)
        : most_largest_(largest), least_cells_(least_cells), periodic_(periodic) {}

    /// @param offset, shape  three axes.
    /// Errors: invalid_argument (regions overlap), no_space (more labels than 2^32).
    Status add(LabelledRegion&& region, const Shape& offset, const Shape& extent,
               const Shape& shape);
    Status merge(const ClusterSet& other);

    struct Summary {
        std::uint64_t count = 0;            ///< components of at least least_cells
        std::uint64_t cells = 0;            ///< in them
        std::uint64_t small = 0;            ///< components that are smaller
        std::vector<std::int64_t> largest;  ///< sizes, in falling order
    };
    Summary summary() const;

    void save(Writer& out) const;
    /// Errors: corrupt, insufficient_data.
    Status load(Reader& in);

  private:
    Status meet(const Plane& plane, Face& face);
    void keep(const Plane& plane, Face face);
    static void close(Summary& summary, std::uint64_t cells, std::uint64_t least_cells,
                      std::size_t most_largest);
    void drop_closed();
    Status load_faces(Reader& in, std::uint32_t labels);

    std::size_t most_largest_;
    std::uint64_t least_cells_;
    bool periodic_;
    Components open_;       // what faces name, and what was not looked through yet
    std::size_t kept_ = 0;  // labels that were left by the last drop_closed()
    Summary closed_;        // what can grow no more
    std::map<Plane, std::vector<Face>> faces_;
};

}  // namespace caesura::lambda
