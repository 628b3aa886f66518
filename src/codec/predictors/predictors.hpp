// Lorenzo and interpolation predictors: a block's values become residual codes and come back.
//
// Invariants:
//  - Every finite value comes back within the quantiser's bound or, when that cannot be, exactly;
//    NaN, infinities and what the lattice cannot hold come back bit for bit.
//  - Only IEEE operations in a fixed order (no fused multiply-add, round to nearest even, denormals
//    kept): encoder and decoder agree bit for bit on every instruction set. The caller holds a
//    FloatEnvironment.
//  - Decoders are safe on any codes, settings that pass valid(), and any exact values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "caesura/base.hpp"
#include "codec/bound/quantiser.hpp"
#include "codec/predictors/codes.hpp"

namespace caesura::codec {

/// Values that the lattice does not hold.
template <class T>
struct ExactValues {
    std::vector<T> values;                 ///< in coding order
    std::vector<std::uint32_t> positions;  ///< index in the block; Lorenzo only
};

/// Successive differences of the pre-quantised integers along the axes in `axes`.
struct LorenzoSettings {
    std::uint8_t axes = 0x0f;  ///< bit a: difference along axis a (of those with extent > 1)
};

/// Multi-level interpolation.
struct InterpolationSettings {
    /// The order in which a level's axes are doubled: order[0] first (fewest values), the last one
    /// predicts the largest share. A permutation of 0 .. rank-1; the rest unused.
    std::array<std::uint8_t, k_max_rank> order{0, 1, 2, 3};
    /// Row feedback on the pass along each axis (indexed by axis), in sixteenths, 0 .. 15: adds
    /// feedback/16 * (reconstruction - interpolation) of the previous row of the same pass.
    std::array<std::uint8_t, k_max_rank> feedback{};
    /// Bit a: cubic along axis a, else linear.
    std::uint8_t cubic = 0x0f;
    /// Coarser levels use a finer lattice: step / min((alpha/16)^level, beta/16). 16 .. 64.
    std::uint8_t alpha = 20;
    std::uint8_t beta = 32;
    friend bool operator==(const InterpolationSettings&, const InterpolationSettings&) = default;
};

/// Errors: corrupt (out of the ranges above, or order no permutation), naming the setting.
Status valid(const LorenzoSettings& settings, int rank);
Status valid(const InterpolationSettings& settings, int rank);

/// Working memory that outlives a block, so that workers do not allocate. Grows as needed: at most
/// 0.8 times the block's raw bytes for either predictor, if no extent but 1 is below 10.
class PredictorScratch {
  public:
    /// 64-byte aligned, with any content, until the next call. Throws std::bad_alloc.
    std::byte* room(std::size_t bytes);
    std::size_t bytes() const { return bytes_; }

  private:
    struct Free {
        void operator()(std::byte* memory) const;
    };
    std::unique_ptr<std::byte, Free> memory_;
    std::size_t bytes_ = 0;
};

template <class T>
void encode_lorenzo(const T* values, const Shape& shape, const Quantiser<T>& quantiser,
                    const LorenzoSettings& settings, PredictorScratch& scratch, CodeWriter& codes,
                    ExactValues<T>& exact);
/// Errors: corrupt (exact positions not ascending or outside the block).
template <class T>
Status decode_lorenzo(T* values, const Shape& shape, const Quantiser<T>& quantiser,
                      const LorenzoSettings& settings, PredictorScratch& scratch, CodeReader& codes,
                      const ExactValues<T>& exact);

template <class T>
void encode_interpolation(const T* values, const Shape& shape, const Quantiser<T>& quantiser,
                          const InterpolationSettings& settings, PredictorScratch& scratch,
                          CodeWriter& codes, ExactValues<T>& exact);
/// Errors: corrupt (more or fewer exact codes than exact values).
template <class T>
Status decode_interpolation(T* values, const Shape& shape, const Quantiser<T>& quantiser,
                            const InterpolationSettings& settings, PredictorScratch& scratch,
                            CodeReader& codes, const ExactValues<T>& exact);

}  // namespace caesura::codec
