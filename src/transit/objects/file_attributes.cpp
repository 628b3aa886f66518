#include "transit/objects/file_attributes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/invalid.hpp"
#include "lambda/results.hpp"

namespace caesura::transit {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* k_tags = "caesura_object_tags";
constexpr const char* k_time = "caesura_object_time";
constexpr const char* k_analyses = "caesura_analyses";

/// The latest ones that fit.
std::string text_of(const std::vector<ResultInfo>& results) {
    json all = json::object();
    std::size_t bytes = 2;
    for (auto result = results.rbegin(); result != results.rend(); ++result) {
        const auto parsed = lambda::Results::parse(result->results);
        if (!parsed.ok() || !lambda::is_utf8(result->call)) continue;
        json one = parsed->to_json();
        bytes += result->call.size() + one.dump().size() + 8;
        if (bytes > k_attribute_limit_bytes) break;
        all[result->call] = std::move(one);
    }
    return all.empty() ? std::string() : all.dump();
}

/// As Results::to_json() writes it: JSON has no NaN and no infinity.
std::optional<double> number_of(const json& value) {
    constexpr double k_infinity = std::numeric_limits<double>::infinity();
    if (value.is_number()) return value.get<double>();
    if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (value == "inf") return k_infinity;
    if (value == "-inf") return -k_infinity;
    return std::nullopt;
}

std::optional<lambda::Value> list_of(const json& list) {
    if (std::all_of(list.begin(), list.end(), [](const json& v) { return v.is_number_integer(); }))
        return list.get<std::vector<std::int64_t>>();
    std::vector<double> numbers;
    for (const json& one : list) {
        const auto number = number_of(one);
        if (!number) return std::nullopt;
        numbers.push_back(*number);
    }
    return numbers;
}

std::optional<lambda::Value> value_of(const json& value) {
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (const auto number = number_of(value)) return *number;
    if (value.is_string()) return value.get<std::string>();
    return value.is_array() ? list_of(value) : std::nullopt;
}

std::vector<ResultInfo> results_of(const std::string& text) {
    std::vector<ResultInfo> all;
    const json calls = json::parse(text, nullptr, false);
    if (!calls.is_object()) return all;
    for (const auto& [call, entries] : calls.items()) {
        if (!entries.is_object() || call.empty() || call.size() > k_call_limit_bytes ||
            all.size() >= k_calls_limit)
            continue;
        lambda::Results results;
        for (const auto& [name, value] : entries.items())
            if (auto one = value_of(value)) results.put(name, std::move(*one));
        all.push_back({call, results.bytes()});
    }
    return all;
}

bool is_tag(const json& pair) {
    return pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_string() &&
           !pair[0].get_ref<const std::string&>().empty() &&
           pair[0].get_ref<const std::string&>().size() <= k_object_name_limit_bytes &&
           pair[1].get_ref<const std::string&>().size() <= k_object_name_limit_bytes;
}

std::vector<Tag> tags_of(const std::string& text) {
    std::vector<Tag> tags;
    const json pairs = json::parse(text, nullptr, false);
    if (!pairs.is_array()) return tags;
    for (const json& pair : pairs)
        if (is_tag(pair) && tags.size() < k_tags_limit)
            tags.emplace_back(pair[0].get<std::string>(), pair[1].get<std::string>());
    return tags;
}

}  // namespace

Result<std::vector<store::Attribute>> attributes_of(const ObjectInfo& object) {
    bool is_text = lambda::is_utf8(object.container) && lambda::is_utf8(object.owner);
    json tags = json::array();
    for (const Tag& tag : object.tags) {
        is_text = is_text && lambda::is_utf8(tag.first) && lambda::is_utf8(tag.second);
        if (is_text) tags.push_back({tag.first, tag.second});
    }
    if (!is_text)
        return base::invalid(
            fmt::format("object {}: its container, owner or a tag is no UTF-8", object.name));
    const std::string tags_text = tags.dump();
    if (tags_text.size() > k_attribute_limit_bytes)
        return base::invalid(
            fmt::format("object {}: its tags take {} bytes; a file has room for {}", object.name,
                        tags_text.size(), k_attribute_limit_bytes));
    std::vector<store::Attribute> all = {{"caesura_object_id", object.id}};
    if (!object.owner.empty()) all.push_back({"caesura_object_owner", object.owner});
    if (!object.container.empty()) all.push_back({"caesura_object_container", object.container});
    if (std::isfinite(object.time)) all.push_back({k_time, object.time});
    if (!object.tags.empty()) all.push_back({k_tags, tags_text});
    if (std::string text = text_of(object.results); !text.empty())
        all.push_back({k_analyses, std::move(text)});
    return all;
}

FiledNotes notes_of(const std::vector<store::Attribute>& attributes) {
    FiledNotes notes;
    for (const store::Attribute& attribute : attributes) {
        const auto* const text = std::get_if<std::string>(&attribute.value);
        if (const auto* const time = std::get_if<double>(&attribute.value);
            time != nullptr && attribute.name == k_time)
            notes.time = *time;
        if (text != nullptr && attribute.name == k_tags) notes.tags = tags_of(*text);
        if (text != nullptr && attribute.name == k_analyses) notes.results = results_of(*text);
    }
    return notes;
}

}  // namespace caesura::transit
