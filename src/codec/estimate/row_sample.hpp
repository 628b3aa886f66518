// Sampled rows of a block, and the codes that the interpolation predictor would make of them.
//
// What a row is coded into depends on the rows around it as they were reconstructed, not on the
// rest of the block. So a few rows here and there tell what a pass costs, if their sources look as
// they will: on the lattice of their level, within half a step of the originals. Where most
// residuals are many steps long that is all there is to know. Where most are zero, errors of
// sources are not spread evenly but are what prediction left: then the sources next to a target
// are predicted too, from their own neighbours, down to the next coarser grid.
//
// Rows are whole, as far as they are not long: a chunk of codes is coded as one, and a row's end,
// which costs most, belongs to its neighbours.
//
// Invariants:
//  - Which rows are looked at depends on the shape and the settings alone.
//  - Codes are made by the encoder's own kernels, with the sources that exist where the row lies.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "codec/bound/quantiser.hpp"
#include "codec/entropy/code_cost.hpp"
#include "codec/estimate/spots.hpp"
#include "codec/predictors/interpolation_walk.hpp"

namespace caesura::codec {

template <class T>
class RowSample {
  public:
    /// @param spots    of the block, whose values must outlive this.
    /// @param scratch  must outlive this, and is used by measure() only.
    RowSample(const Spots<T>& spots, const Shape& shape, const Quantiser<T>& quantiser,
              const InterpolationSettings& settings, PredictorScratch& scratch);

    /// Predict sources too, or take them to be on the lattice.
    void set_predicted_sources(bool predicted) { predicted_ = predicted; }
    /// Let `cost` know the codes of sampled rows of all passes of a level, each standing for as
    /// many of the block's as it does, times `scale`.
    /// @param groups  of rows that follow each other, in the level's last pass; half as many in the
    ///                one before, and so on.
    void measure(int level, std::size_t groups, double scale, CodeCost& cost);

  private:
    using Extents = interpolation::Extents;
    static constexpr std::size_t k_row_values = 256;   // longer rows are cut
    static constexpr std::size_t k_group_codes = 512;  // at least, of the finest level
    static constexpr std::size_t k_most_rows = 32;
    static constexpr std::size_t k_beside = 4;  // values read on either side of a cut

    /// Rows of a pass that follow each other.
    struct Group {
        Extents at{};  // indices on the level's grid; of x: where the cut begins
        std::size_t n_rows = 1;
        bool warms_up = false;  // by the first row
        std::size_t n = 0;      // values of a row that are looked at
        std::size_t skip = 0;   // targets of a row that are not counted: in front ...
        std::size_t keep = 0;   // ... and those that are
    };
    /// A pass of the level at hand.
    struct Pass {
        int index = 0;
        int axis = 0;
        bool full = false;  // x is doubled already
        Extents first{};    // of target rows
        Extents spacing{};  // between them
        Extents count{};
        std::size_t targets = 0;  // in a row
        std::uint64_t all_targets() const { return count[0] * count[1] * count[2] * targets; }
    };
    /// A reconstructed row of the level's grid, found again by where it lies.
    struct Known {
        Extents at{};
        int before = 0;
        T* row = nullptr;
    };

    Pass pass_of(int index) const;
    std::size_t groups_of(const Pass& pass, const Pass& last, std::size_t groups) const;
    Group group_of(const Pass& pass, std::size_t i, std::size_t n) const;
    bool interleaves(const Pass& pass) const {
        return row_axis_ == 0 && pass.axis == interpolation::k_x && pass.spacing[0] == 1;
    }
    std::size_t row_of(const Pass& pass, const Group& group, std::size_t r) const;
    void ask(const Pass& pass, const Group& group) const;
    void encode(const Pass& pass, const Group& group);
    void add(const Group& group, double stands_for, CodeCost& cost);
    void set_sources(const Pass& pass, const Group& group, InterpolationRun<T>& run);
    T* source(const Pass& pass, const Group& group, Extents at, bool near, T* out);
    T* predicted_row(const Group& group, const Extents& at, int before, bool full);
    void predict_row(const Group& group, const Extents& at, int pass, bool full, T* out);
    void lattice_row(const Group& group, const Extents& at, bool full, T* out);
    InterpolationPass<T> kernel_of(int pass, const Group& group) const;
    const T* originals(const Group& group, const Extents& at, T* out) const;
    const T* begin_of(const Group& group, const Extents& at) const;
    T* room(std::size_t rows = 1);

    class Codes final : public CodeSink {
      public:
        void clear() { n_ = 0; }
        void put_chunk(const std::uint32_t* codes, std::size_t n) override {
            std::copy_n(codes, n, codes_ + n_);
            n_ += n;
        }
        std::uint32_t* data() { return codes_; }
        std::size_t size() const { return n_; }

      private:
        static constexpr std::size_t k_most = k_most_rows * (k_row_values + 2 * k_beside);
        std::size_t n_ = 0;
        alignas(64) std::uint32_t codes_[k_most + k_chunk_values + k_code_slack];
    };

    const T* values_;
    Quantiser<T> quantiser_;
    InterpolationSettings settings_;
    interpolation::Geometry geometry_;
    PredictorScratch& scratch_;
    std::size_t row_axis_ = 2;  // groups go along it
    bool predicted_ = false;
    // Of the level at hand.
    int level_ = 0;
    Extents extents_{};
    T step_ = 0, coarse_step_ = 0;
    std::size_t stride_ = 0;  // between rows in memory
    T* memory_ = nullptr;
    std::size_t used_ = 0;  // rows
    std::vector<Known> known_;
    std::vector<T> residuals_;
    Codes codes_;
    CodeWriter writer_{codes_};
    ExactValues<T> exact_;
    alignas(64) std::uint32_t chunk_[k_chunk_values + k_code_slack];
};

}  // namespace caesura::codec
