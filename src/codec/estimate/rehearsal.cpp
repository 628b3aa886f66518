#include "codec/estimate/rehearsal.hpp"

#include <algorithm>

#include "codec/kernels/sample_kernels.hpp"
#include "codec/predictors/levels.hpp"

namespace caesura::codec {
namespace {

/// Four axes need more for a few values along each.
std::uint64_t piece_values(const Shape& shape) { return shape.rank() == 4 ? 16384 : 4096; }

/// Rows that keep vectors busy, and alike along the other axes, as far as the block goes.
Shape choose_piece(const Shape& shape) {
    const std::uint64_t most = piece_values(shape);
    if (shape.count() <= most) return shape;
    constexpr std::uint64_t k_row_values = 64;
    const int x = shape.rank() - 1;
    Shape piece = Shape::filled(shape.rank(), 1);
    const auto grow = [&](int axis) {
        if (piece[axis] * 2 > shape[axis] || piece.count() * 2 > most) return false;
        piece[axis] *= 2;
        return true;
    };
    while (piece[x] < k_row_values && grow(x)) {
    }
    for (bool grown = true; grown;) {
        grown = false;
        for (int axis = x - 1; axis >= 0; --axis) grown = grow(axis) || grown;
    }
    while (grow(x)) {
    }
    for (int axis = 0; axis < x; ++axis) {
        if (piece[axis] > 1) piece[axis] = std::min(piece[axis] + 1, shape[axis]);
    }
    return piece;
}

}  // namespace

template <class T>
Rehearsal<T>::Rehearsal(const Spots<T>& spots, const Shape& shape, const Quantiser<T>& quantiser)
    : values_(spots.values()),
      shape_(shape),
      axes_(spots.axes()),
      quantiser_(quantiser),
      piece_shape_(choose_piece(shape)) {
    // Each of the picks stands for as many bits as any other. Sorted by how much goes on, those in
    // the middle of each quarter are taken.
    constexpr std::size_t k_picks = 24;
    std::vector<Pick> picks = spots.pick(k_picks, k_even_quarters);
    std::stable_sort(picks.begin(), picks.end(),
                     [](const Pick& a, const Pick& b) { return a.weight > b.weight; });
    for (const std::size_t pick : std::array<std::size_t, 4>{6, 18, 10, 2}) {
        picks_.push_back(picks[pick * picks.size() / k_picks]);
    }
    pieces_.reserve(k_most_pieces);
    for (std::size_t group = 0; group < k_groups; ++group) {
        const int level = static_cast<int>(group);
        const bool last = group + 1 == k_groups;
        begins_[group] = static_cast<std::size_t>(values_at_level(piece_shape_, level));
        const std::uint64_t coarser = last ? 0 : values_at_level(shape, level + 1);
        shares_[group] = static_cast<double>(values_at_level(shape, level) - coarser) /
                         static_cast<double>(shape.count());
    }
    begins_[k_groups] = 0;
}

template <class T>
auto Rehearsal<T>::piece(std::size_t index) -> const SampledPiece& {
    while (pieces_.size() <= index) {
        const Pick& pick = picks_[pieces_.size()];
        const T* first = values_;
        std::array<std::size_t, 4> extent{1, 1, 1, 1};
        for (std::size_t a = 0; a < 4; ++a) {
            const int axis = axes_.axis[a];
            if (axis < 0) continue;
            const std::uint64_t n = piece_shape_[axis];
            const std::uint64_t at = std::max(pick.at[a], n / 2) - n / 2;
            first += std::min(at, shape_[axis] - n) * axes_.stride[a];
            extent[a] = static_cast<std::size_t>(n);
        }
        SampledPiece piece{std::vector<T>(static_cast<std::size_t>(piece_shape_.count())),
                           pick.weight};
        T* to = piece.values.data();
        for (std::size_t i0 = 0; i0 < extent[0]; ++i0) {
            for (std::size_t i1 = 0; i1 < extent[1]; ++i1) {
                for (std::size_t i2 = 0; i2 < extent[2]; ++i2) {
                    const T* row =
                        first + i0 * axes_.stride[0] + i1 * axes_.stride[1] + i2 * axes_.stride[2];
                    to = std::copy_n(row, extent[3], to);
                }
            }
        }
        pieces_.push_back(std::move(piece));
    }
    return pieces_[index];
}

template <class T>
void Rehearsal<T>::encode(const SampledPiece& piece, const InterpolationSettings& settings) {
    collector_.clear();
    exact_.values.clear();
    exact_.positions.clear();
    CodeWriter writer(collector_);
    encode_interpolation(piece.values.data(), piece_shape_, quantiser_, settings, scratch_, writer,
                         exact_);
    writer.finish();
}

template <class T>
template <class Use>
void Rehearsal<T>::for_each_chunk(std::span<const std::uint32_t> codes, Use use) {
    for (std::size_t i = 0; i < codes.size(); i += k_chunk_values) {
        const std::size_t n = std::min(k_chunk_values, codes.size() - i);
        std::copy_n(codes.data() + i, n, chunk_);
        use(n);
    }
}

template <class T>
double Rehearsal<T>::cost(const InterpolationSettings& settings, std::size_t first,
                          std::size_t last) {
    double cost = 0;
    for (std::size_t p = first; p < last; ++p) {
        const SampledPiece& one = piece(p);
        encode(one, settings);
        for (std::size_t group = 0; group < k_groups; ++group) {
            const std::size_t n = begins_[group] - begins_[group + 1];
            if (n == 0) continue;
            std::uint64_t bits = 0;
            for_each_chunk({collector_.codes().data() + begins_[group + 1], n},
                           [&](std::size_t count) { bits += rough_cost(chunk_, count); });
            cost += one.weight * shares_[group] * static_cast<double>(bits) / 128 /
                    static_cast<double>(n);
        }
    }
    return cost;
}

template <class T>
double Rehearsal<T>::cost(const LorenzoSettings& settings, std::size_t first, std::size_t last) {
    // The piece as four axes, like the block.
    const FourAxes axes(piece_shape_);
    const std::size_t n = static_cast<std::size_t>(piece_shape_.count());
    double cost = 0;
    for (std::size_t p = first; p < last; ++p) {
        const SampledPiece& one = piece(p);
        indices_.resize(n);
        sample_indices(one.values.data(), n, quantiser_, indices_.data());
        // After each difference, what lies at an index belongs one slice further on.
        std::int32_t* sum = indices_.data();
        std::size_t left = n;
        for (std::size_t a = 0; a < 3; ++a) {
            if (axes.extent[a] == 1) continue;
            const auto stride = static_cast<std::size_t>(axes.stride[a]);
            left -= stride;
            if ((settings.axes >> axes.axis[a] & 1) != 0) {
                sample_difference(sum + stride, sum, left, sum);
            } else {
                sum += stride;
            }
        }
        const bool along_x = axes.axis[3] >= 0 && (settings.axes >> axes.axis[3] & 1) != 0;
        const auto rows_from = [](std::uint64_t extent) {
            return static_cast<std::size_t>(extent > 1 ? extent - 1 : 1);
        };
        const auto columns = static_cast<std::size_t>(axes.extent[3]) - 1;
        const std::size_t rows = rows_from(axes.extent[2]);
        const std::size_t at_once =
            std::max<std::size_t>(1, k_chunk_values / std::max<std::size_t>(columns, 1));
        std::uint64_t bits = 0, counted = 0;
        for (std::size_t i0 = 0; i0 < rows_from(axes.extent[0]); ++i0) {
            for (std::size_t i1 = 0; i1 < rows_from(axes.extent[1]); ++i1) {
                const std::int32_t* plane = sum + i0 * axes.stride[0] + i1 * axes.stride[1];
                for (std::size_t r = 0; r < rows; r += at_once) {
                    const std::size_t some = std::min(at_once, rows - r);
                    for (std::size_t x = 0; x < columns; x += k_chunk_values) {
                        const std::size_t width = std::min(columns - x, k_chunk_values);
                        sample_codes(plane + r * axes.stride[2] + x, some, width, along_x, chunk_);
                        const std::size_t count = some * width;
                        bits += rough_cost(chunk_, count);
                        counted += count;
                    }
                }
            }
        }
        cost += one.weight * static_cast<double>(bits) / 128 /
                static_cast<double>(std::max<std::uint64_t>(counted, 1));
    }
    return cost;
}

template class Rehearsal<float>;
template class Rehearsal<double>;

}  // namespace caesura::codec
