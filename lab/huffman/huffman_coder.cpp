#include "huffman/huffman_coder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "codec/entropy/rans_section.hpp"

namespace caesura::lab::huffman {

using codec::AlignedBuffer, codec::k_chunk_values, codec::Output, codec::put_leb128,
    codec::take_leb128;

namespace {

constexpr std::uint8_t k_own_tree_flag = 1;
constexpr std::size_t k_stream_codes = k_chunk_values / k_huffman_streams;
/// What a chunk adds to a stream at most: an escape and its raw bits for every code.
constexpr std::size_t k_stream_chunk_bytes =
    k_stream_codes * (k_longest_code + k_escape_raw_bits) / 8 + 8;

std::uint64_t swapped(std::uint64_t word) { return __builtin_bswap64(word); }

/// The 57 bits and more from `at_bit` on, left-aligned.
std::uint64_t bits_at(const std::uint8_t* bytes, std::uint64_t at_bit) {
    std::uint64_t word;
    std::memcpy(&word, bytes + at_bit / 8, sizeof word);
    return swapped(word) << (at_bit % 8);
}

/// A symbol's code, as the writer wants it: the bits, above them the length, above that how many
/// raw bits follow.
using PackedCodes = std::array<std::uint32_t, k_huffman_symbols>;
constexpr unsigned k_length_shift = 16, k_raw_shift = 24;

PackedCodes pack_codes(const HuffmanLengths& lengths) {
    const HuffmanCodes codes = canonical_codes(lengths);
    PackedCodes packed{};
    for (unsigned s = 0; s < k_huffman_symbols; ++s) {
        const unsigned coded_as = lengths[s] != 0 ? s : k_huffman_escape;
        packed[s] = codes[coded_as] | std::uint32_t{lengths[coded_as]} << k_length_shift |
                    huffman_raw_bits(coded_as) << k_raw_shift;
    }
    return packed;
}

/// Bits from the highest down. Fewer than 8 wait between calls of flush(), 1 to 64 before one.
struct BitWriter {
    std::uint8_t* out = nullptr;
    std::uint64_t waiting = 0;  // left-aligned
    unsigned used = 0;

    /// @param value  below 2^length.
    void put(std::uint64_t value, unsigned length) {
        used += length;
        waiting |= value << (64 - used);
    }
    /// A code that no raw bits follow.
    void put(std::uint32_t packed) { put(packed & 0xffffU, packed >> k_length_shift); }
    void flush() {
        const std::uint64_t word = swapped(waiting);
        std::memcpy(out, &word, sizeof word);
        out += used / 8;
        waiting <<= used & 56U;
        used &= 7U;
    }
};

/// Any code, without a branch: where some are followed by raw bits, nobody foresees which. By
/// value, so that the writers of the loops stay in registers.
BitWriter put_any(BitWriter writer, std::uint32_t packed, std::uint32_t code) {
    const unsigned raw_bits = packed >> k_raw_shift;
    writer.put(packed & 0xffffU, (packed >> k_length_shift) & 0xffU);
    writer.put(code & ((std::uint64_t{1} << raw_bits) - 1), raw_bits);  // none: used is not 0
    writer.flush();
    return writer;
}

Status corrupt(std::string message) {
    return {StatusCode::corrupt, "Huffman section: " + std::move(message)};
}

}  // namespace

void HuffmanEncoder::begin(const HuffmanLengths& shared, HuffmanCounts* counts, Output& out) {
    sums_ = counts;
    out_ = &out;
    lengths_ = shared;
    has_shared_ = is_tree(lengths_);
    own_.clear();
    for (auto& of_one : recent_) of_one.fill(0);
    symbols_.clear();
    large_.clear();
    for (auto& stream : streams_) stream.clear();
}

void HuffmanEncoder::put_chunk(const std::uint32_t* codes, std::size_t n) {
    std::uint16_t* symbols = symbols_.room(k_chunk_values);
    std::uint32_t* const large = large_.room(k_chunk_values + 1);  // write_streams reads one more
    std::size_t n_large = 0;
    const auto put = [&](std::size_t i) {
        const std::uint32_t code = codes[i];
        unsigned symbol = code;
        if (code >= k_direct_codes) [[unlikely]] {
            symbol = huffman_symbol(code);
            large[n_large++] = code;
        }
        symbols[i] = static_cast<std::uint16_t>(symbol);
        ++recent_[i % 4][symbol];  // a block has fewer than 2^31 codes
    };
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        put(i);
        put(i + 1);
        put(i + 2);
        put(i + 3);
    }
    for (; i < n; ++i) put(i);
    large_.advance(n_large);
    symbols_.advance(n);
}

