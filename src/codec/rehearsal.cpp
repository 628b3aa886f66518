#include "codec/rehearsal.hpp"

#include <algorithm>

#include "codec/sample_kernels.hpp"
#include "codec/typical_codes.hpp"

namespace caesura::codec {
namespace {

/// Four axes need more for a few values along each.
std::uint64_t piece_values(const Shape& shape) { return shape.rank() == 4 ? 16384 : 4096; }
constexpr std::uint64_t k_even_quarters = 2;

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

/// The share of rows without a previous one, of the finest level's passes with feedback.
double fresh_share(const Shape& shape, const InterpolationSettings& settings) {
    const FourAxes axes(shape);
    const auto n_axes = static_cast<std::size_t>(
        std::count_if(axes.axis.begin(), axes.axis.end(), [](int axis) { return axis >= 0; }));
    if (n_axes < 3) return 0;  // rows are planes of their own, and carry on
    const auto place_of = [&](int axis) {
        return std::find(settings.order.begin(), settings.order.begin() + shape.rank(), axis) -
               settings.order.begin();
    };
    double fresh = 0, all = 0;
    for (std::size_t a = 4 - n_axes; a < 4; ++a) {
        const int along = axes.axis[a];
        if (settings.feedback[static_cast<std::size_t>(along)] == 0) continue;
        double rows = 1;  // of a plane
        for (std::size_t b = 4 - n_axes + 1; b < 3; ++b) {
            const auto extent = static_cast<double>(axes.extent[b]);
            rows *= b != a && place_of(axes.axis[b]) < place_of(along) ? extent : extent / 2;
        }
        const auto values = static_cast<double>(1U << place_of(along));
        fresh += values / rows;
        all += values;
    }
    return all > 0 ? std::min(fresh / all, 1.0) : 0.0;
}

/// The share of targets along an axis that lack one of four sources: the first, and the last one or
/// two. In a row of even length the very last has sources on one side only, and costs as much more
/// than a typical one as five of the others do (which fits 34 fields best).
double edge_share(std::uint64_t extent, int level) {
    const std::uint64_t n = ((extent - 1) >> level) + 1;
    const double lacking = n % 2 == 0 ? 2 + 5 : 2;
    return std::min(1.0, lacking / static_cast<double>(std::max<std::uint64_t>(n / 2, 1)));
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
    // the middle of each sixth come first, then so that twice as many are spread as evenly, then
    // the rest; settings are chosen on the first four.
    std::vector<Pick> picks = spots.pick(k_most_pieces, k_even_quarters);
    std::stable_sort(picks.begin(), picks.end(),
                     [](const Pick& a, const Pick& b) { return a.weight > b.weight; });
    constexpr std::array<std::size_t, k_most_pieces> k_order{
        6, 18, 10, 2, 14, 22, 0, 12, 4, 16, 8, 20, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23};
    picks_.reserve(k_most_pieces);
    for (const std::size_t twenty_fourth : k_order) {
        picks_.push_back(picks[twenty_fourth * picks.size() / k_most_pieces]);
    }
    pieces_.reserve(k_most_pieces);
    for (std::size_t group = 0; group < k_groups; ++group) {
        const int level = static_cast<int>(group);
        const bool last = group + 1 == k_groups;
        begins_[group] = static_cast<std::size_t>(count_at(piece_shape_, level));
        const std::uint64_t coarser = last ? 0 : count_at(shape, level + 1);
        shares_[group] = static_cast<double>(count_at(shape, level) - coarser) /
                         static_cast<double>(shape.count());
    }
    begins_[k_groups] = 0;
}

template <class T>
auto Rehearsal<T>::piece(std::size_t index) -> const Piece& {
    while (pieces_.size() <= index) {
        const Pick& pick = picks_[pieces_.size()];
        Box box{Shape::filled(shape_.rank(), 0), piece_shape_};
        for (std::size_t a = 0; a < 4; ++a) {
            const int axis = axes_.axis[a];
            if (axis < 0) continue;
            const std::uint64_t half = piece_shape_[axis] / 2;
            box.offset[axis] =
                std::min(std::max(pick.at[a], half) - half, shape_[axis] - piece_shape_[axis]);
        }
        Piece piece{std::vector<T>(static_cast<std::size_t>(piece_shape_.count())), pick.weight};
        const Box whole{Shape::filled(shape_.rank(), 0), shape_};
        copy_box(box, whole, reinterpret_cast<const std::byte*>(values_), box,
                 reinterpret_cast<std::byte*>(piece.values.data()), sizeof(T));
        pieces_.push_back(std::move(piece));
    }
    return pieces_[index];
}

template <class T>
void Rehearsal<T>::encode(const Piece& piece, const InterpolationSettings& settings) {
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
        const Piece& one = piece(p);
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
        const Piece& one = piece(p);
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

template <class T>
double Rehearsal<T>::without_warm_up(const InterpolationSettings& settings) {
    const double here = fresh_share(piece_shape_, settings);
    const double there = fresh_share(shape_, settings);
    if (here <= there || here >= 1) return 1;
    InterpolationSettings none = settings;
    none.feedback = {};
    constexpr std::size_t k_enough = 2;
    const double with = cost(settings, 0, k_enough);
    const double without = cost(none, 0, k_enough);
    if (!(with > 0)) return 1;
    const double settled = (with - here * without) / (1 - here);
    return std::clamp(((1 - there) * settled + there * without) / with, 0.8, 1.2);
}

template <class T>
void Rehearsal<T>::measure_class(std::span<const std::uint32_t> codes, double weight,
                                 CodeCost& cost) {
    const auto whole = static_cast<std::uint64_t>(std::max(1.0, weight));
    for_each_chunk(codes, [&](std::size_t n) { cost.add(chunk_, n, whole); });
}

template <class T>
void Rehearsal<T>::measure(const InterpolationSettings& settings, std::size_t pieces, double scale,
                           CodeCost& cost) {
    constexpr std::size_t k_fewest = 64;  // codes that can speak for a class
    const std::vector<std::uint8_t> classes = classify_codes(piece_shape_, settings, scratch_);
    std::array<std::vector<std::uint32_t>, k_code_classes + 1> sorted;
    std::vector<std::uint32_t> others;
    for (std::size_t p = 0; p < pieces; ++p) {
        const Piece& one = piece(p);
        encode(one, settings);
        const std::vector<std::uint32_t>& codes = collector_.codes();
        for (auto& of_class : sorted) of_class.clear();
        for (std::size_t i = 0; i < codes.size(); ++i) sorted[classes[i]].push_back(codes[i]);
        const double unit = scale * one.weight / static_cast<double>(pieces);
        for (std::size_t level = 0; level < k_groups; ++level) {
            const std::span all(codes.data() + begins_[level + 1],
                                begins_[level] - begins_[level + 1]);
            double left = shares_[level] * static_cast<double>(shape_.count());
            double at_edges = 0;
            for (int axis = 0; axis < shape_.rank() && level < k_code_levels; ++axis) {
                const auto& of_class = sorted[level * k_max_rank + static_cast<std::size_t>(axis)];
                if (of_class.size() < k_fewest) continue;
                const auto targets = static_cast<double>(
                    count_targets(shape_, settings, static_cast<int>(level), axis));
                const double near = targets * edge_share(shape_[axis], static_cast<int>(level));
                measure_class(of_class,
                              unit * (targets - near) / static_cast<double>(of_class.size()), cost);
                left -= targets;
                at_edges += near;
            }
            // Those near an edge cost what they do in the piece, if not along the same axes. Where
            // an axis has no typical codes, all of the level stand in.
            others.clear();
            for (std::size_t i = begins_[level + 1]; i < begins_[level]; ++i) {
                if (classes[i] == k_other_codes) others.push_back(codes[i]);
            }
            if (others.empty()) left += at_edges;
            if (!others.empty() && at_edges > 0) {
                measure_class(others, unit * at_edges / static_cast<double>(others.size()), cost);
            }
            if (left < 0.5 || all.empty()) continue;
            measure_class(all, unit * left / static_cast<double>(all.size()), cost);
        }
        cost.add_exact(exact_.values.size(), sizeof(T),
                       static_cast<std::uint64_t>(
                           std::max(1.0, unit * static_cast<double>(shape_.count()) /
                                             static_cast<double>(piece_shape_.count()))));
    }
}

template class Rehearsal<float>;
template class Rehearsal<double>;

}  // namespace caesura::codec
