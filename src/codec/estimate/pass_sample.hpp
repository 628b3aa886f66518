// Sampled rows of interpolation's passes: what each setting of a pass would make of them.
//
// A sample is three consecutive rows of a pass and the four rows each is interpolated from.
// Neighbours are put on the lattice, as they will have been when the predictor reads them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/estimate/spots.hpp"
#include "codec/kernels/sample_kernels.hpp"
#include "codec/predictors/codes.hpp"
#include "codec/predictors/predictors.hpp"

namespace caesura::codec {

/// The values half way along an axis of the four.
struct PassSettings {
    bool cubic = true;
    unsigned feedback = 0;  ///< sixteenths
};

template <class T>
class PassSample {
  public:
    PassSample(const Spots<T>& spots, const Quantiser<T>& quantiser);
    /// Read the rows of the pass along `axis` around places.
    void load(std::size_t axis, std::span<const Pick> picks);
    /// Rough bits per value.
    double cost(const PassSettings& settings);

  private:
    static constexpr std::size_t k_row_values = 64;
    static constexpr std::size_t k_rows = 3;  // the first only warms up the feedback
    static constexpr std::size_t k_row_room = k_row_values + 3;

    /// Where a pick's rows lie.
    struct Rows {
        const T* first = nullptr;       // target
        std::ptrdiff_t around[4] = {};  // to the neighbours at -1, 1, -3, 3
        std::uint64_t next = 0;         // to the next row
        std::size_t n_rows = 1;
        std::size_t n = 0;
        double weight = 1;
    };
    Rows rows_at(std::size_t axis, const Index4& place) const;
    void prefetch(const Rows& rows) const;
    void copy(const Rows& rows, T* out) const;

    const T* values_;
    FourAxes axes_;
    Quantiser<T> quantiser_;
    bool along_x_ = false;
    std::vector<Rows> loaded_;
    std::vector<T> copies_;  // k_rows * 5 rows of k_row_room for each
    std::vector<T> residual_;
    alignas(64) std::uint32_t codes_[k_chunk_values + k_code_slack];
};

}  // namespace caesura::codec
