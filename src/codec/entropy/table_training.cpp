#include "codec/entropy/table_training.hpp"

#include <algorithm>

namespace caesura::codec {
namespace {

constexpr std::size_t k_escape = k_symbols - 1;

/// log2(n) * 2^16, rounded down, by squaring: n = 1 .. 256.
constexpr std::array<std::uint32_t, 257> make_log2() {
    std::array<std::uint32_t, 257> table{};
    for (std::uint64_t n = 1; n <= 256; ++n) {
        std::uint32_t whole = 0;
        while ((n >> (whole + 1)) != 0) ++whole;
        std::uint64_t mantissa = (n << 31) >> whole;  // in [2^31, 2^32)
        std::uint32_t result = whole << 16;
        for (int bit = 15; bit >= 0; --bit) {
            mantissa = (mantissa * mantissa) >> 31;
            if ((mantissa >> 32) != 0) {
                mantissa >>= 1;
                result |= 1U << bit;
            }
        }
        table[n] = result;
    }
    return table;
}
constexpr std::array<std::uint32_t, 257> k_log2_q16 = make_log2();
constexpr std::uint64_t k_byte_bits_q16 = std::uint64_t{8} << 16;

using Counts16 = std::array<std::uint64_t, k_symbols>;

/// Bits to lose when a symbol of `count` goes from frequency f to f - 1 (f >= 2).
std::uint64_t loss(std::uint64_t count, unsigned f) {
    return count * (k_log2_q16[f] - k_log2_q16[f - 1]);
}

/// The best frequencies with sum 256, each >= 1, for `n` symbols: start from the share rounded
/// down, then give to who gains most. Greedy is exact here: gains diminish.
Frequencies apportion(const Counts16& counts, std::size_t n) {
    std::uint64_t total = 0;
    for (std::size_t s = 0; s < n; ++s) total += counts[s];
    std::array<unsigned, k_symbols> f{};
    unsigned sum = 0;
    for (std::size_t s = 0; s < n; ++s) {
        f[s] = total == 0 ? 1U : std::max(1U, static_cast<unsigned>(counts[s] * 256 / total));
        f[s] = std::min(f[s], 255U);
        sum += f[s];
    }
    for (; sum < 256; ++sum) {
        std::size_t best = 0;
        for (std::size_t s = 1; s < n; ++s) {
            if (loss(counts[s], f[s] + 1) > loss(counts[best], f[best] + 1)) best = s;
        }
        ++f[best];
    }
    while (sum > 256) {
        std::size_t best = n;
        for (std::size_t s = 0; s < n; ++s) {
            if (f[s] < 2) continue;
            if (best == n || loss(counts[s], f[s]) < loss(counts[best], f[best])) best = s;
        }
        --f[best];
        --sum;
    }
    Frequencies result{};
    for (std::size_t s = 0; s < n; ++s) result[s] = static_cast<std::uint8_t>(f[s]);
    return result;
}

/// Symbols at and past alphabet - 1 become escapes.
Counts16 fold(const Counts16& counts, std::size_t alphabet) {
    Counts16 folded{};
    for (std::size_t s = 0; s + 1 < alphabet; ++s) folded[s] = counts[s];
    for (std::size_t s = alphabet - 1; s < k_symbols; ++s) folded[alphabet - 1] += counts[s];
    return folded;
}

std::uint64_t bits_q16(const Counts16& counts, const Frequencies& frequency) {
    std::uint64_t bits = 0;
    for (std::size_t s = 0; s < k_symbols; ++s) {
        if (frequency[s] != 0) bits += counts[s] * (k_byte_bits_q16 - k_log2_q16[frequency[s]]);
    }
    return bits;
}

/// Roughly what the tail of an escaped value costs that was `distance` past the first escape, with
/// a surcharge for the time it takes.
std::uint64_t tail_bits_q16(std::size_t distance) {
    return (std::uint64_t{5} << 16) + k_log2_q16[distance + 1] * std::uint64_t{2};
}

/// A prior of 64 symbols in the built-in proportions, so that few counts do not say "never".
Counts16 with_prior(std::span<const std::uint64_t> counts, unsigned table) {
    const Frequencies& prior = builtin_frequencies(table);
    Counts16 sum{};
    const std::size_t alphabet = alphabet_of(prior);
    // Scaled so that products with the logarithms stay in 64 bits.
    std::uint64_t total = 0;
    for (const std::uint64_t count : counts) total += count;
    unsigned shift = 0;
    while ((total >> shift) > (std::uint64_t{1} << 36)) ++shift;
    for (std::size_t s = 0; s < k_symbols; ++s) {
        sum[s] = (counts[s] >> shift) * 4;
    }
    for (std::size_t s = 0; s < alphabet; ++s) {
        sum[s + 1 == alphabet ? k_escape : s] += prior[s];
    }
    return sum;
}

/// Escapes of a short alphabet may have been values that a longer one would have held: let the
/// first symbols past the last one seen share half of them.
void spread_escapes(Counts16& counts) {
    std::size_t last = k_escape;
    std::uint64_t total = 0;
    for (const std::uint64_t count : counts) total += count;
    while (last > 0 && counts[last - 1] == 0) --last;
    if (counts[k_escape] < total / 128) return;
    for (std::size_t s = last; s < k_escape; ++s) {
        counts[s] = counts[k_escape] / 4;
        counts[k_escape] -= counts[s];
    }
}

}  // namespace

std::uint64_t coded_bits_q16(std::span<const std::uint64_t> counts, const Frequencies& frequency) {
    const std::size_t alphabet = alphabet_of(frequency);
    Counts16 all{};
    std::copy(counts.begin(), counts.end(), all.begin());
    std::uint64_t bits = bits_q16(fold(all, alphabet), frequency);
    for (std::size_t s = alphabet - 1; s < k_escape; ++s) {
        bits += all[s] * tail_bits_q16(s - (alphabet - 1));
    }
    return bits;
}

Frequencies train_frequencies(std::span<const std::uint64_t> counts, unsigned table) {
    Counts16 all = with_prior(counts, table);
    const bool masks = table >= k_sparse_table && table < k_tail_table;
    const bool tails = table >= k_tail_table;
    if (masks || tails) return apportion(all, k_symbols);  // every symbol has a meaning of its own
    spread_escapes(all);
    Frequencies best{};
    std::uint64_t best_bits = ~std::uint64_t{0};
    for (std::size_t alphabet = 2; alphabet <= k_symbols; ++alphabet) {
        const Counts16 folded = fold(all, alphabet);
        const Frequencies frequency = apportion(folded, alphabet);
        std::uint64_t bits = bits_q16(folded, frequency);
        for (std::size_t s = alphabet - 1; s < k_escape; ++s) {
            bits += all[s] * tail_bits_q16(s - (alphabet - 1));
        }
        if (bits < best_bits) {
            best_bits = bits;
            best = frequency;
        }
    }
    return best;
}

Frequencies train_frequencies(std::span<const std::uint64_t> counts, unsigned table,
                              unsigned alphabet) {
    return apportion(fold(with_prior(counts, table), alphabet), alphabet);
}

}  // namespace caesura::codec
