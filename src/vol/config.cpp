#include "vol/config.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "vol/config_table.hpp"

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
    std::string_view("transport"),   std::string_view("missing"),
    std::string_view("dataset"),     std::string_view("file")};
constexpr std::array k_file_rule_keys = {std::string_view("path"), std::string_view("durability")};
constexpr std::array k_rule_keys = {
    std::string_view("path"),          std::string_view("capture"),
    std::string_view("codec"),         std::string_view("bound"),
    std::string_view("bound_kind"),    std::string_view("chunk_bytes"),
    std::string_view("chunk"),         std::string_view("box"),
    std::string_view("commit_writes"), std::string_view("component"),
    std::string_view("components"),    std::string_view("component_axis"),
    std::string_view("bound_map"),     std::string_view("missing")};

template <class T>
void put(T& target, std::optional<T> value) {
    if (value) target = std::move(*value);
}

void check_durability(Table& table, Durability& said) {
    const auto name = table.get<std::string>("durability", "a string");
    if (!name) return;
    for (const Durability durability :
         {Durability::close, Durability::complete, Durability::durable})
        if (*name == to_string(durability)) {
            said = durability;
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

Result<FileRule> parse_file_rule(const toml::table& in, const std::string& path) {
    Table table(in, path, "file.");
    table.check_keys(k_file_rule_keys);
    FileRule rule;
    put(rule.path, table.get<std::string>("path", "a string"));
    check_durability(table, rule.durability);
    if (rule.path.empty()) table.bad(in, "a [[file]] needs a path");
    if (table.node("durability") == nullptr) table.bad(in, "a [[file]] needs a durability");
    if (!table.status.ok()) return table.status;
    return rule;
}

Result<Rule> parse_rule(const toml::table& in, const std::string& path) {
    Table table(in, path, "dataset.");
    table.check_keys(k_rule_keys);
    Rule rule;
    put(rule.path, table.get<std::string>("path", "a string"));
    rule.capture = table.get<bool>("capture", "true or false");
    rule.codec = table.get_codec();
    rule.bound = table.get_bound();
    rule.bound_map = table.get_bound_map();
    rule.missing = table.get_missing();
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

/// All tables of that name. Errors: of the first that is wrong.
template <class Parse, class OneRule>
Status parse_rules(Table& table, std::string_view name, Parse&& parse, std::vector<OneRule>& all) {
    const toml::node* const rules = table.node(name);
    if (rules == nullptr) return {};
    if (!rules->is_array_of_tables()) {
        table.bad(*rules, fmt::format("'{0}' must be written [[{0}]], once for each rule", name));
        return table.status;
    }
    for (const toml::node& rule : *rules->as_array()) {
        auto one = parse(*rule.as_table(), table.path());
        if (!one.ok()) return one.status();
        all.push_back(std::move(*one));
    }
    return {};
}

std::string quoted(const std::string& text) {
    std::ostringstream out;
    out << toml::value<std::string>(text);
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

std::string missing_toml(const std::vector<FillValue>& values) {
    std::string out;
    for (const FillValue& value : values) {
        out += out.empty() ? "" : ", ";
        std::visit(
            [&]<class T>(T number) {
                out += std::is_same_v<T, double> ? number_toml(static_cast<double>(number))
                                                 : fmt::format("{}", number);
            },
            value);
    }
    return fmt::format("missing = [{}]\n", out);
}

}  // namespace

std::string_view to_string(Durability durability) {
    if (durability == Durability::complete) return "complete";
    return durability == Durability::close ? "close" : "durable";
}

Durability durability_of(const Config& config, std::string_view path) {
    Durability durability = config.durability;
    for (const FileRule& rule : config.file_rules) {
        if (!matches(rule.path, path)) continue;
        rule.use.matched = true;
        durability = rule.durability;
    }
    return durability;
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
    put(config.missing, table.get_missing());
    put(config.chunk_bytes, table.get_bytes("chunk_bytes"));
    put(config.threshold_bytes, table.get_bytes("threshold_bytes"));
    put(config.memory_bytes, table.get_bytes("memory_bytes"));
    put(config.transport, table.get<std::string>("transport", "a string"));
    put(config.report, table.get<std::string>("report", "a string"));
    put(config.commit_writes, table.get<bool>("commit_writes", "true or false"));
    check_durability(table, config.durability);
    put(config.max_delay_s, table.get_seconds("max_delay"));
    put(config.closing_line, table.get<bool>("closing_line", "true or false"));
    put(config.term_s, table.get_seconds("term_s"));
    check_on_term(table, config);
    if (Status s = parse_rules(table, "file", parse_file_rule, config.file_rules); !s.ok())
        return s;
    if (Status s = parse_rules(table, "dataset", parse_rule, config.rules); !s.ok()) return s;
    if (!table.status.ok()) return table.status;
    return config;
}

std::string absolute_path(const std::string& path) {
    if (path.empty()) return path;
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(path, error);
    return error ? path : absolute.string();
}

Result<std::shared_ptr<const Config>> load_config(const std::string& name) {
    const std::string path = absolute_path(name);
    static auto& loaded = *new std::map<std::string, std::shared_ptr<const Config>>;
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
    config->report = absolute_path(config->report);
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
    if (!config.missing.empty()) out += missing_toml(config.missing);
    for (const FileRule& rule : config.file_rules)
        out += fmt::format("\n[[file]]\npath = {}\ndurability = \"{}\"\n", quoted(rule.path),
                           to_string(rule.durability));
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
        if (rule.bound_map) out += bound_map_toml(*rule.bound_map);
        if (rule.missing) out += missing_toml(*rule.missing);
        if (rule.component_axis) out += fmt::format("component_axis = {}\n", *rule.component_axis);
    }
    return out;
}

}  // namespace caesura::vol