/// The shared tree, unless the block's own would save more than 1 % and its bytes. Returns whether
/// it is the block's own.
bool HuffmanEncoder::choose_tree() {
    if (has_shared_ && !drift_check_) return false;
    const HuffmanLengths own = make_lengths(counts_, 0);
    own_ = tree_bytes(own);
    if (has_shared_) {
        const std::uint64_t bits = coded_bits(counts_, own);
        if (coded_bits(counts_, lengths_) <= bits + bits / 100 + 8 * own_.size()) return false;
    }
    lengths_ = own;
    return true;
}

void HuffmanEncoder::write_streams() {
    const PackedCodes packed = pack_codes(lengths_);
    const std::uint32_t* large = large_.data();
    BitWriter w0, w1, w2, w3;
    const auto done = [](BitWriter writer, AlignedBuffer<std::uint8_t>& stream) {
        stream.advance(static_cast<std::size_t>(writer.out - stream.room(0)));
    };
    for (std::size_t begin = 0; begin < symbols_.size(); begin += k_chunk_values) {
        const std::size_t n = std::min(k_chunk_values, symbols_.size() - begin);
        const std::uint16_t* s = symbols_.data() + begin;
        w0.out = streams_[0].room(k_stream_chunk_bytes);
        w1.out = streams_[1].room(k_stream_chunk_bytes);
        w2.out = streams_[2].room(k_stream_chunk_bytes);
        w3.out = streams_[3].room(k_stream_chunk_bytes);
        const auto one = [&](BitWriter& writer, std::size_t i) {
            const bool is_large = s[i] >= k_direct_codes;
            const std::uint32_t next = *large;
            writer = put_any(writer, packed[s[i]], is_large ? next : s[i]);
            large += is_large ? 1 : 0;
        };
        const auto four = [&](std::size_t i) {
            one(w0, i);
            one(w1, i + 1);
            one(w2, i + 2);
            one(w3, i + 3);
        };
        std::size_t i = 0;
        for (; i + 8 <= n; i += 8) {
            const std::uint32_t a0 = packed[s[i]], a1 = packed[s[i + 1]];
            const std::uint32_t a2 = packed[s[i + 2]], a3 = packed[s[i + 3]];
            const std::uint32_t b0 = packed[s[i + 4]], b1 = packed[s[i + 5]];
            const std::uint32_t b2 = packed[s[i + 6]], b3 = packed[s[i + 7]];
            if (((a0 | a1 | a2 | a3 | b0 | b1 | b2 | b3) >> k_raw_shift) != 0) [[unlikely]] {
                four(i);
                four(i + 4);
                continue;
            }
            w0.put(a0), w0.put(b0), w0.flush();
            w1.put(a1), w1.put(b1), w1.flush();
            w2.put(a2), w2.put(b2), w2.flush();
            w3.put(a3), w3.put(b3), w3.flush();
        }
        for (; i + 4 <= n; i += 4) four(i);
        if (i < n) one(w0, i);
        if (i + 1 < n) one(w1, i + 1);
        if (i + 2 < n) one(w2, i + 2);
        done(w0, streams_[0]), done(w1, streams_[1]), done(w2, streams_[2]), done(w3, streams_[3]);
    }
    const auto end = [](const BitWriter& writer, AlignedBuffer<std::uint8_t>& stream) {
        if (writer.used == 0) return;
        *stream.room(1) = static_cast<std::uint8_t>(writer.waiting >> 56);
        stream.advance(1);
    };
    end(w0, streams_[0]), end(w1, streams_[1]), end(w2, streams_[2]), end(w3, streams_[3]);
}

