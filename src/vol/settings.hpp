// What the configuration says for one dataset, and for each of its quantities: all rules that match
// taken together, later ones over earlier ones.
#pragma once

#include "vol/config.hpp"
#include "writer/composition.hpp"

namespace caesura::vol {

/// Rules without a component.
struct Settings {
    bool capture = true;
    std::string codec;
    ErrorBound bound;
    BoundMap bound_map = {};  ///< without rules: none
    std::uint64_t chunk_bytes = 0;
    Shape chunk, box;  ///< rank 0: not said
    std::vector<std::string> components;
    int component_axis = -1;
    bool commit_writes = false;
};
Settings settings_of(const Config& config, const std::string& path);

/// Codec "caesura", in any mode.
inline bool is_ours(const Settings& settings) {
    return settings.codec == "caesura" || settings.codec.starts_with("caesura:");
}

/// Does a bound mean the same of each quantity as of all together?
bool may_be_shared(const ErrorBound& bound);
/// What the configuration says for each of a dataset's quantities.
/// @param names  "": it has none, and no rule with a component is about it.
/// Errors: invalid_argument (a bound that would be one of all of them together).
Result<std::vector<writer::Component>> components_of(const Config& config, const std::string& path,
                                                     const std::vector<std::string>& names);

/// Rules that have matched no dataset, or none of its quantities, so far: misspelt, maybe. Each as
/// a person finds it in the configuration: 'path = "/a/*", component = "Temp"'.
std::vector<std::string> rules_without_use(const Config& config);

}  // namespace caesura::vol
