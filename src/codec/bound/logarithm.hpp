// The point-wise relative bound: a slab as logarithms, signs, zeros and what must stay exact.
//
// Invariants:
//  - An absolute bound on the logarithms is a relative bound on the values, but for rounding; every
//    value is compared after decoding, and what fails is stored as it is.
//  - Zeros keep their sign; infinities and NaN keep their bits.
#pragma once

#include <span>
#include <vector>

#include "codec/bound/exact_values.hpp"
#include "codec/frame/frame.hpp"

namespace caesura::codec {

/// The encoder's side. Keeps its memory from slab to slab.
template <class T>
class LogarithmOfSlab {
  public:
    /// @param bound  on log2 |x|; on return what rounding leaves of it for the quantiser.
    /// @return false if nothing is left of the bound, or no value has a logarithm.
    bool transform(std::span<const T> values, double& bound);
    /// log2 |x| - centre(); where that does not exist, its predecessor (0 at the start).
    std::span<T> logarithms() { return logarithms_; }
    int centre() const { return centre_; }

    /// Compare what was decoded; what is not within fraction * |x| becomes an override.
    void add_failures(std::span<const T> values, std::span<const T> decoded, double fraction);
    /// Of the overrides, ascending.
    std::span<const std::uint32_t> positions() const { return positions_; }
    /// Append the sections of signs and zeros.
    void write_masks(LosslessPacker& packer, PartWriter& part, Output& out) const;

  private:
    void fill_gaps();
    std::vector<T> logarithms_;
    std::vector<std::uint16_t> negative_, zero_, not_finite_;
    std::vector<std::uint32_t> positions_;  // of overrides, ascending
    int centre_ = 0;
};

extern template class LogarithmOfSlab<float>;
extern template class LogarithmOfSlab<double>;

}  // namespace caesura::codec
