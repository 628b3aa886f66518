#include "codec/bound/logarithm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "codec/kernels/logarithm_kernels.hpp"
#include "codec/kernels/range_kernels.hpp"

namespace caesura::codec {
namespace {

bool any_bit(const std::vector<std::uint16_t>& mask) {
    return std::any_of(mask.begin(), mask.end(), [](std::uint16_t word) { return word != 0; });
}

}  // namespace

template <class T>
bool LogarithmOfSlab<T>::transform(std::span<const T> values, double& bound) {
    const Extremes<T> extremes = magnitude_extremes(values.data(), values.size());
    if (!(extremes.lowest <= extremes.highest)) return false;
    const int low = std::ilogb(extremes.lowest);
    const int high = std::ilogb(extremes.highest) + 1;
    // Logarithms around 0 have the finest rounding.
    centre_ = (low + high) / 2;
    const double largest = std::max(std::abs(low - centre_), std::abs(high - centre_));
    // Half a unit of the logarithm itself, and what series and their coefficients lose both ways.
    const double rounding =
        static_cast<double>(std::numeric_limits<T>::epsilon()) * (0.5 * largest + 4.0);
    if (!(bound - rounding > bound / 16)) return false;
    bound -= rounding;

    const std::size_t n = values.size();
    const std::size_t words = (n + k_mask_values - 1) / k_mask_values;
    logarithms_.resize(n);
    negative_.resize(words);
    zero_.resize(words);
    not_finite_.resize(words);
    forward_logarithm(values.data(), n, centre_, logarithms_.data(),
                      {negative_.data(), zero_.data(), not_finite_.data()});
    positions_.clear();
    fill_gaps();
    return true;
}

template <class T>
void LogarithmOfSlab<T>::fill_gaps() {
    T last = 0;
    for (std::size_t word = 0; word < zero_.size(); ++word) {
        const unsigned gaps = zero_[word] | static_cast<unsigned>(not_finite_[word]);
        const std::size_t begin = word * k_mask_values;
        const std::size_t end = std::min(begin + k_mask_values, logarithms_.size());
        if (gaps != 0) {
            for (std::size_t i = begin; i < end; ++i) {
                const unsigned bit = 1U << (i - begin);
                if ((gaps & bit) != 0) logarithms_[i] = last;
                if ((not_finite_[word] & bit) != 0)
                    positions_.push_back(static_cast<std::uint32_t>(i));
                last = logarithms_[i];
            }
        }
        last = logarithms_[end - 1];
    }
}

template <class T>
void LogarithmOfSlab<T>::add_failures(std::span<const T> values, std::span<const T> decoded,
                                      double fraction) {
    // The products and differences below are rounded; a little less than was asked for is safe.
    const double strict = fraction * (1.0 - 0x1p-48);
    constexpr std::size_t k_stretch = 1024;
    std::vector<std::uint32_t> failures;
    for (std::size_t begin = 0; begin < values.size(); begin += k_stretch) {
        const std::size_t n = std::min(k_stretch, values.size() - begin);
        if (keeps_share(&values[begin], &decoded[begin], n, strict)) continue;
        for (std::size_t i = begin; i < begin + n; ++i) {
            if (!std::isfinite(values[i])) continue;  // an override already
            if (keeps_share(&values[i], &decoded[i], 1, strict)) continue;
            failures.push_back(static_cast<std::uint32_t>(i));
        }
    }
    if (failures.empty()) return;
    const auto old_end = static_cast<std::ptrdiff_t>(positions_.size());
    positions_.insert(positions_.end(), failures.begin(), failures.end());
    std::inplace_merge(positions_.begin(), positions_.begin() + old_end, positions_.end());
}

template <class T>
void LogarithmOfSlab<T>::write_masks(LosslessPacker& packer, PartWriter& part, Output& out) const {
    if (any_bit(negative_)) packer.pack(std::as_bytes(std::span(negative_)), 1, out);
    part.end_section(Section::signs);
    if (any_bit(zero_)) packer.pack(std::as_bytes(std::span(zero_)), 1, out);
    part.end_section(Section::zeros);
}

template class LogarithmOfSlab<float>;
template class LogarithmOfSlab<double>;

}  // namespace caesura::codec
