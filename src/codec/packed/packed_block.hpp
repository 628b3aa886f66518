// The arithmetic of packed frames (codec/packed/packed.hpp): values to codes, codes to words, and
// back. The same functions run on the host and in CUDA kernels, so both make the same bytes.
//
//  - A code is an integer as wide as a value. Bounded: the value divided by twice the bound,
//    rounded; what cannot be held so within the bound (NaN, infinities, too large) has none.
//    Lossless: the bits, mapped so that integers are ordered as the values are.
//  - 32 values are a block: all codes, or, where one value has none, the values as they are. What
//    is stored of a code is what it differs from the one before (order 1), or from the straight
//    line through the two before (order 2), whichever is less wide; all 32 with as many bits as the
//    widest needs.
//  - 4 blocks are a group, which is coded without knowing any other. Before its first block lies
//    its first code, unless that is 0.
//
// A group's descriptor is one word, a byte for each block, the first the lowest: width (0 to 32 or
// 64 bits, 127: as they are) + 128 if of order 2. In the first block, which is always of order 1,
// the 128 says that the first code is there.
//
// Invariants:
//  - Only IEEE operations in the order written: no contraction, round to nearest, denormals kept.
//  - C++17 and no headers of ours: nvcc compiles it too.
//  - decode_group() reads the words that the descriptor says, whatever lies there.
#pragma once

#include <cfloat>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define CAESURA_BOTH __host__ __device__ __forceinline__
#else
#define CAESURA_BOTH inline
#endif

