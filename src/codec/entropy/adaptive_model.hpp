// What adaptive coding knows of codes: probabilities of bits that follow what was seen, each by the
// codes just before. One text for both directions, and for counting bits, so that they agree.
//
// In bursty fields activity changes within a few values, and a chunk's one table is a compromise
// between silence and noise. There a code's length is told by the lengths of the three before it.
//
// Invariants:
//  - Integer arithmetic alone: the same bits on every machine.
//  - Codes are taken in groups of 16 that begin with the block: one bit for a group of zeros.
//  - A code of magnitude m (of residual -m or m) has a length, the bits of m, in unary; then a
//    sign; then the bits of m below its leading one, the first two by probability, the rest raw.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "codec/predictors/codes.hpp"

namespace caesura::codec {

/// The probability of a bit being set, in 65536ths: the mean of one that follows quickly and one
/// that follows slowly. Both begin with large steps.
struct AdaptiveBit {
    std::uint16_t quick = 1U << 15;
    std::uint16_t slow = 1U << 15;
    std::uint8_t seen = 0;

    /// 1 to 65535: neither of the two ever comes to 0.
    std::uint32_t probability() const { return (std::uint32_t{quick} + slow) / 2; }
    void learn(bool set) {
        constexpr unsigned k_quick = 4, k_slow = 7;
        const unsigned first = seen / 2U + 1;
        const unsigned a = std::min(first, k_quick), b = std::min(first, k_slow);
        if (set) {
            quick = static_cast<std::uint16_t>(quick + ((65535U - quick) >> a));
            slow = static_cast<std::uint16_t>(slow + ((65535U - slow) >> b));
        } else {
            quick = static_cast<std::uint16_t>(quick - (quick >> a));
            slow = static_cast<std::uint16_t>(slow - (slow >> b));
        }
        if (first < k_slow) ++seen;
    }
};

class AdaptiveModel {
  public:
    static constexpr std::size_t k_group = 16;  // codes
    static_assert(k_chunk_values % k_group == 0);

    /// Nothing seen yet.
    void reset() {
        past_ = {};
        history_ = k_no_silence;
        groups_.fill({});
        lengths_.fill({});
        signs_.fill({});
        firsts_.fill({});
        seconds_.fill({});
    }

    /// Code the next n codes, or decode them.
    /// @param bits   code(AdaptiveBit&, bool) and raw(std::uint32_t, unsigned) give back what was
    ///               coded: their argument, or in a decoder what it found.
    /// @param codes  read where Bits::k_decodes is false, else written. Whole groups but in a
    ///               block's last call.
    template <class Bits, class Code>
    void run(Bits& bits, Code* codes, std::size_t n) {
        for (std::size_t i = 0; i < n; i += k_group) {
            const std::size_t end = std::min(n, i + k_group);
            bool any = false;
            if constexpr (!Bits::k_decodes) {
                std::uint32_t all = 0;
                for (std::size_t j = i; j < end; ++j) all |= codes[j];
                any = all != 0;
            }
            any = bits.code(groups_[history_ * 4 + std::min(past_[0].length, 3U)], any);
            history_ = (history_ * 2 + (any ? 1U : 0U)) % 8;
            if (!any) {
                if constexpr (Bits::k_decodes) std::fill(codes + i, codes + end, 0U);
                past_ = {};
                continue;
            }
            for (std::size_t j = i; j < end; ++j) {
                if constexpr (Bits::k_decodes) {
                    codes[j] = one(bits, 0);
                } else {
                    one(bits, codes[j]);
                }
            }
        }
    }

  private:
    static constexpr unsigned k_lengths = 11;  // longer ones are alike
    static constexpr unsigned k_trends = 5;
    static constexpr unsigned k_steps = 16;  // of a unary length
    static constexpr unsigned k_longest = 32;
    static constexpr unsigned k_most_raw = 16;
    static constexpr unsigned k_no_silence = 7;

    struct Past {
        unsigned length = 0;
        unsigned sign = 0;  // 0 none, 1 positive, 2 negative
    };

    template <class Bits>
    std::uint32_t one(Bits& bits, std::uint32_t code) {
        const unsigned l1 = std::min(past_[0].length, k_lengths - 1);
        const unsigned l2 = std::min(past_[1].length, k_lengths - 1);
        const unsigned l3 = std::min(past_[2].length, k_lengths - 1);
        const unsigned pair = l1 * k_lengths + l2;
        const unsigned trend = std::clamp(2 + l3, l2, l2 + k_trends - 1) - l2;
        std::uint32_t magnitude = (code >> 1) + (code & 1);
        bool negative = (code & 1) != 0;

        AdaptiveBit* const steps = &lengths_[(pair * k_trends + trend) * k_steps];
        const auto wanted = static_cast<unsigned>(std::bit_width(magnitude));
        unsigned length = 0;
        while (length < k_longest &&
               bits.code(steps[std::min(length, k_steps - 1)], length < wanted))
            ++length;
        if (length > 0) {
            const unsigned signs = (past_[0].sign * 3 + past_[1].sign) * 3 + past_[2].sign;
            AdaptiveBit& sign =
                signs_[(signs * 4 + std::min(l1, 3U)) * 3 + std::min(length, 3U) - 1];
            negative = bits.code(sign, negative);
        }
        magnitude = length > 1 ? mantissa(bits, magnitude, length, pair) : length;
        past_[2] = past_[1];
        past_[1] = past_[0];
        past_[0] = {length, length == 0 ? 0U : negative ? 2U : 1U};
        return magnitude * 2 - (length > 0 && negative ? 1U : 0U);
    }

    /// @param length  above 1. Returns the magnitude.
    template <class Bits>
    std::uint32_t mantissa(Bits& bits, std::uint32_t magnitude, unsigned length, unsigned pair) {
        const unsigned row = pair * k_lengths + std::min(length, k_lengths) - 1;
        unsigned left = length - 1;
        const auto bit = [&](unsigned at) { return (magnitude >> at & 1) != 0; };
        std::uint32_t found = 1;
        found = found * 2 + (bits.code(firsts_[row], bit(--left)) ? 1U : 0U);
        if (left > 0) {
            AdaptiveBit& second = seconds_[row * 2 + (found & 1)];
            found = found * 2 + (bits.code(second, bit(--left)) ? 1U : 0U);
        }
        while (left > 0) {
            const unsigned n = std::min(left, k_most_raw);
            left -= n;
            found = found << n | bits.raw(magnitude >> left & ((1U << n) - 1), n);
        }
        return found;
    }

    std::array<Past, 3> past_{};
    unsigned history_ =
        k_no_silence;  // of the last three groups: bit set where one is not all zeros
    std::array<AdaptiveBit, 8 * 4> groups_{};
    std::array<AdaptiveBit, k_lengths * k_lengths * k_trends * k_steps> lengths_{};
    std::array<AdaptiveBit, 27 * 4 * 3> signs_{};
    std::array<AdaptiveBit, k_lengths * k_lengths * k_lengths> firsts_{};
    std::array<AdaptiveBit, 2 * k_lengths * k_lengths * k_lengths> seconds_{};
};

}  // namespace caesura::codec
