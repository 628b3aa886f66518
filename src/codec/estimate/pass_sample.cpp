#include "codec/estimate/pass_sample.hpp"

#include <algorithm>

#include "codec/entropy/code_cost.hpp"

namespace caesura::codec {
template <class T>
PassSample<T>::PassSample(const Spots<T>& spots, const Quantiser<T>& quantiser)
    : values_(spots.values()), axes_(spots.axes()), quantiser_(quantiser), residual_(k_row_room) {}

template <class T>
auto PassSample<T>::rows_at(std::size_t axis, const Index4& place) const -> Rows {
    Rows rows;
    Index4 at = place;
    const std::uint64_t extent = axes_.extent[axis];
    const std::uint64_t most = axis == FourAxes::k_x ? (extent < 8 ? extent / 2 : (extent - 6) / 2)
                                                     : axes_.extent[FourAxes::k_x];
    rows.n = static_cast<std::size_t>(std::min<std::uint64_t>(k_row_values, most));
    const std::uint64_t reach = axis == FourAxes::k_x ? 2 * (rows.n - 1) : 0;
    if (axis != FourAxes::k_x)
        at[FourAxes::k_x] = std::min(place[FourAxes::k_x], axes_.extent[FourAxes::k_x] - rows.n);
    // The feedback goes from row to row.
    const std::uint64_t step = axis == FourAxes::k_y ? 2 : 1;
    std::uint64_t more = (k_rows - 1) * step + (axis == FourAxes::k_y ? 3 : 0);
    if (axes_.extent[FourAxes::k_y] > more + (axis == FourAxes::k_y ? 3 : 0)) {
        rows.n_rows = k_rows;
        rows.next = step * axes_.stride[FourAxes::k_y];
        at[FourAxes::k_y] = std::min(place[FourAxes::k_y], axes_.extent[FourAxes::k_y] - 1 - more);
    }
    // A target has an odd index; where the axis is long enough, all four neighbours exist.
    if (extent >= 8) {
        const std::uint64_t last =
            extent - 4 - reach -
            (axis == FourAxes::k_y && rows.n_rows > 1 ? (k_rows - 1) * step : 0);
        at[axis] = std::clamp<std::uint64_t>(at[axis] | 1U, 3, (last - 1) | 1U);
    } else {
        at[axis] = 1;
        if (axis == FourAxes::k_y) rows.n_rows = 1;
    }
    rows.first = values_;
    for (std::size_t a = 0; a < 4; ++a) rows.first += at[a] * axes_.stride[a];
    const auto distance = static_cast<std::ptrdiff_t>(axes_.stride[axis]);
    const std::ptrdiff_t offsets[4] = {-1, 1, -3, 3};
    for (std::size_t k = 0; k < 4; ++k) {
        // At an edge the neighbour on the other side stands in.
        const std::ptrdiff_t target = static_cast<std::ptrdiff_t>(at[axis]) + offsets[k];
        const bool exists = target >= 0 && target + static_cast<std::ptrdiff_t>(reach) <
                                               static_cast<std::ptrdiff_t>(extent);
        rows.around[k] = (exists ? offsets[k] : -1) * distance;
    }
    return rows;
}

template <class T>
void PassSample<T>::prefetch(const Rows& rows) const {
    constexpr std::size_t k_line = 64 / sizeof(T);
    const std::size_t length = rows.n * (along_x_ ? 2 : 1);
    for (std::size_t r = 0; r < rows.n_rows; ++r) {
        const T* row = rows.first + r * rows.next;
        for (std::size_t i = 0; i < length + k_line; i += k_line) {
            __builtin_prefetch(row + i);
            if (along_x_) continue;
            for (const std::ptrdiff_t offset : rows.around) __builtin_prefetch(row + offset + i);
        }
    }
}

template <class T>
void PassSample<T>::copy(const Rows& rows, T* out) const {
    const std::size_t spacing = along_x_ ? 2 : 1;
    for (std::size_t r = 0; r < rows.n_rows; ++r) {
        const T* row = rows.first + r * rows.next;
        const auto take = [&](const T* from) {
            for (std::size_t i = 0; i < rows.n; ++i) out[i] = from[i * spacing];
            out += k_row_room;
        };
        take(row);
        T* const neighbours = out;
        for (const std::ptrdiff_t offset : rows.around) take(row + offset);
        sample_lattice(neighbours, 1, 4 * k_row_room, quantiser_.step, neighbours);
    }
}

template <class T>
void PassSample<T>::load(std::size_t axis, std::span<const Pick> picks) {
    along_x_ = axis == FourAxes::k_x;
    loaded_.clear();
    for (const Pick& pick : picks) {
        loaded_.push_back(rows_at(axis, pick.at));
        loaded_.back().weight = pick.weight;
    }
    copies_.assign(picks.size() * k_rows * 5 * k_row_room, T{0});
    constexpr std::size_t k_ahead = 2;
    for (std::size_t i = 0; i < picks.size() + k_ahead; ++i) {
        if (i < picks.size()) prefetch(loaded_[i]);
        if (i < k_ahead) continue;
        copy(loaded_[i - k_ahead], &copies_[(i - k_ahead) * k_rows * 5 * k_row_room]);
    }
}

template <class T>
double PassSample<T>::cost(const PassSettings& settings) {
    double bits = 0, counted = 0;
    for (std::size_t i = 0; i < loaded_.size(); ++i) {
        const Rows& rows = loaded_[i];
        std::fill(residual_.begin(), residual_.end(), T{0});
        std::size_t used = 0;
        for (std::size_t r = 0; r < rows.n_rows; ++r) {
            const T* row = &copies_[(i * k_rows + r) * 5 * k_row_room];
            const SampledRow<T> sampled{row,
                                        row + k_row_room,
                                        row + 2 * k_row_room,
                                        row + 3 * k_row_room,
                                        row + 4 * k_row_room,
                                        rows.n};
            const bool warms_up = rows.n_rows > 1 && r == 0;
            sample_interpolation(sampled, quantiser_.step, settings.cubic,
                                 static_cast<T>(settings.feedback) / T{16}, residual_.data(),
                                 codes_ + used);
            if (!warms_up) used += rows.n;
        }
        bits += rows.weight * static_cast<double>(rough_cost(codes_, used)) / 128 /
                static_cast<double>(used);
        counted += 1;
    }
    return bits / counted;
}

template class PassSample<float>;
template class PassSample<double>;

}  // namespace caesura::codec
