#include "codec/integers/integer_decoder.hpp"

#include <algorithm>
#include <cstring>

#include "codec/bound/exact_values.hpp"
#include "codec/frame/typed_view.hpp"

namespace caesura::codec {

/// What the values of one part are made of.
template <class U>
struct IntegerDecoder::Work {
    const IntegerHead& head;
    U* values;
    std::vector<U> escapes, smallest, dictionary;
    std::size_t escapes_used = 0;
    SequenceState<U> state;
    const IntegerKernels<U>& kernels = integer_kernels<U>();

    /// A broken part asks for more than there are; then zeros, and an error at the end.
    U next_escape() {
        const std::size_t at = escapes_used++;
        return at < escapes.size() ? escapes[at] : U{0};
    }
    void put_escapes(const std::uint32_t* codes, std::size_t n, U* mapped) {
        if (escapes.empty() || head.transform.form == IntegerForm::dictionary) return;
        for (std::size_t i = 0; i < n; ++i)
            if (codes[i] == k_exact_code) mapped[i] = next_escape();
    }
    /// Values from what they were mapped to. n: up to k_integer_piece.
    bool finish(std::size_t first, std::size_t n, U* mapped) {
        const IntegerTransform& transform = head.transform;
        switch (transform.form) {
            case IntegerForm::residuals:
                kernels.unmap(mapped, n, static_cast<U>(transform.base), transform.zigzag);
                kernels.restore(values, first, n, transform.neighbours, state, mapped);
                return true;
            case IntegerForm::smallest:
                kernels.unmap(mapped, n, smallest[first / k_integer_piece], false);
                std::copy_n(mapped, n, values + first);
                return true;
            case IntegerForm::dictionary:
                break;
        }
        for (std::size_t i = 0; i < n; ++i) {
            if (mapped[i] > dictionary.size()) return false;
            values[first + i] =
                mapped[i] == dictionary.size() ? next_escape() : dictionary[mapped[i]];
        }
        return true;
    }
};

template <class U>
Status IntegerDecoder::decode_as(const IntegerPart& part, const TableSet& tables,
                                 LosslessUnpacker& unpacker, std::span<std::byte> bytes) {
    const IntegerHead& head = part.head;
    const std::size_t n = bytes.size() / sizeof(U);
    const bool aligned = is_aligned<U>(bytes.data());
    if (!aligned) aligned_.resize(bytes.size() / 8 + 1);
    U* const values = reinterpret_cast<U*>(aligned ? bytes.data()
                                                   : reinterpret_cast<std::byte*>(aligned_.data()));
    Work<U> work{head, values, {}, {}, {}, 0, {}};
    Status status = unpack_values(part.sections.escapes, static_cast<std::size_t>(head.escapes),
                                  unpacker, work.escapes);
    if (!status.ok()) return status;
    const std::size_t pieces = (n + k_integer_piece - 1) / k_integer_piece;
    const bool smallest = head.transform.form == IntegerForm::smallest;
    status = unpack_values(part.sections.smallest, smallest ? pieces : 0, unpacker, work.smallest);
    if (!status.ok()) return status;
    for (std::size_t i = 1; i < work.smallest.size(); ++i)
        work.smallest[i] = static_cast<U>(work.smallest[i] + work.smallest[i - 1]);
    low_.resize(n * head.low_bytes);
    status = unpacker.unpack(part.sections.low, std::max<std::size_t>(head.low_bytes, 1), low_);
    if (!status.ok()) return status;
    work.dictionary.resize(head.entries);
    if (head.entries != 0)
        std::memcpy(work.dictionary.data(), part.sections.dictionary.data(),
                    part.sections.dictionary.size());

    const bool rans = head.coder == IntegerCoder::rans;
    status = rans ? codes_->open(part.sections.codes, n, tables)
                  : planes_.open(part.sections.codes, n, sizeof(U), unpacker);
    if (!status.ok()) return status;
    alignas(64) std::uint32_t codes[k_integer_piece + k_code_slack];
    alignas(64) U mapped[k_planes_piece];
    const std::size_t step = rans ? k_integer_piece : k_planes_piece;
    bool known = true;
    for (std::size_t first = 0; first < n && known; first += step) {
        const std::size_t length = std::min(step, n - first);
        if (rans) {
            codes_->get_chunk(codes);
            work.kernels.join(codes, low_.data() + first * head.low_bytes, length, head.low_bytes,
                              mapped);
            work.put_escapes(codes, length, mapped);
        } else {
            planes_.take(first, length, mapped);
        }
        for (std::size_t i = 0; i < length && known; i += k_integer_piece)
            known = work.finish(first + i, std::min(k_integer_piece, length - i), mapped + i);
    }
    if (rans) status = codes_->close();
    if (!status.ok()) return status;
    if (!known) return corrupt_part("an index that its dictionary does not have");
    if (work.escapes_used != work.escapes.size()) return corrupt_part("escapes of another number");
    if (!aligned) std::memcpy(bytes.data(), values, bytes.size());
    return {};
}

Status IntegerDecoder::decode(const IntegerPart& part, std::size_t value_bytes,
                              const TableSet& tables, LosslessUnpacker& unpacker,
                              std::span<std::byte> values) {
    switch (value_bytes) {
        case 1:
            return decode_as<std::uint8_t>(part, tables, unpacker, values);
        case 2:
            return decode_as<std::uint16_t>(part, tables, unpacker, values);
        case 4:
            return decode_as<std::uint32_t>(part, tables, unpacker, values);
        default:
            return decode_as<std::uint64_t>(part, tables, unpacker, values);
    }
}

}  // namespace caesura::codec
