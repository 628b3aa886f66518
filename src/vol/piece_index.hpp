// Which of many boxes may meet a box: a grid of cells of about the boxes' own size, so that asking
// costs what is near and not what there is.
//
// Invariant: boxes are numbered in the order in which they came, and never change once they are
// known here.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "caesura/base.hpp"

namespace caesura::vol {

class PieceIndex {
  public:
    /// So many boxes, from the first on, must stay as they are until clear().
    std::size_t known() const { return known_; }
    /// Boxes have gone.
    void clear();
    /// Numbers, ascending, of all boxes that may meet `box`: every one that does, and few others.
    /// @param count  of boxes now. @param box_of  the box of a number.
    std::vector<std::uint32_t> near(const Box& box, std::size_t count,
                                    const std::function<const Box&(std::size_t)>& box_of);

  private:
    void build(std::size_t count, const std::function<const Box&(std::size_t)>& box_of);
    void add(std::uint32_t number, const Box& box);
    std::uint64_t cells_of(const Box& box) const;
    template <class Visit>
    void for_cells(const Box& box, Visit&& visit) const;

    std::size_t known_ = 0, built_for_ = 0;
    Shape cell_;
    std::vector<std::uint32_t> wide_;  ///< that reach over many cells
    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> cells_;
};

}  // namespace caesura::vol
