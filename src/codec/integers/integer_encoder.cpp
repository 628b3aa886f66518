#include "codec/integers/integer_encoder.hpp"

#include <cstring>

#include "codec/bound/exact_values.hpp"
#include "codec/frame/typed_view.hpp"

namespace caesura::codec {
namespace {

/// Of so few values the part itself tells its size.
constexpr std::size_t k_small_bytes = std::size_t{1} << 16;
/// What compresses so far is coded in little more time than a sample takes, and no sample says how
/// far what repeats from afar will shrink.
constexpr double k_easy_ratio = 50;

template <class Call>
auto with_width(std::size_t value_bytes, Call call) {
    switch (value_bytes) {
        case 1:
            return call(std::uint8_t{});
        case 2:
            return call(std::uint16_t{});
        case 4:
            return call(std::uint32_t{});
        default:
            return call(std::uint64_t{});
    }
}

/// The values, at a place where a U may lie.
template <class U>
std::span<const U> aligned_view(std::span<const std::byte> bytes,
                                std::vector<std::uint64_t>& memory) {
    const std::size_t n = bytes.size() / sizeof(U);
    if (is_aligned<U>(bytes.data())) return {reinterpret_cast<const U*>(bytes.data()), n};
    memory.resize(bytes.size() / 8 + 1);
    std::memcpy(memory.data(), bytes.data(), bytes.size());
    return {reinterpret_cast<const U*>(memory.data()), n};
}

}  // namespace

template <class U>
void IntegerEncoder::write_codes(std::span<const U> values, const IntegerTask& task,
                                 const Forward<U>& forward, double expected_bytes,
                                 TableStatistics* statistics, LeftOut<U>& left_out,
                                 IntegerHead& head, Output& out) {
    const IntegerKernels<U>& kernels = integer_kernels<U>();
    alignas(64) U mapped[k_integer_piece];
    alignas(64) std::uint32_t codes[k_integer_piece + k_code_slack];
    low_.resize(values.size() * head.low_bytes);
    codes_->set_drift_check(task.drift_check);
    codes_->begin(values.size(), *task.tables, statistics,
                  static_cast<std::uint64_t>(expected_bytes), out);
    for (std::size_t first = 0; first < values.size(); first += k_integer_piece) {
        const std::size_t n = std::min(k_integer_piece, values.size() - first);
        forward.take(first, n, mapped, left_out);
        if (kernels.split(mapped, n, head.low_bytes, codes, low_.data() + first * head.low_bytes)) {
            for (std::size_t i = 0; i < n; ++i)
                if (codes[i] == k_exact_code) left_out.escapes.push_back(mapped[i]);
        }
        std::fill(codes + n, codes + k_integer_piece, 0U);
        codes_->put_chunk(codes, n);
    }
    head.own_tables = codes_->finish();
    if (!head.own_tables) head.table_set_id = task.tables->id();
}

template <class U>
void IntegerEncoder::write_planes(std::span<const U> values, const Forward<U>& forward,
                                  LeftOut<U>& left_out, Output& out) {
    alignas(64) U piece[k_planes_piece];
    planes_.begin(values.size(), sizeof(U));
    for (std::size_t first = 0; first < values.size(); first += k_planes_piece) {
        const std::size_t n = std::min(k_planes_piece, values.size() - first);
        for (std::size_t i = 0; i < n; i += k_integer_piece)
            forward.take(first + i, std::min(k_integer_piece, n - i), piece + i, left_out);
        planes_.put(piece, n);
    }
    planes_.finish(packer_, out);
}

template <class U>
void IntegerEncoder::write(std::span<const U> values, const IntegerTask& task,
                           const IntegerChoice& choice, TableStatistics* statistics, Output& out) {
    if (choice.bytes_only) {
        out.push_back(static_cast<std::byte>(PartKind::lossless));
        packer_.pack(std::as_bytes(values), sizeof(U), out);
        return;
    }
    IntegerHead head = choice.head;
    const Dictionary<U> dictionary(std::vector<U>(choice.entries.begin(), choice.entries.end()));
    const Forward<U> forward(values, head.transform, sign_bit<U>(task.is_signed), &dictionary);
    LeftOut<U> left_out;
    low_.clear();
    out.push_back(static_cast<std::byte>(PartKind::integers));
    if (head.coder == IntegerCoder::rans) {
        write_codes(values, task, forward, choice.bytes, statistics, left_out, head, out);
    } else {
        write_planes(values, forward, left_out, out);
    }
    head.escapes = left_out.escapes.size();
    std::size_t begin = out.size();
    const auto bytes_since = [&] {
        const std::size_t bytes = out.size() - begin;
        begin = out.size();
        return bytes;
    };
    pack_values<U>(left_out.escapes, packer_, out);
    const std::size_t escape_bytes = bytes_since();
    std::vector<U>& smallest = left_out.smallest;
    for (std::size_t i = smallest.size(); i-- > 1;)
        smallest[i] = static_cast<U>(smallest[i] - smallest[i - 1]);
    pack_values<U>(smallest, packer_, out);
    const std::size_t smallest_bytes = bytes_since();
    if (!low_.empty()) packer_.pack(low_, head.low_bytes, out);
    const std::size_t low_bytes = bytes_since();
    out.append(std::as_bytes(std::span(dictionary.values())));
    write_integer_head(head, sizeof(U), escape_bytes, smallest_bytes, low_bytes, out);
}

template <class U>
void IntegerEncoder::encode_as(std::span<const std::byte> bytes, const IntegerTask& task,
                               TableStatistics* statistics, Output& out) {
    const std::span<const U> values = aligned_view<U>(bytes, aligned_);
    const std::size_t begin = out.size();
    const IntegerChoice choice = choose_integers(values, task, packer_, planes_);
    out.expect(begin + static_cast<std::size_t>(1.25 * choice.bytes) + 256);
    TableStatistics counts;
    write(values, task, choice, statistics != nullptr ? &counts : nullptr, out);
    // A sample misses what is rare and dear. Bit planes of the values themselves miss nothing.
    constexpr double k_surprise = 1.25;
    constexpr std::size_t k_least_surprise_bytes = 4096;
    const std::size_t found = out.size() - begin;
    if (static_cast<double>(found) > k_surprise * choice.bytes + k_least_surprise_bytes) {
        IntegerChoice plain;
        plain.head.coder = IntegerCoder::planes;
        Output other;
        write(values, task, plain, nullptr, other);
        if (other.size() < found) {
            out.shrink(begin);
            out.append(other.bytes());
            counts = TableStatistics();
        }
    }
    if (out.size() - begin > bytes.size()) {
        out.shrink(begin);
        out.push_back(static_cast<std::byte>(PartKind::raw));
        out.append(bytes);
        return;
    }
    if (statistics != nullptr) statistics->add(counts);
}

void IntegerEncoder::encode(std::span<const std::byte> values, std::size_t value_bytes,
                            const IntegerTask& task, TableStatistics* statistics, Output& out) {
    with_width(value_bytes, [&]<class U>(U) { encode_as<U>(values, task, statistics, out); });
}

void IntegerEncoder::encode_as_told(std::span<const std::byte> values, std::size_t value_bytes,
                                    const IntegerTask& task, const IntegerChoice& choice,
                                    Output& out) {
    with_width(value_bytes, [&]<class U>(U) {
        write(aligned_view<U>(values, aligned_), task, choice, nullptr, out);
    });
}

std::uint64_t IntegerEncoder::predict(std::span<const std::byte> values, std::size_t value_bytes,
                                      const IntegerTask& task) {
    return with_width(value_bytes, [&]<class U>(U) -> std::uint64_t {
        const auto view = aligned_view<U>(values, aligned_);
        const IntegerChoice choice = choose_integers(view, task, packer_, planes_);
        const auto raw = static_cast<double>(values.size());
        if (values.size() <= k_small_bytes || choice.bytes * k_easy_ratio < raw) {
            Output out;
            write(view, task, choice, nullptr, out);
            return std::min<std::uint64_t>(out.size(), 1 + values.size());
        }
        const double bytes = closer_estimate(choice, view, task, packer_, planes_);
        return std::min<std::uint64_t>(static_cast<std::uint64_t>(bytes), 1 + values.size());
    });
}

}  // namespace caesura::codec
