#include "codec/code_cost.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "codec/rans_classes.hpp"

namespace caesura::codec {
namespace {

constexpr std::size_t k_step = 64;  // of the kernels

std::size_t pad(std::uint32_t* codes, std::size_t n) {
    const std::size_t whole = (n + k_step - 1) / k_step * k_step;
    std::fill(codes + n, codes + whole, 0U);
    return whole;
}

/// A class byte before zstd; what it becomes depends on its neighbours.
constexpr double k_class_bits = 4.5;

}  // namespace

double rough_bits(const ChunkSummary& summary, std::size_t n) {
    if (summary.nonzeros == 0) return 0;
    const double values = static_cast<double>(n);
    const double nonzeros = summary.nonzeros;
    const double levels = summary.log_sum / 128.0 - 126.0 * nonzeros;
    const double share = nonzeros / values;
    if (share >= 0.6) return levels + 0.97 * values;
    const double masks = -values * (share * std::log2(share) + (1 - share) * std::log2(1 - share));
    return masks + levels;
}

CodeCost::CodeCost(const TableSet& tables) : frequencies_(frequencies_of(tables)) {
    for (unsigned t = 0; t < k_tables; ++t) {
        alphabets_[t] = make_rans_table(frequencies_[t]).alphabet;
    }
}

void CodeCost::count(std::uint8_t table, const std::uint8_t* symbols, std::size_t n,
                     std::uint64_t weight) {
    std::uint32_t counts[k_symbols] = {};
    for (std::size_t i = 0; i < n; ++i) ++counts[symbols[i]];
    std::uint64_t* sums = counts_.data() + table * k_symbols;
    const std::size_t escape = alphabets_[table] - std::size_t{1};
    for (std::size_t s = 0; s <= escape; ++s) {
        sums[s == escape ? k_symbols - 1 : s] += counts[s] * weight;
    }
}

void CodeCost::add_tails(const std::uint32_t* tails, std::size_t n, std::uint64_t weight) {
    for (std::size_t i = 0; i < n; ++i) {
        const auto length = static_cast<unsigned>(std::bit_width(tails[i] + 1));
        raw_bits_ += weight * (length >= k_symbols ? 38 : length + 2);
    }
}

void CodeCost::add_dense(const std::uint32_t* codes, std::size_t n, const ChunkSummary& summary,
                         Sequence sequence, std::uint64_t weight) {
    const std::size_t whole = (n + k_step - 1) / k_step * k_step;
    const DenseSplit split = split_dense(
        codes, n, whole, summary, sequence, [&](std::uint8_t table) { return alphabets_[table]; },
        symbols_, low_, tails_);
    raw_bits_ += weight * split.meaning.low_bits * n;
    add_tails(tails_, split.tails, weight);
    count(split.meaning.table, symbols_, n, weight);
}

void CodeCost::add(std::uint32_t* codes, std::size_t n, std::uint64_t weight) {
    const std::size_t whole = pad(codes, n);
    const ChunkSummary summary = summarise_chunk(codes, whole);
    if (summary.nonzeros == 0) return;
    class_codes_ += weight * n;
    if (!is_sparse(summary, n)) {
        add_dense(codes, n, summary, Sequence::primary, weight);
        return;
    }
    const std::size_t nonzeros = split_sparse(codes, whole, symbols_, rest_);
    const std::uint8_t index =
        sparse_index(std::max<std::size_t>(nonzeros * k_chunk_values / n, 1));
    const auto byte = static_cast<std::uint8_t>(k_sparse_class + index);
    count(chunk_class(byte, Sequence::primary).table, symbols_, n / 4, weight);
    const std::size_t padded = pad(rest_, nonzeros);
    add_dense(rest_, nonzeros, summarise_chunk(rest_, padded), Sequence::nonzero, weight);
}

void CodeCost::add_planes(const std::uint32_t* codes, std::size_t n, std::uint64_t weight) {
    for (std::size_t g = 0; g < n; g += k_group_values) {
        const std::size_t end = std::min(n, g + k_group_values);
        std::uint32_t all = 0;
        for (std::size_t i = g; i < end; ++i) all |= codes[i];
        raw_bits_ += weight * static_cast<unsigned>(std::bit_width(all)) * (end - g);
    }
    class_codes_ += weight * n * 4;
}

double CodeCost::bits() const {
    double shared = 0, own = 0;
    for (unsigned t = 0; t < k_tables; ++t) {
        const std::span counts(counts_.data() + t * k_symbols, k_symbols);
        const auto bits = static_cast<double>(coded_bits_q16(counts, frequencies_[t])) / 65536;
        if (bits == 0) continue;
        const Frequencies trained = train_frequencies(counts, t, alphabets_[t]);
        const double price = 8.0 * k_symbols;
        const double trained_bits =
            static_cast<double>(coded_bits_q16(counts, trained)) / 65536 + price;
        shared += bits;
        own += std::min(bits, trained_bits);
    }
    const double rest = static_cast<double>(raw_bits_) +
                        k_class_bits * static_cast<double>(class_codes_) / k_chunk_values;
    const bool drifted = shared - own > (shared + rest) / 100;
    return (drifted ? own : shared) + rest;
}

}  // namespace caesura::codec
