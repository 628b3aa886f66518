// One TOML document, or one table of it, key by key.
//
// Invariants: the first mistake is kept, and says file, line and key. end() finds keys that nobody
// took.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "base/invalid.hpp"

namespace caesura::transit {

class TomlReader {
  public:
    TomlReader(const toml::table& table, std::string name)
        : table_(table), name_(std::move(name)) {}

    template <class T>
    void take(std::string_view key, T& value) {
        known_.emplace_back(key);
        const toml::node* const node = table_.get(key);
        if (node == nullptr) return;
        if (const auto found = node->value_exact<T>())
            value = *found;
        else
            wrong(*node, key, "is of another type");
    }
    void number(std::string_view key, double& value, double least, double most) {
        known_.emplace_back(key);
        const toml::node* const node = table_.get(key);
        if (node == nullptr) return;
        const auto found = node->value<double>();
        if (!found || !(*found >= least && *found <= most))
            return wrong(*node, key, fmt::format("must be a number in [{}, {}]", least, most));
        value = *found;
    }
    template <class T>
    void count(std::string_view key, T& value, std::int64_t least, std::int64_t most) {
        known_.emplace_back(key);
        const toml::node* const node = table_.get(key);
        if (node == nullptr) return;
        const auto found = node->value_exact<std::int64_t>();
        if (!found || *found < least || *found > most)
            return wrong(*node, key,
                         fmt::format("must be a whole number in [{}, {}]", least, most));
        value = static_cast<T>(*found);
    }
    const toml::array* list(std::string_view key) {
        known_.emplace_back(key);
        const toml::node* const node = table_.get(key);
        if (node == nullptr) return nullptr;
        if (node->as_array() == nullptr) wrong(*node, key, "must be a list");
        return node->as_array();
    }
    /// Keys that nobody took.
    void end() {
        for (const auto& [key, node] : table_)
            if (std::find(known_.begin(), known_.end(), key.str()) == known_.end())
                wrong(node, key.str(),
                      fmt::format("is none; use one of {}", fmt::join(known_, ", ")));
    }
    void wrong(const toml::node& node, std::string_view key, const std::string& what) {
        if (status_.ok())
            status_ = base::invalid(
                fmt::format("{}, line {}: {} {}", name_, node.source().begin.line, key, what));
    }
    const Status& status() const { return status_; }

  private:
    const toml::table& table_;
    std::string name_;
    std::vector<std::string> known_;
    Status status_;
};

}  // namespace caesura::transit
