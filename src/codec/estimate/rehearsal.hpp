// Small pieces of a block, coded by the real encoder.
//
// What a pass costs depends on the errors that earlier passes left in its neighbours, and nothing
// but the encoder tells. Pieces serve to compare settings: near their edges, of which a block has
// fewer, codes cost more than they will (what a block costs, measure.hpp tells).
//
// Invariants:
//  - Extents are a power of two and one where the block allows, so that no target lacks the source
//    above it on any level: in a piece many would, in a block few.
//  - Levels count by their share of the block, and Lorenzo's codes where all lower neighbours lie
//    inside.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "codec/entropy/code_cost.hpp"
#include "codec/estimate/spots.hpp"
#include "codec/predictors/code_collector.hpp"
#include "codec/predictors/predictors.hpp"

namespace caesura::codec {

template <class T>
class Rehearsal {
  public:
    static constexpr std::size_t k_most_pieces = 4;

    Rehearsal(const Spots<T>& spots, const Shape& shape, const Quantiser<T>& quantiser);

    /// Rough bits per value of the block, from pieces `first` .. `last` - 1, summed up.
    double cost(const InterpolationSettings& settings, std::size_t first, std::size_t last);
    double cost(const LorenzoSettings& settings, std::size_t first, std::size_t last);

  private:
    /// Finest level, the next one, the rest.
    static constexpr std::size_t k_groups = 3;

    struct SampledPiece {
        std::vector<T> values;
        double weight = 1;
    };
    const SampledPiece& piece(std::size_t index);
    /// Codes of a piece; those of group g end where those of g - 1 begin.
    void encode(const SampledPiece& piece, const InterpolationSettings& settings);
    template <class Use>
    void for_each_chunk(std::span<const std::uint32_t> codes, Use use);

    const T* values_;
    Shape shape_;
    FourAxes axes_;
    Quantiser<T> quantiser_;
    std::vector<Pick> picks_;  // as many as there may be pieces
    Shape piece_shape_;
    std::vector<SampledPiece> pieces_;
    std::array<std::size_t, k_groups + 1> begins_{};  // of the groups' codes in a piece, backwards
    std::array<double, k_groups> shares_{};           // of the block's values
    PredictorScratch scratch_;
    ExactValues<T> exact_;
    CodeCollector collector_;
    std::vector<std::int32_t> indices_;
    alignas(64) std::uint32_t chunk_[k_chunk_values + k_code_slack];
};

}  // namespace caesura::codec
