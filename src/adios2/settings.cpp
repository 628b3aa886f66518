#include "adios2/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>

namespace caesura::adios {
namespace {

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

Status wrong(std::string message) { return {StatusCode::invalid_argument, std::move(message)}; }

template <class T>
bool parse(const std::string& text, T& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

Status bad(const std::string& name, const std::string& text, std::string_view wanted) {
    return wrong(fmt::format("parameter '{}' is '{}'; it must be {}", name, text, wanted));
}

using Take = std::function<Status(Settings&, const std::string& name, const std::string& text)>;

template <class Member>
Take number(Member member, std::string_view wanted) {
    return [member, wanted](Settings& to, const std::string& name, const std::string& text) {
        return parse(text, to.options.*member) ? Status{} : bad(name, text, wanted);
    };
}
Take text_of(std::string WriterOptions::*member) {
    return [member](Settings& to, const std::string&, const std::string& text) {
        to.options.*member = text;
        return Status{};
    };
}

const std::map<std::string, Take>& takers() {
    static const auto& all = *new std::map<std::string, Take>{
        {"filename",
         [](Settings& to, const std::string&, const std::string& text) {
             to.file = text;
             return Status{};
         }},
        {"ranks",
         [](Settings& to, const std::string& name, const std::string& text) {
             const std::string said = lower(text);
             to.ranks = said == "all" ? Settings::Ranks::all : Settings::Ranks::one;
             return said == "all" || said == "one" ? Status{} : bad(name, text, "all or one");
         }},
        {"bound",
         [](Settings& to, const std::string& name, const std::string& text) {
             const auto bound = adios::bound_of(text);
             if (!bound.ok()) return bound.status().with_context("parameter '" + name + "'");
             to.options.bound = *bound;
             return Status{};
         }},
        {"codec",
         [](Settings& to, const std::string&, const std::string& text) {
             to.options.codec.name = text;
             return Status{};
         }},
        {"layout",
         [](Settings& to, const std::string&, const std::string& text) {
             to.options.layout = text == "steps" ? "/Step%T/{field}" : text;
             return Status{};
         }},
        {"durable",
         [](Settings& to, const std::string& name, const std::string& text) {
             const std::string said = lower(text);
             to.options.durable = said == "true" || said == "on" || said == "1";
             const bool known =
                 to.options.durable || said == "false" || said == "off" || said == "0";
             return known ? Status{} : bad(name, text, "true or false");
         }},
        {"tracepath", text_of(&WriterOptions::trace_path)},
        {"maxdelay", number(&WriterOptions::max_delay_s, "seconds")},
        {"memorybytes", number(&WriterOptions::memory_bytes, "a number of bytes")},
        {"chunkbytes", number(&WriterOptions::chunk_bytes, "a number of bytes")},
        {"compressthreads", number(&WriterOptions::compress_threads, "a number of threads")},
    };
    return all;
}

/// Of ADIOS2's own engines; openPMD-api sets them for any. They say nothing of values.
bool is_of_other_engines(const std::string& key) {
    static constexpr std::string_view k_keys[] = {
        "verbose",         "collectivemetadata", "profile",     "asyncwrite",
        "substreams",      "numaggregators",     "numsubfiles", "aggregationtype",
        "bufferchunksize", "maxshmsize",         "statslevel"};
    return std::find(std::begin(k_keys), std::end(k_keys), key) != std::end(k_keys);
}

}  // namespace

Result<ErrorBound> bound_of(const std::string& text) {
    static const std::pair<std::string_view, ErrorBound::Kind> kinds[] = {
        {"absolute", ErrorBound::Kind::absolute},
        {"relative", ErrorBound::Kind::relative},
        {"pointwise_relative", ErrorBound::Kind::pointwise_relative},
        {"psnr", ErrorBound::Kind::psnr}};
    if (lower(text) == "lossless") return lossless();
    const std::size_t space = text.find(' ');
    ErrorBound bound = absolute(0.0);
    const auto* const kind = std::find_if(std::begin(kinds), std::end(kinds), [&](const auto& k) {
        return k.first == lower(text.substr(0, space));
    });
    const bool named = space != std::string::npos && kind != std::end(kinds);
    if (named) bound.kind = kind->second;
    if (!parse(named ? text.substr(space + 1) : text, bound.value))
        return wrong(
            fmt::format("'{}' is no bound; say a number (absolute), 'relative 1e-3', "
                        "'pointwise_relative 1e-3', 'psnr 80' or 'lossless'",
                        text));
    if (Status status = validate(bound); !status.ok()) return status;
    return bound;
}

ErrorBound Settings::bound_of(const std::string& variable, DType dtype) const {
    if (is_integer(dtype)) return lossless();
    const auto found = bounds.find(variable);
    return found == bounds.end() ? options.bound : found->second;
}

Result<Settings> settings_of(const Parameters& parameters) {
    constexpr std::string_view k_of_a_variable = "bound.";
    Settings settings;
    for (const auto& [name, text] : parameters) {
        const std::string key = lower(name);
        if (key == "pluginname" || key == "pluginlibrary" || is_of_other_engines(key)) continue;
        if (key.starts_with(k_of_a_variable)) {
            const auto bound = bound_of(text);
            if (!bound.ok()) return bound.status().with_context("parameter '" + name + "'");
            settings.bounds[name.substr(k_of_a_variable.size())] = *bound;
            continue;
        }
        const auto taker = takers().find(key);
        if (taker == takers().end()) {
            std::string known = "Bound.NAME";
            for (const auto& [one, take] : takers()) known += ", " + one;
            return wrong(fmt::format("parameter '{}' is not known; there are {}", name, known));
        }
        if (Status status = taker->second(settings, name, text); !status.ok()) return status;
    }
    if (settings.file.empty())
        return wrong(
            "parameter 'FileName' is missing: the file to write. ADIOS2 does not tell a plugin "
            "the name that was opened");
    return settings;
}

Result<ErrorBound> operator_bound(const Parameters& parameters) {
    std::optional<ErrorBound> found;
    for (const auto& [name, text] : parameters) {
        const std::string key = lower(name);
        if (key == "pluginname" || key == "pluginlibrary" || key == "verbose") continue;
        if (key != "bound" && key != "accuracy")
            return wrong(
                fmt::format("parameter '{}' is not known; there are bound and accuracy", name));
        if (found) return wrong("parameters 'bound' and 'accuracy' exclude each other");
        const auto bound = bound_of(text);
        if (!bound.ok()) return bound.status().with_context("parameter '" + name + "'");
        found = *bound;
    }
    return found.value_or(lossless());
}

}  // namespace caesura::adios
