#include "codec/entropy/rans_encoder.hpp"

#include <algorithm>
#include <bit>

#include "codec/entropy/rans_classes.hpp"
#include "codec/frame/byte_io.hpp"

namespace caesura::codec {
namespace {

/// Units as long as their states' 128 bytes stay below a few thousandths of the section.
unsigned choose_unit(std::uint64_t expected_bytes, std::uint64_t n_codes) {
    constexpr unsigned k_shortest_log2 = 8;  // 262,144 codes: their symbols stay in L2
    unsigned unit_log2 = k_shortest_log2;
    while (unit_log2 < 20) {
        const std::uint64_t unit_codes = k_chunk_values << unit_log2;
        if (unit_codes >= n_codes) break;
        const std::uint64_t unit_bytes =
            expected_bytes * unit_codes / std::max<std::uint64_t>(n_codes, 1);
        if (unit_bytes >= 256 * k_state_bytes) break;
        ++unit_log2;
    }
    return unit_log2;
}

}  // namespace

void RansEncoder::begin(std::uint64_t n_codes, const TableSet& tables, TableStatistics* statistics,
                        std::uint64_t expected_bytes, Output& out) {
    shared_ = &tables;
    statistics_ = statistics;
    out_ = &out;
    if (const auto wanted = frequencies_of(tables); wanted != frequencies_) {
        frequencies_ = wanted;
        tables_ = make_rans_tables(wanted);
    }
    own_tables_ = 0;
    counts_.fill(0);
    unit_chunks_log2_ = choose_unit(expected_bytes, n_codes);
    chunks_in_unit_ = 0;
    symbols_.clear();
    nonzero_low_.clear();
    low_bytes_ = 0;
    nonzeros_.clear();
    for (auto& tails : tails_) tails.clear();
    tail_bits_.clear();
    tail_bytes_done_ = 0;
    for (auto& classes : classes_) classes.clear();
    runs_.clear();
    unit_runs_.clear();
    units_.clear();
}

void RansEncoder::add_run(std::size_t n, std::uint8_t table) {
    runs_.push_back({symbols_.size(), static_cast<std::uint16_t>(n), table});
    symbols_.advance(n);
}

void RansEncoder::put_chunk(const std::uint32_t* codes, std::size_t n) {
    const std::size_t whole = whole_steps(n);
    const ChunkSummary summary = summarise_chunk(codes, whole);
    std::uint8_t byte = k_zero_class;
    if (summary.nonzeros != 0) {
        const bool sparse = is_sparse(summary, whole);
        byte = sparse ? put_sparse(codes, summary.nonzeros)
                      : put_dense(codes, whole, summary, Sequence::primary);
    }
    classes_[0].push_back(byte);
    if (++chunks_in_unit_ == std::size_t{1} << unit_chunks_log2_) end_unit();
}

std::uint8_t RansEncoder::put_sparse(const std::uint32_t* codes, std::size_t nonzeros) {
    constexpr std::size_t k_masks = k_chunk_values / 4;
    std::uint8_t* symbols = symbols_.room(k_masks + k_kernel_slack);
    std::uint32_t* room = nonzeros_.room(k_chunk_values + k_kernel_slack);
    nonzeros_.advance(split_sparse(codes, k_chunk_values, symbols, room));
    const auto byte = static_cast<std::uint8_t>(k_sparse_class + sparse_index(nonzeros));
    add_run(k_masks, chunk_class(byte, Sequence::primary).table);
    return byte;
}

std::uint8_t RansEncoder::put_dense(const std::uint32_t* codes, std::size_t n,
                                    const ChunkSummary& summary, Sequence sequence) {
    const bool primary = sequence == Sequence::primary;
    AlignedBuffer<std::uint32_t>& tails = tails_[primary ? 0 : 1];
    constexpr std::size_t k_room = 4 * k_chunk_values + k_kernel_slack;
    std::uint8_t* const low =
        primary ? reinterpret_cast<std::uint8_t*>(out_->room(k_room)) : nonzero_low_.room(k_room);
    const DenseSplit split = split_dense(
        codes, n, n, summary, sequence, [&](std::uint8_t table) { return tables_[table].alphabet; },
        symbols_.room(n + k_kernel_slack), low, tails.room(n + k_kernel_slack));
    tails.advance(split.tails);
    const std::size_t bytes = low_bytes(n, split.meaning.low_bits);
    if (primary) {
        out_->advance(bytes);
        low_bytes_ += bytes;
    } else {
        nonzero_low_.advance(bytes);
    }
    add_run(n, split.meaning.table);
    return split.byte;
}

void RansEncoder::put_tails(const std::uint32_t* tails, std::size_t n) {
    std::uint8_t* symbols = symbols_.room(whole_steps(n) + k_kernel_slack);
    const std::size_t lengths = tail_bits_.put(tails, n, symbols);
    std::fill(symbols + n, symbols + whole_steps(n), std::uint8_t{0});
    const auto byte = static_cast<std::uint8_t>(std::min<std::size_t>(lengths / n, 7));
    classes_[2].push_back(byte);
    add_run(whole_steps(n), chunk_class(byte, Sequence::tail).table);
}

/// The unit's codes are all there: split what they left out, and note the unit.
void RansEncoder::end_unit() {
    if (chunks_in_unit_ == 0) return;
    RansUnit unit;
    UnitRuns runs;
    runs.primary_end = runs_.size();
    unit.nonzeros = nonzeros_.size();
    std::uint32_t* padding = nonzeros_.room(k_lanes);
    std::fill(padding, padding + k_lanes, 0U);
    for (std::size_t i = 0; i < nonzeros_.size(); i += k_chunk_values) {
        const std::size_t n = whole_steps(std::min(k_chunk_values, nonzeros_.size() - i));
        const std::uint32_t* codes = nonzeros_.data() + i;
        classes_[1].push_back(put_dense(codes, n, summarise_chunk(codes, n), Sequence::nonzero));
    }
    runs.nonzero_end = runs_.size();
    // A decoder needs those of the nonzeros first.
    AlignedBuffer<std::uint32_t>& tails = tails_[1];
    if (tails_[0].size() != 0) {
        std::copy_n(tails_[0].data(), tails_[0].size(), tails.room(tails_[0].size()));
        tails.advance(tails_[0].size());
    }
    unit.tails = tails.size();
    for (std::size_t i = 0; i < tails.size(); i += k_chunk_values) {
        put_tails(tails.data() + i, std::min(k_chunk_values, tails.size() - i));
    }
    runs.tail_end = runs_.size();
    tail_bits_.finish();
    unit.tail_bytes = tail_bits_.bytes().size() - tail_bytes_done_;
    tail_bytes_done_ = tail_bits_.bytes().size();
    units_.push_back(unit);
    unit_runs_.push_back(runs);
    nonzeros_.clear();
    for (auto& sequence_tails : tails_) sequence_tails.clear();
    chunks_in_unit_ = 0;
}

/// Count the symbols of a share of the runs: all of a short block's, one in 32 of a long one's.
void RansEncoder::count_symbols() {
    const std::size_t stride = std::clamp<std::size_t>(runs_.size() / 64, 1, 32);
    for (std::size_t r = stride / 2; r < runs_.size(); r += stride) {
        const Run& run = runs_[r];
        std::uint32_t found[k_symbols];
        codec::count_symbols(symbols_.data() + run.first, run.n, found);
        std::uint64_t* counts = counts_.data() + run.table * k_symbols;
        const std::size_t escape = tables_[run.table].alphabet - std::size_t{1};
        for (std::size_t s = 0; s <= escape; ++s) {
            counts[s == escape ? k_symbols - 1 : s] += std::uint64_t{found[s]} * stride;
        }
    }
    if (statistics_ == nullptr) return;
    auto& sums = TableTraining::counts(*statistics_);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += counts_[i];
}

/// Do the shared tables fit? Where an inline set would save more than 1 % and its bytes, each table
/// gets what is cheapest; the alphabets stay, since symbols are split by them.
bool RansEncoder::choose_tables() {
    constexpr std::uint64_t k_price_q16 = std::uint64_t{8 * k_symbols} << 16;
    std::uint64_t shared_bits = 0, inline_bits = 0;
    std::array<Frequencies, k_tables> own;
    std::uint64_t own_tables = 0;
    for (unsigned t = 0; t < k_tables; ++t) {
        const std::span counts(counts_.data() + t * k_symbols, k_symbols);
        // Most tables serve no chunk of a block.
        const bool counted =
            std::any_of(counts.begin(), counts.end(), [](auto n) { return n > 0; });
        const auto coded_bits = [&](const Frequencies& frequency) {
            return counted ? coded_bits_q16(counts, frequency) : 0;
        };
        const std::uint64_t bits = coded_bits(frequencies_[t]);
        // An inline set stands on the built-in one, so that the block needs no other: what differs
        // from that is written. Tables that were not counted may be in use all the same.
        own[t] = builtin_frequencies(t);
        const bool fits = alphabet_of(own[t]) == tables_[t].alphabet;
        std::uint64_t least = fits ? coded_bits(own[t]) : ~std::uint64_t{0};
        const auto offer = [&](const Frequencies& frequency) {
            const std::uint64_t cost = coded_bits(frequency) + k_price_q16;
            if (cost >= least) return;
            least = cost;
            own[t] = frequency;
            own_tables |= std::uint64_t{1} << t;
        };
        offer(frequencies_[t]);
        if (bits != 0) offer(train_frequencies(counts, t, tables_[t].alphabet));
        shared_bits += bits;
        inline_bits += least;
    }
    const std::uint64_t low_bits = (low_bytes_ + nonzero_low_.size()) * std::uint64_t{8} << 16;
    if (inline_bits + (shared_bits + low_bits) / 100 >= shared_bits) return false;
    own_tables_ = own_tables;
    frequencies_ = own;
    tables_ = make_rans_tables(own);
    return true;
}

void RansEncoder::code_units() {
    std::size_t begin = 0;
    for (std::size_t u = 0; u < units_.size(); ++u) {
        const UnitRuns& ends = unit_runs_[u];
        RansUnit& unit = units_[u];
        if (ends.tail_end == begin) continue;
        const std::size_t first = out_->size();
        RansState state;
        state.low.fill(0);
        state.high.fill(1);
        const auto code = [&](std::size_t from, std::size_t to) {
            for (std::size_t r = to; r-- > from;) {
                const Run& run = runs_[r];
                auto* const room =
                    reinterpret_cast<std::uint8_t*>(out_->room(run.n + k_kernel_slack));
                const std::uint8_t* const end = rans_encode(
                    state, tables_[run.table], symbols_.data() + run.first, run.n, room);
                out_->advance(static_cast<std::size_t>(end - room));
            }
        };
        code(begin, ends.primary_end);
        code(ends.primary_end, ends.nonzero_end);
        code(ends.nonzero_end, ends.tail_end);
        unit.has_stream = true;
        unit.stream_bytes = out_->size() - first;
        out_->append(std::as_bytes(std::span(state.low)));
        out_->append(std::as_bytes(std::span(state.high)));
        begin = ends.tail_end;
    }
}

void RansEncoder::write_head(bool own) {
    const std::size_t begin = out_->size();
    out_->push_back(std::byte{0});
    out_->push_back(static_cast<std::byte>(unit_chunks_log2_));
    if (own) {
        const auto bytes = table_set_bytes(frequencies_, own_tables_);
        put_leb128(*out_, bytes.size());
        out_->append(bytes);
    }
    for (const RansUnit& unit : units_) {
        put_leb128(*out_, unit.nonzeros);
        put_leb128(*out_, unit.tails);
        put_leb128(*out_, unit.tail_bytes);
        put_leb128(*out_, unit.has_stream ? unit.stream_bytes + 1 : 0);
    }
    std::vector<std::uint8_t> all;
    for (const auto& classes : classes_) all.insert(all.end(), classes.begin(), classes.end());
    const bool packed = small_bytes_.put(*out_, all);
    const int flags = (own ? k_inline_tables_flag : 0) | (packed ? k_classes_packed_flag : 0);
    out_->data()[begin] = static_cast<std::byte>(flags);
    end_head(*out_, begin);
}

bool RansEncoder::finish() {
    end_unit();
    count_symbols();
    const bool own = drift_check() && choose_tables();
    const auto append = [&](const AlignedBuffer<std::uint8_t>& buffer) {
        out_->append(std::as_bytes(std::span(buffer.data(), buffer.size())));
    };
    append(nonzero_low_);
    append(tail_bits_.bytes());
    code_units();
    write_head(own);
    return own;
}

}  // namespace caesura::codec
