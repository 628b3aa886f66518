#include "codec/rans_section.hpp"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace caesura::codec {

void put_leb128(std::vector<std::byte>& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::byte>(value | 0x80));
    out.push_back(static_cast<std::byte>(value));
}

bool take_leb128(std::span<const std::byte>& in, std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 63 && !in.empty(); shift += 7) {
        const auto byte = std::to_integer<std::uint64_t>(in.front());
        in = in.subspan(1);
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

bool put_small_bytes(std::vector<std::byte>& out, std::span<const std::uint8_t> bytes) {
    std::vector<std::byte> packed(ZSTD_compressBound(bytes.size()));
    const std::size_t n =
        ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 1);
    const bool worth = ZSTD_isError(n) == 0 && n < bytes.size();
    const auto stored = worth ? std::span<const std::byte>(packed).first(n) : std::as_bytes(bytes);
    put_leb128(out, stored.size());
    out.insert(out.end(), stored.begin(), stored.end());
    return worth;
}

bool take_small_bytes(std::span<const std::byte>& in, bool packed, std::span<std::uint8_t> bytes) {
    std::uint64_t stored = 0;
    if (!take_leb128(in, stored) || stored > in.size()) return false;
    const auto source = in.first(static_cast<std::size_t>(stored));
    in = in.subspan(source.size());
    if (packed) {
        return ZSTD_decompress(bytes.data(), bytes.size(), source.data(), source.size()) ==
               bytes.size();
    }
    if (source.size() != bytes.size()) return false;
    std::copy(source.begin(), source.end(), std::as_writable_bytes(bytes).begin());
    return true;
}

void TailWriter::put(const std::uint32_t* values, std::size_t n, std::uint8_t* symbols) {
    std::uint8_t* const begin = bytes_.room(4 * n + 2 * sizeof bits_);
    std::uint8_t* out = begin;
    std::uint64_t bits = bits_;
    unsigned used = used_;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t above = values[i] + 1;  // a tail is below 2^32 - 1
        const auto length = static_cast<unsigned>(std::bit_width(above));
        const bool escape = length >= k_symbols;
        const unsigned low_bits = escape ? 32 : length - 1;
        const std::uint64_t low = escape ? above : above - (1U << low_bits);
        symbols[i] = static_cast<std::uint8_t>((escape ? k_symbols : length) - 1);
        bits |= low << used;
        used += low_bits;
        // Whole bytes leave at once; the room behind them takes the rest of the word.
        std::memcpy(out, &bits, sizeof bits);
        out += used / 8;
        bits >>= used & ~7U;
        used &= 7;
    }
    bits_ = bits;
    used_ = used;
    bytes_.advance(static_cast<std::size_t>(out - begin));
}

void TailWriter::finish() {
    if (used_ > 0) {
        *bytes_.room(1) = static_cast<std::uint8_t>(bits_);
        bytes_.advance(1);
    }
    bits_ = 0;
    used_ = 0;
}

void TailReader::get(const std::uint8_t* symbols, std::size_t n, std::uint32_t* values) {
    for (std::size_t i = 0; i < n; ++i) {
        const bool escape = symbols[i] == k_symbols - 1;
        const unsigned low_bits = escape ? 32 : symbols[i];
        const std::size_t at = at_bits_ / 8;
        const unsigned shift = at_bits_ % 8;
        std::uint64_t word = 0;
        if (bytes_.size() - std::min(at, bytes_.size()) >= sizeof word) {
            std::memcpy(&word, bytes_.data() + at, sizeof word);
        } else {
            for (std::size_t b = at; b < bytes_.size(); ++b) {
                word |= static_cast<std::uint64_t>(bytes_[b]) << (8 * (b - at));
            }
        }
        const auto low =
            static_cast<std::uint32_t>(word >> shift & ((std::uint64_t{1} << low_bits) - 1));
        values[i] = (escape ? low : low | 1U << low_bits) - 1;
        at_bits_ += low_bits;
    }
}

}  // namespace caesura::codec
