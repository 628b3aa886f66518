// Plain loops, compiled once per instruction set for the compiler to vectorise, where nothing
// depends on the value before; bit planes by Highway's masks.
#include "codec/kernels/integer_kernels.hpp"

#include <algorithm>
#include <type_traits>

#include "codec/kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/kernels/integer_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace caesura::codec::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class U, bool k_xor>
HWY_INLINE U apart(U a, U b) {
    return k_xor ? static_cast<U>(a ^ b) : static_cast<U>(a - b);
}
template <class U, bool k_xor>
HWY_INLINE U together(U a, U b) {
    return k_xor ? static_cast<U>(a ^ b) : static_cast<U>(a + b);
}

/// What near and far leave of values[first .. first + n), all of whose neighbours are there.
template <class U, bool k_xor>
HWY_INLINE void Corners(const U* values, std::size_t n, const Neighbours& by, U* HWY_RESTRICT out) {
    const U* near = values - by.near;
    if (by.near == 0) {
        for (std::size_t k = 0; k < n; ++k) out[k] = values[k];
    } else if (by.far == 0) {
        for (std::size_t k = 0; k < n; ++k) out[k] = apart<U, k_xor>(values[k], near[k]);
    } else {
        const U* far = values - by.far;
        const U* both = near - by.far;
        for (std::size_t k = 0; k < n; ++k)
            out[k] = apart<U, k_xor>(apart<U, k_xor>(values[k], near[k]),
                                     apart<U, k_xor>(far[k], both[k]));
    }
}

/// The same for a value at an edge.
template <class U, bool k_xor>
U Corner(const U* values, std::uint64_t i, const Neighbours& by) {
    const auto at = [&](std::uint64_t back) { return back <= i ? values[i - back] : U{0}; };
    const U x = by.near == 0 ? at(0) : apart<U, k_xor>(at(0), at(by.near));
    if (by.far == 0) return x;
    return apart<U, k_xor>(x, apart<U, k_xor>(at(by.far), at(by.near + by.far)));
}

template <class U, bool k_xor>
HWY_INLINE void ResidualsAs(const U* values, std::uint64_t first, std::size_t n,
                            const Neighbours& by, U* HWY_RESTRICT out) {
    U corners[k_integer_piece + 2];  // two from before the piece lead
    const std::uint64_t reach = by.near + by.far;
    for (std::size_t lead = 0; lead < 2; ++lead)
        corners[lead] = first + lead >= 2 ? Corner<U, k_xor>(values, first + lead - 2, by) : U{0};
    std::size_t k = 0;
    for (; k < n && first + k < reach; ++k)
        corners[k + 2] = Corner<U, k_xor>(values, first + k, by);
    if (k < n) Corners<U, k_xor>(values + first + k, n - k, by, corners + 2 + k);
    if (by.order == 0) {
        for (std::size_t i = 0; i < n; ++i) out[i] = corners[i + 2];
    } else if (by.order == 1) {
        for (std::size_t i = 0; i < n; ++i)
            out[i] = apart<U, k_xor>(corners[i + 2], corners[i + 1]);
    } else {
        for (std::size_t i = 0; i < n; ++i)
            out[i] = apart<U, k_xor>(apart<U, k_xor>(corners[i + 2], corners[i + 1]),
                                     apart<U, k_xor>(corners[i + 1], corners[i]));
    }
}

template <class U>
void Residuals(const U* values, std::uint64_t first, std::size_t n, const Neighbours& by, U* out) {
    if (by.exclusive_or) return ResidualsAs<U, true>(values, first, n, by, out);
    return ResidualsAs<U, false>(values, first, n, by, out);
}

template <class U, bool k_xor>
HWY_INLINE void RestoreSequence(U* r, std::size_t n, unsigned order, SequenceState<U>& state) {
    U last = state.last;
    if (order == 1) {
        for (std::size_t i = 0; i < n; ++i) r[i] = last = together<U, k_xor>(last, r[i]);
    } else if (order == 2) {
        U difference = state.last_difference;
        for (std::size_t i = 0; i < n; ++i) {
            difference = together<U, k_xor>(difference, r[i]);
            r[i] = last = together<U, k_xor>(last, difference);
        }
        state.last_difference = difference;
    }
    state.last = last;
}

/// Of values whose neighbours are all there and further away than the run is long.
template <class U, bool k_xor>
HWY_INLINE void FillRun(U* HWY_RESTRICT values, const U* HWY_RESTRICT near,
                        const U* HWY_RESTRICT far, const U* HWY_RESTRICT both,
                        const U* HWY_RESTRICT r, std::size_t n) {
    if (far == nullptr) {
        for (std::size_t k = 0; k < n; ++k) values[k] = together<U, k_xor>(r[k], near[k]);
    } else {
        for (std::size_t k = 0; k < n; ++k)
            values[k] = together<U, k_xor>(together<U, k_xor>(r[k], near[k]),
                                           apart<U, k_xor>(far[k], both[k]));
    }
}

