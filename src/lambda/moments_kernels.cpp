#include "lambda/moments_kernels.hpp"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lambda/moments_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace caesura::lambda {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Doubles = hn::CappedTag<double, 8>;

HWY_INLINE hn::Vec<Doubles> LoadDoubles(Doubles d, const double* at) { return hn::LoadU(d, at); }
HWY_INLINE hn::Vec<Doubles> LoadDoubles(Doubles d, const float* at) {
    const hn::Rebind<float, Doubles> of_floats;
    return hn::PromoteTo(d, hn::LoadU(of_floats, at));
}

template <class T>
BlockSums Sums(const T* HWY_RESTRICT values, size_t n, double shift) {
    const Doubles d;
    using V = hn::Vec<Doubles>;
    const size_t lanes = hn::Lanes(d);
    const V top = hn::Set(d, std::numeric_limits<double>::max());
    const V from = hn::Set(d, shift);
    const V inf = hn::Set(d, std::numeric_limits<double>::infinity());
    const V minus_inf = hn::Neg(inf);
    // Two of each hide the latency of additions.
    V low0 = inf, low1 = inf, high0 = minus_inf, high1 = minus_inf;
    V sum0 = hn::Zero(d), sum1 = sum0, squares0 = sum0, squares1 = sum0;
    size_t wild = 0, nan = 0;
    const auto take = [&](V x, V& low, V& high, V& sum, V& squares) HWY_ATTR {
        const auto finite = hn::Le(hn::Abs(x), top);  // false for NaN
        if (HWY_UNLIKELY(!hn::AllTrue(d, finite))) {
            wild += lanes - hn::CountTrue(d, finite);
            nan += hn::CountTrue(d, hn::IsNaN(x));
        }
        low = hn::Min(low, hn::IfThenElse(finite, x, low));
        high = hn::Max(high, hn::IfThenElse(finite, x, high));
        const V deviation = hn::IfThenElseZero(finite, hn::Sub(x, from));
        sum = hn::Add(sum, deviation);
        squares = hn::Add(squares, hn::Mul(deviation, deviation));
    };
    size_t i = 0;
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
        take(LoadDoubles(d, values + i), low0, high0, sum0, squares0);
        take(LoadDoubles(d, values + i + lanes), low1, high1, sum1, squares1);
    }
    size_t padding = 0;
    while (i < n) {
        HWY_ALIGN double rest[8];
        for (size_t k = 0; k < lanes; ++k)
            rest[k] = i + k < n ? double{values[i + k]} : std::numeric_limits<double>::infinity();
        padding += i + lanes > n ? i + lanes - n : 0;
        take(hn::Load(d, rest), low0, high0, sum0, squares0);
        i += lanes;
    }
    return {n - (wild - padding),
            nan,
            hn::GetLane(hn::MinOfLanes(d, hn::Min(low0, low1))),
            hn::GetLane(hn::MaxOfLanes(d, hn::Max(high0, high1))),
            hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1))),
            hn::GetLane(hn::SumOfLanes(d, hn::Add(squares0, squares1)))};
}

BlockSums SumsF32(const float* values, size_t n, double shift) { return Sums(values, n, shift); }
BlockSums SumsF64(const double* values, size_t n, double shift) { return Sums(values, n, shift); }

}  // namespace HWY_NAMESPACE
}  // namespace caesura::lambda
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caesura::lambda {

HWY_EXPORT(SumsF32);
HWY_EXPORT(SumsF64);

BlockSums block_sums(const float* values, std::size_t n, double shift) {
    return HWY_DYNAMIC_DISPATCH(SumsF32)(values, n, shift);
}
BlockSums block_sums(const double* values, std::size_t n, double shift) {
    return HWY_DYNAMIC_DISPATCH(SumsF64)(values, n, shift);
}

}  // namespace caesura::lambda
#endif
