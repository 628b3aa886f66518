#include "codec/bound/missing.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/short_float.hpp"
#include "codec/frame/recode.hpp"
#include "codec/frame/typed_view.hpp"
#include "codec/kernels/range_kernels.hpp"

namespace caesura::codec {
namespace {

constexpr std::size_t k_most_suspects = 4;
constexpr std::size_t k_sample_values = 512;
/// A usual fill lies so many spreads of the rest outside it, any other is so many times larger.
constexpr double k_spreads = 4;
constexpr double k_times = 1e6;
constexpr std::size_t k_fewest_usual = 2, k_fewest_other = 16;

template <class T>
using WordOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
WordOf<T> word_of(T value) {
    WordOf<T> word;
    std::memcpy(&word, &value, sizeof word);
    return word;
}

/// What programs mark missing values with.
std::vector<double> usual_fills() {
    std::vector<double> fills = {999.9,
                                 -999.9,
                                 -999.25,
                                 -1e10,
                                 -32767,
                                 -32768,
                                 2147483647,
                                 -2147483647,
                                 -2147483648.0,
                                 9.9692099683868690e36,
                                 -9.9692099683868690e36,
                                 9.999e20,
                                 -9.999e20,
                                 1.267650600228229401496703205376e30,
                                 -1.267650600228229401496703205376e30,
                                 1.7e38,
                                 -1.7e38,
                                 std::numeric_limits<float>::max(),
                                 std::numeric_limits<float>::lowest(),
                                 std::numeric_limits<double>::max(),
                                 std::numeric_limits<double>::lowest()};
    double power = 1;
    for (int k = 1; k <= 9; ++k) {
        power *= 10;
        if (k < 3) continue;
        fills.push_back(power - 1);
        fills.push_back(1 - power);
    }
    for (const double large :
         {1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26,
          1e27, 1e28, 1e29, 1e30, 1e31, 1e32, 1e33, 1e34, 1e35, 1e36, 1e37, 1e38}) {
        fills.push_back(large);
        fills.push_back(-large);
    }
    return fills;
}

/// As the type has them, ascending. Narrower types: as the wider one that they are looked at in.
template <class T>
std::vector<T> usual_fills_of(DType dtype) {
    std::vector<T> fills;
    const double largest = is_short_float(dtype)
                               ? base::format_of(dtype).largest
                               : static_cast<double>(std::numeric_limits<T>::max());
    for (const double fill : usual_fills()) {
        if (std::abs(fill) > largest) continue;
        T value = static_cast<T>(fill);
        if (is_short_float(dtype)) {
            base::for_short_float(dtype, [&]<class Short>(Short) {
                const Short narrow = base::to_short<Short>(static_cast<float>(fill));
                value = static_cast<T>(base::to_float(narrow));
            });
        }
        fills.push_back(value);
    }
    fills.push_back(static_cast<T>(largest));
    fills.push_back(static_cast<T>(-largest));
    std::sort(fills.begin(), fills.end());
    return fills;
}

template <class T>
bool is_usual(T value, DType dtype) {
    static const auto& fills = *new std::array<std::vector<T>, 3>{
        usual_fills_of<T>(sizeof(T) == 4 ? DType::float32 : DType::float64),
        usual_fills_of<T>(DType::float16), usual_fills_of<T>(DType::bfloat16)};
    const std::size_t which = dtype == DType::float16 ? 1 : dtype == DType::bfloat16 ? 2 : 0;
    return std::binary_search(fills[which].begin(), fills[which].end(), value);
}

/// Can the value be a suspect, whatever the others are? Costs next to nothing.
template <class T>
bool may_be_fill(T value, DType dtype) {
    return std::abs(static_cast<double>(value)) >= k_times || is_usual(value, dtype);
}

template <class T>
bool has_end_like_fill(const FiniteRange& range, DType dtype) {
    return range.any && range.lowest != range.highest &&
           (may_be_fill(static_cast<T>(range.lowest), dtype) ||
            may_be_fill(static_cast<T>(range.highest), dtype));
}

/// How often a value has to repeat to be a suspect beside values of this range; 0: it cannot be
/// one. 0 for all that may_be_fill() refuses.
template <class T>
std::size_t repeats_wanted(T value, const FiniteRange& rest, DType dtype) {
    if (!rest.any) return 0;
    const auto v = static_cast<double>(value);
    const double outside = std::max(rest.lowest - v, v - rest.highest);
    if (outside <= 0) return 0;
    if (is_usual(value, dtype) && outside / k_spreads > rest.highest - rest.lowest)
        return k_fewest_usual;
    const double magnitude = std::max(std::abs(rest.lowest), std::abs(rest.highest));
    const bool is_huge =
        std::abs(v) >= k_times && magnitude > 0 && std::abs(v) / k_times >= magnitude;
    return is_huge ? k_fewest_other : 0;
}

template <class T>
FiniteRange range_of(std::span<const T> values) {
    const Extremes<T> found = finite_extremes(values.data(), values.size());
    if (!(found.lowest <= found.highest)) return {};
    return {true, static_cast<double>(found.lowest), static_cast<double>(found.highest)};
}

void widen(FiniteRange& range, const FiniteRange& by) {
    if (!by.any) return;
    range.lowest = range.any ? std::min(range.lowest, by.lowest) : by.lowest;
    range.highest = range.any ? std::max(range.highest, by.highest) : by.highest;
    range.any = true;
}

/// Values, NaN in place of those with these bits.
template <class T>
void copy_without(const T* values, std::size_t n, std::span<const std::uint64_t> bits, T* copy) {
    std::memcpy(copy, values, n * sizeof(T));
    constexpr T k_nan = std::numeric_limits<T>::quiet_NaN();
    for (const std::uint64_t one : bits) {
        const auto word = static_cast<WordOf<T>>(one);
        for (std::size_t i = 0; i < n; ++i) copy[i] = word_of(values[i]) == word ? k_nan : copy[i];
    }
}

/// Of the finite values but those with these bits.
template <class T>
FiniteRange range_without(std::span<const T> values, std::span<const std::uint64_t> bits) {
    if (bits.empty()) return range_of(values);
    constexpr std::size_t k_piece = 2048;
    T piece[k_piece];
    FiniteRange range;
    for (std::size_t begin = 0; begin < values.size(); begin += k_piece) {
        const std::size_t n = std::min(k_piece, values.size() - begin);
        copy_without(&values[begin], n, bits, piece);
        widen(range, range_of(std::span<const T>(piece, n)));
    }
    return range;
}

template <class T>
std::size_t count_of(std::span<const T> values, T value) {
    const WordOf<T> word = word_of(value);
    std::size_t count = 0;
    for (const T one : values) count += word_of(one) == word ? 1 : 0;
    return count;
}

/// Some of the values, as they lie in memory.
std::vector<std::byte> sample_of(std::span<const std::byte> values, std::size_t width) {
    const std::size_t count = values.size() / width, n = std::min(count, k_sample_values);
    std::vector<std::byte> sample(n * width);
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t begin = count * i / n, apart = count * (i + 1) / n - begin;
        const std::size_t at = begin + i * 7919 % apart;  // no column of a grid
        std::memcpy(&sample[i * width], &values[at * width], width);
    }
    return sample;
}

/// The ends of a range that look like fills beside the other values.
template <class T>
std::vector<T> candidates(std::span<const T> values, const FiniteRange& range, const ValueBits& out,
                          DType dtype) {
    if (!has_end_like_fill<T>(range, dtype)) return {};
    const T low = static_cast<T>(range.lowest), high = static_cast<T>(range.highest);
    ValueBits without = out;
    unite(without, std::array<std::uint64_t, 2>{word_of(low), word_of(high)});
    FiniteRange rest = range_without(values, without);
    std::vector<T> found;
    for (const T end : {high, low}) {
        const T other = end == high ? low : high;
        FiniteRange beside = rest;
        if (!rest.any)
            widen(beside, {true, static_cast<double>(other), static_cast<double>(other)});
        if (repeats_wanted(end, beside, dtype) > 0) found.push_back(end);
    }
    return found;
}

template <class T>
bool repeats(std::span<const T> values, T value, const FiniteRange& rest, DType dtype) {
    const std::size_t wanted = repeats_wanted(value, rest, dtype);
    return wanted > 0 && count_of(values, value) >= wanted;
}

/// Which of the candidates are suspects, once all values are looked at.
template <class T>
std::vector<T> confirmed(std::span<const T> values, const std::vector<T>& ends,
                         const ValueBits& out, DType dtype) {
    ValueBits without = out;
    for (const T end : ends) unite(without, std::array<std::uint64_t, 1>{word_of(end)});
    const FiniteRange rest = range_without(values, without);
    std::vector<T> found;
    for (const T end : ends) {
        FiniteRange beside = rest;
        if (!rest.any) {
            ValueBits alone = out;
            unite(alone, std::array<std::uint64_t, 1>{word_of(end)});
            beside = range_without(values, alone);
        }
        if (repeats(values, end, beside, dtype)) found.push_back(end);
        if (!found.empty() && !rest.any) break;  // the other one is the data
    }
    return found;
}

template <class T>
FiniteRange nine_tenths(std::vector<T> sample) {
    std::erase_if(sample, [](T value) { return !std::isfinite(value); });
    if (sample.empty()) return {};
    const auto cut = static_cast<std::ptrdiff_t>(sample.size() / 20);
    const auto low = sample.begin() + cut, high = sample.end() - 1 - cut;
    std::nth_element(sample.begin(), low, sample.end());
    std::nth_element(low, high, sample.end());
    return {true, static_cast<double>(*low), static_cast<double>(*high)};
}

template <class T>
Findings look(std::span<const T> values, DType dtype, const ValueBits& known, FiniteRange range) {
    Findings found{{}, range};
    if (!has_end_like_fill<T>(range, dtype)) return found;
    const std::vector<std::byte> bytes = sample_of(std::as_bytes(values), sizeof(T));
    std::vector<T> copy;
    const std::span<const T> sample = typed_view<T>(bytes, copy);
    ValueBits out = known;
    while (found.suspects.size() < k_most_suspects) {
        const std::vector<T> ends = candidates<T>(sample, found.range, out, dtype);
        if (ends.empty()) break;
        const std::vector<T> suspects = confirmed(values, ends, out, dtype);
        if (suspects.empty()) break;
        for (const T suspect : suspects) {
            const std::array<std::uint64_t, 1> bits = {word_of(suspect)};
            unite(found.suspects, bits);
            unite(out, bits);
        }
        found.range = range_without(values, out);
    }
    return found;
}

/// Call with the values as float or double, and with the known ones as bits of that.
template <class Call>
auto as_wide(std::span<const std::byte> values, DType dtype, const ValueBits& known, Call call) {
    if (dtype == DType::float64) {
        std::vector<double> copy;
        return call(typed_view<double>(values, copy), known);
    }
    std::vector<float> copy;
    if (!is_short_float(dtype)) return call(typed_view<float>(values, copy), known);
    const std::vector<std::byte> wide = code_as(values, dtype, true);
    const ValueBits wide_known =
        bits_of(code_as(values_of(known, dtype), dtype, true), DType::float32);
    return call(typed_view<float>(wide, copy), wide_known);
}

template <class Word>
Mask find_words(std::span<const std::byte> bytes, const ValueBits& bits) {
    constexpr std::size_t k_group = 32;
    constexpr std::size_t k_longest = std::numeric_limits<std::uint32_t>::max();
    std::vector<Word> copy;
    const std::span<const Word> values = typed_view<Word>(bytes, copy);
    Mask mask;
    std::uint8_t label = 0;
    std::size_t length = 0;
    const auto take = [&](std::uint8_t next, std::size_t n) {
        if (next != label || length + n > k_longest) {
            if (length > 0) {
                mask.labels.push_back(label);
                mask.lengths.push_back(static_cast<std::uint32_t>(length));
            }
            label = next;
            length = 0;
        }
        length += n;
        if (next != 0) mask.missing += n;
    };
    const auto label_of = [&](Word value) -> std::uint8_t {
        for (std::size_t k = 0; k < bits.size(); ++k)
            if (value == static_cast<Word>(bits[k])) return static_cast<std::uint8_t>(k + 1);
        return 0;
    };
    for (std::size_t begin = 0; begin < values.size(); begin += k_group) {
        const std::size_t n = std::min(k_group, values.size() - begin);
        int hits = 0;
        for (const std::uint64_t one : bits)
            for (std::size_t i = begin; i < begin + n; ++i)
                hits += values[i] == static_cast<Word>(one) ? 1 : 0;
        if (hits == 0)
            take(0, n);
        else
            for (std::size_t i = begin; i < begin + n; ++i) take(label_of(values[i]), 1);
    }
    take(label == 0 ? 1 : 0, 0);  // ends the last run
    if (mask.missing == 0) return {};
    mask.values = bits;
    return mask;
}

template <class Word>
void put_words(const Mask& mask, std::span<std::byte> bytes) {
    for_each_missing(mask, [&](std::size_t first, std::size_t n, std::uint8_t label) {
        const auto word = static_cast<Word>(mask.values[label - 1U]);
        for (std::size_t i = first; i < first + n; ++i)
            std::memcpy(&bytes[i * sizeof word], &word, sizeof word);
    });
}

}  // namespace

