// Entropy of a small sample, and what a Huffman coder plus a lossless stage make of it.
//
// Invariants:
//  - Codes up to 31 are counted one by one; beyond, 16 buckets per octave, uniform inside. So at
//    most about 400 counters are to be filled by the sample, however wide the codes spread: with
//    one counter per code the entropy of n samples can never be found above log2(n).
#include "predict/entropy.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace caesura::predict {
namespace {

constexpr int k_exact_codes = 32;  // 0 .. 31 have a bucket each
constexpr int k_octave_buckets = 16;
constexpr int k_buckets = k_exact_codes + 10 * k_octave_buckets;  // magnitudes below 2^15
constexpr int k_outlier_bucket = 2 * k_buckets;                   // after both signs

// The lossless stage finds matches in a bit stream, byte by byte; it needs this many times the
// bits that an ideal coder of runs would. Fitted to SZ3's (zstd's) output on cosmology fields.
constexpr double k_run_inefficiency = 1.3;

std::size_t bucket_of(std::int32_t code) {
    const auto magnitude = static_cast<std::uint32_t>(code < 0 ? -code : code);
    std::uint32_t index = magnitude;
    if (magnitude >= k_exact_codes) {
        if (code == k_outlier) return k_outlier_bucket;
        const auto octave = static_cast<std::uint32_t>(std::bit_width(magnitude)) - 1;  // 5 .. 14
        index = k_exact_codes + (octave - 5) * k_octave_buckets +
                ((magnitude >> (octave - 4)) - k_octave_buckets);
    }
    return code < 0 ? k_buckets + index : index;
}

// log2 of the codes that share a bucket.
int extra_bits_of(std::size_t bucket) {
    const int index = static_cast<int>(bucket % k_buckets);
    return index < k_exact_codes ? 0 : (index - k_exact_codes) / k_octave_buckets + 1;
}

// The plug-in estimate is too low by (symbols - 1) / (2 n) nats on average (Miller 1955).
double bias_bits(std::size_t symbols, double n) {
    return symbols < 2 ? 0.0 : static_cast<double>(symbols - 1) / (2.0 * n * std::numbers::ln2);
}

double minus_p_log2_p(double p) { return p > 0.0 ? -p * std::log2(p) : 0.0; }

double binary_entropy(double p) { return minus_p_log2_p(p) + minus_p_log2_p(1.0 - p); }

// Bits per value of the sequence "is it the mode?", each flag coded knowing the one before it in
// its row. Values of a field that are easily predicted lie together, so this is far less than the
// entropy of independent flags.
double run_bits(std::span<const std::int32_t> rows, std::size_t row_length, std::int32_t mode) {
    std::array<std::array<std::uint32_t, 2>, 2> seen{};  // [is mode before][is mode now]
    for (std::size_t row = 0; row < rows.size(); row += row_length) {
        bool before = rows[row] == mode;
        for (std::size_t i = row + 1; i < row + row_length; ++i) {
            const bool now = rows[i] == mode;
            ++seen[before][now];
            before = now;
        }
    }
    const double pairs = static_cast<double>(seen[0][0]) + seen[0][1] + seen[1][0] + seen[1][1];
    double bits = 0.0;
    for (const auto& now : seen) {
        const double n = static_cast<double>(now[0]) + now[1];
        if (n > 0.0) bits += n / pairs * binary_entropy(now[1] / n);
    }
    return bits;
}

struct Counts {
    std::array<std::uint32_t, k_outlier_bucket + 1> counts{};
    double extra_bits = 0.0;  // sum over the sample
};

Counts count(std::span<const std::int32_t> rows, double value_bits) {
    Counts result;
    for (const std::int32_t code : rows) ++result.counts[bucket_of(code)];
    for (std::size_t i = 0; i < k_outlier_bucket; ++i)
        result.extra_bits += static_cast<double>(result.counts[i]) * extra_bits_of(i);
    result.extra_bits += result.counts[k_outlier_bucket] * value_bits;
    return result;
}

// Total length of the optimal prefix code of these counts, in bits: the sum of the weights of the
// tree's inner nodes. Counts are sorted once and merged through two queues.
double huffman_length(std::span<const std::uint32_t> counts) {
    std::vector<double> leaves, inner;
    for (const std::uint32_t c : counts)
        if (c > 0) leaves.push_back(c);
    std::sort(leaves.begin(), leaves.end());
    std::size_t next_leaf = 0, next_inner = 0;
    const auto take = [&] {
        const bool leaf = next_inner == inner.size() ||
                          (next_leaf < leaves.size() && leaves[next_leaf] <= inner[next_inner]);
        return leaf ? leaves[next_leaf++] : inner[next_inner++];
    };
    double bits = 0.0;
    for (std::size_t merge = 1; merge < leaves.size(); ++merge) {
        const double first = take();
        inner.push_back(first + take());
        bits += inner.back();
    }
    return bits;
}

// Codes that occur at all among `values`, of which the sample is a part: in a bucket of m codes
// with share p each is missed with probability exp(-values p / m).
double expected_symbols(const Counts& sample, double n, double values) {
    double symbols = 0.0;
    for (std::size_t i = 0; i < k_outlier_bucket; ++i) {
        if (sample.counts[i] == 0) continue;
        const double codes = std::ldexp(1.0, extra_bits_of(i));
        symbols += codes * -std::expm1(-values * (sample.counts[i] / n) / codes);
    }
    return symbols;
}

// Only codes with a bucket of their own can be the mode of a run.
std::int32_t code_of_exact_bucket(std::size_t index) {
    const auto i = static_cast<std::int32_t>(index);
    return i < k_buckets ? i : k_buckets - i;
}

}  // namespace

