// Shuffles of 8 bytes (and of 8 words) that gather what a mask chooses, or spread it out again.
#pragma once

#include <cstdint>

namespace caesura::codec {

struct ByteShuffles {
    alignas(64) std::uint8_t row[256][16];
    constexpr const std::uint8_t* operator[](unsigned mask) const { return row[mask]; }
};

/// Row m: the places of m's bits, ascending; the rest is 0x80 (a zero for byte shuffles).
constexpr ByteShuffles make_compress_shuffles() {
    ByteShuffles table{};
    for (unsigned m = 0; m < 256; ++m) {
        unsigned n = 0;
        for (unsigned bit = 0; bit < 8; ++bit) {
            if ((m >> bit & 1U) != 0) table.row[m][n++] = static_cast<std::uint8_t>(bit);
        }
        while (n < 16) table.row[m][n++] = 0x80;
    }
    return table;
}

/// Row m: at the place of m's n-th bit, n; elsewhere 0x80.
constexpr ByteShuffles make_expand_shuffles() {
    ByteShuffles table{};
    for (unsigned m = 0; m < 256; ++m) {
        unsigned n = 0;
        for (unsigned place = 0; place < 16; ++place) {
            const bool chosen = place < 8 && (m >> place & 1U) != 0;
            table.row[m][place] = chosen ? static_cast<std::uint8_t>(n++) : 0x80;
        }
    }
    return table;
}

inline constexpr ByteShuffles k_compress_shuffles = make_compress_shuffles();
inline constexpr ByteShuffles k_expand_shuffles = make_expand_shuffles();

}  // namespace caesura::codec
