#include "codec/entropy/rans_decoder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "codec/entropy/table_training.hpp"

namespace caesura::codec {
namespace {

Status corrupt(std::string message) {
    return {StatusCode::corrupt, "rANS section: " + std::move(message)};
}

const std::uint8_t* as_bytes(std::span<const std::byte> bytes) {
    return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

}  // namespace

Status RansDecoder::open(std::span<const std::byte> section, std::uint64_t n_codes,
                         const TableSet& tables) {
    n_codes_ = n_codes;
    n_chunks_ = chunks_of(n_codes);
    broken_ = false;
    nonzeros_used_ = tails_used_ = 0;
    primary_ = nonzero_ = tail_ = {};
    std::span<const std::byte> parts, head;
    if (!split_section(section, parts, head) || head.size() < 2) return corrupt("no head");
    const auto flags = std::to_integer<std::uint8_t>(head[0]);
    unit_chunks_log2_ = std::to_integer<std::uint8_t>(head[1]);
    if (flags > (k_inline_tables_flag | k_classes_packed_flag) || unit_chunks_log2_ > 20) {
        return corrupt(fmt::format("flags {} or unit 2^{} are unknown", flags, unit_chunks_log2_));
    }
    auto rest = head.subspan(2);
    if (Status status = read_tables(rest, flags, tables); !status.ok()) return status;
    const std::size_t unit_chunks = std::size_t{1} << unit_chunks_log2_;
    if (Status status = read_units(rest, (n_chunks_ + unit_chunks - 1) / unit_chunks, parts.size());
        !status.ok()) {
        return status;
    }
    if (Status status = read_classes(rest, flags); !status.ok()) return status;
    if (!rest.empty()) return corrupt("its head goes on after the class bytes");
    return place_parts(parts);
}

/// They stay from block to block: few have others than the one before.
void RansDecoder::use_tables(const TableSet& set) {
    const auto wanted = frequencies_of(set);
    if (wanted == frequencies_) return;
    frequencies_ = wanted;
    tables_ = make_rans_tables(wanted);
    has_slots_ = 0;
}

Status RansDecoder::read_tables(std::span<const std::byte>& rest, std::uint8_t flags,
                                const TableSet& shared) {
    if ((flags & k_inline_tables_flag) == 0) {
        use_tables(shared);
        return {};
    }
    std::uint64_t n = 0;
    if (!take_leb128(rest, n) || n > rest.size() || n > k_table_set_limit_bytes) {
        return corrupt("its tables are cut off");
    }
    Result<TableSet> own = TableSet::parse(rest.first(static_cast<std::size_t>(n)));
    if (!own.ok()) return own.status();
    use_tables(*own);
    rest = rest.subspan(static_cast<std::size_t>(n));
    return {};
}

Status RansDecoder::read_units(std::span<const std::byte>& rest, std::size_t n_units,
                               std::size_t part_bytes) {
    units_.clear();
    if (n_units > rest.size() / 4) return corrupt("its directory is cut off");
    std::uint64_t left = n_codes_;
    for (std::size_t u = 0; u < n_units; ++u) {
        const std::uint64_t codes =
            std::min<std::uint64_t>(left, std::uint64_t{k_chunk_values} << unit_chunks_log2_);
        left -= codes;
        RansUnit unit;
        std::uint64_t stream = 0;
        if (!take_leb128(rest, unit.nonzeros) || !take_leb128(rest, unit.tails) ||
            !take_leb128(rest, unit.tail_bytes) || !take_leb128(rest, stream)) {
            return corrupt("its directory is cut off");
        }
        // Sparse chunks speak of whole chunks, hence the rounding up.
        const std::uint64_t most = chunks_of(codes) * std::uint64_t{k_chunk_values};
        if (unit.nonzeros > most || unit.tails > 2 * most || unit.tail_bytes > 4 * unit.tails ||
            stream > part_bytes) {
            return corrupt(fmt::format("unit {} of {} codes claims {} nonzeros and {} tails", u,
                                       codes, unit.nonzeros, unit.tails));
        }
        unit.has_stream = stream != 0;
        unit.stream_bytes = unit.has_stream ? stream - 1 : 0;
        units_.push_back(unit);
    }
    return {};
}

Status RansDecoder::read_classes(std::span<const std::byte>& rest, std::uint8_t flags) {
    std::size_t counts[3] = {n_chunks_, 0, 0};
    for (const RansUnit& unit : units_) {
        counts[1] += chunks_of(unit.nonzeros);
        counts[2] += chunks_of(unit.tails);
    }
    const std::size_t total = counts[0] + counts[1] + counts[2];
    std::vector<std::uint8_t> all(total);
    if (!small_bytes_.take(rest, (flags & k_classes_packed_flag) != 0, all)) {
        return corrupt("its class bytes are cut off, too many or do not unpack");
    }
    auto from = all.begin();
    for (int s = 0; s < 3; ++s) {
        classes_[s].assign(from, from + static_cast<std::ptrdiff_t>(counts[s]));
        from += static_cast<std::ptrdiff_t>(counts[s]);
        for (const std::uint8_t byte : classes_[s]) {
            const bool zero = s == 0 && byte == k_zero_class;
            if (!zero && !valid_class(byte, static_cast<Sequence>(s))) {
                return corrupt(fmt::format("class {} of sequence {} is unknown", byte, s));
            }
        }
    }
    return {};
}

/// Values of chunk `index` of a sequence of n, in whole steps.
std::size_t RansDecoder::chunk_size(std::uint64_t n, std::size_t index) const {
    const std::uint64_t left = n - index * std::uint64_t{k_chunk_values};
    return whole_steps(static_cast<std::size_t>(std::min<std::uint64_t>(left, k_chunk_values)));
}

std::uint64_t RansDecoder::low_total(Sequence sequence) const {
    std::uint64_t total = 0;
    if (sequence == Sequence::primary) {
        for (std::size_t c = 0; c < n_chunks_; ++c) {
            const std::uint8_t byte = classes_[0][c];
            if (byte == k_zero_class) continue;
            total += low_bytes(chunk_size(n_codes_, c), chunk_class(byte, sequence).low_bits);
        }
        return total;
    }
    std::size_t chunk = 0;
    for (const RansUnit& unit : units_) {
        for (std::size_t c = 0; c < chunks_of(unit.nonzeros); ++c, ++chunk) {
            const ChunkClass meaning = chunk_class(classes_[1][chunk], sequence);
            total += low_bytes(chunk_size(unit.nonzeros, c), meaning.low_bits);
        }
    }
    return total;
}

/// What the head speaks of must fill the rest of the section exactly.
Status RansDecoder::place_parts(std::span<const std::byte> parts) {
    const std::uint64_t low = low_total(Sequence::primary);
    const std::uint64_t nonzero_low = low_total(Sequence::nonzero);
    std::uint64_t tail_bytes = 0, streams = 0;
    for (const RansUnit& unit : units_) {
        tail_bytes += unit.tail_bytes;
        if (unit.has_stream) streams += unit.stream_bytes + k_state_bytes;
    }
    if (low + nonzero_low + tail_bytes + streams != parts.size()) {
        return corrupt(fmt::format("parts of {} + {} + {} + {} bytes in {}", low, nonzero_low,
                                   tail_bytes, streams, parts.size()));
    }
    primary_.low = as_bytes(parts);
    nonzero_.low = primary_.low + low;
    tail_raw_ = nonzero_.low + nonzero_low;
    stream_ = tail_raw_ + tail_bytes;
    return {};
}

bool RansDecoder::decode(std::uint8_t table, std::size_t n) {
    if (in_ == nullptr) return false;
    if ((has_slots_ >> table & 1) == 0) {
        slots_[table] = make_rans_slots(tables_[table]);
        has_slots_ |= std::uint64_t{1} << table;
    }
    in_ = rans_decode(state_, tables_[table], slots_[table], symbols_, n, stream_begin_, in_);
    return in_ != nullptr;
}

void RansDecoder::open_unit(std::size_t u) {
    const RansUnit& unit = units_[u];
    stream_begin_ = in_ = nullptr;
    state_.low.fill(0);
    state_.high.fill(1);
    if (unit.has_stream) {
        stream_begin_ = stream_;
        in_ = stream_ + unit.stream_bytes;
        std::copy_n(in_, k_lanes, state_.low.begin());
        std::copy_n(in_ + k_lanes, k_lanes, state_.high.begin());
        stream_ = in_ + k_state_bytes;
    }
    nonzeros_.clear();
    tails_.clear();
    nonzeros_used_ = tails_used_ = 0;
    const std::span raw(tail_raw_, static_cast<std::size_t>(unit.tail_bytes));
    tail_raw_ += unit.tail_bytes;
    if (!read_tails(unit.tails, raw) || !read_nonzeros(unit.nonzeros)) broken_ = true;
}

bool RansDecoder::read_tails(std::uint64_t n, std::span<const std::uint8_t> raw) {
    TailReader reader(raw);
    std::uint32_t* tails = tails_.room(static_cast<std::size_t>(n) + k_kernel_slack);
    std::fill_n(tails + n, k_kernel_slack, 0U);  // what kernels may read and no one uses
    for (std::size_t c = 0; c < chunks_of(n); ++c) {
        const std::uint8_t byte = classes_[2][tail_.chunk++];
        if (!decode(chunk_class(byte, Sequence::tail).table, chunk_size(n, c))) return false;
        const std::size_t first = c * k_chunk_values;
        const std::size_t count = std::min<std::size_t>(k_chunk_values, n - first);
        reader.get(symbols_, count, tails + first);
    }
    tails_.advance(static_cast<std::size_t>(n));
    return reader.exhausted();
}

bool RansDecoder::read_nonzeros(std::uint64_t n) {
    std::uint32_t* values =
        nonzeros_.room(whole_steps(static_cast<std::size_t>(n)) + k_kernel_slack);
    for (std::size_t c = 0; c < chunks_of(n); ++c) {
        const ChunkClass meaning = chunk_class(classes_[1][nonzero_.chunk++], Sequence::nonzero);
        const std::size_t size = chunk_size(n, c);
        if (!decode(meaning.table, size)) return false;
        tails_used_ += join_chunk(
            symbols_, size, meaning.low_bits, tables_[meaning.table].alphabet, nonzero_.low,
            tails_.data() + std::min(tails_used_, tails_.size()),
            tails_.size() - std::min(tails_used_, tails_.size()), values + c * k_chunk_values);
        nonzero_.low += low_bytes(size, meaning.low_bits);
    }
    std::fill_n(values + n, k_kernel_slack, 0U);
    nonzeros_.advance(static_cast<std::size_t>(n));
    return true;
}

void RansDecoder::get_chunk(std::uint32_t* codes) {
    const std::size_t c = primary_.chunk++;
    if (c >= n_chunks_ || broken_) {
        broken_ = true;
        std::fill_n(codes, k_chunk_values, 0U);
        return;
    }
    const std::size_t unit_chunks = std::size_t{1} << unit_chunks_log2_;
    if (c % unit_chunks == 0) open_unit(c >> unit_chunks_log2_);
    const std::uint8_t byte = classes_[0][c];
    if (byte == k_zero_class || c + 1 == n_chunks_ || broken_) {
        std::fill_n(codes, k_chunk_values, 0U);
    }
    if (byte != k_zero_class && !broken_) {
        const ChunkClass meaning = chunk_class(byte, Sequence::primary);
        const std::size_t size = chunk_size(n_codes_, c);
        if (!decode(meaning.table, meaning.sparse ? k_chunk_values / 4 : size)) {
            broken_ = true;
        } else if (meaning.sparse) {
            const std::size_t used = std::min(nonzeros_used_, nonzeros_.size());
            nonzeros_used_ += join_sparse(symbols_, k_chunk_values, nonzeros_.data() + used,
                                          nonzeros_.size() - used, codes);
        } else {
            const std::size_t used = std::min(tails_used_, tails_.size());
            tails_used_ +=
                join_chunk(symbols_, size, meaning.low_bits, tables_[meaning.table].alphabet,
                           primary_.low, tails_.data() + used, tails_.size() - used, codes);
            primary_.low += low_bytes(size, meaning.low_bits);
        }
    }
    if ((c + 1) % unit_chunks == 0 || c + 1 == n_chunks_) end_unit();
}

/// A unit that was read right leaves the states it began with, and nothing over.
void RansDecoder::end_unit() {
    const auto is = [](std::uint8_t value) {
        return [value](std::uint8_t b) { return b == value; };
    };
    const bool begun = std::all_of(state_.low.begin(), state_.low.end(), is(0)) &&
                       std::all_of(state_.high.begin(), state_.high.end(), is(1));
    if (!begun || in_ != stream_begin_ || nonzeros_used_ != nonzeros_.size() ||
        tails_used_ != tails_.size()) {
        broken_ = true;
    }
}

Status RansDecoder::close() {
    if (broken_ || primary_.chunk != n_chunks_) {
        return corrupt("its streams do not decode to what its head says");
    }
    return {};
}

}  // namespace caesura::codec
