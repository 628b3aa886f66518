#include "lambda/call.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/invalid.hpp"

namespace caesura::lambda {
namespace {

using base::invalid;

bool is_name_character(char c, bool first) {
    return (c >= 'a' && c <= 'z') || c == '_' || (!first && ((c >= '0' && c <= '9') || c == '.'));
}

/// Where the text is read; after an error it stays where that is.
class Cursor {
  public:
    explicit Cursor(std::string_view text) : text_(text) {}

    void skip_spaces() {
        while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    }
    bool done() {
        skip_spaces();
        return at_ == text_.size();
    }
    bool take(char c) {
        skip_spaces();
        if (at_ == text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    std::string name() {
        skip_spaces();
        const std::size_t begin = at_;
        while (at_ < text_.size() && is_name_character(text_[at_], at_ == begin)) ++at_;
        return std::string(text_.substr(begin, at_ - begin));
    }
    /// A word, a quoted text or a list, as it stands; empty: there is none.
    std::string value() {
        skip_spaces();
        const std::size_t begin = at_;
        if (at_ == text_.size()) return {};
        const char open = text_[at_];
        if (open == '"' || open == '[') {
            const std::size_t end = text_.find(open == '"' ? '"' : ']', at_ + 1);
            if (end == std::string_view::npos) return {};
            at_ = end + 1;
        } else {
            while (at_ < text_.size() &&
                   std::string_view(" ,()|=\"[]").find(text_[at_]) == std::string_view::npos)
                ++at_;
        }
        return std::string(text_.substr(begin, at_ - begin));
    }
    Status error(std::string_view expected) const {
        return invalid(fmt::format("'{}': expected {} at character {}", text_, expected, at_ + 1));
    }

  private:
    std::string_view text_;
    std::size_t at_ = 0;
};

Status read_arguments(Cursor& in, Call& call) {
    if (!in.take('(') || in.take(')')) return {};
    while (true) {
        std::string name = in.name();
        if (name.empty()) return in.error("the name of an argument");
        if (!in.take('=')) return in.error("'='");
        std::string value = in.value();
        if (value.empty()) return in.error("a value");
        if (call.arguments.size() == k_most_arguments)
            return invalid(
                fmt::format("{}: more than {} arguments", call.function, k_most_arguments));
        call.arguments.emplace_back(std::move(name), std::move(value));
        if (in.take(')')) return {};
        if (!in.take(',')) return in.error("',' or ')'");
    }
}

Result<Call> read_call(Cursor& in) {
    Call call;
    call.function = in.name();
    if (call.function.empty()) return in.error("the name of a function");
    if (in.take('@')) {
        call.variant = in.name();
        if (call.variant.empty()) return in.error("the name of a variant");
    }
    if (Status status = read_arguments(in, call); !status.ok()) return status;
    return call;
}

Status check_length(std::string_view text) {
    if (text.size() <= k_longest_call_bytes) return {};
    return invalid(
        fmt::format("a call of {} characters; at most {}", text.size(), k_longest_call_bytes));
}

template <class T>
std::optional<T> read_number(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return value;
}

std::optional<std::vector<double>> read_numbers(std::string_view text) {
    if (text.size() < 2 || text.front() != '[' || text.back() != ']') return {};
    text = text.substr(1, text.size() - 2);
    std::vector<double> numbers;
    if (text.find_first_not_of(' ') == std::string_view::npos) return numbers;
    while (true) {
        const std::size_t comma = text.find(',');
        std::string_view one = text.substr(0, comma);
        const std::size_t first = one.find_first_not_of(' ');
        if (first == std::string_view::npos) return {};
        one = one.substr(first, one.find_last_not_of(' ') - first + 1);
        const auto number = read_number<double>(one);
        if (!number) return {};
        numbers.push_back(*number);
        if (comma == std::string_view::npos) return numbers;
        text.remove_prefix(comma + 1);
    }
}

std::optional<Argument> convert(const std::string& written, Parameter::Type type) {
    switch (type) {
        case Parameter::Type::whole:
            if (const auto value = read_number<std::int64_t>(written)) return *value;
            return {};
        case Parameter::Type::number:
            if (const auto value = read_number<double>(written)) return *value;
            return {};
        case Parameter::Type::numbers:
            if (auto value = read_numbers(written)) return std::move(*value);
            return {};
        case Parameter::Type::flag:
            if (written == "true") return true;
            if (written == "false") return false;
            return {};
        case Parameter::Type::text:
            if (written.front() == '[') return {};
            if (written.front() == '"') return written.substr(1, written.size() - 2);
            return written;
    }
    return {};
}

/// Why the value is not possible; empty: it is.
std::string objection(const Argument& argument, const Parameter& parameter) {
    const auto in_range = [&](double value) {
        return value >= parameter.least && value <= parameter.most;  // no NaN
    };
    const auto* whole = std::get_if<std::int64_t>(&argument);
    const auto* number = std::get_if<double>(&argument);
    const auto* numbers = std::get_if<std::vector<double>>(&argument);
    const bool good = whole     ? in_range(static_cast<double>(*whole))
                      : number  ? in_range(*number)
                      : numbers ? std::all_of(numbers->begin(), numbers->end(), in_range)
                                : true;
    if (!good) return fmt::format("possible is {} to {}", parameter.least, parameter.most);
    if (const auto* text = std::get_if<std::string>(&argument);
        text && !parameter.choices.empty() &&
        std::find(parameter.choices.begin(), parameter.choices.end(), *text) ==
            parameter.choices.end())
        return fmt::format("use one of {}", fmt::join(parameter.choices, ", "));
    return {};
}

std::string names_of(const std::vector<Parameter>& parameters) {
    std::vector<std::string_view> names;
    for (const Parameter& parameter : parameters) names.push_back(parameter.name);
    return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

/// Every argument names a parameter, and none twice.
Status check_names(const Call& call, const std::vector<Parameter>& parameters) {
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
        const std::string& name = call.arguments[i].first;
        const auto is_it = [&](const Parameter& parameter) { return parameter.name == name; };
        if (std::none_of(parameters.begin(), parameters.end(), is_it))
            return invalid(fmt::format("{} has no parameter '{}'; there is: {}", call.function,
                                       name, names_of(parameters)));
        for (std::size_t k = 0; k < i; ++k)
            if (call.arguments[k].first == name)
                return invalid(fmt::format("{}: '{}' is given twice", call.function, name));
    }
    return {};
}

}  // namespace

std::string_view to_string(Parameter::Type type) {
    constexpr std::string_view k_names[] = {"whole number", "number", "text", "true or false",
                                            "list of numbers"};
    return k_names[static_cast<std::size_t>(type)];
}

Result<Call> parse_call(std::string_view text) {
    if (Status status = check_length(text); !status.ok()) return status;
    Cursor in(text);
    auto call = read_call(in);
    if (call.ok() && !in.done()) return in.error("the end");
    return call;
}

Result<std::vector<Call>> parse_chain(std::string_view text) {
    if (Status status = check_length(text); !status.ok()) return status;
    Cursor in(text);
    std::vector<Call> calls;
    do {
        if (calls.size() == k_most_stages)
            return invalid(fmt::format("'{}': more than {} stages", text, k_most_stages));
        auto call = read_call(in);
        if (!call.ok()) return call.status();
        calls.push_back(std::move(*call));
    } while (in.take('|'));
    if (!in.done()) return in.error("'|' or the end");
    return calls;
}

Result<Arguments> Arguments::bind(const Call& call, const std::vector<Parameter>& parameters) {
    if (Status status = check_names(call, parameters); !status.ok()) return status;
    Arguments bound;
    for (const Parameter& parameter : parameters) {
        const auto given =
            std::find_if(call.arguments.begin(), call.arguments.end(),
                         [&](const auto& argument) { return argument.first == parameter.name; });
        if (given == call.arguments.end()) {
            if (parameter.required)
                return invalid(fmt::format("{} needs '{}': {}", call.function, parameter.name,
                                           parameter.help));
            if (parameter.fallback) bound.all_.emplace_back(parameter.name, *parameter.fallback);
            continue;
        }
        auto argument = convert(given->second, parameter.type);
        if (!argument)
            return invalid(fmt::format("{}: {}={} is no {}", call.function, parameter.name,
                                       given->second, to_string(parameter.type)));
        if (const std::string why = objection(*argument, parameter); !why.empty())
            return invalid(
                fmt::format("{}: {}={}; {}", call.function, parameter.name, given->second, why));
        bound.all_.emplace_back(parameter.name, std::move(*argument));
    }
    return bound;
}

const Argument* Arguments::find(std::string_view name) const {
    for (const auto& [known, argument] : all_)
        if (known == name) return &argument;
    return nullptr;
}

std::string text(const Argument& argument) {
    if (const auto* written = std::get_if<std::string>(&argument))
        return fmt::format("\"{}\"", *written);
    if (const auto* numbers = std::get_if<std::vector<double>>(&argument))
        return fmt::format("[{}]", fmt::join(*numbers, ", "));
    if (const auto* flag = std::get_if<bool>(&argument)) return *flag ? "true" : "false";
    if (const auto* whole = std::get_if<std::int64_t>(&argument)) return fmt::format("{}", *whole);
    return fmt::format("{}", std::get<double>(argument));
}

std::string text(std::string_view function, std::string_view variant, const Arguments& arguments) {
    std::string out(function);
    if (!variant.empty()) out += fmt::format("@{}", variant);
    std::vector<std::string> parts;
    for (const auto& [name, argument] : arguments.all())
        parts.push_back(fmt::format("{}={}", name, text(argument)));
    if (!parts.empty()) out += fmt::format("({})", fmt::join(parts, ", "));
    return out;
}

}  // namespace caesura::lambda
