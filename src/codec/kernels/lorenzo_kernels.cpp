// Lorenzo's loops, once per instruction set.
//
// Invariants:
//  - Codes do not depend on the vector length: a value that fails takes the lattice integer of its
//    left neighbour in the row (0 at the row's start), so that masked regions cost next to nothing.
//  - Sums along the axes commute: the decoder adds the histories first and scans each row last.
//
// Limit in 3-D: encoding a vector takes 17 operations (8 quantising and checking, 2 + 2 differences
// and shift, 3 zigzag, 2 masks), 3 loads and 3 stores; Zen 4 issues 4 vector operations of 256 bits
// and stores 32 bytes per cycle: 8.5 cycles per 512-bit vector, 0.53 per float32 value or 19 GB/s
// at 2.55 GHz. Measured on 128^3 fields: 0.7 to 0.9. Decoding takes 18 operations (4 unzigzag, 2
// histories, 8 + 2 scan, 2 scaling): 0.56 cycles; measured 1.15, most of it waiting for stores to
// the output to claim their cache lines.
#include "codec/kernels/lorenzo_kernels.hpp"

#include <cstring>
#include <limits>

#define CAESURA_KERNELS_OF_FLOATS
#include "codec/kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/kernels/lorenzo_kernels.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "codec/kernels/simd_lattice-inl.hpp"

#ifndef CAESURA_LORENZO_ONCE
#define CAESURA_LORENZO_ONCE
namespace caesura::codec {

/// Failing lanes of one vector, value by value: rare, so plain code serves every target.
template <class T>
struct LorenzoLanes {
    T values[16];
    std::int32_t lattice[16];
    std::uint8_t failed[16];
};

/// Store what failed exactly and give it its left neighbour's integer.
template <class T>
void store_exactly(LorenzoLanes<T>& lanes, std::size_t n, std::int32_t left, std::size_t position,
                   ExactValues<T>& exact) {
    for (std::size_t i = 0; i < n; ++i) {
        if (lanes.failed[i] != 0) {
            exact.values.push_back(lanes.values[i]);
            exact.positions.push_back(static_cast<std::uint32_t>(position + i));
            lanes.lattice[i] = left;
        }
        left = lanes.lattice[i];
    }
}

}  // namespace caesura::codec
#endif

HWY_BEFORE_NAMESPACE();
namespace caesura::codec::HWY_NAMESPACE {

/// A row's loop-invariant values, held in registers: the loops store to memory that, for all the
/// compiler knows, holds the originals of these.
template <class T>
struct LorenzoConstants {
    using L = Lanes<T>;
    using Bits = hn::TFromD<typename L::DBits>;

    explicit LorenzoConstants(const Quantiser<T>& quantiser)
        : step(hn::Set(typename L::D(), quantiser.step)),
          inverse(hn::Set(typename L::D(), T{1} / quantiser.step)),
          bound(hn::Set(typename L::D(), quantiser.bound)),
          shifted_bound(hn::Set(typename L::DBits(), shifted(quantiser.bound))) {}

    static constexpr Bits k_normal = Bits{1} << (std::numeric_limits<T>::digits - 1);
    // Added to a magnitude's bits it puts the smallest normal at the bottom of the signed range
    // and what lies below at the top.
    static constexpr Bits k_shift = std::numeric_limits<Bits>::max() - k_normal + 1;
    static Bits shifted(T bound) {
        using Limits = std::numeric_limits<Bits>;
        if (!(bound >= std::numeric_limits<T>::min())) return Limits::min();
        Bits bits;
        std::memcpy(&bits, &bound, sizeof bits);
        return Limits::min() + (bits - k_normal);
    }