CodeCost code_cost(std::span<const std::int32_t> rows, std::size_t row_length, double value_bits,
                   std::uint64_t values) {
    CodeCost cost;
    if (rows.empty()) return cost;
    const auto n = static_cast<double>(rows.size());
    const Counts sample = count(rows, value_bits);
    const auto largest = std::max_element(sample.counts.begin(), sample.counts.end());
    const double mode_share = *largest / n;
    const auto mode_bucket = static_cast<std::size_t>(largest - sample.counts.begin());
    std::size_t symbols = 0;
    for (const std::uint32_t c : sample.counts) {
        cost.entropy_bits += minus_p_log2_p(c / n);
        symbols += c > 0;
    }
    const double beside = bias_bits(symbols, n) + sample.extra_bits / n;
    cost.entropy_bits += beside;
    cost.zero_share = sample.counts[0] / n;
    cost.huffman_bits = huffman_length(sample.counts) / n + beside;
    cost.symbols = expected_symbols(sample, n, std::max(n, static_cast<double>(values)));
    cost.coded_bits = cost.huffman_bits;
    const bool mode_is_exact = mode_bucket % k_buckets < k_exact_codes;
    if (mode_share <= 0.5 || !mode_is_exact || mode_bucket == k_outlier_bucket) return cost;
    const double others_bits = std::max(0.0, cost.entropy_bits - binary_entropy(mode_share));
    const double runs = run_bits(rows, row_length, code_of_exact_bucket(mode_bucket));
    cost.coded_bits = std::min(cost.huffman_bits, k_run_inefficiency * runs + others_bits);
    return cost;
}

double byte_entropy(std::span<const std::uint32_t, 256> histogram) {
    double n = 0.0;
    std::size_t symbols = 0;
    for (const std::uint32_t c : histogram) {
        n += c;
        symbols += c > 0;
    }
    if (symbols < 2) return 0.0;
    double bits = bias_bits(symbols, n);
    for (const std::uint32_t c : histogram) bits += minus_p_log2_p(c / n);
    return std::min(bits, 8.0);
}

}  // namespace caesura::predict