bool HuffmanEncoder::finish() {
    for (unsigned s = 0; s < k_huffman_symbols; ++s) {
        counts_[s] = 0;
        for (const auto& counts : recent_) counts_[s] += counts[s];
    }
    if (sums_ != nullptr) {
        for (std::size_t s = 0; s < sums_->size(); ++s) (*sums_)[s] += counts_[s];
    }
    const bool own = choose_tree();
    write_streams();
    Output& out = *out_;
    out.push_back(std::byte{own ? k_own_tree_flag : std::uint8_t{0}});
    if (own) {
        put_leb128(out, own_.size());
        out.append(own_);
    }
    for (const auto& stream : streams_) put_leb128(out, stream.size());
    for (const auto& stream : streams_) {
        out.append(std::as_bytes(std::span(stream.data(), stream.size())));
    }
    return own;
}

Status HuffmanDecoder::read_tree(std::span<const std::byte>& rest, const HuffmanLengths& shared) {
    if (rest.empty()) return corrupt("no head");
    const auto flags = std::to_integer<std::uint8_t>(rest[0]);
    rest = rest.subspan(1);
    if (flags > k_own_tree_flag) return corrupt(fmt::format("flags {} are unknown", flags));
    if (flags == 0) {
        if (!is_tree(shared)) return corrupt("it has no tree, and none was given");
        make_lookup(shared);
        return {};
    }
    std::uint64_t n = 0;
    if (!take_leb128(rest, n) || n > rest.size()) {
        return corrupt("its tree is cut off");
    }
    const auto own = parse_tree(rest.first(static_cast<std::size_t>(n)));
    if (!own.ok()) return own.status();
    make_lookup(*own);
    rest = rest.subspan(static_cast<std::size_t>(n));
    return {};
}

void HuffmanDecoder::make_lookup(const HuffmanLengths& lengths) {
    std::array<std::uint32_t, k_longest_code + 1> n_codes{};
    for (const std::uint8_t length : lengths) ++n_codes[length];
    past_[0] = index_[1] = 0;
    for (unsigned l = 1; l <= k_longest_code; ++l) {
        past_[l] = past_[l - 1] + (n_codes[l] << (k_longest_code - l));
        if (l < k_longest_code) index_[l + 1] = index_[l] + n_codes[l];
    }
    std::array<std::uint32_t, k_longest_code + 1> next = index_;
    for (unsigned s = 0; s < k_huffman_symbols; ++s) {
        if (lengths[s] != 0) by_code_[next[lengths[s]]++] = static_cast<std::uint16_t>(s);
    }
    lookup_.fill({});
    const HuffmanCodes codes = canonical_codes(lengths);
    for (unsigned s = 0; s < k_direct_codes; ++s) {
        if (lengths[s] == 0 || lengths[s] > k_lookup_bits) continue;
        const unsigned free_bits = k_lookup_bits - lengths[s];
        std::fill_n(lookup_.begin() + (std::ptrdiff_t{codes[s]} << free_bits),
                    std::size_t{1} << free_bits, Entry{static_cast<std::uint16_t>(s), lengths[s]});
    }
}

Status HuffmanDecoder::open(std::span<const std::byte> section, std::uint64_t n_codes,
                            const HuffmanLengths& shared) {
    codes_left_ = n_codes;
    broken_ = true;  // until all is in place
    std::span<const std::byte> rest = section;
    if (Status status = read_tree(rest, shared); !status.ok()) return status;
    std::array<std::uint64_t, k_huffman_streams> sizes{};
    for (std::uint64_t& size : sizes) {
        if (!take_leb128(rest, size)) return corrupt("its streams' sizes are cut off");
    }
    std::uint64_t end = 0;
    for (std::size_t j = 0; j < k_huffman_streams; ++j) {
        if (sizes[j] > rest.size() - end) return corrupt("its streams are cut off");
        at_bit_[j] = 8 * end;
        end += sizes[j];
        end_bit_[j] = 8 * end;
    }
    if (end != rest.size()) {
        return corrupt(fmt::format("{} bytes of streams where {} are meant", rest.size(), end));
    }
    bytes_.clear();
    std::uint8_t* bytes = bytes_.room(rest.size() + k_stream_chunk_bytes);
    if (!rest.empty()) std::memcpy(bytes, rest.data(), rest.size());
    std::memset(bytes + rest.size(), 0, k_stream_chunk_bytes);
    broken_ = false;
    return {};
}

