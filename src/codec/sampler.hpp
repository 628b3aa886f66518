// Sampled rows of a block: what Lorenzo and interpolation would make of them, for tune.cpp.
//
// A sample is a few consecutive rows at a place of its own; places are stratified over the block
// and the same for the same shape. Neighbours of sampled values are put on the lattice, as they
// will have been when the predictor reads them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "codec/code_cost.hpp"
#include "codec/predictors.hpp"
#include "codec/sample_kernels.hpp"

namespace caesura::codec {

/// A block as four axes, the last one contiguous, those it lacks of extent 1.
struct SampledShape {
    std::array<std::uint64_t, 4> extent{1, 1, 1, 1};
    std::array<std::uint64_t, 4> stride{};
    int first_axis = 0;  ///< of the block's axis 0 among the four

    explicit SampledShape(const Shape& shape);
    std::uint64_t count() const { return extent[0] * stride[0]; }
};

/// Places spread over a box: the slowest axis evenly, the others by a fixed sequence.
class Places {
  public:
    explicit Places(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}
    std::uint64_t below(std::uint64_t n);

  private:
    std::uint64_t state_;
};

/// One pass of interpolation on the finest grid: the values half way along `axis`.
struct PassSettings {
    int axis = 3;  ///< of the four
    bool cubic = true;
    unsigned feedback = 0;  ///< sixteenths
};

template <class T>
class Sampler {
  public:
    Sampler(const T* values, const Shape& shape, const Quantiser<T>& quantiser);
    const SampledShape& shape() const { return shape_; }

    /// Are there values half way along `axis`?
    bool has_pass(int axis) const { return shape_.extent[static_cast<std::size_t>(axis)] > 1; }
    /// Rough bits per value of each (cubic, feedback) of `choices`, from `places` places.
    void explore_pass(int axis, int places, std::vector<PassSettings>& choices,
                      std::vector<double>& rough);

    /// Rough bits per value of differences along every subset of axes (bit a: axis a of the four);
    /// infinity for those with an axis of extent 1, and for none.
    std::array<double, 16> explore_lorenzo(int places);
    void measure_lorenzo(unsigned axes, int places, bool planes, CodeCost& cost);

  private:
    static constexpr std::size_t k_row_values = 128;
    static constexpr std::size_t k_rows = 3;  // the first only warms up the feedback

    /// Gather the rows of one place of a pass: target and four neighbours of k_rows rows.
    std::size_t gather(int axis, Places& places, std::uint64_t stratum, std::uint64_t strata,
                       T step, std::size_t& n_rows);
    void copy_row(const T* from, std::uint64_t spacing, std::size_t n, T* to) const;
    /// Lattice indices of a place and its lower neighbours; returns the row's length.
    std::size_t gather_indices(Places& places, std::uint64_t stratum, std::uint64_t strata,
                               std::size_t& n_rows);
    void difference(unsigned axes, std::size_t n, std::size_t row, std::uint32_t* codes);
    int lowest_free_axis(int axis) const;

    const T* values_;
    SampledShape shape_;
    Quantiser<T> quantiser_;
    std::vector<T> rows_;                // k_rows * 5 rows of k_row_values
    std::vector<std::int32_t> indices_;  // rows of k_row_values + 1: see gather_indices
    std::vector<std::int32_t> scratch_;
    std::array<T, k_row_values> residual_{};
    alignas(64) std::uint32_t codes_[k_chunk_values + k_code_slack];
};

}  // namespace caesura::codec
