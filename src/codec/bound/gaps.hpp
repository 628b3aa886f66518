// Gaps in a field (NaN, infinities, fill values): where there are many, they are taken out before
// prediction and put back after it.
//
// A predictor that meets one stores it exactly, and its neighbours are predicted from it; in a
// field of which a third is land or empty, that costs more than the data. Filled with the value
// before them, gaps cost next to nothing, and their positions are runs.
//
// Invariants:
//  - Every value that is taken out is put back bit for bit.
#pragma once

#include <span>
#include <vector>

#include "codec/bound/exact_values.hpp"
#include "codec/frame/frame.hpp"

namespace caesura::codec {

/// Are gaps more than 1 in 256 of a sample? A gap is what is not finite or so large that its own
/// rounding exceeds the bound.
template <class T>
bool has_many_gaps(std::span<const T> sample, T bound);

/// A slab without its gaps. Keeps its memory from slab to slab.
template <class T>
class FilledSlab {
  public:
    void fill(std::span<const T> values, T bound);
    std::span<const T> values() const { return filled_; }
    /// Of what was taken out, ascending.
    std::span<const std::uint32_t> positions() const { return positions_; }

  private:
    std::vector<T> filled_;
    std::vector<std::uint32_t> positions_;
};

/// Append the two sections that put values back at `positions`.
template <class T>
void write_overrides(std::span<const T> values, std::span<const std::uint32_t> positions,
                     LosslessPacker& packer, PartWriter& part, Output& out) {
    std::vector<T> exact;
    exact.reserve(positions.size());
    for (const std::uint32_t position : positions) exact.push_back(values[position]);
    pack_values<T>(exact, packer, out);
    part.end_section(Section::override_values);
    pack_positions(positions, packer, out);
    part.end_section(Section::override_positions);
}

extern template class FilledSlab<float>;
extern template class FilledSlab<double>;

}  // namespace caesura::codec
