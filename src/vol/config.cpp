#include "vol/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <sstream>
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "hdf5/block_codec.hpp"

namespace caesura::vol {
namespace {

constexpr std::array k_file_keys = {
    std::string_view("capture"),     std::string_view("codec"),
    std::string_view("bound"),       std::string_view("bound_kind"),
    std::string_view("chunk_bytes"), std::string_view("threshold_bytes"),
    std::string_view("durability"),  std::string_view("memory_bytes"),
    std::string_view("report"),      std::string_view("commit_writes"),
    std::string_view("max_delay"),   std::string_view("closing_line"),
    std::string_view("on_term"),     std::string_view("term_s"),
    std::string_view("transport"),   std::string_view("dataset")};
constexpr std::array k_rule_keys = {
    std::string_view("path"),          std::string_view("capture"),
    std::string_view("codec"),         std::string_view("bound"),
    std::string_view("bound_kind"),    std::string_view("chunk_bytes"),
    std::string_view("chunk"),         std::string_view("box"),
    std::string_view("commit_writes"), std::string_view("component"),
    std::string_view("components"),    std::string_view("component_axis")};
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

/// Reads one table; the first thing that is wrong stays in `status`.
class Table {
  public:
    Table(const toml::table& table, const std::string& path, std::string in)
        : table_(table), path_(path), in_(std::move(in)) {}

    void check_keys(std::span<const std::string_view> known) {
        for (const auto& [key, node] : table_)
            if (std::find(known.begin(), known.end(), key.str()) == known.end())
                bad(node, fmt::format("'{}{}' is no key; the nearest is '{}'", in_, key.str(),
                                      nearest(key.str(), known)));
    }
    /// Strings, truth values and numbers, as they stand in the file.
    template <class T>
    std::optional<T> get(std::string_view key, std::string_view kind) {
        const toml::node* const node = table_.get(key);
        if (node == nullptr) return std::nullopt;
        if (auto value = node->value_exact<T>()) return value;
        bad(*node, fmt::format("'{}{}' must be {}", in_, key, kind));
        return std::nullopt;
    }
    std::optional<std::uint64_t> get_bytes(std::string_view key) {
        const auto value = get<std::int64_t>(key, "a number of bytes, without a point");
        if (!value) return std::nullopt;
        if (*value >= 0) return static_cast<std::uint64_t>(*value);
        bad(*table_.get(key), fmt::format("'{}{}' is {}; bytes are 0 or more", in_, key, *value));
        return std::nullopt;
    }
    std::optional<double> get_seconds(std::string_view key) {
        const toml::node* const node = table_.get(key);
        if (node == nullptr) return std::nullopt;
        const auto value = node->value<double>();
        if (node->is_number() && *value >= 0.0) return value;
        bad(*node, fmt::format("'{}{}' must be a number of seconds, 0 or more", in_, key));
        return std::nullopt;
    }
    std::optional<ErrorBound> get_bound();
    std::optional<std::string> get_codec();
    Shape get_extents(std::string_view key);
    std::vector<std::string> get_names(std::string_view key);
    std::optional<int> get_axis(std::string_view key);
    void check_component(const toml::table& rule);
    void bad(const toml::node& node, std::string_view reason) {
        if (status.ok())
            status = {StatusCode::invalid_argument,
                      fmt::format("{}, line {}: {}", path_, node.source().begin.line, reason)};
    }
    const toml::node* node(std::string_view key) const { return table_.get(key); }

    Status status;

  private:
    const toml::table& table_;
    const std::string& path_;
    std::string in_;
};

constexpr std::array<std::pair<std::string_view, ErrorBound::Kind>, 5> k_bound_kinds{
    {{"lossless", ErrorBound::Kind::lossless},
     {"absolute", ErrorBound::Kind::absolute},
     {"relative", ErrorBound::Kind::relative},
     {"pointwise_relative", ErrorBound::Kind::pointwise_relative},
     {"psnr", ErrorBound::Kind::psnr}}};

/// Extents of an array, slowest axis first; rank 0 without the key.
Shape Table::get_extents(std::string_view key) {
    const toml::node* const node = table_.get(key);
    if (node == nullptr) return {};
    std::vector<std::uint64_t> extents;
    bool good = node->is_array();
    if (good)
        for (const toml::node& one : *node->as_array()) {
            const auto extent = one.value_exact<std::int64_t>().value_or(0);
            good = good && extent > 0 && extent <= k_longest_axis;
            extents.push_back(static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 0)));
        }
    if (good && !extents.empty() && static_cast<int>(extents.size()) <= k_max_rank)
        return Shape(extents);
    bad(*node, fmt::format("'{}{}' must be a list of 1 to {} whole numbers from 1 to {}", in_, key,
                           k_max_rank, k_longest_axis));
    return {};
}

