// Lorenzo's loops, once per instruction set.
//
// Invariants:
//  - Codes do not depend on the vector length: a value that fails takes the lattice integer of its
//    left neighbour in the row (0 at the row's start), so that masked regions cost next to nothing.
//  - Sums along the axes commute: the decoder adds the histories first and scans each row last.
#include "codec/lorenzo_kernels.hpp"

#include <cstring>
#include <limits>

#include "codec/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/lorenzo_kernels.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "codec/simd_lattice-inl.hpp"

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

template <class T, int k_histories, bool k_along_x>
class LorenzoEncoder {
    using L = Lanes<T>;
    using V = typename L::V;
    using VI = typename L::VI;

  public:
    LorenzoEncoder(const LorenzoPlan& plan, const T* values, const Quantiser<T>& quantiser,
                   CodeWriter& codes, ExactValues<T>& exact)
        : plan_(plan), values_(values), quantiser_(quantiser), codes_(codes), exact_(exact) {}

    void run() {
        LorenzoCursor cursor(plan_);
        for (std::size_t row = 0; row < plan_.n_rows; ++row) {
            cursor.next(histories_);
            encode_row(row * plan_.row_values);
        }
    }

  private:
    void encode_row(std::size_t first) {
        const typename L::D d;
        const typename L::DI di;
        const std::size_t n = plan_.row_values;
        const std::size_t lanes = hn::Lanes(d);
        VI left = hn::Zero(di);      // lattice integers of the vector before
        VI left_sum = hn::Zero(di);  // the same after the other axes' differences
        for (std::size_t begin = 0; begin < n; begin += k_chunk_values) {
            const std::size_t count = HWY_MIN(n - begin, k_chunk_values);
            std::uint32_t* out = codes_.room();
            std::size_t x = 0;
            for (; x + lanes <= count; x += lanes) {
                const V v = hn::LoadU(d, values_ + first + begin + x);
                step(v, lanes, first + begin + x, begin + x, left, left_sum, out + x);
            }
            if (x < count) {
                // The lanes past the end repeat the last value, which cannot look unusual anew.
                HWY_ALIGN T tail[64 / sizeof(T)];
                for (std::size_t i = 0; i < lanes; ++i) {
                    tail[i] = values_[first + begin + HWY_MIN(x + i, count - 1)];
                }
                step(hn::Load(d, tail), count - x, first + begin + x, begin + x, left, left_sum,
                     out + x);
            }
            codes_.advance(count);
        }
    }

    /// One vector: `n` of its lanes count.
    HWY_INLINE void step(V v, std::size_t n, std::size_t position, std::size_t x, VI& left,
                         VI& left_sum, std::uint32_t* out) {
        const typename L::D d;
        const typename L::DI di;
        const typename L::DBits db;
        const V inverse = hn::Set(d, T{1} / quantiser_.step);
        const V step = hn::Set(d, quantiser_.step);
        VI q = to_lattice(hn::Mul(v, inverse));
        const V error = hn::Abs(hn::Sub(v, hn::Mul(to_values(q), step)));
        // Both ends in one signed comparison: below the bound, and not below the smallest normal
        // number. A denormal or -0 has q = 0 and thus is its own error; it ends up in the careful
        // path together with values that the lattice happens to hit exactly.
        const auto shifted = hn::Add(hn::BitCast(db, error), hn::Set(db, k_shift));
        const auto usual = hn::Lt(shifted, hn::Set(db, shifted_bound()));
        if (HWY_UNLIKELY(!hn::AllTrue(db, usual))) q = careful(v, q, error, n, position, left);
        left = q;
        VI sum = q;
        for (int h = 0; h < k_histories; ++h) {
            std::int32_t* history = histories_[h] + x;
            const VI before = hn::LoadU(di, history);
            hn::StoreU(sum, di, history);
            sum = hn::Sub(sum, before);
        }
        VI residual = sum;
        if (k_along_x) {
            residual = hn::Sub(sum, shift_in(sum, left_sum));
            left_sum = sum;
        }
        hn::StoreU(zigzag(residual), di, reinterpret_cast<std::int32_t*>(out));
    }

    HWY_INLINE VI careful(V v, VI q, V error, std::size_t n, std::size_t position, VI left) {
        const typename L::D d;
        const typename L::DBits db;
        const auto bits = hn::BitCast(db, v);
        const auto magnitude = hn::And(bits, hn::Set(db, std::numeric_limits<Bits>::max()));
        const auto tiny =
            hn::And(hn::Lt(magnitude, hn::Set(db, k_normal)), hn::Ne(bits, hn::Zero(db)));
        const auto far = hn::Not(hn::Lt(error, hn::Set(d, quantiser_.bound)));
        const auto failed = hn::Or(hn::RebindMask(d, tiny), far);
        if (hn::AllFalse(d, failed)) return q;
        return store_failed(v, q, failed, n, position, left);
    }

