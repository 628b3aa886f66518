#include "lambda/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lambda/byte_sink.hpp"

namespace caesura::lambda {
namespace {

constexpr std::uint32_t k_results_magic = 0x31524c43;  // "CLR1"

std::string as_utf8(std::string_view text) {
    std::string out(text);
    if (!is_utf8(text))
        std::replace_if(
            out.begin(), out.end(), [](char c) { return (c & 0x80) != 0; }, '?');
    return out;
}

template <class T>
void put_list(Writer& out, const std::vector<T>& list) {
    out.u64(list.size());
    for (const T& value : list) {
        if constexpr (std::is_same_v<T, double>)
            out.f64(value);
        else
            out.u64(static_cast<std::uint64_t>(value));
    }
}

void put_value(Writer& out, const Value& value) {
    out.u8(static_cast<std::uint8_t>(value.index()));
    if (const auto* whole = std::get_if<std::int64_t>(&value))
        out.u64(static_cast<std::uint64_t>(*whole));
    else if (const auto* number = std::get_if<double>(&value))
        out.f64(*number);
    else if (const auto* text = std::get_if<std::string>(&value))
        put_text(out, *text);
    else if (const auto* wholes = std::get_if<std::vector<std::int64_t>>(&value))
        put_list(out, *wholes);
    else if (const auto* numbers = std::get_if<std::vector<double>>(&value))
        put_list(out, *numbers);
}

template <class T>
std::vector<T> get_list(Reader& in) {
    std::vector<T> list(get_count(in, 8));
    for (T& value : list) {
        if constexpr (std::is_same_v<T, double>)
            value = in.f64();
        else
            value = static_cast<T>(in.u64());
    }
    return list;
}

Result<Value> get_value(Reader& in) {
    switch (in.u8()) {
        case 0:
            return Value(static_cast<std::int64_t>(in.u64()));
        case 1:
            return Value(in.f64());
        case 2:
            return Value(get_text(in));
        case 3:
            return Value(get_list<std::int64_t>(in));
        case 4:
            return Value(get_list<double>(in));
        default:
            return corrupt("results: a value of unknown kind");
    }
}

nlohmann::ordered_json json_of(double number) {
    if (std::isfinite(number)) return number;
    if (std::isnan(number)) return "nan";
    return number > 0 ? "inf" : "-inf";
}

}  // namespace

bool is_utf8(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
        const auto lead = static_cast<unsigned char>(text[i]);
        const std::size_t n = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : 4;
        if (lead >= 0x80 && (lead < 0xc2 || lead > 0xf4)) return false;
        if (n > text.size() - i) return false;
        std::uint32_t point = n == 1 ? lead : lead & (0x7fu >> n);
        for (std::size_t k = 1; k < n; ++k) {
            const auto next = static_cast<unsigned char>(text[i + k]);
            if (next >> 6 != 2) return false;
            point = point << 6 | (next & 0x3fu);
        }
        constexpr std::uint32_t k_least[] = {0, 0, 0x80, 0x800, 0x10000};
        if (point < k_least[n] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
            return false;
        i += n;
    }
    return true;
}

void Results::put(std::string_view name, Value value) {
    if (auto* text = std::get_if<std::string>(&value)) *text = as_utf8(*text);
    const std::string key = as_utf8(name.substr(0, k_longest_result_name_bytes));
    for (Entry& entry : entries_)
        if (entry.first == key) {
            entry.second = std::move(value);
            return;
        }
    entries_.emplace_back(key, std::move(value));
}

const Value* Results::find(std::string_view name) const {
    for (const Entry& entry : entries_)
        if (entry.first == name) return &entry.second;
    return nullptr;
}

std::vector<std::byte> Results::bytes() const {
    ByteSink sink;
    Writer out(sink);
    out.u32(k_results_magic).u32(static_cast<std::uint32_t>(entries_.size()));
    for (const auto& [name, value] : entries_) {
        put_text(out, name);
        put_value(out, value);
    }
    return std::move(sink.bytes);
}

Result<Results> Results::parse(std::span<const std::byte> bytes) {
    Reader in(bytes);
    const std::uint32_t magic = in.u32();
    const std::uint32_t count = in.u32();
    if (in.ended_early()) return cut_short("results");
    if ((magic & 0xffffff) != (k_results_magic & 0xffffff)) return corrupt("these are no results");
    if (magic != k_results_magic)
        return Status(StatusCode::unsupported, "results of a later version");
    if (count > k_most_result_names)
        return corrupt(fmt::format("results: {} names, at most {}", count, k_most_result_names));
    Results results;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::string name = get_text(in);
        if (in.ended_early()) return cut_short("results");
        if (name.size() > k_longest_result_name_bytes || !is_utf8(name))
            return corrupt("results: a name that is too long or no UTF-8");
        if (results.find(name)) return corrupt("results: '" + name + "' twice");
        auto value = get_value(in);
        if (in.ended_early()) return cut_short("results");
        if (!value.ok()) return value.status();
        if (const auto* text = std::get_if<std::string>(&*value); text && !is_utf8(*text))
            return corrupt("results: '" + name + "' is no UTF-8");
        results.entries_.emplace_back(name, std::move(*value));
    }
    if (!in.rest().empty()) return corrupt("results: bytes after the end");
    return results;
}

nlohmann::ordered_json Results::to_json() const {
    auto out = nlohmann::ordered_json::object();
    for (const auto& [name, value] : entries_) {
        if (const auto* number = std::get_if<double>(&value)) {
            out[name] = json_of(*number);
        } else if (const auto* numbers = std::get_if<std::vector<double>>(&value)) {
            auto list = nlohmann::ordered_json::array();
            for (const double one : *numbers) list.push_back(json_of(one));
            out[name] = std::move(list);
        } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
            out[name] = *whole;
        } else if (const auto* text = std::get_if<std::string>(&value)) {
            out[name] = *text;
        } else if (const auto* wholes = std::get_if<std::vector<std::int64_t>>(&value)) {
            out[name] = *wholes;
        }
    }
    return out;
}

}  // namespace caesura::lambda
