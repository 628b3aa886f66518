#include <algorithm>
#include <numeric>

#include "codec/kernels/rans_kernels.hpp"

namespace caesura::codec {
namespace {

/// floor(65536 / f), at most 65535.
constexpr std::array<std::uint16_t, 256> make_reciprocals() {
    std::array<std::uint16_t, 256> table{};
    for (unsigned f = 1; f < 256; ++f) {
        table[f] = static_cast<std::uint16_t>(std::min(65536U / f, 65535U));
    }
    return table;
}
constexpr std::array<std::uint16_t, 256> k_reciprocals = make_reciprocals();

}  // namespace

std::uint8_t alphabet_of(const Frequencies& frequency) {
    return static_cast<std::uint8_t>(std::find(frequency.begin(), frequency.end(), 0) -
                                     frequency.begin());
}

bool valid_frequencies(const Frequencies& frequency) {
    const std::uint8_t alphabet = alphabet_of(frequency);
    const unsigned sum = std::accumulate(frequency.begin(), frequency.begin() + alphabet, 0U);
    const bool no_gap = std::all_of(frequency.begin() + alphabet, frequency.end(),
                                    [](std::uint8_t f) { return f == 0; });
    return sum == 256 && alphabet >= 2 && no_gap;
}

RansTable make_rans_table(const Frequencies& frequency) {
    RansTable table;
    table.frequency = frequency;
    table.alphabet = 0;
    unsigned start = 0;
    for (std::size_t s = 0; s < k_symbols; ++s) {
        const unsigned f = frequency[s];
        if (f == 0) {
            table.search[s] = 0x7f;  // above every slot
            continue;
        }
        ++table.alphabet;
        table.start[s] = static_cast<std::uint8_t>(start);
        table.search[s] = static_cast<std::uint8_t>((start - 1) ^ 0x80U);
        const unsigned reciprocal = k_reciprocals[f];
        table.reciprocal_low[s] = static_cast<std::uint8_t>(reciprocal);
        table.reciprocal_high[s] = static_cast<std::uint8_t>(reciprocal >> 8);
        start += f;
    }
    return table;
}

RansSlots make_rans_slots(const RansTable& table) {
    RansSlots slots;
    auto out = slots.symbol.begin();
    for (std::size_t s = 0; s < k_symbols; ++s) {
        out = std::fill_n(out, table.frequency[s], static_cast<std::uint8_t>(s));
    }
    return slots;
}

RansTables make_rans_tables(const std::array<Frequencies, k_tables>& frequencies) {
    RansTables tables;
    for (unsigned t = 0; t < k_tables; ++t) tables[t] = make_rans_table(frequencies[t]);
    return tables;
}

}  // namespace caesura::codec
