// Sampled tiles of a block, and the codes that the Lorenzo predictor would make of them.
//
// A tile is a few rows by a few dozen values; tiles cover the block, so that values without lower
// neighbours are met as often as they are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "codec/estimate/spots.hpp"
#include "codec/predictors/codes.hpp"
#include "codec/predictors/predictors.hpp"

namespace caesura::codec {

template <class T>
class LorenzoSample {
  public:
    /// @param tile_codes  of a whole tile: k_few_codes or k_most_codes.
    LorenzoSample(const Spots<T>& spots, const Quantiser<T>& quantiser, std::size_t tile_codes);

    /// Where the i-th of n tiles lies that are spread over the block.
    Index4 place_of(std::size_t i, std::size_t n) const;

    /// Ask memory for the tile around a place.
    void prefetch(const Index4& place) const;
    /// Read it, and its neighbours below.
    void load(const Index4& place);
    /// Codes of the tile that was loaded, differenced along `axes` (bit a: axis a of the four).
    /// @param codes  64-byte aligned, room for k_most_codes and k_code_slack. Returns how many.
    std::size_t codes(unsigned axes, std::uint32_t* codes);
    /// How many of the tile's values are stored exactly.
    std::size_t exact() const { return exact_; }

    static constexpr std::size_t k_few_codes = 256;
    static constexpr std::size_t k_most_codes = 512;

  private:
    static constexpr std::size_t k_most_columns = 128;

    struct Tile {
        Index4 first{};
        std::size_t rows = 1;
        std::size_t columns = 1;
    };
    Tile tile_of(const Index4& place) const;
    std::uint64_t columns() const;
    std::uint64_t rows() const { return std::max<std::uint64_t>(1, tile_codes_ / columns()); }

    const T* values_;
    FourAxes axes_;
    Quantiser<T> quantiser_;
    std::size_t tile_codes_;
    Tile tile_;
    std::size_t exact_ = 0;
    std::size_t corners_ = 1;
    // The tile with a row above and a column before, at the place itself and one below along axis
    // 1, axis 0 and both; and room to take differences.
    std::vector<std::int32_t> corner_[4];
    std::vector<std::int32_t> difference_, below_;
};

}  // namespace caesura::codec