    typename L::V step;
    typename L::V inverse;
    typename L::V bound;
    hn::Vec<typename L::DBits> shifted_bound;
};

/// Ask memory for what lies a few rows on, be it inside the array or not: hardware prefetchers
/// start anew on every page.
template <bool k_to_write, class T>
HWY_INLINE void prefetch(const T* from) {
    constexpr std::uintptr_t k_ahead_bytes = 2048;
    const auto address = reinterpret_cast<std::uintptr_t>(from) + k_ahead_bytes;
    __builtin_prefetch(reinterpret_cast<const void*>(address), k_to_write ? 1 : 0);
}

template <class T>
HWY_NOINLINE typename Lanes<T>::VI store_failed(typename Lanes<T>::V v, typename Lanes<T>::VI q,
                                                typename Lanes<T>::M failed, std::size_t n,
                                                std::size_t position, typename Lanes<T>::VI left,
                                                ExactValues<T>& exact) {
    const typename Lanes<T>::D d;
    const typename Lanes<T>::DI di;
    LorenzoLanes<T> lanes;
    HWY_ALIGN T flags[64 / sizeof(T)] = {};
    HWY_ALIGN std::int32_t before[16];
    hn::StoreU(v, d, lanes.values);
    hn::StoreU(q, di, lanes.lattice);
    hn::StoreU(left, di, before);
    hn::Store(hn::IfThenElseZero(failed, hn::Set(d, T{1})), d, flags);
    for (std::size_t i = 0; i < n; ++i) lanes.failed[i] = flags[i] != 0;
    store_exactly(lanes, n, before[hn::Lanes(di) - 1], position, exact);
    return hn::LoadU(di, lanes.lattice);
}

/// Which lanes really fail: too far off, or a denormal or -0.
template <class T>
HWY_INLINE typename Lanes<T>::M failing(typename Lanes<T>::V v, typename Lanes<T>::V error,
                                        const LorenzoConstants<T>& constants) {
    const typename Lanes<T>::D d;
    const typename Lanes<T>::DBits db;
    using Bits = typename LorenzoConstants<T>::Bits;
    const auto bits = hn::BitCast(db, v);
    const auto magnitude = hn::And(bits, hn::Set(db, std::numeric_limits<Bits>::max()));
    const auto tiny = hn::And(hn::Lt(magnitude, hn::Set(db, LorenzoConstants<T>::k_normal)),
                              hn::Ne(bits, hn::Zero(db)));
    return hn::Or(hn::RebindMask(d, tiny), hn::Not(hn::Lt(error, constants.bound)));
}

/// Lattice integers of one vector, `n` lanes of which count.
template <class T>
HWY_INLINE typename Lanes<T>::VI quantise(typename Lanes<T>::V v, std::size_t n,
                                          std::size_t position, typename Lanes<T>::VI left,
                                          const LorenzoConstants<T> constants,
                                          ExactValues<T>& exact) {
    const typename Lanes<T>::D d;
    const typename Lanes<T>::DBits db;
    const auto q = to_lattice(hn::Mul(v, constants.inverse));
    const auto error = hn::Abs(hn::Sub(v, hn::Mul(to_values(q), constants.step)));
    // Both ends in one signed comparison: below the bound, and not below the smallest normal
    // number. A denormal or -0 has q = 0 and thus is its own error; it ends up in the careful
    // path together with values that the lattice happens to hit exactly.
    const auto shifted = hn::Add(hn::BitCast(db, error), hn::Set(db, LorenzoConstants<T>::k_shift));
    if (HWY_LIKELY(hn::AllTrue(db, hn::Lt(shifted, constants.shifted_bound)))) return q;
    const auto failed = failing<T>(v, error, constants);
    if (HWY_LIKELY(hn::AllFalse(d, failed))) return q;
    return store_failed<T>(v, q, failed, n, position, left, exact);
}

template <class T, int k_histories, bool k_along_x>
class LorenzoEncoder {
    using L = Lanes<T>;
    using VI = typename L::VI;

  public:
    static void run(const LorenzoPlan& plan, const T* values, const Quantiser<T>& quantiser,
                    CodeWriter& codes, ExactValues<T>& exact) {
        LorenzoCursor cursor(plan);
        const LorenzoConstants<T> constants(quantiser);
        for (std::size_t row = 0; row < plan.n_rows; ++row) {
            LorenzoCursor::HistoryRows histories = cursor.next();
            encode_row(values, row * plan.row_values, plan.row_values, histories, constants, codes,
                       exact);
        }
    }

