#include "outcome.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace stand_in {
namespace {

void flatten(hid_t type, const std::byte* data, std::string& out, std::vector<FloatAt>* floats);

void append(std::string& out, const void* data, std::size_t count) {
    out.append(static_cast<const char*>(data), count);
}

void flatten_compound(hid_t type, const std::byte* data, std::string& out,
                      std::vector<FloatAt>* floats) {
    const int members = H5Tget_nmembers(type);
    for (int i = 0; i < members; ++i) {
        const auto member = static_cast<unsigned>(i);
        const hid_t inner = H5Tget_member_type(type, member);
        flatten(inner, data + H5Tget_member_offset(type, member), out, floats);
        H5Tclose(inner);
    }
}

void flatten_many(hid_t inner, const std::byte* data, std::size_t count, std::string& out,
                  std::vector<FloatAt>* floats) {
    const std::size_t step = H5Tget_size(inner);
    for (std::size_t i = 0; i < count; ++i) flatten(inner, data + i * step, out, floats);
}

void flatten_string(hid_t type, const std::byte* data, std::string& out) {
    if (H5Tis_variable_str(type) <= 0) return append(out, data, H5Tget_size(type));
    const char* text = nullptr;
    std::memcpy(&text, data, sizeof text);
    out += text == nullptr ? "\x01" : std::string("\x02") + text;
    out.push_back('\0');
}

std::size_t elements_of(hid_t array_type) {
    hsize_t dims[H5S_MAX_RANK] = {};
    const int rank = H5Tget_array_dims2(array_type, dims);
    std::size_t count = 1;
    for (int i = 0; i < rank; ++i) count *= dims[i];
    return count;
}

void flatten(hid_t type, const std::byte* data, std::string& out, std::vector<FloatAt>* floats) {
    const std::size_t bytes = H5Tget_size(type);
    switch (H5Tget_class(type)) {
        case H5T_COMPOUND:
            return flatten_compound(type, data, out, floats);
        case H5T_ARRAY: {
            const hid_t inner = H5Tget_super(type);
            flatten_many(inner, data, elements_of(type), out, floats);
            H5Tclose(inner);
            return;
        }
        case H5T_VLEN: {
            hvl_t sequence;
            std::memcpy(&sequence, data, sizeof sequence);
            append(out, &sequence.len, sizeof sequence.len);
            const hid_t inner = H5Tget_super(type);
            if (sequence.p != nullptr)
                flatten_many(inner, static_cast<const std::byte*>(sequence.p), sequence.len, out,
                             floats);
            H5Tclose(inner);
            return;
        }
        case H5T_STRING:
            return flatten_string(type, data, out);
        case H5T_REFERENCE: {
            const bool null =
                std::all_of(data, data + bytes, [](std::byte b) { return b == std::byte{}; });
            out += null ? "0" : "r";
            return;
        }
        case H5T_FLOAT:
            if (floats != nullptr &&
                (H5Tequal(type, H5T_NATIVE_FLOAT) > 0 || H5Tequal(type, H5T_NATIVE_DOUBLE) > 0))
                floats->push_back({out.size(), bytes});
            return append(out, data, bytes);
        default:
            return append(out, data, bytes);
    }
}

/// Members of a compound or an enumeration.
std::string members_of(hid_t type, H5T_class_t kind) {
    std::string text = "{";
    for (int i = 0; i < H5Tget_nmembers(type); ++i) {
        const auto member = static_cast<unsigned>(i);
        char* const name = H5Tget_member_name(type, member);
        text += std::string(name == nullptr ? "?" : name) + ":";
        H5free_memory(name);
        if (kind == H5T_COMPOUND) {
            const hid_t inner = H5Tget_member_type(type, member);
            text += fmt::format("{}@{} ", description(inner), H5Tget_member_offset(type, member));
            H5Tclose(inner);
        } else {
            char value[16] = {};
            if (H5Tget_size(type) <= sizeof value) H5Tget_member_value(type, member, value);
            for (std::size_t b = 0; b < H5Tget_size(type); ++b)
                text += fmt::format("{:02x}", static_cast<unsigned char>(value[b]));
            text += " ";
        }
    }
    return text + "}";
}

std::string description_of_string(hid_t type) {
    return fmt::format(" variable {} padding {} set {}", H5Tis_variable_str(type) > 0,
                       static_cast<int>(H5Tget_strpad(type)), static_cast<int>(H5Tget_cset(type)));
}

double value_at(const std::string& data, const FloatAt& at) {
    if (at.bytes == sizeof(double)) {
        double value;
        std::memcpy(&value, data.data() + at.offset, sizeof value);
        return value;
    }
    float value;
    std::memcpy(&value, data.data() + at.offset, sizeof value);
    return value;
}

std::string hex(const std::string& data, std::size_t from) {
    std::string text;
    for (std::size_t i = from; i < std::min(data.size(), from + 16); ++i)
        text += fmt::format("{:02x}", static_cast<unsigned char>(data[i]));
    return text;
}

/// Where the two differ by more than the bound.
std::optional<std::string> data_difference(const Entry& native, const Entry& ours, double bound) {
    if (native.said == ours.said) return std::nullopt;
    if (native.said.size() != ours.said.size())
        return fmt::format("{}: natively {} bytes, ours {}", native.what, native.said.size(),
                           ours.said.size());
    std::string left = native.said;
    for (const FloatAt& at : native.floats) {
        if (bound == 0) break;
        const double a = value_at(left, at), b = value_at(ours.said, at);
        // The bound holds in the values of the file; a memory type of fewer bits rounds again.
        const double slack = bound * 1e-9 + std::abs(a) * (at.bytes == 4 ? 1.2e-7 : 0);
        if (std::isfinite(a) && std::isfinite(b) && std::abs(a - b) <= bound + slack)
            std::memcpy(left.data() + at.offset, ours.said.data() + at.offset, at.bytes);
    }
    const auto [a, b] = std::mismatch(left.begin(), left.end(), ours.said.begin());
    if (a == left.end()) return std::nullopt;
    const auto at = static_cast<std::size_t>(a - left.begin());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < left.size(); ++i) wrong += left[i] != ours.said[i];
    std::string said =
        fmt::format("{}: byte {} of {}, {} bytes differ: natively {}, ours {}", native.what, at,
                    left.size(), wrong, hex(left, at), hex(ours.said, at));
    for (const FloatAt& f : native.floats)
        if (f.offset <= at && at < f.offset + f.bytes)
            said += fmt::format(" ({} and {})", value_at(left, f), value_at(ours.said, f));
    return said;
}

}  // namespace

