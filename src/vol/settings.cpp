#include "vol/settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace caesura::vol {
namespace {

/// Does a pattern name nothing: "*", "**", "/**"?
bool is_for_all(std::string_view pattern) {
    return pattern.find_first_not_of("*/") == std::string_view::npos;
}

}  // namespace

Settings settings_of(const Config& config, const std::string& path) {
    Settings settings;
    settings.codec = config.codec;
    settings.bound = config.bound;
    settings.chunk_bytes = config.chunk_bytes;
    settings.commit_writes = config.commit_writes;
    settings.missing = config.missing;
    for (const Rule& rule : config.rules) {
        if (rule.component || !matches(rule.path, path)) continue;
        rule.use.matched = true;
        settings.capture = rule.capture.value_or(settings.capture);
        settings.codec = rule.codec.value_or(settings.codec);
        const bool for_all = is_for_all(rule.path);
        if (rule.bound) settings.bound_for_all = for_all;
        if (rule.bound_map) settings.map_for_all = for_all;
        if (rule.box.rank() > 0 || !rule.components.empty() || rule.component_axis)
            settings.arrays_for_all = for_all;
        settings.bound = rule.bound.value_or(settings.bound);
        settings.bound_map = rule.bound_map.value_or(settings.bound_map);
        settings.missing = rule.missing.value_or(settings.missing);
        settings.chunk_bytes = rule.chunk_bytes.value_or(settings.chunk_bytes);
        if (rule.chunk.rank() > 0) settings.chunk = rule.chunk;
        if (rule.box.rank() > 0) settings.box = rule.box;
        if (!rule.components.empty()) settings.components = rule.components;
        settings.component_axis = rule.component_axis.value_or(settings.component_axis);
        settings.commit_writes = rule.commit_writes.value_or(settings.commit_writes);
    }
    return settings;
}

bool may_be_shared(const ErrorBound& bound) {
    return bound.kind == ErrorBound::Kind::lossless ||
           bound.kind == ErrorBound::Kind::pointwise_relative;
}

bool is_complex(const std::vector<std::string>& names) {
    using Pair = std::vector<std::string>;
    return names == Pair{"r", "i"} || names == Pair{"re", "im"} || names == Pair{"real", "imag"};
}

bool has_bound_for_all(const Config& config) {
    const auto has_loss = [](const ErrorBound& bound) {
        return bound.kind != ErrorBound::Kind::lossless;
    };
    return has_loss(config.bound) ||
           std::any_of(config.rules.begin(), config.rules.end(), [&](const Rule& rule) {
               return rule.bound && has_loss(*rule.bound) && is_for_all(rule.path);
           });
}

bool has_own_bound(const Config& config, const std::string& path, const std::string& name) {
    return std::any_of(config.rules.begin(), config.rules.end(), [&](const Rule& rule) {
        return rule.component && rule.bound && !name.empty() && matches(rule.path, path) &&
               matches_name(*rule.component, name);
    });
}

namespace {

Status which_one(const Config& config, const std::string& path, const ErrorBound& bound,
                 const std::vector<std::string>& names, const std::vector<std::string>& left) {
    return {StatusCode::invalid_argument,
            fmt::format(
                "{} holds {} quantities ({}). {} gives no bound to {}, and its {} bound of {} "
                "would be one of all of them together. Add [[dataset]] rules with path, component "
                "and bound; component = \"*\" is every one that no later rule names. A bound_kind "
                "of lossless or pointwise_relative needs no component",
                path, names.size(), fmt::join(names, ", "),
                config.path.empty() ? "The configuration" : config.path, fmt::join(left, ", "),
                kind_name(bound), bound.value)};
}

}  // namespace

Result<std::vector<writer::Component>> components_of(const Config& config, const std::string& path,
                                                     const std::vector<std::string>& names) {
    const Settings settings = settings_of(config, path);
    const ErrorBound shared = settings.bound;
    const bool by_part = is_complex(names), several = names.size() > 1;
    std::vector<writer::Component> components;
    std::vector<std::string> left;
    for (const std::string& name : names) {
        writer::Component one{name, shared};
        bool said = false;
        for (const Rule& rule : config.rules) {
            if (!rule.component || name.empty() || !matches(rule.path, path) ||
                !matches_name(*rule.component, name))
                continue;
            rule.use.matched = true;
            one.bound = rule.bound.value_or(one.bound);
            one.as_it_is = !rule.capture.value_or(!one.as_it_is);
            said = said || rule.bound;
        }
        if (one.as_it_is) one.bound = lossless();
        if (!said && several && !by_part && !may_be_shared(one.bound)) {
            if (settings.bound_for_all) one.bound = lossless();
            if (!settings.bound_for_all) left.push_back(name);
        }
        components.push_back(std::move(one));
    }
    if (!left.empty()) return which_one(config, path, shared, names, left);
    return components;
}

std::vector<std::string> rules_without_use(const Config& config) {
    std::vector<std::string> found;
    for (const FileRule& rule : config.file_rules)
        if (!rule.use.matched) found.push_back(fmt::format("[[file]] path = \"{}\"", rule.path));
    for (const Rule& rule : config.rules) {
        if (rule.use.matched) continue;
        found.push_back(fmt::format("path = \"{}\"", rule.path));
        if (rule.component) found.back() += fmt::format(", component = \"{}\"", *rule.component);
    }
    return found;
}

}  // namespace caesura::vol