/// A list of different names; empty without the key.
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

std::optional<int> Table::get_axis(std::string_view key) {
    const auto axis = get<std::int64_t>(key, "the number of an axis, the slowest is 0");
    if (!axis) return std::nullopt;
    if (*axis < 0 || *axis >= 32)
        bad(*table_.get(key), fmt::format("'{}{}' is {}; axes are 0 to 31", in_, key, *axis));
    return static_cast<int>(*axis);
}

/// What is said of a part of a dataset only, and what belongs together.
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

/// `bound = 1e-3` is absolute unless `bound_kind` says otherwise; `bound_kind = "lossless"` needs
/// no number.
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

template <class T>
void put(T& target, std::optional<T> value) {
    if (value) target = std::move(*value);
}

void check_durability(Table& table, Config& config) {
    const auto name = table.get<std::string>("durability", "a string");
    if (!name) return;
    for (const Durability durability :
         {Durability::close, Durability::complete, Durability::durable})
        if (*name == to_string(durability)) {
            config.durability = durability;
            return;
        }
    table.bad(*table.node("durability"),
              fmt::format("'durability' is '{}'; there are close, complete and durable", *name));
}

void check_on_term(Table& table, Config& config) {
    const auto name = table.get<std::string>("on_term", "a string");
    config.commit_on_term = name == "commit";
    if (name && *name != "commit" && *name != "nothing")
        table.bad(*table.node("on_term"),
                  fmt::format("'on_term' is '{}'; there are nothing and commit", *name));
}

Result<Rule> parse_rule(const toml::table& in, const std::string& path) {
    Table table(in, path, "dataset.");
    table.check_keys(k_rule_keys);
    Rule rule;
    put(rule.path, table.get<std::string>("path", "a string"));
    rule.capture = table.get<bool>("capture", "true or false");
    rule.codec = table.get_codec();
    rule.bound = table.get_bound();
    rule.chunk_bytes = table.get_bytes("chunk_bytes");
    rule.chunk = table.get_extents("chunk");
    rule.box = table.get_extents("box");
    rule.commit_writes = table.get<bool>("commit_writes", "true or false");
    rule.component = table.get<std::string>("component", "a string");
    rule.components = table.get_names("components");
    rule.component_axis = table.get_axis("component_axis");
    table.check_component(in);
    if (rule.component && rule.component->empty())
        table.bad(*in.get("component"), "'dataset.component' is empty; \"*\" is every component");
    if (rule.path.empty()) table.bad(in, "a [[dataset]] needs a path");
    if (!table.status.ok()) return table.status;
    return rule;
}

std::string quoted(const std::string& text) {
    std::ostringstream out;
    out << toml::value<std::string>(text);
    return out.str();
}

/// Reads back as the same double.
std::string number_toml(double number) {
    std::ostringstream out;
    out << toml::value<double>(number);
    return out.str();
}

std::string bound_toml(const ErrorBound& bound) {
    const std::string kind = fmt::format("bound_kind = \"{}\"\n", kind_name(bound));
    if (bound.kind == ErrorBound::Kind::lossless) return kind;
    return fmt::format("bound = {}\n{}", number_toml(bound.value), kind);
}

std::string names_toml(std::string_view key, const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& name : names) out += (out.empty() ? "" : ", ") + quoted(name);
    return fmt::format("{} = [{}]\n", key, out);
}

std::string extents_toml(std::string_view key, const Shape& extents) {
    std::string out;
    for (int axis = 0; axis < extents.rank(); ++axis)
        out += fmt::format("{}{}", axis == 0 ? "" : ", ", extents[axis]);
    return fmt::format("{} = [{}]\n", key, out);
}

}  // namespace

std::string_view kind_name(const ErrorBound& bound) {
    for (const auto& [name, kind] : k_bound_kinds)
        if (kind == bound.kind) return name;
    return {};
}

std::string_view to_string(Durability durability) {
    if (durability == Durability::complete) return "complete";
    return durability == Durability::close ? "close" : "durable";
}

