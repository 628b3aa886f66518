#include "codec/bound/fill_holes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "codec/frame/recode.hpp"

namespace caesura::codec {
namespace {

enum class State : std::uint8_t {
    hole,
    present,
    filled,  ///< a hole that has its value by now
    apart    ///< not finite: no hole, and nothing to interpolate from
};

using Index = std::array<std::size_t, 4>;

/// Four axes, the fastest last.
template <class T>
struct Grid {
    Index extent{1, 1, 1, 1};
    std::span<T> values;
    std::vector<T> own;  ///< of coarser grids: what `values` sees
    std::vector<State> states;

    std::size_t count() const { return extent[0] * extent[1] * extent[2] * extent[3]; }
    std::size_t at(const Index& i) const {
        return ((i[0] * extent[1] + i[1]) * extent[2] + i[2]) * extent[3] + i[3];
    }
    bool has_value(std::size_t i) const {
        return states[i] == State::present || states[i] == State::filled;
    }
    bool has_holes() const {
        return std::find(states.begin(), states.end(), State::hole) != states.end();
    }
};

template <class Call>
void for_each_index(const Index& begin, const Index& end, Call call) {
    Index i;
    for (i[0] = begin[0]; i[0] < end[0]; ++i[0])
        for (i[1] = begin[1]; i[1] < end[1]; ++i[1])
            for (i[2] = begin[2]; i[2] < end[2]; ++i[2])
                for (i[3] = begin[3]; i[3] < end[3]; ++i[3]) call(i);
}

template <class T>
class Mean {
  public:
    void add(T value) {
        sum_ += static_cast<double>(value);
        low_ = std::min(low_, value);
        high_ = std::max(high_, value);
        ++count_;
    }
    bool any() const { return count_ > 0; }
    T value() const {
        const double middle = sum_ / static_cast<double>(count_);
        return std::isfinite(middle) ? std::clamp(static_cast<T>(middle), low_, high_) : low_;
    }