namespace caesura::codec::packed {

constexpr std::uint32_t k_block_values = 32;
constexpr std::uint32_t k_group_blocks = 4;
constexpr std::uint32_t k_group_values = k_block_values * k_group_blocks;
constexpr std::uint32_t k_as_they_are = 127;
constexpr std::uint32_t k_flag = 128;

template <class T>
struct Packing;
template <>
struct Packing<float> {
    using Code = std::uint32_t;
    using Signed = std::int32_t;
    static constexpr double k_limit = 1073741824.0;  // 2^30
    static constexpr double k_largest = FLT_MAX;
};
template <>
struct Packing<double> {
    using Code = std::uint64_t;
    using Signed = std::int64_t;
    static constexpr double k_limit = 1125899906842624.0;  // 2^50
    static constexpr double k_largest = DBL_MAX;
};

/// How values become codes. step 0: lossless.
struct PackRule {
    double bound = 0.0, step = 0.0, inverse = 0.0;
};

template <class To, class From>
CAESURA_BOTH To bits_of(From from) {
    static_assert(sizeof(To) == sizeof(From), "bits of another size");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

CAESURA_BOTH double magnitude(double x) { return x < 0.0 ? -x : x; }

/// Exactly |x - y| <= bound? The rounded difference and its exact error (TwoSum) decide.
CAESURA_BOTH bool is_within(double x, double y, double bound) {
    const double difference = x - y;
    const double part = difference - x;
    const double error = (x - (difference - part)) + (-y - part);
    const double distance = magnitude(difference);
    return (distance < bound) |
           ((distance == bound) & ((error == 0.0) | ((error < 0.0) == (difference > 0.0))));
}

/// The value of a code.
template <class T>
CAESURA_BOTH T value_of(typename Packing<T>::Code code, const PackRule& rule) {
    using Code = typename Packing<T>::Code;
    using Signed = typename Packing<T>::Signed;
    if (rule.step > 0.0)
        return static_cast<T>(static_cast<double>(static_cast<Signed>(code)) * rule.step);
    constexpr int k_sign = 8 * sizeof(T) - 1;
    const Code below_sign = (Code{1} << k_sign) - 1;
    return bits_of<T>((code >> k_sign) != 0 ? code ^ below_sign : code);
}

/// @return whether the value has a code.
template <class T>
CAESURA_BOTH bool code_of(T value, const PackRule& rule, typename Packing<T>::Code& code) {
    using Code = typename Packing<T>::Code;
    if (rule.step <= 0.0) {
        constexpr int k_sign = 8 * sizeof(T) - 1;
        const Code bits = bits_of<Code>(value), below_sign = (Code{1} << k_sign) - 1;
        code = (bits >> k_sign) != 0 ? bits ^ below_sign : bits;
        return true;
    }
    // Adding 1.5 * 2^52 leaves no fraction, and the integer in the low bits. No branches, so that a
    // compiler can do several values at once; what has no code makes any, and says so.
    constexpr double k_round = 6755399441055744.0;
    const double x = static_cast<double>(value);
    const double scaled = x * rule.inverse;
    const double rounded = (scaled + k_round) - k_round;
    const double back = rounded * rule.step;
    code = static_cast<Code>(bits_of<std::uint64_t>(scaled + k_round) -
                             bits_of<std::uint64_t>(k_round));
    const bool has_code = magnitude(scaled) < Packing<T>::k_limit;
    const bool is_finite = magnitude(back) <= Packing<T>::k_largest;
    const bool holds = is_within(x, static_cast<double>(static_cast<T>(back)), rule.bound);
    return has_code & is_finite & holds;
}

/// Small numbers of either sign as small ones without: 0, -1, 1, -2, ...
template <class Code>
CAESURA_BOTH Code fold(Code difference) {
    return (difference << 1) ^ (Code{0} - (difference >> (8 * sizeof(Code) - 1)));
}
template <class Code>
CAESURA_BOTH Code unfold(Code folded) {
    return (folded >> 1) ^ (Code{0} - (folded & 1));
}

template <class Code>
CAESURA_BOTH std::uint32_t width_of(Code bits) {
    if (bits == 0) return 0;
#ifdef __CUDA_ARCH__
    return sizeof(Code) == 4
               ? 32u - static_cast<std::uint32_t>(__clz(static_cast<int>(bits)))
               : 64u - static_cast<std::uint32_t>(__clzll(static_cast<long long>(bits)));
#else
    return sizeof(Code) == 4
               ? 32u - static_cast<std::uint32_t>(__builtin_clz(static_cast<std::uint32_t>(bits)))
               : 64u - static_cast<std::uint32_t>(__builtin_clzll(bits));
#endif
}

/// The two codes before.
template <class Code>
struct Before {
    Code one = 0, two = 0;
    CAESURA_BOTH void push(Code code) { two = one, one = code; }
    CAESURA_BOTH Code line() const { return one + (one - two); }
};

/// Words that a block of this width and values of so many bytes takes.
CAESURA_BOTH std::uint32_t block_words(std::uint32_t width, std::uint32_t value_bytes) {
    return width == k_as_they_are ? k_block_values * value_bytes / 4 : width;
}

/// Words of a group beside its descriptor. More than 64 bits a value: only if damaged.
CAESURA_BOTH std::uint32_t group_words(std::uint32_t descriptor, std::uint32_t value_bytes) {
    std::uint32_t words = (descriptor & k_flag) != 0 ? value_bytes / 4 : 0;
    for (std::uint32_t block = 0; block < k_group_blocks; ++block)
        words += block_words((descriptor >> (8 * block)) & 127u, value_bytes);
    return words;
}

// --------------------------------------------------------------------------------------- encoding

/// Where the words of a group go: nowhere, when only their number is wanted.
struct NoWords {
    static constexpr bool k_wants_words = false;
    CAESURA_BOTH void operator()(std::uint32_t) const {}
};

/// Words of 32 bits out of numbers of fewer.
template <class Put>
class BitWriter {
  public:
    CAESURA_BOTH BitWriter(Put& put, std::uint32_t width) : put_(put), width_(width) {}
    CAESURA_BOTH void add(std::uint32_t bits) {
        waiting_ |= static_cast<std::uint64_t>(bits) << filled_;
        filled_ += width_;
        if (filled_ < 32) return;
        put_(static_cast<std::uint32_t>(waiting_));
        waiting_ >>= 32;
        filled_ -= 32;
    }

  private:
    Put& put_;
    std::uint64_t waiting_ = 0;
    std::uint32_t width_, filled_ = 0;
};

/// `bits` of a number, from bit `shift` on, of 32 that a block has.
template <class Code, class Put>
CAESURA_BOTH void put_bits(const Code* codes, std::uint32_t count, Before<Code> before,
                           bool straight, std::uint32_t shift, std::uint32_t bits, Put& put) {
    BitWriter<Put> writer(put, bits);
    const std::uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
    for (std::uint32_t i = 0; i < k_block_values; ++i) {
        Code folded = 0;
        if (i < count) {
            folded = fold<Code>(codes[i] - (straight ? before.line() : before.one));
            before.push(codes[i]);
        }
        writer.add(static_cast<std::uint32_t>(folded >> shift) & mask);
    }
}

template <class T, class Put>
CAESURA_BOTH void put_value(T value, Put& put) {
    const auto bits = bits_of<typename Packing<T>::Code>(value);
    put(static_cast<std::uint32_t>(bits));
    if (sizeof(T) == 8) put(static_cast<std::uint32_t>(static_cast<std::uint64_t>(bits) >> 32));
}

/// A block of 1 to 32 values; `before` moves on. @return its byte of the descriptor.
template <class T, class Put>
CAESURA_BOTH std::uint32_t encode_block(const T* values, std::uint32_t count, const PackRule& rule,
                                        bool first, Before<typename Packing<T>::Code>& before,
                                        Put& put) {
    using Code = typename Packing<T>::Code;
    Code codes[k_block_values];
    bool held = true;
    for (std::uint32_t i = 0; i < count; ++i) held = code_of(values[i], rule, codes[i]) & held;
    if (!held) {
        if (Put::k_wants_words)
            for (std::uint32_t i = 0; i < k_block_values; ++i)
                put_value(i < count ? values[i] : T{0}, put);
        return k_as_they_are;
    }
    std::uint32_t flag = 0;
    if (first && codes[0] != 0) {
        flag = k_flag;
        if (Put::k_wants_words) put_value(bits_of<T>(codes[0]), put);
        before.one = before.two = codes[0];
    }
    const Before<Code> start = before;
    Code steps = 0, bends = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        steps |= fold<Code>(codes[i] - before.one);
        bends |= fold<Code>(codes[i] - before.line());
        before.push(codes[i]);
    }
    const bool straight = !first && width_of(bends) < width_of(steps);
    const std::uint32_t width = width_of(straight ? bends : steps);
    if (Put::k_wants_words && width > 0) {
        put_bits(codes, count, start, straight, 0, width < 32 ? width : 32, put);
        if (sizeof(T) == 8 && width > 32)
            put_bits(codes, count, start, straight, 32, width - 32, put);
    }
    return width + (straight ? k_flag : flag);
}

/// A group of 1 to 128 values. @return its descriptor; put() gets group_words() of it.
template <class T, class Put>
CAESURA_BOTH std::uint32_t encode_group(const T* values, std::uint32_t count, const PackRule& rule,
                                        Put& put) {
    Before<typename Packing<T>::Code> before;
    std::uint32_t descriptor = 0;
    for (std::uint32_t block = 0; block * k_block_values < count; ++block) {
        const std::uint32_t done = block * k_block_values, left = count - done;
        const std::uint32_t byte =
            encode_block(values + done, left < k_block_values ? left : k_block_values, rule,
                         block == 0, before, put);
        descriptor |= byte << (8 * block);
    }
    return descriptor;
}

// --------------------------------------------------------------------------------------- decoding

/// 32 numbers of `bits` bits each, added to `numbers` from bit `shift` on. bits: at most 32.
template <class Code>
CAESURA_BOTH void take_bits(const std::uint32_t* words, std::uint32_t shift, std::uint32_t bits,
                            Code* numbers) {
    const std::uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
    std::uint64_t waiting = 0;
    std::uint32_t filled = 0;
    for (std::uint32_t i = 0; i < k_block_values; ++i) {
        if (filled < bits) {
            waiting |= static_cast<std::uint64_t>(*words++) << filled;
            filled += 32;
        }
        numbers[i] |= static_cast<Code>(static_cast<std::uint32_t>(waiting) & mask) << shift;
        waiting >>= bits;
        filled -= bits;
    }
}

template <class Code>
CAESURA_BOTH Code take_value(const std::uint32_t* words) {
    if (sizeof(Code) == 4) return static_cast<Code>(words[0]);
    return static_cast<Code>(words[0] | static_cast<std::uint64_t>(words[1]) << 32);
}

template <class T>
CAESURA_BOTH void decode_block(const std::uint32_t* words, std::uint32_t width, bool straight,
                               const PackRule& rule, Before<typename Packing<T>::Code>& before,
                               std::uint32_t count, T* values) {
    using Code = typename Packing<T>::Code;
    if (width == k_as_they_are) {
        for (std::uint32_t i = 0; i < count; ++i)
            values[i] = bits_of<T>(take_value<Code>(words + i * (sizeof(T) / 4)));
        return;
    }
    Code numbers[k_block_values] = {};
    if (width > 0) take_bits(words, 0, width < 32 ? width : 32, numbers);
    if (sizeof(T) == 8 && width > 32) take_bits(words + 32, 32, width - 32, numbers);
    for (std::uint32_t i = 0; i < count; ++i) {
        before.push((straight ? before.line() : before.one) + unfold(numbers[i]));
        values[i] = value_of<T>(before.one, rule);
    }
}

/// A descriptor that encode_group() can have made?
CAESURA_BOTH bool is_descriptor(std::uint32_t descriptor, std::uint32_t value_bytes) {
    for (std::uint32_t block = 0; block < k_group_blocks; ++block) {
        const std::uint32_t width = (descriptor >> (8 * block)) & 127u;
        if (width > 8 * value_bytes && width != k_as_they_are) return false;
    }
    return true;
}

/// @param descriptor  one that is_descriptor(). @param words  group_words() of it.
template <class T>
CAESURA_BOTH void decode_group(std::uint32_t descriptor, const std::uint32_t* words,
                               const PackRule& rule, std::uint32_t count, T* values) {
    using Code = typename Packing<T>::Code;
    Before<Code> before;
    if ((descriptor & k_flag) != 0) {
        before.one = before.two = take_value<Code>(words);
        words += sizeof(T) / 4;
    }
    for (std::uint32_t block = 0; block * k_block_values < count; ++block) {
        const std::uint32_t done = block * k_block_values, left = count - done;
        const std::uint32_t byte = descriptor >> (8 * block);
        decode_block(words, byte & 127u, block > 0 && (byte & k_flag) != 0, rule, before,
                     left < k_block_values ? left : k_block_values, values + done);
        words += block_words(byte & 127u, sizeof(T));
    }
}

}  // namespace caesura::codec::packed
