#include "codec/entropy/code_cost.hpp"

#include <algorithm>
#include <bit>

#include "codec/entropy/rans_classes.hpp"

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
constexpr double k_packed_width_bits = 2.25;  // of a group of planes, packed by zstd

/// 128 n log2(n), rounded down.
constexpr std::array<std::uint32_t, k_chunk_values + 1> make_n_log2_n() {
    std::array<std::uint32_t, k_chunk_values + 1> table{};
    for (std::uint64_t n = 1; n <= k_chunk_values; ++n) {
        const auto whole = static_cast<unsigned>(std::bit_width(n)) - 1;
        std::uint64_t log2_q16 = std::uint64_t{whole} << 16;
        std::uint64_t mantissa = (n << 31) >> whole;  // in [2^31, 2^32)
        for (int bit = 15; bit >= 0; --bit) {
            mantissa = (mantissa * mantissa) >> 31;
            if ((mantissa >> 32) == 0) continue;
            mantissa >>= 1;
            log2_q16 |= std::uint64_t{1} << bit;
        }
        table[static_cast<std::size_t>(n)] = static_cast<std::uint32_t>((n * log2_q16) >> 9);
    }
    return table;
}
constexpr auto k_n_log2_n = make_n_log2_n();

}  // namespace

std::uint64_t rough_cost(const ChunkSummary& summary, std::size_t n) {
    const std::uint64_t nonzeros = summary.nonzeros;
    if (nonzeros == 0) return 0;
    const std::uint64_t offset = 126 * 128 * nonzeros;
    const std::uint64_t levels = summary.log_sum > offset ? summary.log_sum - offset : 0;
    if (5 * nonzeros >= 3 * n) return levels + 124 * n;
    const std::uint64_t masks = k_n_log2_n[n] - k_n_log2_n[static_cast<std::size_t>(nonzeros)] -
                                k_n_log2_n[n - static_cast<std::size_t>(nonzeros)];
    return levels + masks;
}

std::uint64_t rough_cost(std::uint32_t* codes, std::size_t n) {
    return rough_cost(summarise_chunk(codes, pad(codes, n)), n);
}

CodeCost::CodeCost(const TableSet& tables, bool drift_check)
    : frequencies_(frequencies_of(tables)), drift_check_(drift_check) {
    for (unsigned t = 0; t < k_tables; ++t) {
        alphabets_[t] = alphabet_of(frequencies_[t]);
    }
}

void CodeCost::count(std::uint8_t table, std::uint8_t* symbols, std::size_t n,
                     std::uint64_t weight) {
    // Zeros fill the last step, and are taken off again.
    const std::size_t whole = (n + k_step - 1) / k_step * k_step;
    std::fill(symbols + n, symbols + whole, std::uint8_t{0});
    std::uint32_t counts[k_symbols];
    count_symbols(symbols, whole, counts);
    counts[0] -= static_cast<std::uint32_t>(whole - n);
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
    if (adaptive_ != nullptr) adaptive_->add(codes, n, weight);
    const std::size_t whole = pad(codes, n);
    all_codes_ += weight * n;
    const std::size_t half = n / 2 / k_step * k_step;
    const ChunkSummary first = summarise_chunk(codes, half);
    const ChunkSummary second = summarise_chunk(codes + half, whole - half);
    const ChunkSummary summary{first.log_sum + second.log_sum, first.nonzeros + second.nonzeros};
    if (summary.nonzeros == 0) return;
    const std::uint64_t whole_cost = rough_cost(summary, n);
    const std::uint64_t halves =
        (half > 0 ? rough_cost(first, half) : 0) + rough_cost(second, n - half);
    if (half > 0 && whole_cost > halves) {
        // Twice as much for every doubling up to a chunk (noise would give as much again, a slope
        // four times as much); not far beyond what has been seen.
        const auto doublings = static_cast<unsigned>(std::bit_width(k_chunk_values / n)) - 1;
        const std::uint64_t more = (std::uint64_t{2} << std::min(doublings, 2U)) - 2;
        adaptation_ += weight * (whole_cost - halves) * more;
    }
    class_codes_ += weight * n;
    if (!is_sparse(summary, n)) {
        add_dense(codes, n, summary, Sequence::primary, weight);
        return;
    }
    const std::size_t nonzeros = split_sparse(codes, whole, symbols_, rest_);
    const std::uint8_t index =
        sparse_index(std::max<std::size_t>(nonzeros * k_chunk_values / n, 1));
    const auto byte = static_cast<std::uint8_t>(k_sparse_class + index);
    count(chunk_class(byte, Sequence::primary).table, symbols_, (n + 3) / 4, weight);
    const std::size_t padded = pad(rest_, nonzeros);
    add_dense(rest_, nonzeros, summarise_chunk(rest_, padded), Sequence::nonzero, weight);
}

