// Trying settings on small pieces of a block with the real encoder.
//
// What a pass costs depends on the errors that earlier passes left in its neighbours, so the order
// of the axes cannot be told from each pass alone.
#pragma once

#include <vector>

#include "codec/predictors.hpp"

namespace caesura::codec {

template <class T>
class Rehearsal {
  public:
    static constexpr int k_pieces = 2;

    Rehearsal(const T* values, const Shape& shape, const Quantiser<T>& quantiser);
    /// Rough bits of pieces `first` .. `last` - 1.
    double bits(const InterpolationSettings& settings, int first, int last);
    double bits(const LorenzoSettings& settings, int first, int last);

  private:
    T* piece_values(int piece) {
        return values_.data() + static_cast<std::uint64_t>(piece) * piece_.count();
    }
    void copy_piece(const T* values, const Shape& shape, const Box& box, int piece);

    Quantiser<T> quantiser_;
    Shape piece_;
    std::vector<T> values_;
    PredictorScratch scratch_;
    ExactValues<T> exact_;
};

}  // namespace caesura::codec
