// Small pieces of a block, coded by the real encoder.
//
// What a pass costs depends on the errors that earlier passes left in its neighbours, and nothing
// but the encoder tells. Some pieces serve to choose settings, all of them to say what those cost.
//
// Invariants:
//  - Extents are a power of two and one where the block allows, so that no target lacks the source
//    above it on any level: in a piece many would, in a block few.
//  - Levels count by their share of the block, and Lorenzo's codes where all lower neighbours lie
//    inside.
//  - When sizes are measured, codes near a piece's edges count as seldom as there are such in the
//    block (typical_codes.hpp).
#pragma once

#include <array>
#include <span>
#include <vector>

#include "codec/code_collector.hpp"
#include "codec/code_cost.hpp"
#include "codec/predictors.hpp"
#include "codec/spots.hpp"

namespace caesura::codec {

template <class T>
class Rehearsal {
  public:
    static constexpr std::size_t k_tuning_pieces = 4;  // the first ones
    static constexpr std::size_t k_fewest_pieces = 6;  // that tell sizes
    static constexpr std::size_t k_most_pieces = 24;

    Rehearsal(const Spots<T>& spots, const Shape& shape, const Quantiser<T>& quantiser);

    /// Rough bits per value of the block, from pieces `first` .. `last` - 1, summed up.
    double cost(const InterpolationSettings& settings, std::size_t first, std::size_t last);
    double cost(const LorenzoSettings& settings, std::size_t first, std::size_t last);
    /// Feedback starts afresh in every plane of a pass, in a piece after a few rows already: what
    /// the block's cost is of the pieces', for that reason.
    double without_warm_up(const InterpolationSettings& settings);
    /// Let `cost` know the codes of the pieces, each standing for as many of the block's as it
    /// does, times `scale`.
    void measure(const InterpolationSettings& settings, std::size_t pieces, double scale,
                 CodeCost& cost);

  private:
    /// Finest level, the next one, the rest.
    static constexpr std::size_t k_groups = 3;

    struct Piece {
        std::vector<T> values;
        double weight = 1;
    };
    const Piece& piece(std::size_t index);
    /// Codes of a piece; those of group g end where those of g - 1 begin.
    void encode(const Piece& piece, const InterpolationSettings& settings);
    template <class Use>
    void for_each_chunk(std::span<const std::uint32_t> codes, Use use);
    void measure_class(std::span<const std::uint32_t> codes, double weight, CodeCost& cost);

    const T* values_;
    Shape shape_;
    FourAxes axes_;
    Quantiser<T> quantiser_;
    std::vector<Pick> picks_;  // as many as there may be pieces
    Shape piece_shape_;
    std::vector<Piece> pieces_;
    std::array<std::size_t, k_groups + 1> begins_{};  // of the groups' codes in a piece, backwards
    std::array<double, k_groups> shares_{};           // of the block's values
    PredictorScratch scratch_;
    ExactValues<T> exact_;
    CodeCollector collector_;
    std::vector<std::int32_t> indices_;
    alignas(64) std::uint32_t chunk_[k_chunk_values + k_code_slack];
};

}  // namespace caesura::codec
