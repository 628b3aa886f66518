// What an analysis found: a list of names with numbers, arrays or texts, which can travel, be kept
// with the object, and be shown.
//
// Invariants:
//  - A name occurs once; names and texts are UTF-8.
//  - parse() takes any bytes: sizes are checked before anything is allocated, so it never holds
//    more than 32 times what it was given.
//  - The same results give the same bytes on every machine.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "caesura/base.hpp"

namespace caesura::lambda {

/// Counts are whole numbers; numbers may be NaN or infinite.
using Value =
    std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>>;

class Results {
  public:
    using Entry = std::pair<std::string, Value>;

    /// Replaces the value of a name that is there. Bytes that are no UTF-8 become '?'.
    void put(std::string_view name, Value value);
    /// Null if there is none of this name.
    const Value* find(std::string_view name) const;
    const std::vector<Entry>& entries() const { return entries_; }

    std::vector<std::byte> bytes() const;
    /// Errors: insufficient_data, corrupt, unsupported (a later version).
    static Result<Results> parse(std::span<const std::byte> bytes);
    /// An object, names in their order. JSON has no NaN and no infinity: they are the texts "nan",
    /// "inf" and "-inf".
    nlohmann::ordered_json to_json() const;
    friend bool operator==(const Results&, const Results&) = default;

  private:
    std::vector<Entry> entries_;
};

/// Names, texts and lists that are longer are refused by parse().
inline constexpr std::size_t k_most_result_names = 4096;
inline constexpr std::size_t k_longest_result_name_bytes = 256;

bool is_utf8(std::string_view text);

}  // namespace caesura::lambda
