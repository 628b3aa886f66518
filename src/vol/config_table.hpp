// One table of the connector's configuration, as toml++ has it.
//
// Invariant: the first thing that is wrong stays in `status`, with file, line and key.
#pragma once

#define TOML_EXCEPTIONS 0
#include <fmt/format.h>
#include <toml++/toml.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vol/config.hpp"

namespace caesura::vol {

/// Reads one table; the first thing that is wrong stays in `status`.
class Table {
  public:
    Table(const toml::table& table, const std::string& path, std::string in)
        : table_(table), path_(path), in_(std::move(in)) {}

    /// Every key is one of `known`.
    void check_keys(std::span<const std::string_view> known);
    /// Strings, truth values and numbers, as they stand in the file.
    template <class T>
    std::optional<T> get(std::string_view key, std::string_view kind) {
        const toml::node* const node = table_.get(key);
        if (node == nullptr) return std::nullopt;
        if (auto value = node->value_exact<T>()) return value;
        bad(*node, fmt::format("'{}{}' must be {}", in_, key, kind));
        return std::nullopt;
    }
    std::optional<std::uint64_t> get_bytes(std::string_view key);
    std::optional<double> get_seconds(std::string_view key);
    /// `bound = 1e-3` is absolute unless `bound_kind` says otherwise; `bound_kind = "lossless"`
    /// needs no number.
    std::optional<ErrorBound> get_bound();
    std::optional<std::string> get_codec();
    /// Of an array, slowest axis first; rank 0 without the key. @param least  of each extent.
    Shape get_extents(std::string_view key, std::int64_t least = 1);
    /// A list of different names; empty without the key.
    std::vector<std::string> get_names(std::string_view key);
    /// A list of numbers.
    std::optional<std::vector<FillValue>> get_missing();
    std::optional<int> get_axis(std::string_view key);
    /// Of a rule: where what is to be how tight (config_map.cpp).
    std::optional<BoundMap> get_bound_map();
    /// A number that must be there.
    double need_number(std::string_view key, std::string_view hint = "");
    /// What is said of a part of a dataset only, and what belongs together.
    void check_component(const toml::table& rule);
    void bad(const toml::node& node, std::string_view reason);
    void bad(std::string_view reason) { bad(table_, reason); }
    const toml::node* node(std::string_view key) const { return table_.get(key); }
    const std::string& path() const { return path_; }  ///< of the file

    Status status;

  private:
    const toml::table& table_;
    const std::string& path_;
    std::string in_;
};

/// As TOML; reads back as the same double.
std::string number_toml(double number);
/// As TOML that get_bound_map() reads back: one line.
std::string bound_map_toml(const BoundMap& map);

}  // namespace caesura::vol