Result<Config> parse_config(std::string_view text, const std::string& path) {
    const toml::parse_result parsed = toml::parse(text, path);
    if (!parsed)
        return Status{StatusCode::invalid_argument,
                      fmt::format("{}, line {}: {}", path, parsed.error().source().begin.line,
                                  parsed.error().description())};
    Config config;
    config.path = path;
    Table table(parsed.table(), path, "");
    table.check_keys(k_file_keys);
    put(config.capture, table.get<bool>("capture", "true or false"));
    put(config.codec, table.get_codec());
    put(config.bound, table.get_bound());
    put(config.chunk_bytes, table.get_bytes("chunk_bytes"));
    put(config.threshold_bytes, table.get_bytes("threshold_bytes"));
    put(config.memory_bytes, table.get_bytes("memory_bytes"));
    put(config.transport, table.get<std::string>("transport", "a string"));
    put(config.report, table.get<std::string>("report", "a string"));
    put(config.commit_writes, table.get<bool>("commit_writes", "true or false"));
    check_durability(table, config);
    put(config.max_delay_s, table.get_seconds("max_delay"));
    put(config.closing_line, table.get<bool>("closing_line", "true or false"));
    put(config.term_s, table.get_seconds("term_s"));
    check_on_term(table, config);
    if (const toml::node* const rules = table.node("dataset")) {
        if (!rules->is_array_of_tables()) {
            table.bad(*rules, "'dataset' must be written [[dataset]], once for each rule");
        } else {
            for (const toml::node& rule : *rules->as_array()) {
                auto one = parse_rule(*rule.as_table(), path);
                if (!one.ok()) return one.status();
                config.rules.push_back(std::move(*one));
            }
        }
    }
    if (!table.status.ok()) return table.status;
    return config;
}

Result<std::shared_ptr<const Config>> load_config(const std::string& path) {
    static std::map<std::string, std::shared_ptr<const Config>> loaded;
    if (const auto found = loaded.find(path); found != loaded.end()) return found->second;
    if (path.empty()) return loaded[path] = std::make_shared<const Config>();
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    // An empty file is a configuration; inserting nothing counts as a failure of `text`.
    if (!file || (file.peek() != std::ifstream::traits_type::eof() && !(text << file.rdbuf())))
        return Status{StatusCode::io, fmt::format("{}: the configuration that "
                                                  "HDF5_VOL_CONNECTOR names cannot be read",
                                                  path)};
    auto config = parse_config(text.str(), path);
    if (!config.ok()) return config.status();
    return loaded[path] = std::make_shared<const Config>(std::move(*config));
}

std::string to_toml(const Config& config) {
    std::string out = fmt::format(
        "capture = {}\ncodec = {}\n{}chunk_bytes = {}\nthreshold_bytes = {}\n"
        "memory_bytes = {}\ndurability = \"{}\"\ntransport = {}\nreport = {}\n"
        "commit_writes = {}\n"
        "max_delay = {}\nclosing_line = {}\non_term = \"{}\"\nterm_s = {}\n",
        config.capture, quoted(config.codec), bound_toml(config.bound), config.chunk_bytes,
        config.threshold_bytes, config.memory_bytes, to_string(config.durability),
        quoted(config.transport), quoted(config.report), config.commit_writes,
        number_toml(config.max_delay_s), config.closing_line,
        config.commit_on_term ? "commit" : "nothing", number_toml(config.term_s));
    for (const Rule& rule : config.rules) {
        out += fmt::format("\n[[dataset]]\npath = {}\n", quoted(rule.path));
        if (rule.capture) out += fmt::format("capture = {}\n", *rule.capture);
        if (rule.codec) out += fmt::format("codec = {}\n", quoted(*rule.codec));
        if (rule.bound) out += bound_toml(*rule.bound);
        if (rule.chunk.rank() > 0) out += extents_toml("chunk", rule.chunk);
        if (rule.box.rank() > 0) out += extents_toml("box", rule.box);
        if (rule.chunk_bytes) out += fmt::format("chunk_bytes = {}\n", *rule.chunk_bytes);
        if (rule.commit_writes) out += fmt::format("commit_writes = {}\n", *rule.commit_writes);
        if (rule.component) out += fmt::format("component = {}\n", quoted(*rule.component));
        if (!rule.components.empty()) out += names_toml("components", rule.components);
        if (rule.component_axis) out += fmt::format("component_axis = {}\n", *rule.component_axis);
    }
    return out;
}

}  // namespace caesura::vol
