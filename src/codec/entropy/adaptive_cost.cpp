#include "codec/entropy/adaptive_cost.hpp"

#include <array>
#include <bit>
#include <memory>

namespace caesura::codec {
namespace {

constexpr unsigned k_unit_bits = 8;    // a bit is 256 units
constexpr unsigned k_table_shift = 4;  // of probabilities in 65536ths
constexpr std::size_t k_table_size = 4096;

/// Units of a bit whose probability is i / 4096, as nearly as squaring tells: -log2.
constexpr std::array<std::uint16_t, k_table_size> make_costs() {
    std::array<std::uint16_t, k_table_size> costs{};
    for (std::size_t i = 0; i < k_table_size; ++i) {
        // The middle of the probabilities that share an entry.
        const std::uint64_t probability = 2 * i + 1;  // in 8192ths
        const auto whole = static_cast<unsigned>(std::bit_width(probability)) - 1;
        std::uint64_t log2 = std::uint64_t{whole} << k_unit_bits;
        std::uint64_t mantissa = (probability << 31) >> whole;  // in [2^31, 2^32)
        for (unsigned bit = k_unit_bits; bit-- > 0;) {
            mantissa = (mantissa * mantissa) >> 31;
            if ((mantissa >> 32) == 0) continue;
            mantissa >>= 1;
            log2 |= std::uint64_t{1} << bit;
        }
        costs[i] = static_cast<std::uint16_t>((std::uint64_t{13} << k_unit_bits) - log2);
    }
    return costs;
}

struct BitCounter {
    static constexpr bool k_decodes = false;
    std::uint64_t units = 0;

    bool code(AdaptiveBit& bit, bool set) {
        static constexpr auto k_costs = make_costs();
        const std::uint32_t probability = bit.probability();
        units += k_costs[(set ? probability : 65536U - probability) >> k_table_shift];
        bit.learn(set);
        return set;
    }
    std::uint32_t raw(std::uint32_t value, unsigned bits) {
        units += std::uint64_t{bits} << k_unit_bits;
        return value;
    }
};

}  // namespace

void AdaptiveCost::add(const std::uint32_t* codes, std::size_t n, std::uint64_t weight) {
    constexpr std::size_t k_usual = 1U << 16;
    if (codes_.empty()) codes_.reserve(k_usual);
    codes_.insert(codes_.end(), codes, codes + n);
    runs_.push_back({n, weight});
}

double AdaptiveCost::bytes(double scale, bool complete) const {
    constexpr double k_last_words_bytes = 8;
    const auto model = std::make_unique<AdaptiveModel>();
    model->reset();
    BitCounter first;
    model->run(first, codes_.data(), codes_.size());
    if (complete) return static_cast<double>(first.units) / (8 << k_unit_bits) + k_last_words_bytes;
    BitCounter second;
    double weighted = 0;
    std::size_t at = 0;
    for (const Run& run : runs_) {
        const std::uint64_t before = second.units;
        model->run(second, codes_.data() + at, run.n);
        weighted += static_cast<double>(second.units - before) * static_cast<double>(run.weight);
        at += run.n;
    }
    const double learned = static_cast<double>(first.units) - static_cast<double>(second.units);
    const double units = weighted / scale + std::max(learned, 0.0);
    return units / (8 << k_unit_bits) + k_last_words_bytes;
}

}  // namespace caesura::codec
