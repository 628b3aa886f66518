#include "codec/bound/quantiser.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "codec/kernels/sample_kernels.hpp"

namespace caesura::codec {
template <class T>
Quantiser<T> choose_quantiser(std::span<const T> sample, double bound) {
    using Limits = std::numeric_limits<T>;
    Quantiser<T> quantiser;
    const double capped = std::min(bound, static_cast<double>(Limits::max()));
    quantiser.bound = static_cast<T>(capped);
    if (static_cast<double>(quantiser.bound) > capped) {
        quantiser.bound = std::nextafter(quantiser.bound, T{0});
    }
    // The reconstruction q * step is off by up to 3/2 ulp of the value beside the lattice's own
    // half step: q's product with 1/step, that reciprocal, and q * step are each rounded. An ulp of
    // room leaves about one value in 10,000 outside where this matters at all. Fill values that no
    // 32-bit lattice integer reaches are stored exactly anyway and must not spoil the step.
    const double reach = std::min(2147483648.0 * capped, static_cast<double>(Limits::max()));
    const T largest = sample_largest(sample.data(), sample.size(), static_cast<T>(reach));
    const double rounding = static_cast<double>(largest) * static_cast<double>(Limits::epsilon());
    const double share = capped > 0 ? rounding / capped : 1.0;
    const double shrink = std::min(0.125, std::max(1.0 / 65536, share));
    const double step = 2.0 * static_cast<double>(quantiser.bound) * (1.0 - shrink);
    // Steps near the type's largest value would overflow when multiplied by 1 already.
    quantiser.step = static_cast<T>(std::clamp(step, static_cast<double>(Limits::min()),
                                               static_cast<double>(Limits::max()) / 4));
    return quantiser;
}

template Quantiser<float> choose_quantiser(std::span<const float>, double);
template Quantiser<double> choose_quantiser(std::span<const double>, double);

}  // namespace caesura::codec
