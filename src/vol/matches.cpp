// Patterns of dataset paths.
#include "vol/config.hpp"

namespace caesura::vol {
namespace {

/// Both from their begin. Backtracks over stars only: patterns are written by people.
/// @param border  what neither "*" nor "?" passes.
bool matches_here(std::string_view pattern, std::string_view path, char border) {
    while (!pattern.empty() && pattern.front() != '*') {
        if (path.empty()) return false;
        const bool same =
            pattern.front() == '?' ? path.front() != border : pattern.front() == path.front();
        if (!same) return false;
        pattern.remove_prefix(1);
        path.remove_prefix(1);
    }
    if (pattern.empty()) return path.empty();
    const bool deep = pattern.starts_with("**");
    pattern.remove_prefix(deep ? 2 : 1);
    for (std::size_t taken = 0;; ++taken) {
        if (matches_here(pattern, path.substr(taken), border)) return true;
        if (taken == path.size() || (!deep && path[taken] == border)) return false;
    }
}

}  // namespace

bool matches(std::string_view pattern, std::string_view path) {
    if (pattern.find('/') == std::string_view::npos) path = path.substr(path.rfind('/') + 1);
    return matches_here(pattern, path, '/');
}

bool matches_name(std::string_view pattern, std::string_view name) {
    return matches_here(pattern, name, '\0');
}

}  // namespace caesura::vol
