// TableSet and TableStatistics: probability tables as values that travel between ranks and dumps.
//
// A set's bytes: 'T', version 1, entropy stage, 0, the tables, u32 checksum (the low half of
// XXH3-64 of everything before). Tables of rANS: u64 bitmap of those it holds, 16 bytes of
// frequencies for each. The entropy stage is 0, rANS.
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "caesura/codec.hpp"
#include "codec/entropy/entropy.hpp"
#include "codec/entropy/table_training.hpp"
#include "codec/frame/byte_io.hpp"

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

constexpr std::uint8_t k_rans_stage = 0;

/// The third byte of either structure.
Status check_stage(unsigned stage, const char* what) {
    if (stage == k_rans_stage) return {};
    if (stage == codec::k_huffman_stage) return codec::huffman_is_unsupported(what);
    return corrupt(fmt::format("{} of unknown entropy stage {}", what, stage));
}

/// What lies between a set's fourth byte and its checksum.
Status check_tables(std::span<const std::byte> tables) {
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

}  // namespace

TableSet::TableSet() = default;

Result<TableSet> TableSet::parse(std::span<const std::byte> bytes) {
    if (bytes.empty()) return TableSet();
    if (Status status = check_envelope(bytes, k_magic, "table set"); !status.ok()) return status;
    codec::ByteReader in(bytes.first(bytes.size() - k_checksum_bytes));
    in.bytes(2);
    Status status = check_stage(in.u8(), "table set");
    in.bytes(1);
    if (status.ok()) status = check_tables(in.rest());
    if (!status.ok()) return status;
    return TableTraining::make({bytes.begin(), bytes.end()});
}

TableSet TableTraining::make(std::vector<std::byte> bytes) {
    TableSet set;
    if (bytes.empty()) return set;
    set.bytes_ = std::move(bytes);
    set.id_ = std::max<std::uint64_t>(hash(set.bytes_), 1);
    return set;
}

TableStatistics::TableStatistics() : counts_(codec::k_tables * codec::k_symbols) {}

bool TableStatistics::empty() const {
    return std::all_of(counts_.begin(), counts_.end(), [](std::uint64_t n) { return n == 0; });
}

void TableStatistics::add(const TableStatistics& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

std::vector<std::byte> TableStatistics::bytes() const {
    codec::Output out;
    codec::ByteWriter writer(out);
    writer.u8(k_statistics_magic).u8(k_version).u8(k_rans_stage).u8(0);
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
    if (Status status = check_stage(in.u8(), "table statistics"); !status.ok()) return status;
    in.bytes(1);
    TableStatistics statistics;
    if (in.u64() != statistics.counts_.size() ||
        bytes.size() != k_head_bytes + 4 * statistics.counts_.size() + k_checksum_bytes) {
        return corrupt(
            fmt::format("table statistics of {} bytes have the wrong length", bytes.size()));
    }
    for (std::uint64_t& count : statistics.counts_) count = in.u32();
    return statistics;
}

TableSet TableStatistics::train() const {
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
    return TableTraining::make(codec::table_set_bytes(frequencies, chosen));
}

namespace codec {

std::vector<std::byte> table_set_bytes(const std::array<Frequencies, k_tables>& frequencies,
                                       std::uint64_t chosen) {
    Output out;
    ByteWriter writer(out);
    writer.u8(k_magic).u8(k_version).u8(k_rans_stage).u8(0);
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
    if (set.bytes().empty()) return frequencies;
    ByteReader in(set.bytes());
    in.bytes(4);
    const std::uint64_t present = in.u64();
    for (unsigned t = 0; t < k_tables; ++t) {
        if ((present >> t & 1U) == 0) continue;
        for (std::uint8_t& f : frequencies[t]) f = in.u8();
    }
    return frequencies;
}

}  // namespace codec
}  // namespace caesura