  private:
    static HWY_INLINE void encode_row(const T* values, std::size_t first, std::size_t n,
                                      LorenzoCursor::HistoryRows histories,
                                      const LorenzoConstants<T> constants, CodeWriter& codes,
                                      ExactValues<T>& exact) {
        const typename L::D d;
        const typename L::DI di;
        const std::size_t lanes = hn::Lanes(d);
        VI left = hn::Zero(di);      // lattice integers of the vector before
        VI left_sum = hn::Zero(di);  // the same after the other axes' differences
        for (std::size_t begin = 0; begin < n; begin += k_chunk_values) {
            const std::size_t count = HWY_MIN(n - begin, k_chunk_values);
            const std::size_t whole = count / lanes * lanes;
            auto* out = reinterpret_cast<std::int32_t*>(codes.room());
            const T* in = values + first + begin;
            for (std::size_t x = 0; x < whole; x += lanes) {
                prefetch<false>(in + x);
                left = quantise<T>(hn::LoadU(d, in + x), lanes, first + begin + x, left, constants,
                                   exact);
                difference(left, histories, begin + x, left_sum, out + x);
            }
            if (whole < count) {
                // The lanes past the end repeat the last value, which cannot look unusual anew.
                HWY_ALIGN T tail[64 / sizeof(T)];
                for (std::size_t i = 0; i < lanes; ++i) {
                    tail[i] = in[HWY_MIN(whole + i, count - 1)];
                }
                left = quantise<T>(hn::Load(d, tail), count - whole, first + begin + whole, left,
                                   constants, exact);
                difference(left, histories, begin + whole, left_sum, out + whole);
            }
            codes.advance(count);
        }
    }

    static HWY_INLINE void difference(VI sum, const LorenzoCursor::HistoryRows& histories,
                                      std::size_t x, VI& left_sum, std::int32_t* out) {
        const typename L::DI di;
        for (int h = 0; h < k_histories; ++h) {
            std::int32_t* history = histories[static_cast<std::size_t>(h)] + x;
            const VI before = hn::LoadU(di, history);
            hn::StoreU(sum, di, history);
            sum = hn::Sub(sum, before);
        }
        VI residual = sum;
        if (k_along_x) {
            residual = hn::Sub(sum, shift_in(sum, left_sum));
            left_sum = sum;
        }
        hn::StoreU(zigzag(residual), di, out);
    }
};

template <class T, int k_histories, bool k_along_x>
class LorenzoDecoder {
    using L = Lanes<T>;
    using V = typename L::V;
    using VI = typename L::VI;

  public:
    static void run(const LorenzoPlan& plan, T* values, T step, CodeReader& codes) {
        LorenzoCursor cursor(plan);
        const V scale = hn::Set(typename L::D(), step);
        for (std::size_t row = 0; row < plan.n_rows; ++row) {
            LorenzoCursor::HistoryRows histories = cursor.next();
            decode_row(values + row * plan.row_values, plan.row_values, histories, scale, codes);
        }
    }

  private:
    static HWY_INLINE void decode_row(T* values, std::size_t n,
                                      LorenzoCursor::HistoryRows histories, V scale,
                                      CodeReader& codes) {
        const typename L::D d;
        const typename L::DI di;
        const std::size_t lanes = hn::Lanes(d);
        VI carry = hn::Zero(di);
        for (std::size_t begin = 0; begin < n; begin += k_chunk_values) {
            const std::size_t count = HWY_MIN(n - begin, k_chunk_values);
            const std::size_t whole = count / lanes * lanes;
            const auto* in = reinterpret_cast<const std::int32_t*>(codes.take(count));
            for (std::size_t x = 0; x < whole; x += lanes) {
                prefetch<true>(values + begin + x);
                hn::StoreU(step(in + x, histories, begin + x, scale, carry), d, values + begin + x);
            }
            if (whole < count) {
                HWY_ALIGN T tail[64 / sizeof(T)];
                hn::Store(step(in + whole, histories, begin + whole, scale, carry), d, tail);
                std::memcpy(values + begin + whole, tail, (count - whole) * sizeof(T));
            }
        }
    }

