// A call of a function as text, "histogram(bins=64, low=0, high=1)", and a chain of calls,
// "shuffle | zstd(level=3) | aead": parsed strictly, then bound to the function's parameters.
//
//     chain  = call { "|" call }
//     call   = name [ "@" variant ] [ "(" [ argument { "," argument } ] ")" ]
//     argument = name "=" value
//     value  = number | true | false | word | "text" | "[" [ number { "," number } ] "]"
//
// Invariants:
//  - Nothing is guessed: an argument that the function does not have, comes twice, has another type
//    or leaves its range is an error that names it and what there is.
//  - text() of what was bound is bound to the same arguments again.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "caesura/base.hpp"

namespace caesura::lambda {

using Argument = std::variant<std::int64_t, double, std::string, bool, std::vector<double>>;

/// One parameter of a function.
struct Parameter {
    enum class Type : std::uint8_t { whole, number, text, flag, numbers };
    std::string name;
    Type type = Type::number;
    std::string help;  ///< one sentence
    /// What holds where nothing is given; none: see `required`.
    std::optional<Argument> fallback = {};
    bool required = false;  ///< else a parameter without fallback may be left out
    /// Of whole, number and each of numbers; both are possible.
    double least = -std::numeric_limits<double>::infinity();
    double most = std::numeric_limits<double>::infinity();
    std::vector<std::string> choices = {};  ///< of text; empty: any
};
std::string_view to_string(Parameter::Type type);

/// As written, before it is bound.
struct Call {
    std::string function;
    std::string variant;                                         ///< empty: whoever runs it chooses
    std::vector<std::pair<std::string, std::string>> arguments;  ///< name, value as written
};

inline constexpr std::size_t k_longest_call_bytes = 4096;
inline constexpr std::size_t k_most_arguments = 64;
inline constexpr std::size_t k_most_stages = 8;

/// Errors: invalid_argument, with the text and the place.
Result<Call> parse_call(std::string_view text);
/// 1 to k_most_stages calls. Errors: as parse_call.
Result<std::vector<Call>> parse_chain(std::string_view text);

/// The arguments of one call, complete and of the right types.
class Arguments {
  public:
    /// Errors: invalid_argument, naming function, argument and what there is.
    static Result<Arguments> bind(const Call& call, const std::vector<Parameter>& parameters);

    bool has(std::string_view name) const { return find(name) != nullptr; }
    /// Of a parameter that is there, by its type.
    std::int64_t whole(std::string_view name) const { return get<std::int64_t>(name); }
    double number(std::string_view name) const { return get<double>(name); }
    const std::string& text(std::string_view name) const { return get<std::string>(name); }
    bool flag(std::string_view name) const { return get<bool>(name); }
    const std::vector<double>& numbers(std::string_view name) const {
        return get<std::vector<double>>(name);
    }
    const std::vector<std::pair<std::string, Argument>>& all() const { return all_; }

  private:
    const Argument* find(std::string_view name) const;
    template <class T>
    const T& get(std::string_view name) const {
        return std::get<T>(*find(name));
    }
    std::vector<std::pair<std::string, Argument>> all_;  // in the order of the parameters
};

/// A value as one would write it; numbers come back exactly.
std::string text(const Argument& argument);
/// "histogram(bins=64, low=0, high=1)", with every argument that has a value.
std::string text(std::string_view function, std::string_view variant, const Arguments& arguments);

}  // namespace caesura::lambda
