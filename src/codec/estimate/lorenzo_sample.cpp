#include "codec/estimate/lorenzo_sample.hpp"

#include <algorithm>

#include "codec/kernels/sample_kernels.hpp"

namespace caesura::codec {
template <class T>
LorenzoSample<T>::LorenzoSample(const Spots<T>& spots, const Quantiser<T>& quantiser,
                                std::size_t tile_codes)
    : values_(spots.values()), axes_(spots.axes()), quantiser_(quantiser), tile_codes_(tile_codes) {
    corners_ = axes_.extent[0] > 1 ? 4 : axes_.extent[1] > 1 ? 2 : 1;
    constexpr std::size_t k_most = 3 * (k_most_codes + 1);  // (rows + 1) * (columns + 1)
    for (auto& corner : corner_) corner.resize(k_most);
    difference_.resize(k_most);
    below_.resize(k_most);
}

template <class T>
std::uint64_t LorenzoSample<T>::columns() const {
    if (axes_.extent[FourAxes::k_y] == 1) return tile_codes_;
    return std::min<std::uint64_t>(k_most_columns, axes_.extent[FourAxes::k_x]);
}

template <class T>
Index4 LorenzoSample<T>::place_of(std::size_t i, std::size_t n) const {
    const auto tiles = [](std::uint64_t extent, std::uint64_t of) {
        return (extent + of - 1) / of;
    };
    Index4 place =
        spread({axes_.extent[0], axes_.extent[1], tiles(axes_.extent[FourAxes::k_y], rows()),
                tiles(axes_.extent[FourAxes::k_x], columns())},
               i, n);
    place[FourAxes::k_y] *= rows();
    place[FourAxes::k_x] *= columns();
    return place;
}

template <class T>
auto LorenzoSample<T>::tile_of(const Index4& place) const -> Tile {
    const std::uint64_t columns = this->columns();
    const std::uint64_t rows = this->rows();
    Tile tile{place, 0, 0};
    tile.first[FourAxes::k_x] = place[FourAxes::k_x] / columns * columns;
    tile.first[FourAxes::k_y] = place[FourAxes::k_y] / rows * rows;
    tile.columns = static_cast<std::size_t>(
        std::min(columns, axes_.extent[FourAxes::k_x] - tile.first[FourAxes::k_x]));
    tile.rows = static_cast<std::size_t>(
        std::min(rows, axes_.extent[FourAxes::k_y] - tile.first[FourAxes::k_y]));
    return tile;
}

template <class T>
void LorenzoSample<T>::prefetch(const Index4& place) const {
    const Tile tile = tile_of(place);
    const T* first = values_ + tile.first[0] * axes_.stride[0] + tile.first[1] * axes_.stride[1] +
                     tile.first[FourAxes::k_y] * axes_.stride[FourAxes::k_y] +
                     tile.first[FourAxes::k_x];
    for (std::size_t corner = 0; corner < corners_; ++corner) {
        if (((corner & 1U) != 0 && tile.first[1] == 0) ||
            ((corner & 2U) != 0 && tile.first[0] == 0))
            continue;
        const T* row = first - (corner & 1U) * axes_.stride[1] - (corner >> 1) * axes_.stride[0];
        for (std::size_t r = tile.first[FourAxes::k_y] > 0 ? 0 : 1; r <= tile.rows; ++r) {
            const auto* begin =
                reinterpret_cast<const std::byte*>(row + r * axes_.stride[FourAxes::k_y]) -
                axes_.stride[FourAxes::k_y] * sizeof(T) - sizeof(T);
            const std::size_t bytes = (tile.columns + 1) * sizeof(T);
            for (std::size_t b = 0; b < bytes + k_line_bytes - 1; b += k_line_bytes) {
                __builtin_prefetch(begin + std::min(b, bytes - 1));
            }
        }
    }
}

template <class T>
void LorenzoSample<T>::load(const Index4& place) {
    tile_ = tile_of(place);
    exact_ = 0;
    const std::size_t pitch = tile_.columns + 1;
    const bool left = tile_.first[FourAxes::k_x] > 0;
    const T* first = values_ + tile_.first[0] * axes_.stride[0] + tile_.first[1] * axes_.stride[1] +
                     tile_.first[FourAxes::k_y] * axes_.stride[FourAxes::k_y] +
                     tile_.first[FourAxes::k_x];
    for (std::size_t corner = 0; corner < corners_; ++corner) {
        std::int32_t* out = corner_[corner].data();
        // Before the first slice there is nothing: zeros.
        if (((corner & 1U) != 0 && tile_.first[1] == 0) ||
            ((corner & 2U) != 0 && tile_.first[0] == 0)) {
            std::fill_n(out, (tile_.rows + 1) * pitch, 0);
            continue;
        }
        const T* row = first - (corner & 1U) * axes_.stride[1] - (corner >> 1) * axes_.stride[0];
        for (std::size_t r = 0; r <= tile_.rows; ++r, out += pitch) {
            if (r == 0 && tile_.first[FourAxes::k_y] == 0) {
                std::fill_n(out, pitch, 0);
                continue;
            }
            const T* values = row + r * axes_.stride[FourAxes::k_y] - axes_.stride[FourAxes::k_y];
            out[0] = 0;
            const std::size_t exact = sample_indices(values - (left ? 1 : 0), tile_.columns + left,
                                                     quantiser_, out + (left ? 0 : 1));
            if (corner == 0 && r > 0) exact_ += exact;
        }
    }
}

template <class T>
std::size_t LorenzoSample<T>::codes(unsigned axes, std::uint32_t* codes) {
    const std::size_t pitch = tile_.columns + 1;
    const std::size_t n = (tile_.rows + 1) * pitch;
    const std::int32_t* sum = corner_[0].data();
    std::int32_t* const out = difference_.data();
    const bool along_0 = (axes & 1U) != 0 && axes_.extent[0] > 1;
    const bool along_1 = (axes & 2U) != 0 && axes_.extent[1] > 1;
    if (along_1) {
        sample_difference(sum, corner_[1].data(), n, out);
        sum = out;
    }
    if (along_0) {
        const std::int32_t* below = corner_[2].data();
        if (along_1) {
            sample_difference(below, corner_[3].data(), n, below_.data());
            below = below_.data();
        }
        sample_difference(sum, below, n, out);
        sum = out;
    }
    if ((axes & 4U) != 0 && axes_.extent[FourAxes::k_y] > 1) {
        sample_difference(sum + pitch, sum, n - pitch, out);
        sum = out;
    } else {
        sum += pitch;
    }
    sample_codes(sum, tile_.rows, tile_.columns, (axes & 8U) != 0, codes);
    return tile_.rows * tile_.columns;
}

template class LorenzoSample<float>;
template class LorenzoSample<double>;

}  // namespace caesura::codec
