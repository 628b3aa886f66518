#include "lambda/spectrum_fft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <kissfft/kissfft.hh>

namespace caesura::lambda {
namespace {

Shape in_three_axes(const Shape& shape) {
    Shape three = Shape::filled(3, 1);
    for (int axis = 0; axis < shape.rank(); ++axis) three[3 - shape.rank() + axis] = shape[axis];
    return three;
}

std::uint64_t largest_factor(std::uint64_t n, std::uint64_t enough) {
    std::uint64_t largest = 1;
    for (std::uint64_t p = 2; p <= enough && n > 1; ++p)
        for (; n % p == 0; n /= p) largest = p;
    return n > 1 ? n : largest;
}

/// Cycles per value of entry i of n.
double frequency(std::uint64_t i, std::uint64_t n) {
    return static_cast<double>(std::min(i, n - i)) / static_cast<double>(n);
}

}  // namespace

Status check_lengths(const Shape& shape) {
    if (shape.rank() > 3)
        return {StatusCode::unsupported,
                fmt::format("spectrum: an object of {} axes; 1 to 3 are possible", shape.rank())};
    constexpr std::uint64_t k_largest_factor = 1021;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        const std::uint64_t factor = largest_factor(shape[axis], k_largest_factor);
        if (factor > k_largest_factor)
            return {StatusCode::unsupported,
                    fmt::format("spectrum: axis {} has {} values; the prime factors above {} that "
                                "it has take too long",
                                axis, shape[axis], k_largest_factor)};
    }
    return {};
}

std::uint64_t HalfComplex::bytes_of(const Shape& shape) {
    const Shape three = in_three_axes(shape);
    return three[0] * three[1] * (three[2] / 2 + 1) * sizeof(std::complex<double>);
}

HalfComplex::HalfComplex(const Shape& shape)
    : shape_(in_three_axes(shape)),
      half_(shape_[2] / 2 + 1),
      data_(shape_[0] * shape_[1] * half_) {}

// std::complex<double> is two doubles, by the standard.
double* HalfComplex::real_row(std::uint64_t index) {
    const std::uint64_t row = index / shape_[2];
    return reinterpret_cast<double*>(data_.data() + row * half_) + index % shape_[2];
}

void HalfComplex::replace_not_finite(double value) {
    for (std::uint64_t index = 0; index < shape_.count(); index += shape_[2]) {
        double* row = real_row(index);
        for (std::uint64_t i = 0; i < shape_[2]; ++i)
            if (!std::isfinite(row[i])) row[i] = value;
    }
}

void HalfComplex::transform_rows() {
    const std::uint64_t n = shape_[2];
    if (n == 1) {
        for (auto& value : data_) value.imag(0.0);
        return;
    }
    // An even row is half as many complex numbers; an odd one is transformed as it is.
    const bool is_even = n % 2 == 0;
    const kissfft<double> fft(is_even ? n / 2 : n, false);
    std::vector<std::complex<double>> in(n), out(n);
    for (std::uint64_t row = 0; row < shape_[0] * shape_[1]; ++row) {
        std::complex<double>* place = data_.data() + row * half_;
        const auto* real = reinterpret_cast<const double*>(place);
        if (is_even) {
            fft.transform_real(real, out.data());
            std::copy_n(out.begin() + 1, n / 2 - 1, place + 1);
            place[0] = out[0].real();
            place[n / 2] = out[0].imag();
        } else {
            std::copy_n(real, n, in.begin());
            fft.transform(in.data(), out.data());
            std::copy_n(out.begin(), half_, place);
        }
    }
}

// A few neighbouring lines at a time, because they share cache lines.
void HalfComplex::transform_axis(std::uint64_t length, std::uint64_t stride) {
    if (length == 1) return;
    constexpr std::uint64_t k_lines = 8;
    const kissfft<double> fft(length, false);
    std::vector<std::complex<double>> lines(k_lines * length), out(length);
    for (std::uint64_t block = 0; block < data_.size(); block += length * stride) {
        for (std::uint64_t first = 0; first < stride; first += k_lines) {
            const std::uint64_t n = std::min(k_lines, stride - first);
            std::complex<double>* place = data_.data() + block + first;
            for (std::uint64_t i = 0; i < length; ++i)
                for (std::uint64_t line = 0; line < n; ++line)
                    lines[line * length + i] = place[i * stride + line];
            for (std::uint64_t line = 0; line < n; ++line) {
                fft.transform(&lines[line * length], out.data());
                std::copy(out.begin(), out.end(),
                          lines.begin() + static_cast<std::ptrdiff_t>(line * length));
            }
            for (std::uint64_t i = 0; i < length; ++i)
                for (std::uint64_t line = 0; line < n; ++line)
                    place[i * stride + line] = lines[line * length + i];
        }
    }
}

void HalfComplex::transform() {
    transform_rows();
    transform_axis(shape_[1], half_);
    transform_axis(shape_[0], shape_[1] * half_);
}

Power HalfComplex::power() const {
    const std::uint64_t longest = std::max({shape_[0], shape_[1], shape_[2]});
    const std::uint64_t bins = longest / 2 + 1;
    std::vector<double> sum(bins), wave_number(bins);
    std::vector<std::int64_t> modes(bins);
    const auto n = static_cast<double>(shape_.count());
    Power power;
    const std::complex<double>* at = data_.data();
    for (std::uint64_t i = 0; i < shape_[0]; ++i)
        for (std::uint64_t j = 0; j < shape_[1]; ++j) {
            const double f0 = frequency(i, shape_[0]), f1 = frequency(j, shape_[1]);
            for (std::uint64_t l = 0; l < half_; ++l, ++at) {
                const double f2 = frequency(l, shape_[2]);
                const double k =
                    std::sqrt(f0 * f0 + f1 * f1 + f2 * f2) * static_cast<double>(longest);
                // Its conjugate counts too, where it is another mode.
                const int times = l == 0 || 2 * l == shape_[2] ? 1 : 2;
                const double of_mode = std::norm(*at / n) * times;
                const auto bin = static_cast<std::uint64_t>(k + 0.5);
                if (bin >= bins) {
                    power.beyond += of_mode;
                    power.beyond_modes += times;
                    continue;
                }
                sum[bin] += of_mode;
                wave_number[bin] += k * times;
                modes[bin] += times;
            }
        }
    for (std::uint64_t bin = 0; bin < bins; ++bin) {
        if (modes[bin] == 0) continue;
        const auto of_bin = static_cast<double>(modes[bin]);
        power.wave_number.push_back(wave_number[bin] / of_bin);
        power.mean.push_back(sum[bin] / of_bin);
        power.modes.push_back(modes[bin]);
    }
    return power;
}

}  // namespace caesura::lambda
