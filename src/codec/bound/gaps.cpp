#include "codec/bound/gaps.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace caesura::codec {
namespace {

/// Above this a value's own rounding exceeds the bound (infinity where nothing finite is above).
template <class T>
T largest_kept(T bound) {
    return std::min(bound / std::numeric_limits<T>::epsilon(), std::numeric_limits<T>::max());
}

constexpr std::size_t k_run = 16;

/// No branch on single values, so that compilers vectorise it.
template <class T>
bool all_kept(const T* values, std::size_t n, T largest) {
    int kept = 0;
    for (std::size_t i = 0; i < n; ++i) kept += std::abs(values[i]) <= largest ? 1 : 0;  // not NaN
    return kept == static_cast<int>(n);
}

}  // namespace

template <class T>
bool has_many_gaps(std::span<const T> sample, T bound) {
    const T largest = largest_kept(bound);
    std::size_t kept = 0;
    for (const T value : sample) kept += std::abs(value) <= largest ? 1 : 0;  // not NaN
    return (sample.size() - kept) * 256 > sample.size();
}

template <class T>
void FilledSlab<T>::fill(std::span<const T> values, T bound) {
    const T largest = largest_kept(bound);
    filled_.resize(values.size());
    positions_.clear();
    T last = 0;
    for (std::size_t begin = 0; begin < values.size(); begin += k_run) {
        const std::size_t n = std::min(k_run, values.size() - begin);
        std::memcpy(&filled_[begin], &values[begin], n * sizeof(T));
        if (!all_kept(&values[begin], n, largest)) {
            for (std::size_t i = begin; i < begin + n; ++i) {
                if (std::abs(values[i]) <= largest) {
                    last = values[i];
                } else {
                    filled_[i] = last;
                    positions_.push_back(static_cast<std::uint32_t>(i));
                }
            }
        }
        last = filled_[begin + n - 1];
    }
}

template bool has_many_gaps(std::span<const float>, float);
template bool has_many_gaps(std::span<const double>, double);
template class FilledSlab<float>;
template class FilledSlab<double>;

}  // namespace caesura::codec