void CodeCost::add_exact(std::size_t n, std::size_t value_bytes, std::uint64_t weight) {
    constexpr std::uint64_t k_position_bits = 10;
    add_bits(weight * n * (8 * value_bytes + k_position_bits));
}

void CodeCost::add_planes(const std::uint32_t* codes, std::size_t n, std::uint64_t weight) {
    for (std::size_t g = 0; g < n; g += k_group_values) {
        const std::size_t end = std::min(n, g + k_group_values);
        std::uint32_t all = 0;
        for (std::size_t i = g; i < end; ++i) all |= codes[i];
        planes_bits_ += weight * static_cast<unsigned>(std::bit_width(all)) * (end - g);
    }
    // Each of a chunk's 16 lanes ends with a whole word: 12 bits more, on average.
    planes_bits_ += weight * (n * 16 * 12 / k_chunk_values);
    planes_codes_ += weight * n;
}

// Codes and the widths of their groups, which go without zstd where codes are long (PlanesEncoder).
double CodeCost::planes_bits() const {
    if (planes_codes_ == 0) return 0.0;
    const auto bits = static_cast<double>(planes_bits_), codes = static_cast<double>(planes_codes_);
    const double width_bits = bits >= 8.0 * codes ? 8.0 : k_packed_width_bits;
    return bits + width_bits * codes / k_group_values;
}

double CodeCost::bytes(double scale) const {
    double shared = 0, own = 0;
    for (unsigned t = 0; t < k_tables; ++t) {
        std::array<std::uint64_t, k_symbols> counts;
        for (std::size_t s = 0; s < k_symbols; ++s) {
            counts[s] =
                static_cast<std::uint64_t>(static_cast<double>(counts_[t * k_symbols + s]) / scale);
        }
        const auto bits_with = [&](const Frequencies& frequency) {
            return static_cast<double>(coded_bits_q16(counts, frequency)) / 65536;
        };
        const bool used = std::any_of(counts.begin(), counts.end(), [](auto n) { return n != 0; });
        const double bits = used ? bits_with(frequencies_[t]) : 0;
        shared += bits;
        if (!drift_check_) continue;
        // An inline set holds what differs from the built-in one.
        constexpr double k_price = 8.0 * k_symbols;
        double least = bits + k_price;
        if (alphabet_of(builtin_frequencies(t)) == alphabets_[t]) {
            least = std::min(least, used ? bits_with(builtin_frequencies(t)) : 0.0);
        }
        if (used) {
            least =
                std::min(least, bits_with(train_frequencies(counts, t, alphabets_[t])) + k_price);
        }
        own += least;
    }
    const double rest =
        (static_cast<double>(raw_bits_) + planes_bits() + static_cast<double>(adaptation_) / 128 +
         k_class_bits * static_cast<double>(class_codes_) / k_chunk_values) /
        scale;
    const bool drifted = drift_check_ && shared - own > (shared + rest) / 100;
    const double bytes = ((drifted ? own : shared) + rest) / 8;
    if (all_codes_ == 0) return bytes;
    // Units of 262,144 codes, or of 64 KiB where those are shorter, each with its states and head.
    const double units = std::min(static_cast<double>(all_codes_) / scale / 262144, bytes / 65536);
    return bytes + std::max(units, 1.0) * (k_state_bytes + 10) + 16;
}

}  // namespace caesura::codec