  private:
    double sum_ = 0;
    std::size_t count_ = 0;
    T low_ = std::numeric_limits<T>::max(), high_ = std::numeric_limits<T>::lowest();
};

/// Of the values in a box of a grid.
template <class T>
Mean<T> mean_of(const Grid<T>& grid, const Index& begin, const Index& end) {
    Mean<T> mean;
    for_each_index(begin, end, [&](const Index& i) {
        const std::size_t at = grid.at(i);
        if (grid.has_value(at)) mean.add(grid.values[at]);
    });
    return mean;
}

/// Every other value along each axis; a hole there becomes the mean of its neighbours.
template <class T>
Grid<T> coarser(const Grid<T>& fine) {
    Grid<T> grid;
    for (std::size_t a = 0; a < 4; ++a) grid.extent[a] = (fine.extent[a] + 1) / 2;
    grid.own.resize(grid.count());
    grid.values = grid.own;
    grid.states.resize(grid.count());
    std::size_t to = 0;
    for_each_index({}, grid.extent, [&](const Index& i) {
        const Index here{2 * i[0], 2 * i[1], 2 * i[2], 2 * i[3]};
        const std::size_t from = fine.at(here);
        grid.states[to] = fine.states[from];
        grid.values[to] = fine.values[from];
        if (grid.states[to] != State::present) {
            Index begin, end;
            for (std::size_t a = 0; a < 4; ++a) {
                begin[a] = here[a] > 0 ? here[a] - 1 : 0;
                end[a] = std::min(here[a] + 2, fine.extent[a]);
            }
            const Mean<T> mean = mean_of(fine, begin, end);
            grid.states[to] = mean.any() ? State::present : State::hole;
            if (mean.any()) grid.values[to] = mean.value();
        }
        ++to;
    });
    return grid;
}

/// Holes of a grid, by what lies around them on the coarser one.
template <class T>
void interpolate(const Grid<T>& coarse, Grid<T>& fine) {
    std::size_t to = 0;
    for_each_index({}, fine.extent, [&](const Index& i) {
        if (fine.states[to] == State::hole) {
            Index begin, end;
            for (std::size_t a = 0; a < 4; ++a) {
                begin[a] = i[a] / 2;
                end[a] = std::min(begin[a] + 1 + i[a] % 2, coarse.extent[a]);
            }
            const Mean<T> mean = mean_of(coarse, begin, end);
            if (mean.any()) {
                fine.values[to] = mean.value();
                fine.states[to] = State::filled;
            }
        }
        ++to;
    });
}

/// Each value that was a hole becomes the mean of its neighbours along the axes.
template <class T>
void relax(Grid<T>& grid) {
    const Index stride{grid.extent[1] * grid.extent[2] * grid.extent[3],
                       grid.extent[2] * grid.extent[3], grid.extent[3], 1};
    std::size_t at = 0;
    for_each_index({}, grid.extent, [&](const Index& i) {
        if (grid.states[at] == State::filled) {
            Mean<T> mean;
            const auto look = [&](std::size_t near) {
                if (grid.has_value(near)) mean.add(grid.values[near]);
            };
            for (std::size_t a = 0; a < 4; ++a) {
                if (i[a] > 0) look(at - stride[a]);
                if (i[a] + 1 < grid.extent[a]) look(at + stride[a]);
            }
            if (mean.any()) grid.values[at] = mean.value();
        }
        ++at;
    });
}

/// The first finite value that is there; 0 if none is.
template <class T>
T first_of(std::span<const T> values, const Mask& mask) {
    std::size_t begin = 0;
    T found = 0;
    bool any = false;
    const auto look = [&](std::size_t end) {
        for (; begin < end && !any; ++begin) {
            any = std::isfinite(values[begin]);
            if (any) found = values[begin];
        }
    };
    for_each_missing(mask, [&](std::size_t first, std::size_t n, std::uint8_t) {
        look(first);
        begin = first + n;
    });
    look(values.size());
    return found;
}

template <class T>
void repeat_into(std::span<T> values, const Mask& mask) {
    T before = first_of<T>(values, mask);
    std::size_t present_from = 0;
    for_each_missing(mask, [&](std::size_t first, std::size_t n, std::uint8_t) {
        for (std::size_t i = first; i-- > present_from;) {
            if (!std::isfinite(values[i])) continue;
            before = values[i];
            break;
        }
        std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(first), n, before);
        present_from = first + n;
    });
}

template <class T>
void fill(std::span<T> values, const Shape& shape, const Mask& mask, HoleFilling how) {
    constexpr int k_sweeps = 2;
    if (how == HoleFilling::repeat) return repeat_into(values, mask);
    std::vector<Grid<T>> grids(1);
    Grid<T>& finest = grids.front();
    for (int axis = 0; axis < shape.rank(); ++axis)
        finest.extent[static_cast<std::size_t>(4 - shape.rank() + axis)] = shape[axis];
    finest.values = values;
    finest.states.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        finest.states[i] = std::isfinite(values[i]) ? State::present : State::apart;
    for_each_missing(mask, [&](std::size_t first, std::size_t n, std::uint8_t) {
        std::fill_n(finest.states.begin() + static_cast<std::ptrdiff_t>(first), n, State::hole);
        std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(first), n, T(0));
    });
    while (grids.back().has_holes() && grids.back().count() > 1)
        grids.push_back(coarser(grids.back()));
    for (std::size_t level = grids.size() - 1; level > 0; --level) {
        interpolate(grids[level], grids[level - 1]);
        for (int sweep = 0; sweep < k_sweeps; ++sweep) relax(grids[level - 1]);
    }
}

template <class T>
std::span<T> as_typed(std::span<std::byte> bytes) {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

}  // namespace

void fill_holes(std::span<std::byte> values, DType dtype, const Shape& shape, const Mask& mask,
                HoleFilling how) {
    if (dtype == DType::float64) return fill(as_typed<double>(values), shape, mask, how);
    if (dtype == DType::float32) return fill(as_typed<float>(values), shape, mask, how);
    std::vector<std::byte> wide = code_as(values, dtype, true);
    fill(as_typed<float>(wide), shape, mask, how);
    decode_as(wide, dtype, true, values);
}

}  // namespace caesura::codec