template <class U, bool k_xor>
HWY_INLINE void RestoreAs(U* values, std::uint64_t first, std::size_t n, const Neighbours& by,
                          SequenceState<U>& state, U* r) {
    RestoreSequence<U, k_xor>(r, n, by.order, state);
    U* out = values + first;
    if (by.near == 0) {
        for (std::size_t k = 0; k < n; ++k) out[k] = r[k];
        return;
    }
    const std::uint64_t reach = by.near + by.far;
    std::size_t k = 0;
    for (; k < n && first + k < reach; ++k) {
        out[k] = U{0};  // then a corner is what is to be added, turned around
        out[k] = apart<U, k_xor>(r[k], Corner<U, k_xor>(values, first + k, by));
    }
    const std::uint64_t nearest = by.far == 0 ? by.near : std::min(by.near, by.far);
    while (k < n) {
        const std::size_t run = static_cast<std::size_t>(std::min<std::uint64_t>(n - k, nearest));
        const U* far = by.far == 0 ? nullptr : out + k - by.far;
        const U* both = by.far == 0 ? nullptr : out + k - reach;
        FillRun<U, k_xor>(out + k, out + k - by.near, far, both, r + k, run);
        k += run;
    }
}

template <class U>
void Restore(U* values, std::uint64_t first, std::size_t n, const Neighbours& by,
             SequenceState<U>& state, U* r) {
    if (by.exclusive_or) return RestoreAs<U, true>(values, first, n, by, state, r);
    return RestoreAs<U, false>(values, first, n, by, state, r);
}

template <class U>
void Map(U* values, std::size_t n, U base, bool zigzag) {
    using S = std::make_signed_t<U>;
    constexpr int k_sign = 8 * sizeof(U) - 1;
    if (!zigzag) {
        for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<U>(values[i] - base);
        return;
    }
    for (std::size_t i = 0; i < n; ++i) {
        const U x = static_cast<U>(values[i] - base);
        values[i] = static_cast<U>(static_cast<U>(x << 1) ^ static_cast<U>(S(x) >> k_sign));
    }
}

template <class U>
void Unmap(U* values, std::size_t n, U base, bool zigzag) {
    if (!zigzag) {
        for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<U>(values[i] + base);
        return;
    }
    for (std::size_t i = 0; i < n; ++i) {
        const U code = values[i];
        const U x = static_cast<U>(static_cast<U>(code >> 1) ^ static_cast<U>(U{0} - (code & 1U)));
        values[i] = static_cast<U>(x + base);
    }
}

template <class U, unsigned k_low>
HWY_INLINE bool SplitAt(const U* HWY_RESTRICT values, std::size_t n,
                        std::uint32_t* HWY_RESTRICT codes, std::byte* HWY_RESTRICT low) {
    constexpr std::uint32_t k_most = 0xffffffffU;
    std::uint32_t any = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const U high = static_cast<U>(values[i] >> (8 * k_low));
        if constexpr (sizeof(U) < 4) {
            codes[i] = high;
        } else {
            codes[i] = high >= k_most ? k_most : static_cast<std::uint32_t>(high);
            any |= codes[i] == k_most ? 1U : 0U;
        }
    }
    for (std::size_t i = 0; i < n; ++i)
        for (unsigned b = 0; b < k_low; ++b)
            low[i * k_low + b] = static_cast<std::byte>(values[i] >> (8 * b));
    return any != 0;
}

template <class U>
bool Split(const U* values, std::size_t n, unsigned low_bytes, std::uint32_t* codes,
           std::byte* low) {
    if constexpr (sizeof(U) == 8) {
        if (low_bytes == 1) return SplitAt<U, 1>(values, n, codes, low);
        if (low_bytes == 2) return SplitAt<U, 2>(values, n, codes, low);
        if (low_bytes == 3) return SplitAt<U, 3>(values, n, codes, low);
        if (low_bytes == 4) return SplitAt<U, 4>(values, n, codes, low);
    }
    return SplitAt<U, 0>(values, n, codes, low);
}

template <class U, unsigned k_low>
HWY_INLINE void JoinAt(const std::uint32_t* HWY_RESTRICT codes, const std::byte* HWY_RESTRICT low,
                       std::size_t n, U* HWY_RESTRICT values) {
    for (std::size_t i = 0; i < n; ++i) {
        U value = static_cast<U>(static_cast<U>(codes[i]) << (8 * k_low));
        for (unsigned b = 0; b < k_low; ++b)
            value |= static_cast<U>(static_cast<U>(low[i * k_low + b]) << (8 * b));
        values[i] = value;
    }
}

