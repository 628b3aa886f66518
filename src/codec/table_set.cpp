// TableSet and TableStatistics: probability tables as values that travel between ranks and dumps.
//
// A set's bytes: 'T', version 1, entropy stage, 0, the tables, u32 checksum (the low half of
// XXH3-64 of everything before). Tables of rANS: u64 bitmap of those it holds, 16 bytes of
// frequencies for each. Of Huffman: u64 number d of lengths of direct codes that follow (the rest
// are 0), then d lengths and those of the large symbols and the escape, 4 bits each, the lower half
// of a byte first.
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "caesura/codec.hpp"
#include "codec/byte_io.hpp"
#include "codec/table_training.hpp"

namespace caesura {
namespace {

constexpr std::uint8_t k_magic = 'T', k_statistics_magic = 'S', k_version = 1;
constexpr std::size_t k_head_bytes = 12, k_checksum_bytes = 4;

std::uint64_t hash(std::span<const std::byte> bytes) {
    return XXH3_64bits(bytes.data(), bytes.size());
}

Status corrupt(std::string message) { return {StatusCode::corrupt, std::move(message)}; }

/// Head and checksum of either structure.
Status check_envelope(std::span<const std::byte> bytes, std::uint8_t magic, const char* what) {
    if (bytes.size() < k_head_bytes + k_checksum_bytes) {
        return corrupt(fmt::format("a {} of {} bytes is cut off", what, bytes.size()));
    }
    codec::ByteReader head(bytes);
    if (head.u8() != magic) return corrupt(fmt::format("these bytes are no {}", what));
    if (const unsigned version = head.u8(); version != k_version) {
        return {StatusCode::unsupported,
                fmt::format("{} of version {}; this library reads version {}", what, version,
                            k_version)};
    }
    const auto body = bytes.first(bytes.size() - k_checksum_bytes);
    codec::ByteReader tail(bytes.subspan(body.size()));
    if (tail.u32() != static_cast<std::uint32_t>(hash(body))) {
        return corrupt(
            fmt::format("the checksum of a {} of {} bytes is wrong", what, bytes.size()));
    }
    return {};
}

void append_checksum(codec::Output& out) {
    const auto sum = static_cast<std::uint32_t>(hash(out.bytes()));
    codec::ByteWriter(out).u32(sum);
}

/// Number of counts that a stage's statistics keep; 0: no such stage.
std::size_t counts_of(unsigned entropy) {
    if (entropy == static_cast<unsigned>(Entropy::rans)) return codec::k_tables * codec::k_symbols;
    return entropy == static_cast<unsigned>(Entropy::huffman) ? codec::k_huffman_symbols : 0;
}

/// What lies between a set's fourth byte and its checksum, for rANS.
Status check_rans(std::span<const std::byte> tables) {
    codec::ByteReader in(tables);
    const std::uint64_t present = in.u64();
    const auto n = static_cast<std::size_t>(std::popcount(present));
    if ((present >> codec::k_tables) != 0 || in.rest().size() != n * codec::k_symbols) {
        return corrupt(
            fmt::format("a table set of {} bytes says it holds {} tables", tables.size(), n));
    }
    for (unsigned t = 0; t < codec::k_tables; ++t) {
        if ((present >> t & 1U) == 0) continue;
        codec::Frequencies frequency{};
        for (std::uint8_t& f : frequency) f = in.u8();
        // Masks and lengths have no escape: all 16 symbols must be possible.
        const bool whole = t < codec::k_sparse_table || frequency.back() != 0;
        if (!codec::valid_frequencies(frequency) || !whole) {
            return corrupt(fmt::format("table {} of a table set does not sum to 256", t));
        }
    }
    return {};
}

constexpr std::size_t k_large_symbols = codec::k_huffman_symbols - codec::k_direct_codes;

/// The same for Huffman, and its lengths.
Status read_huffman(std::span<const std::byte> tables, codec::HuffmanLengths& lengths) {
    codec::ByteReader in(tables);
    const std::uint64_t direct = in.u64();
    if (direct > codec::k_direct_codes || in.rest().size() != (direct + k_large_symbols + 1) / 2) {
        return corrupt(
            fmt::format("a table set of {} bytes says it holds {} lengths", tables.size(), direct));
    }
    lengths.fill(0);
    const std::size_t n = static_cast<std::size_t>(direct) + k_large_symbols;
    unsigned byte = 0;
    for (std::size_t i = 0; i < n; ++i, byte >>= 4) {
        if (i % 2 == 0) byte = in.u8();
        const std::size_t symbol = i < direct ? i : i - direct + codec::k_direct_codes;
        lengths[symbol] = static_cast<std::uint8_t>(byte & 15U);
    }
    if (byte != 0 || !codec::is_tree(lengths)) {
        return corrupt("the lengths of a table set are no complete tree with an escape");
    }
    return {};
}

}  // namespace

TableSet::TableSet() = default;

Result<TableSet> TableSet::parse(std::span<const std::byte> bytes) {
    if (bytes.empty()) return TableSet();
    if (Status status = check_envelope(bytes, k_magic, "table set"); !status.ok()) return status;
    codec::ByteReader in(bytes.first(bytes.size() - k_checksum_bytes));
    in.bytes(2);
    const unsigned entropy = in.u8();
    in.bytes(1);
    if (counts_of(entropy) == 0) {
        return corrupt(fmt::format("a table set of unknown entropy stage {}", entropy));
    }
    codec::HuffmanLengths lengths;
    const Status status = entropy == static_cast<unsigned>(Entropy::rans)
                              ? check_rans(in.rest())
                              : read_huffman(in.rest(), lengths);
    if (!status.ok()) return status;
    return TableTraining::make({bytes.begin(), bytes.end()}, static_cast<Entropy>(entropy));
}

TableSet TableTraining::make(std::vector<std::byte> bytes, Entropy entropy) {
    TableSet set;
    if (bytes.empty()) return set;
    set.bytes_ = std::move(bytes);
    set.id_ = std::max<std::uint64_t>(hash(set.bytes_), 1);
    set.entropy_ = entropy;
    return set;
}

TableStatistics::TableStatistics(Entropy entropy)
    : entropy_(entropy), counts_(counts_of(static_cast<unsigned>(entropy))) {}

bool TableStatistics::empty() const {
    return std::all_of(counts_.begin(), counts_.end(), [](std::uint64_t n) { return n == 0; });
}

Status TableStatistics::add(const TableStatistics& other) {
    if (other.entropy_ != entropy_) {
        return {StatusCode::invalid_argument, "counts of different entropy stages cannot be added"};
    }
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    return {};
}

std::vector<std::byte> TableStatistics::bytes() const {
    codec::Output out;
    codec::ByteWriter writer(out);
    writer.u8(k_statistics_magic).u8(k_version).u8(static_cast<std::uint8_t>(entropy_)).u8(0);
    writer.u64(counts_.size());
    for (const std::uint64_t count : counts_) {
        writer.u32(static_cast<std::uint32_t>(std::min<std::uint64_t>(count, 0xffffffffU)));
    }
    append_checksum(out);
    return out.take();
}

Result<TableStatistics> TableStatistics::parse(std::span<const std::byte> bytes) {
    if (Status status = check_envelope(bytes, k_statistics_magic, "table statistics");
        !status.ok()) {
        return status;
    }
    codec::ByteReader in(bytes);
    in.bytes(2);
    const unsigned entropy = in.u8();
    in.bytes(1);
    if (counts_of(entropy) == 0) {
        return corrupt(fmt::format("table statistics of unknown entropy stage {}", entropy));
    }
    TableStatistics statistics(static_cast<Entropy>(entropy));
    if (in.u64() != statistics.counts_.size() ||
        bytes.size() != k_head_bytes + 4 * statistics.counts_.size() + k_checksum_bytes) {
        return corrupt(
            fmt::format("table statistics of {} bytes have the wrong length", bytes.size()));
    }
    for (std::uint64_t& count : statistics.counts_) count = in.u32();
    return statistics;
}

TableSet TableStatistics::train() const {
    if (entropy_ == Entropy::huffman) {
        if (empty()) return {};
        const auto lengths = codec::make_lengths(counts_, codec::expected_escapes(counts_));
        return TableTraining::make(codec::table_set_bytes(lengths), entropy_);
    }
    std::array<codec::Frequencies, codec::k_tables> frequencies{};
    std::uint64_t chosen = 0;
    for (unsigned t = 0; t < codec::k_tables; ++t) {
        const std::span counts(counts_.data() + t * codec::k_symbols, codec::k_symbols);
        frequencies[t] = codec::builtin_frequencies(t);
        const codec::Frequencies own = codec::train_frequencies(counts, t);
        // A table costs 16 bytes wherever the set goes.
        constexpr std::uint64_t k_price_q16 = std::uint64_t{8 * codec::k_symbols} << 16;
        if (codec::coded_bits_q16(counts, own) + k_price_q16 >=
            codec::coded_bits_q16(counts, frequencies[t])) {
            continue;
        }
        frequencies[t] = own;
        chosen |= std::uint64_t{1} << t;
    }
    if (chosen == 0) return {};
    return TableTraining::make(codec::table_set_bytes(frequencies, chosen), Entropy::rans);
}

namespace codec {

std::vector<std::byte> table_set_bytes(const std::array<Frequencies, k_tables>& frequencies,
                                       std::uint64_t chosen) {
    Output out;
    ByteWriter writer(out);
    writer.u8(k_magic).u8(k_version).u8(static_cast<std::uint8_t>(Entropy::rans)).u8(0);
    writer.u64(chosen);
    for (unsigned t = 0; t < k_tables; ++t) {
        if ((chosen >> t & 1U) == 0) continue;
        for (const std::uint8_t f : frequencies[t]) writer.u8(f);
    }
    append_checksum(out);
    static_assert(k_head_bytes + k_tables * k_symbols + k_checksum_bytes <=
                  k_table_set_limit_bytes);
    return out.take();
}

std::array<Frequencies, k_tables> frequencies_of(const TableSet& set) {
    std::array<Frequencies, k_tables> frequencies;
    for (unsigned t = 0; t < k_tables; ++t) frequencies[t] = builtin_frequencies(t);
    if (set.bytes().empty() || set.entropy() != Entropy::rans) return frequencies;
    ByteReader in(set.bytes());
    in.bytes(4);
    const std::uint64_t present = in.u64();
    for (unsigned t = 0; t < k_tables; ++t) {
        if ((present >> t & 1U) == 0) continue;
        for (std::uint8_t& f : frequencies[t]) f = in.u8();
    }
    return frequencies;
}

std::vector<std::byte> table_set_bytes(const HuffmanLengths& lengths) {
    std::size_t direct = k_direct_codes;
    while (direct > 0 && lengths[direct - 1] == 0) --direct;
    Output out;
    ByteWriter writer(out);
    writer.u8(k_magic).u8(k_version).u8(static_cast<std::uint8_t>(Entropy::huffman)).u8(0);
    writer.u64(direct);
    const std::size_t n = direct + k_large_symbols;
    const auto length = [&](std::size_t i) -> unsigned {
        return i >= n ? 0U : lengths[i < direct ? i : i - direct + k_direct_codes];
    };
    for (std::size_t i = 0; i < n; i += 2) {
        writer.u8(static_cast<std::uint8_t>(length(i) | length(i + 1) << 4));
    }
    append_checksum(out);
    static_assert(k_head_bytes + k_huffman_symbols / 2 + 1 + k_checksum_bytes <=
                  k_table_set_limit_bytes);
    return out.take();
}

HuffmanLengths lengths_of(const TableSet& set) {
    HuffmanLengths lengths{};
    if (set.entropy() != Entropy::huffman) return lengths;
    const auto tables = set.bytes().subspan(4, set.bytes().size() - 4 - k_checksum_bytes);
    // A set was checked when it was made.
    if (!read_huffman(tables, lengths).ok()) lengths.fill(0);
    return lengths;
}

}  // namespace codec
}  // namespace caesura
