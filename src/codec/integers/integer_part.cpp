#include "codec/integers/integer_part.hpp"

#include <fmt/format.h>

#include "codec/entropy/rans_section.hpp"
#include "codec/frame/byte_io.hpp"

namespace caesura::codec {
namespace {

constexpr std::uint8_t k_zigzag = 1;
constexpr std::uint8_t k_own_tables = 2;
constexpr std::uint8_t k_exclusive_or = 4;
constexpr std::uint8_t k_flags = 7;

/// Do the numbers of a head fit together and the slab?
const char* wrong_in(const IntegerHead& head, std::uint64_t n, std::size_t value_bytes) {
    const Neighbours& by = head.transform.neighbours;
    const bool residuals = head.transform.form == IntegerForm::residuals;
    if (by.order > 2 || (by.exclusive_or && by.order > 1)) return "an order of differences";
    if (by.near >= k_most_predicted_values || by.far >= k_most_predicted_values ||
        (by.near == 0 && by.far != 0))
        return "a neighbour's distance";
    if (!residuals && by != Neighbours{}) return "neighbours where none are known";
    if (head.low_bytes > (value_bytes == 8 ? k_most_low_bytes : 0U)) return "its low bytes";
    if (head.coder == IntegerCoder::planes && head.low_bytes != 0) return "its low bytes";
    if ((head.entries != 0) != (head.transform.form == IntegerForm::dictionary))
        return "its dictionary";
    if (head.entries != 0 && (head.low_bytes != 0 || head.transform.zigzag || head.transform.base))
        return "its dictionary";
    if (head.escapes > n) return "its escapes";
    if (head.own_tables && head.table_set_id != 0) return "its tables";
    return nullptr;
}

}  // namespace

void write_integer_head(const IntegerHead& head, std::size_t value_bytes,
                        std::uint64_t escape_bytes, std::uint64_t smallest_bytes,
                        std::uint64_t low_bytes, Output& out) {
    const std::size_t begin = out.size();
    const Neighbours& by = head.transform.neighbours;
    const int flags = (head.transform.zigzag ? k_zigzag : 0) |
                      (head.own_tables ? k_own_tables : 0) | (by.exclusive_or ? k_exclusive_or : 0);
    ByteWriter(out)
        .u8(static_cast<std::uint8_t>(head.coder))
        .u8(static_cast<std::uint8_t>(head.transform.form))
        .u8(static_cast<std::uint8_t>(flags))
        .u8(by.order)
        .u8(head.low_bytes)
        .u8(head.entries);
    for (const std::uint64_t number :
         {by.near, by.far, head.escapes, escape_bytes, smallest_bytes, low_bytes})
        put_leb128(out, number);
    base::put_little(out.room(value_bytes), head.transform.base, value_bytes);
    out.advance(value_bytes);
    if (head.table_set_id != 0) ByteWriter(out).u64(head.table_set_id);
    ByteWriter(out).u8(static_cast<std::uint8_t>(out.size() - begin));
}

Result<IntegerPart> read_integer_part(std::span<const std::byte> part, std::uint64_t n,
                                      std::size_t value_bytes) {
    const auto wrong = [](const char* what) {
        return corrupt_part(fmt::format("of integers, and {} cannot be", what));
    };
    if (n >= k_most_predicted_values) return wrong("so many values");
    std::size_t left = part.size() - 1;  // for the kind
    const std::size_t head_bytes = left > 0 ? std::to_integer<std::size_t>(part.back()) : 0;
    constexpr std::size_t k_fixed_bytes = 6;
    if (head_bytes < k_fixed_bytes || left < head_bytes + 1) return wrong("its head");
    left -= head_bytes + 1;
    auto in = part.subspan(1 + left, head_bytes);
    IntegerPart result;
    IntegerHead& head = result.head;
    const auto byte = [&](std::size_t i) { return std::to_integer<std::uint8_t>(in[i]); };
    const std::uint8_t coder = byte(0), form = byte(1), flags = byte(2);
    if (coder > static_cast<std::uint8_t>(IntegerCoder::planes)) return wrong("its coder");
    if (form > static_cast<std::uint8_t>(IntegerForm::smallest)) return wrong("its form");
    if ((flags & ~k_flags) != 0) return wrong("its flags");
    head.coder = static_cast<IntegerCoder>(coder);
    head.transform.form = static_cast<IntegerForm>(form);
    head.transform.zigzag = (flags & k_zigzag) != 0;
    head.own_tables = (flags & k_own_tables) != 0;
    head.transform.neighbours.exclusive_or = (flags & k_exclusive_or) != 0;
    head.transform.neighbours.order = byte(3);
    head.low_bytes = byte(4);
    head.entries = byte(5);
    in = in.subspan(k_fixed_bytes);
    std::uint64_t escape_bytes = 0, smallest_bytes = 0, low_bytes = 0;
    for (std::uint64_t* number : {&head.transform.neighbours.near, &head.transform.neighbours.far,
                                  &head.escapes, &escape_bytes, &smallest_bytes, &low_bytes})
        if (!take_leb128(in, *number)) return wrong("its head");
    if (in.size() != value_bytes && in.size() != value_bytes + 8) return wrong("its head");
    head.transform.base = base::get_little(in.data(), value_bytes);
    in = in.subspan(value_bytes);
    if (!in.empty()) head.table_set_id = ByteReader(in).u64();
    if (const char* what = wrong_in(head, n, value_bytes)) return wrong(what);
    const auto take = [&](std::uint64_t bytes, std::span<const std::byte>& section) {
        if (bytes > left) return false;
        left -= static_cast<std::size_t>(bytes);
        section = part.subspan(1 + left, static_cast<std::size_t>(bytes));
        return true;
    };
    IntegerSections& sections = result.sections;
    if (!take(head.entries * value_bytes, sections.dictionary) || !take(low_bytes, sections.low) ||
        !take(smallest_bytes, sections.smallest) || !take(escape_bytes, sections.escapes))
        return wrong("the size of a section");
    sections.codes = part.subspan(1, left);
    return result;
}

}  // namespace caesura::codec
