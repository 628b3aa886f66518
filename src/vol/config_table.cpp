#include "vol/config_table.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <sstream>

#include "hdf5/block_codec.hpp"

namespace caesura::vol {
namespace {

/// Of a rule with a component.
constexpr std::array k_component_keys = {std::string_view("path"), std::string_view("component"),
                                         std::string_view("bound"), std::string_view("bound_kind"),
                                         std::string_view("capture")};

constexpr std::int64_t k_longest_axis = std::numeric_limits<std::uint32_t>::max();

/// Insertions, deletions and replacements that make one word of the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row.back();
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> words) {
    return *std::min_element(words.begin(), words.end(), [&](auto a, auto b) {
        return edit_distance(word, a) < edit_distance(word, b);
    });
}

constexpr std::array<std::pair<std::string_view, ErrorBound::Kind>, 5> k_bound_kinds{
    {{"lossless", ErrorBound::Kind::lossless},
     {"absolute", ErrorBound::Kind::absolute},
     {"relative", ErrorBound::Kind::relative},
     {"pointwise_relative", ErrorBound::Kind::pointwise_relative},
     {"psnr", ErrorBound::Kind::psnr}}};

}  // namespace

std::string_view kind_name(const ErrorBound& bound) {
    for (const auto& [name, kind] : k_bound_kinds)
        if (kind == bound.kind) return name;
    return {};
}

std::string number_toml(double number) {
    std::ostringstream out;
    out << toml::value<double>(number);
    return out.str();
}

void Table::check_keys(std::span<const std::string_view> known) {
    for (const auto& [key, node] : table_)
        if (std::find(known.begin(), known.end(), key.str()) == known.end())
            bad(node, fmt::format("'{}{}' is no key; the nearest is '{}'", in_, key.str(),
                                  nearest(key.str(), known)));
}

void Table::bad(const toml::node& node, std::string_view reason) {
    if (status.ok())
        status = {StatusCode::invalid_argument,
                  fmt::format("{}, line {}: {}", path_, node.source().begin.line, reason)};
}

std::optional<std::uint64_t> Table::get_bytes(std::string_view key) {
    const auto value = get<std::int64_t>(key, "a number of bytes, without a point");
    if (!value) return std::nullopt;
    if (*value >= 0) return static_cast<std::uint64_t>(*value);
    bad(*table_.get(key), fmt::format("'{}{}' is {}; bytes are 0 or more", in_, key, *value));
    return std::nullopt;
}

std::optional<double> Table::get_seconds(std::string_view key) {
    const toml::node* const node = table_.get(key);
    if (node == nullptr) return std::nullopt;
    const auto value = node->value<double>();
    if (node->is_number() && *value >= 0.0) return value;
    bad(*node, fmt::format("'{}{}' must be a number of seconds, 0 or more", in_, key));
    return std::nullopt;
}

double Table::need_number(std::string_view key, std::string_view hint) {
    const toml::node* const node = table_.get(key);
    if (node != nullptr && node->is_number()) return *node->value<double>();
    const std::string reason = fmt::format("'{}{}' must be a number{}", in_, key, hint);
    if (node != nullptr)
        bad(*node, reason);
    else
        bad(reason);
    return 0.0;
}

Shape Table::get_extents(std::string_view key, std::int64_t least) {
    const toml::node* const node = table_.get(key);
    if (node == nullptr) return {};
    std::vector<std::uint64_t> extents;
    bool good = node->is_array();
    if (good)
        for (const toml::node& one : *node->as_array()) {
            const auto extent = one.value_exact<std::int64_t>().value_or(-1);
            good = good && extent >= least && extent <= k_longest_axis;
            extents.push_back(static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 0)));
        }
    if (good && !extents.empty() && static_cast<int>(extents.size()) <= k_max_rank)
        return Shape(extents);
    bad(*node, fmt::format("'{}{}' must be a list of 1 to {} whole numbers from {} to {}", in_, key,
                           k_max_rank, least, k_longest_axis));
    return {};
}