bool may_have_missing(DType dtype) {
    return dtype == DType::float32 || dtype == DType::float64 || is_short_float(dtype);
}

ValueBits bits_of(std::span<const std::byte> values, DType dtype) {
    ValueBits bits;
    const std::size_t width = size_of(dtype);
    for (std::size_t at = 0; at + width <= values.size(); at += width) {
        std::uint64_t word = 0;
        std::memcpy(&word, &values[at], width);
        unite(bits, std::array<std::uint64_t, 1>{word});
    }
    return bits;
}

std::vector<std::byte> values_of(const ValueBits& bits, DType dtype) {
    const std::size_t width = size_of(dtype);
    std::vector<std::byte> values(bits.size() * width);
    for (std::size_t i = 0; i < bits.size(); ++i) std::memcpy(&values[i * width], &bits[i], width);
    return values;
}

bool unite(ValueBits& bits, std::span<const std::uint64_t> more) {
    bool is_new = false;
    for (const std::uint64_t one : more) {
        const auto at = std::lower_bound(bits.begin(), bits.end(), one);
        if (at != bits.end() && *at == one) continue;
        bits.insert(at, one);
        is_new = true;
    }
    return is_new;
}

Findings look_for_missing(std::span<const std::byte> values, DType dtype, const ValueBits& known,
                          int threads) {
    Findings found =
        as_wide(values, dtype, known, [&]<class T>(std::span<const T> wide, const ValueBits& bits) {
            const DType type = sizeof(T) == 4 ? DType::float32 : DType::float64;
            const FiniteRange range = bits.empty()
                                          ? finite_range(std::as_bytes(wide), type, threads)
                                          : range_without(wide, bits);
            return look(wide, dtype, bits, range);
        });
    if (is_short_float(dtype)) {
        std::vector<std::byte> narrow(found.suspects.size() * size_of(dtype));
        decode_as(values_of(found.suspects, DType::float32), dtype, true, narrow);
        found.suspects = bits_of(narrow, dtype);
    }
    return found;
}

