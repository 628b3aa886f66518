#include "codec/estimate/spots.hpp"

#include <algorithm>

#include "codec/kernels/sample_kernels.hpp"
#include "codec/predictors/codes.hpp"

namespace caesura::codec {
namespace {

/// Fractions of 2^64 whose multiples fill a line, a square, a cube, ... evenly: powers of 1 / phi,
/// where phi^(d + 1) = phi + 1 (Roberts' sequence). By the number of axes but the slowest.
constexpr std::array<std::array<std::uint64_t, 3>, 4> k_fractions{
    {{},
     {0x9e3779b97f4a7c15U},
     {0xc13fa9a902a6328fU, 0x91e10da5c79e7b1cU},
     {0xd1b54a32d192ed03U, 0xabc98388fb8fac02U, 0x8cb92ba72f3d8dd7U}}};

/// The index of `fraction` (of 2^64) among n.
std::uint64_t at_fraction(std::uint64_t fraction, std::uint64_t n) {
    return ((fraction >> 32) * n) >> 32;  // n < 2^32: a slab has fewer values
}

}  // namespace

FourAxes::FourAxes(const Shape& shape, const Shape& array) {
    std::size_t to = 4;
    std::uint64_t apart = 1;
    for (int from = shape.rank() - 1; from >= 0; --from) {
        if (shape[from] > 1) {
            extent[--to] = shape[from];
            stride[to] = apart;
            axis[to] = from;
        }
        apart *= array[from];
    }
    while (to > 0) stride[--to] = apart;
}

/// The slowest axis evenly, the others by multiples of fractions.
Index4 spread(const Index4& extent, std::uint64_t i, std::uint64_t n) {
    std::size_t slowest = 0;
    while (slowest < FourAxes::k_x && extent[slowest] == 1) ++slowest;
    std::size_t others = 0;
    for (std::size_t a = slowest + 1; a < 4; ++a) others += extent[a] > 1 ? 1 : 0;
    Index4 place{};
    place[slowest] = at_fraction((2 * i + 1) * ((std::uint64_t{1} << 63) / n), extent[slowest]);
    std::size_t fraction = 0;
    for (std::size_t a = slowest + 1; a < 4; ++a) {
        if (extent[a] == 1) continue;
        place[a] = at_fraction((i + 1) * k_fractions[others][fraction++], extent[a]);
    }
    return place;
}

template <class T>
void Spots<T>::look(const T* first, const Shape& shape, const Shape& array, std::size_t most) {
    values_ = first;
    axes_ = FourAxes(shape, array);
    read(most);
}

template <class T>
Spots<T> Spots<T>::closer() const {
    Spots spots;
    spots.values_ = values_;
    spots.axes_ = axes_;
    spots.read(k_most_closer);
    return spots;
}

template <class T>
void Spots<T>::read(std::size_t most) {
    run_ = static_cast<std::size_t>(std::min<std::uint64_t>(k_run, axes_.extent[FourAxes::k_x]));
    const std::size_t n = std::clamp<std::size_t>(axes_.count() / (4 * run_), 1, most);
    places_.resize(n);
    for (std::size_t i = 0; i < n; ++i) places_[i] = spread(axes_.extent, i, n);
    std::vector<const T*> runs(n), neighbours(n);
    for (std::size_t i = 0; i < n; ++i) {
        Index4& at = places_[i];
        const std::uint64_t x = std::min(at[FourAxes::k_x], axes_.extent[FourAxes::k_x] - run_);
        runs[i] = values_ + at[0] * axes_.stride[0] + at[1] * axes_.stride[1] +
                  at[2] * axes_.stride[2] + x;
        // The row before, or the one after the first; where there are no rows, the run itself.
        neighbours[i] = runs[i];
        if (at[2] > 0) {
            neighbours[i] -= axes_.stride[2];
        } else if (axes_.extent[2] > 1) {
            neighbours[i] += axes_.stride[2];
        }
    }
    rows_.resize(2 * n * run_);
    constexpr std::size_t k_ahead = 16;
    for (std::size_t i = 0; i < n + k_ahead; ++i) {
        if (i < n) {
            for (const T* run : {runs[i], neighbours[i]}) {
                __builtin_prefetch(run);
                __builtin_prefetch(run + run_ - 1);
            }
        }
        if (i < k_ahead) continue;
        std::copy_n(runs[i - k_ahead], run_, &rows_[(i - k_ahead) * run_]);
        std::copy_n(neighbours[i - k_ahead], run_, &rows_[(n + i - k_ahead) * run_]);
    }
}

template <class T>
void Spots<T>::rate(const Quantiser<T>& quantiser) {
    const std::size_t n = places_.size();
    const std::size_t count = n * run_;
    indices_.resize(2 * count + k_code_slack);
    sample_indices(rows_.data(), 2 * count, quantiser, indices_.data());
    if (axes_.extent[2] > 1) {
        sample_difference(indices_.data(), indices_.data() + count, count, indices_.data());
    }
    activity_.resize(n);
    sample_activity(indices_.data(), n, run_, activity_.data());
    sum_ = 0;
    for (const std::uint32_t activity : activity_) sum_ += activity;
}

template <class T>
std::vector<Pick> Spots<T>::pick(std::size_t n, std::uint64_t quarters) const {
    // Where nothing goes on at a spot, something may around it.
    const std::uint64_t least = sum_ * quarters / (4 * places_.size()) + 1;
    const std::uint64_t sum = sum_ + least * places_.size();
    const double mean = static_cast<double>(sum) / static_cast<double>(places_.size());
    std::vector<Pick> picks;
    picks.reserve(n);
    std::uint64_t passed = 0;
    for (std::size_t i = 0; i < places_.size(); ++i) {
        const std::uint64_t activity = activity_[i] + least;
        passed += activity;
        while (picks.size() < n && passed * 2 * n > sum * (2 * picks.size() + 1)) {
            picks.push_back({places_[i], mean / static_cast<double>(activity)});
        }
    }
    return picks;
}

template <class T>
double Spots<T>::activity() const {
    return static_cast<double>(sum_) / static_cast<double>(places_.size() * run_);
}

template <class T>
double Spots<T>::unevenness() const {
    if (sum_ == 0) return 0;
    std::uint64_t squares = 0;
    for (const std::uint64_t activity : activity_) squares += activity * activity;
    const auto sum = static_cast<double>(sum_);
    return static_cast<double>(squares) * static_cast<double>(places_.size()) / (sum * sum) - 1;
}

template class Spots<float>;
template class Spots<double>;

}  // namespace caesura::codec