std::vector<std::string> Table::get_names(std::string_view key) {
    const toml::node* const node = table_.get(key);
    if (node == nullptr) return {};
    std::vector<std::string> names;
    bool good = node->is_array() && !node->as_array()->empty();
    if (good)
        for (const toml::node& one : *node->as_array()) {
            names.push_back(one.value_exact<std::string>().value_or(""));
            good = good && !names.back().empty() &&
                   std::count(names.begin(), names.end(), names.back()) == 1;
        }
    if (!good) bad(*node, fmt::format("'{}{}' must be a list of different names", in_, key));
    return names;
}

std::optional<std::vector<FillValue>> Table::get_missing() {
    const toml::node* const node = table_.get("missing");
    if (node == nullptr) return std::nullopt;
    constexpr std::size_t k_most = 255;
    std::vector<FillValue> values;
    bool good = node->is_array() && node->as_array()->size() <= k_most;
    if (good)
        for (const toml::node& one : *node->as_array()) {
            good = good && one.is_number();
            if (const auto whole = one.value_exact<std::int64_t>())
                values.emplace_back(*whole);
            else
                values.emplace_back(one.value<double>().value_or(0.0));
        }
    if (!good)
        bad(*node, fmt::format("'{}missing' must be a list of numbers, such as [1e20]", in_));
    return values;
}

std::optional<int> Table::get_axis(std::string_view key) {
    const auto axis = get<std::int64_t>(key, "the number of an axis, the slowest is 0");
    if (!axis) return std::nullopt;
    if (*axis < 0 || *axis >= 32)
        bad(*table_.get(key), fmt::format("'{}{}' is {}; axes are 0 to 31", in_, key, *axis));
    return static_cast<int>(*axis);
}

void Table::check_component(const toml::table& rule) {
    if (rule.contains("component"))
        for (const auto& [key, node] : rule)
            if (std::find(k_component_keys.begin(), k_component_keys.end(), key.str()) ==
                k_component_keys.end())
                bad(node, fmt::format("'{}{}' is said of whole datasets; put it into a rule "
                                      "without 'component'",
                                      in_, key.str()));
    const bool box = rule.contains("box"), axis = rule.contains("component_axis");
    if (rule.contains("components") && box == axis)
        bad(*rule.get("components"),
            fmt::format("'{}components' needs one of '{}box' (one after the other in a dataset of "
                        "one axis) and '{}component_axis'",
                        in_, in_, in_));
    if (axis && box)
        bad(*rule.get("component_axis"),
            fmt::format("'{}component_axis' and '{}box' exclude each other", in_, in_));
}

std::optional<ErrorBound> Table::get_bound() {
    const toml::node* const number = table_.get("bound");
    const auto name = get<std::string>("bound_kind", "a string");
    if (number == nullptr && !name) return std::nullopt;
    ErrorBound bound = absolute(0);
    if (name) {
        const auto* const found =
            std::find_if(k_bound_kinds.begin(), k_bound_kinds.end(),
                         [&](const auto& kind) { return kind.first == *name; });
        if (found == k_bound_kinds.end()) {
            bad(*table_.get("bound_kind"),
                fmt::format("'{}bound_kind' is '{}'; there are lossless, absolute, relative, "
                            "pointwise_relative and psnr",
                            in_, *name));
            return std::nullopt;
        }
        bound.kind = found->second;
    }
    if (number != nullptr) {
        if (!number->is_number()) bad(*number, fmt::format("'{}bound' must be a number", in_));
        bound.value = number->value<double>().value_or(0);
    }
    if (bound.kind == ErrorBound::Kind::lossless) return lossless();
    if (const Status checked = validate(bound); !checked.ok())
        bad(number != nullptr ? *number : *table_.get("bound_kind"), checked.message());
    return bound;
}

std::optional<std::string> Table::get_codec() {
    auto name = get<std::string>("codec", "a string");
    if (!name) return name;
    if (const Status checked = validate_codec({*name}); !checked.ok())
        bad(*table_.get("codec"), checked.message());
    return name;
}

}  // namespace caesura::vol