    HWY_NOINLINE VI store_failed(V v, VI q, hn::Mask<typename L::D> failed, std::size_t n,
                                 std::size_t position, VI left) {
        const typename L::D d;
        const typename L::DI di;
        LorenzoLanes<T> lanes;
        HWY_ALIGN T flags[64 / sizeof(T)] = {};
        HWY_ALIGN std::int32_t before[16];
        hn::StoreU(v, d, lanes.values);
        hn::StoreU(q, di, lanes.lattice);
        hn::StoreU(left, di, before);
        hn::Store(hn::IfThenElseZero(failed, hn::Set(d, T{1})), d, flags);
        for (std::size_t i = 0; i < n; ++i) lanes.failed[i] = flags[i] != 0;
        store_exactly(lanes, n, before[hn::Lanes(di) - 1], position, exact_);
        return hn::LoadU(di, lanes.lattice);
    }

    using Bits = hn::TFromD<typename L::DBits>;
    static constexpr Bits k_normal = Bits{1} << (std::numeric_limits<T>::digits - 1);
    // Added to a magnitude's bits it puts the smallest normal at the bottom of the signed range
    // and what lies below at the top.
    static constexpr Bits k_shift = std::numeric_limits<Bits>::max() - k_normal + 1;
    Bits shifted_bound() const {
        using Limits = std::numeric_limits<Bits>;
        if (!(quantiser_.bound >= std::numeric_limits<T>::min())) return Limits::min();
        Bits bits;
        std::memcpy(&bits, &quantiser_.bound, sizeof bits);
        return Limits::min() + (bits - k_normal);
    }

    const LorenzoPlan& plan_;
    const T* values_;
    const Quantiser<T> quantiser_;
    CodeWriter& codes_;
    ExactValues<T>& exact_;
    std::int32_t* histories_[k_max_rank - 1] = {};
};

template <class T, int k_histories, bool k_along_x>
class LorenzoDecoder {
    using L = Lanes<T>;
    using VI = typename L::VI;

  public:
    LorenzoDecoder(const LorenzoPlan& plan, T* values, T step, CodeReader& codes)
        : plan_(plan), values_(values), step_(step), codes_(codes) {}

    void run() {
        LorenzoCursor cursor(plan_);
        for (std::size_t row = 0; row < plan_.n_rows; ++row) {
            cursor.next(histories_);
            decode_row(values_ + row * plan_.row_values);
        }
    }

  private:
    void decode_row(T* values) {
        const typename L::D d;
        const typename L::DI di;
        const std::size_t n = plan_.row_values;
        const std::size_t lanes = hn::Lanes(d);
        VI carry = hn::Zero(di);
        for (std::size_t begin = 0; begin < n; begin += k_chunk_values) {
            const std::size_t count = HWY_MIN(n - begin, k_chunk_values);
            const std::uint32_t* in = codes_.take(count);
            std::size_t x = 0;
            for (; x + lanes <= count; x += lanes) {
                hn::StoreU(step(in + x, begin + x, carry), d, values + begin + x);
            }
            if (x < count) {
                HWY_ALIGN T tail[64 / sizeof(T)];
                hn::Store(step(in + x, begin + x, carry), d, tail);
                std::memcpy(values + begin + x, tail, (count - x) * sizeof(T));
            }
        }
    }

    HWY_INLINE typename L::V step(const std::uint32_t* in, std::size_t x, VI& carry) {
        const typename L::D d;
        const typename L::DI di;
        VI sum = unzigzag(hn::LoadU(di, reinterpret_cast<const std::int32_t*>(in)));
        for (int h = k_histories - 1; h >= 0; --h) {
            std::int32_t* history = histories_[h] + x;
            sum = hn::Add(sum, hn::LoadU(di, history));
            hn::StoreU(sum, di, history);
        }
        if (k_along_x) {
            sum = hn::Add(prefix_sum(sum), carry);
            carry = broadcast_last(sum);
        }
        return hn::Mul(to_values(sum), hn::Set(d, step_));
    }

    const LorenzoPlan& plan_;
    T* values_;
    const T step_;
    CodeReader& codes_;
    std::int32_t* histories_[k_max_rank - 1] = {};
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
        LorenzoEncoder<T, k_histories, k_along_x>(plan, values, quantiser, codes, exact).run();
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
        LorenzoDecoder<T, k_histories, k_along_x>(plan, values, step, codes).run();
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