FiniteRange bulk_of(std::span<const std::byte> values, DType dtype, const ValueBits& missing) {
    const std::vector<std::byte> sample = sample_of(values, size_of(dtype));
    return as_wide(sample, dtype, missing,
                   [&]<class T>(std::span<const T> wide, const ValueBits& bits) {
                       std::vector<T> kept(wide.size());
                       copy_without(wide.data(), wide.size(), bits, kept.data());
                       return nine_tenths(std::move(kept));
                   });
}

bool sample_has_missing(std::span<const std::byte> sample, DType dtype, const ValueBits& known) {
    return as_wide(sample, dtype, known,
                   [&]<class T>(std::span<const T> values, const ValueBits& bits) {
                       for (const std::uint64_t one : bits) {
                           T value;
                           const auto word = static_cast<WordOf<T>>(one);
                           std::memcpy(&value, &word, sizeof value);
                           if (count_of(values, value) > 0) return true;
                       }
                       return !candidates(values, range_without(values, bits), bits, dtype).empty();
                   });
}

Mask find_missing(std::span<const std::byte> values, DType dtype, const ValueBits& bits) {
    if (bits.empty()) return {};
    switch (size_of(dtype)) {
        case 2:
            return find_words<std::uint16_t>(values, bits);
        case 4:
            return find_words<std::uint32_t>(values, bits);
        default:
            return find_words<std::uint64_t>(values, bits);
    }
}

void put_missing(const Mask& mask, DType dtype, std::span<std::byte> values) {
    switch (size_of(dtype)) {
        case 2:
            return put_words<std::uint16_t>(mask, values);
        case 4:
            return put_words<std::uint32_t>(mask, values);
        default:
            return put_words<std::uint64_t>(mask, values);
    }
}

}  // namespace caesura::codec