/// A code of any length, and raw bits. `at_bit` moves on past them.
std::uint32_t HuffmanDecoder::next_slowly(std::uint64_t& at_bit) const {
    const auto ahead =
        static_cast<std::uint32_t>(bits_at(bytes_.data(), at_bit) >> (64 - k_longest_code));
    unsigned length = 1;
    while (ahead >= past_[length]) ++length;  // the tree is complete: past_ ends above any `ahead`
    const unsigned symbol =
        by_code_[index_[length] + ((ahead - past_[length - 1]) >> (k_longest_code - length))];
    at_bit += length;
    const unsigned raw_bits = huffman_raw_bits(symbol);
    if (raw_bits == 0) return symbol;
    const std::uint64_t raw = bits_at(bytes_.data(), at_bit) >> (64 - raw_bits);
    at_bit += raw_bits;
    return huffman_base(symbol) + static_cast<std::uint32_t>(raw);
}

void HuffmanDecoder::get_chunk(std::uint32_t* codes) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(codes_left_, k_chunk_values));
    // Whole chunks may overrun their streams, into the next one or the zeros behind the last: a
    // chunk's worth, since nothing is read after that.
    for (std::size_t j = 0; j < k_huffman_streams; ++j) broken_ |= at_bit_[j] > end_bit_[j];
    if (n == 0) broken_ = true;  // more chunks than the block has
    if (broken_) {
        std::fill_n(codes, k_chunk_values, 0U);
        return;
    }
    codes_left_ -= n;
    auto at = at_bit_;
    const std::uint8_t* const bytes = bytes_.data();
    const Entry* const lookup = lookup_.data();
    const auto one = [&](std::uint64_t& at_bit, std::uint64_t& ahead, std::uint32_t& code) {
        const Entry entry = lookup[ahead >> (64 - k_lookup_bits)];
        if (entry.length == 0) [[unlikely]] {
            std::uint64_t position = at_bit;  // one whose address nobody keeps: `at_bit` may stay
            code = next_slowly(position);     // in a register
            at_bit = position;
            ahead = bits_at(bytes, at_bit);
        } else {
            code = entry.symbol;
            at_bit += entry.length;
            ahead <<= entry.length;
        }
    };
    std::uint64_t at0 = at[0], at1 = at[1], at2 = at[2], at3 = at[3];
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        std::uint64_t a0 = bits_at(bytes, at0), a1 = bits_at(bytes, at1);
        std::uint64_t a2 = bits_at(bytes, at2), a3 = bits_at(bytes, at3);
        for (std::size_t k = i; k < i + 16; k += 4) {  // 4 codes of 11 bits in 57
            one(at0, a0, codes[k]);
            one(at1, a1, codes[k + 1]);
            one(at2, a2, codes[k + 2]);
            one(at3, a3, codes[k + 3]);
        }
    }
    at = {at0, at1, at2, at3};
    for (; i < n; ++i) codes[i] = next_slowly(at[i % k_huffman_streams]);
    at_bit_ = at;
    std::fill(codes + n, codes + k_chunk_values, 0U);
}

Status HuffmanDecoder::close() {
    if (broken_ || codes_left_ != 0) return corrupt("more or fewer codes than the block has");
    for (std::size_t j = 0; j < k_huffman_streams; ++j) {
        if ((at_bit_[j] + 7) / 8 * 8 != end_bit_[j]) {
            return corrupt(fmt::format("stream {} does not end where it should", j));
        }
    }
    return {};
}

}  // namespace caesura::lab::huffman