template <class U>
void Join(const std::uint32_t* codes, const std::byte* low, std::size_t n, unsigned low_bytes,
          U* values) {
    if constexpr (sizeof(U) == 8) {
        if (low_bytes == 1) return JoinAt<U, 1>(codes, low, n, values);
        if (low_bytes == 2) return JoinAt<U, 2>(codes, low, n, values);
        if (low_bytes == 3) return JoinAt<U, 3>(codes, low, n, values);
        if (low_bytes == 4) return JoinAt<U, 4>(codes, low, n, values);
    }
    JoinAt<U, 0>(codes, low, n, values);
}

template <class U>
U Smallest(const U* values, std::size_t n, U flip) {
    U least = static_cast<U>(~U{0});
    for (std::size_t i = 0; i < n; ++i) {
        const U x = static_cast<U>(values[i] ^ flip);
        least = x < least ? x : least;
    }
    return static_cast<U>(least ^ flip);
}

template <class U>
HWY_INLINE const IntegerKernels<U>* KernelsOf() {
    static constexpr IntegerKernels<U> k_kernels = {Residuals<U>, Restore<U>, Map<U>,     Unmap<U>,
                                                    Split<U>,     Join<U>,    Smallest<U>};
    return &k_kernels;
}
const IntegerKernels<std::uint8_t>* Kernels8() { return KernelsOf<std::uint8_t>(); }
const IntegerKernels<std::uint16_t>* Kernels16() { return KernelsOf<std::uint16_t>(); }
const IntegerKernels<std::uint32_t>* Kernels32() { return KernelsOf<std::uint32_t>(); }
const IntegerKernels<std::uint64_t>* Kernels64() { return KernelsOf<std::uint64_t>(); }

void ToPlanes(const std::uint8_t* bytes, std::size_t n, std::size_t stride, std::uint8_t* planes) {
    const hn::CappedTag<std::uint8_t, 64> d;
    const hn::RebindToSigned<decltype(d)> signed_d;
    const std::size_t lanes = hn::Lanes(d);
    for (std::size_t i = 0; i < n; i += lanes) {
        auto v = hn::LoadU(d, bytes + i);
        // The uppermost bits make a mask; doubling brings up the next.
        for (std::size_t b = 8; b-- > 0;) {
            const auto is_set = hn::Lt(hn::BitCast(signed_d, v), hn::Zero(signed_d));
            hn::StoreMaskBits(signed_d, is_set, planes + b * stride + i / 8);
            v = hn::Add(v, v);
        }
    }
}

void ToBits(const std::uint8_t* const* planes, std::size_t n, std::uint8_t* bytes) {
    const hn::CappedTag<std::uint8_t, 64> d;
    const std::size_t lanes = hn::Lanes(d);
    HWY_ALIGN std::uint8_t bits[8] = {};  // a mask is loaded 8 bytes at a time
    for (std::size_t i = 0; i < n; i += lanes) {
        auto v = hn::Zero(d);
        for (std::size_t b = 0; b < 8; ++b) {
            if (planes[b] == nullptr) continue;
            const std::uint8_t* from = planes[b] + i / 8;
            for (std::size_t k = 0; k < lanes / 8; ++k) bits[k] = from[k];
            const auto is_set = hn::LoadMaskBits(d, bits);
            v = hn::Or(v, hn::IfThenElseZero(is_set, hn::Set(d, static_cast<uint8_t>(1U << b))));
        }
        hn::StoreU(v, d, bytes + i);
    }
}

}  // namespace caesura::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caesura::codec {
HWY_EXPORT(Kernels8);
HWY_EXPORT(Kernels16);
HWY_EXPORT(Kernels32);
HWY_EXPORT(Kernels64);
HWY_EXPORT(ToPlanes);
HWY_EXPORT(ToBits);

template <>
const IntegerKernels<std::uint8_t>& integer_kernels() {
    return *HWY_DYNAMIC_DISPATCH(Kernels8)();
}
template <>
const IntegerKernels<std::uint16_t>& integer_kernels() {
    return *HWY_DYNAMIC_DISPATCH(Kernels16)();
}
template <>
const IntegerKernels<std::uint32_t>& integer_kernels() {
    return *HWY_DYNAMIC_DISPATCH(Kernels32)();
}
template <>
const IntegerKernels<std::uint64_t>& integer_kernels() {
    return *HWY_DYNAMIC_DISPATCH(Kernels64)();
}
void bits_to_planes(const std::uint8_t* bytes, std::size_t n, std::size_t stride,
                    std::uint8_t* planes) {
    HWY_DYNAMIC_DISPATCH(ToPlanes)(bytes, n, stride, planes);
}
void planes_to_bits(const std::uint8_t* const* planes, std::size_t n, std::uint8_t* bytes) {
    HWY_DYNAMIC_DISPATCH(ToBits)(planes, n, bytes);
}

}  // namespace caesura::codec
#endif