std::string description(hid_t type) {
    const H5T_class_t kind = H5Tget_class(type);
    std::string text = fmt::format("{}/{}", static_cast<int>(kind), H5Tget_size(type));
    if (kind == H5T_INTEGER || kind == H5T_FLOAT || kind == H5T_BITFIELD)
        text +=
            fmt::format(" order {} precision {} offset {}", static_cast<int>(H5Tget_order(type)),
                        H5Tget_precision(type), H5Tget_offset(type));
    if (kind == H5T_INTEGER) text += fmt::format(" sign {}", static_cast<int>(H5Tget_sign(type)));
    if (kind == H5T_STRING) text += description_of_string(type);
    if (kind == H5T_COMPOUND || kind == H5T_ENUM) text += members_of(type, kind);
    if (kind == H5T_ARRAY) {
        hsize_t dims[H5S_MAX_RANK] = {};
        const int rank = H5Tget_array_dims2(type, dims);
        for (int i = 0; i < rank; ++i) text += fmt::format("[{}]", dims[i]);
    }
    if (kind == H5T_ARRAY || kind == H5T_VLEN || kind == H5T_ENUM) {
        const hid_t inner = H5Tget_super(type);
        text += " of " + description(inner);
        H5Tclose(inner);
    }
    if (kind == H5T_OPAQUE) {
        char* const tag = H5Tget_tag(type);
        text += std::string(" tag ") + (tag == nullptr ? "" : tag);
        H5free_memory(tag);
    }
    return text;
}

std::string flat(hid_t type, const void* data, std::size_t count, std::vector<FloatAt>* floats) {
    std::string out;
    flatten_many(type, static_cast<const std::byte*>(data), count, out, floats);
    return out;
}

bool Outcome::result(std::string_view what, long long status) {
    entries_.push_back({std::string(what), status >= 0 ? "succeeds" : "fails", {}, false});
    return status >= 0;
}

bool Outcome::truth(std::string_view what, long long status) {
    const char* said = status < 0 ? "fails" : status > 0 ? "yes" : "no";
    entries_.push_back({std::string(what), said, {}, false});
    return status > 0;
}

void Outcome::number(std::string_view what, long long value) {
    entries_.push_back({std::string(what), fmt::format("{}", value), {}, false});
}

void Outcome::text(std::string_view what, std::string_view value) {
    entries_.push_back({std::string(what), std::string(value), {}, false});
}

void Outcome::bytes(std::string_view what, const void* data, std::size_t count) {
    entries_.push_back(
        {std::string(what), std::string(static_cast<const char*>(data), count), {}, true});
}

void Outcome::values(std::string_view what, hid_t type, const void* data, std::size_t count,
                     bool is_exact) {
    Entry entry{std::string(what), {}, {}, true};
    entry.said = flat(type, data, count, is_exact ? nullptr : &entry.floats);
    entries_.push_back(std::move(entry));
}

std::string Outcome::line() const {
    std::string text;
    for (const Entry& entry : entries_) {
        std::uint64_t sum = 1469598103934665603u;  // FNV-1a
        for (const char c : entry.said)
            sum = (sum ^ static_cast<unsigned char>(c)) * 1099511628211u;
        text += entry.is_data ? fmt::format(" {}=#{:016x}", entry.what, sum)
                              : fmt::format(" {}={}", entry.what, entry.said);
    }
    return text;
}

std::optional<std::string> difference(const Outcome& native, const Outcome& ours, double bound) {
    const auto &a = native.entries(), &b = ours.entries();
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        if (a[i].what != b[i].what)
            return fmt::format("natively {} follows, ours {}", a[i].what, b[i].what);
        if (a[i].is_data) {
            if (auto said = data_difference(a[i], b[i], bound)) return said;
        } else if (a[i].said != b[i].said) {
            return fmt::format("{}: natively {}, ours {}", a[i].what, a[i].said, b[i].said);
        }
    }
    if (a.size() == b.size()) return std::nullopt;
    return fmt::format("natively {} outputs, ours {}", a.size(), b.size());
}

}  // namespace stand_in
