#include "codec/entropy/rans_section.hpp"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "codec/frame/byte_io.hpp"
#include "codec/kernels/rans_kernels.hpp"

namespace caesura::codec {

void put_leb128(Output& out, std::uint64_t value) {
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

void end_head(Output& out, std::size_t head_begin) {
    ByteWriter(out).u32(static_cast<std::uint32_t>(out.size() - head_begin));
}

bool split_section(std::span<const std::byte> section, std::span<const std::byte>& bits,
                   std::span<const std::byte>& head) {
    constexpr std::size_t k_size_bytes = 4;
    if (section.size() < k_size_bytes) return false;
    const auto rest = section.first(section.size() - k_size_bytes);
    const std::size_t head_bytes = ByteReader(section.last(k_size_bytes)).u32();
    if (head_bytes > rest.size()) return false;
    bits = rest.first(rest.size() - head_bytes);
    head = rest.last(head_bytes);
    return true;
}

SmallBytes::~SmallBytes() {
    ZSTD_freeCCtx(static_cast<ZSTD_CCtx*>(packing_));
    ZSTD_freeDCtx(static_cast<ZSTD_DCtx*>(unpacking_));
}

void SmallBytes::put_raw(Output& out, std::span<const std::uint8_t> bytes) {
    put_leb128(out, bytes.size());
    out.append(std::as_bytes(bytes));
}

bool SmallBytes::put(Output& out, std::span<const std::uint8_t> bytes) {
    if (packing_ == nullptr) packing_ = ZSTD_createCCtx();
    if (packing_ == nullptr) throw std::bad_alloc();
    packed_.resize(std::max(packed_.size(), ZSTD_compressBound(bytes.size())));
    const std::size_t n = ZSTD_compressCCtx(static_cast<ZSTD_CCtx*>(packing_), packed_.data(),
                                            packed_.size(), bytes.data(), bytes.size(), 1);
    if (ZSTD_isError(n) != 0 || n >= bytes.size()) {
        put_raw(out, bytes);
        return false;
    }
    put_leb128(out, n);
    out.append(std::span(packed_).first(n));
    return true;
}

bool SmallBytes::take(std::span<const std::byte>& in, bool packed, std::span<std::uint8_t> bytes) {
    std::uint64_t stored = 0;
    if (!take_leb128(in, stored) || stored > in.size()) return false;
    const auto source = in.first(static_cast<std::size_t>(stored));
    in = in.subspan(source.size());
    if (packed) {
        if (unpacking_ == nullptr) unpacking_ = ZSTD_createDCtx();
        if (unpacking_ == nullptr) throw std::bad_alloc();
        return ZSTD_decompressDCtx(static_cast<ZSTD_DCtx*>(unpacking_), bytes.data(), bytes.size(),
                                   source.data(), source.size()) == bytes.size();
    }
    if (source.size() != bytes.size()) return false;
    std::copy(source.begin(), source.end(), std::as_writable_bytes(bytes).begin());
    return true;
}

/// Bits that become bytes.
struct TailWriter::Bits {
    std::uint8_t* out;
    std::uint64_t bits;
    unsigned used;  // below 8 between calls

    /// @param n  up to 56.
    void put(std::uint64_t some, unsigned n) {
        bits |= some << used;
        used += n;
        // Whole bytes leave at once; the room behind them takes the rest of the word.
        std::memcpy(out, &bits, sizeof bits);
        out += used / 8;
        bits >>= used & ~7U;
        used &= 7;
    }
    std::uint8_t put_tail(std::uint32_t value) {
        const std::uint32_t above = value + 1;  // a tail is below 2^32 - 1
        const auto length = static_cast<unsigned>(std::bit_width(above));
        const bool escape = length >= k_symbols;
        put(escape ? above : above - (1U << (length - 1)), escape ? 32 : length - 1);
        return static_cast<std::uint8_t>((escape ? k_symbols : length) - 1);
    }
};

// One after the other each tail waits some 6 cycles for the one before; four at once as long.
std::size_t TailWriter::put(const std::uint32_t* values, std::size_t n, std::uint8_t* symbols) {
    std::uint8_t* const begin = bytes_.room(4 * n + 2 * sizeof bits_);
    Bits bits{begin, bits_, used_};
    std::uint64_t pairs[k_chunk_values / 2], pair_bits[k_chunk_values / 2];
    std::size_t sum = 0;
    const auto one_by_one = [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i) sum += symbols[i] = bits.put_tail(values[i]);
    };
    const std::size_t whole = n / 16 * 16;
    pair_tails(values, whole, symbols, pairs, pair_bits);
    for (std::size_t i = 0; i < whole; i += 4) {
        const std::uint64_t first = pair_bits[i / 2], four = first + pair_bits[i / 2 + 1];
        if (four >= k_escaped_tail_bits) [[unlikely]] {
            one_by_one(i, i + 4);
        } else {
            bits.put(pairs[i / 2] | pairs[i / 2 + 1] << first, static_cast<unsigned>(four));
            sum += four;
        }
    }
    one_by_one(whole, n);
    bits_ = bits.bits;
    used_ = bits.used;
    bytes_.advance(static_cast<std::size_t>(bits.out - begin));
    return sum;
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