    static HWY_INLINE V step(const std::int32_t* in, const LorenzoCursor::HistoryRows& histories,
                             std::size_t x, V scale, VI& carry) {
        const typename L::DI di;
        VI sum = unzigzag(hn::LoadU(di, in));
        for (int h = k_histories - 1; h >= 0; --h) {
            std::int32_t* history = histories[static_cast<std::size_t>(h)] + x;
            sum = hn::Add(sum, hn::LoadU(di, history));
            hn::StoreU(sum, di, history);
        }
        if (k_along_x) {
            sum = hn::Add(prefix_sum(sum), carry);
            carry = broadcast_last(sum);
        }
        return hn::Mul(to_values(sum), scale);
    }
};

/// Call `run.operator()<histories, along_x>()` for what the plan says.
template <class Run>
void with_plan(const LorenzoPlan& plan, Run run) {
    switch (plan.n_histories * 2 + (plan.along_x ? 1 : 0)) {
        case 0:
            return run.template operator()<0, false>();
        case 1:
            return run.template operator()<0, true>();
        case 2:
            return run.template operator()<1, false>();
        case 3:
            return run.template operator()<1, true>();
        case 4:
            return run.template operator()<2, false>();
        case 5:
            return run.template operator()<2, true>();
        case 6:
            return run.template operator()<3, false>();
        default:
            return run.template operator()<3, true>();
    }
}

template <class T>
struct Encode {
    const LorenzoPlan& plan;
    const T* values;
    const Quantiser<T>& quantiser;
    CodeWriter& codes;
    ExactValues<T>& exact;
    template <int k_histories, bool k_along_x>
    void operator()() {
        LorenzoEncoder<T, k_histories, k_along_x>::run(plan, values, quantiser, codes, exact);
    }
};

template <class T>
struct Decode {
    const LorenzoPlan& plan;
    T* values;
    T step;
    CodeReader& codes;
    template <int k_histories, bool k_along_x>
    void operator()() {
        LorenzoDecoder<T, k_histories, k_along_x>::run(plan, values, step, codes);
    }
};

void encode_f32(const LorenzoPlan& plan, const float* values, const Quantiser<float>& quantiser,
                CodeWriter& codes, ExactValues<float>& exact) {
    with_plan(plan, Encode<float>{plan, values, quantiser, codes, exact});
}
void encode_f64(const LorenzoPlan& plan, const double* values, const Quantiser<double>& quantiser,
                CodeWriter& codes, ExactValues<double>& exact) {
    with_plan(plan, Encode<double>{plan, values, quantiser, codes, exact});
}
void decode_f32(const LorenzoPlan& plan, float* values, float step, CodeReader& codes) {
    with_plan(plan, Decode<float>{plan, values, step, codes});
}
void decode_f64(const LorenzoPlan& plan, double* values, double step, CodeReader& codes) {
    with_plan(plan, Decode<double>{plan, values, step, codes});
}

}  // namespace caesura::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caesura::codec {

HWY_EXPORT(encode_f32);
HWY_EXPORT(encode_f64);
HWY_EXPORT(decode_f32);
HWY_EXPORT(decode_f64);

template <>
void lorenzo_encode(const LorenzoPlan& plan, const float* values, const Quantiser<float>& quantiser,
                    CodeWriter& codes, ExactValues<float>& exact) {
    HWY_DYNAMIC_DISPATCH(encode_f32)(plan, values, quantiser, codes, exact);
}
template <>
void lorenzo_encode(const LorenzoPlan& plan, const double* values,
                    const Quantiser<double>& quantiser, CodeWriter& codes,
                    ExactValues<double>& exact) {
    HWY_DYNAMIC_DISPATCH(encode_f64)(plan, values, quantiser, codes, exact);
}
template <>
void lorenzo_decode(const LorenzoPlan& plan, float* values, float step, CodeReader& codes) {
    HWY_DYNAMIC_DISPATCH(decode_f32)(plan, values, step, codes);
}
template <>
void lorenzo_decode(const LorenzoPlan& plan, double* values, double step, CodeReader& codes) {
    HWY_DYNAMIC_DISPATCH(decode_f64)(plan, values, step, codes);
}

}  // namespace caesura::codec
#endif
