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
    /// The bound is said of no dataset by name: it is one of fields, and of no coordinates.
    bool bound_for_all = true;
    BoundMap bound_map = {};  ///< without rules: none
    bool map_for_all = true;  ///< as bound_for_all
    std::vector<FillValue> missing = {};
    std::uint64_t chunk_bytes = 0;
    Shape chunk, box;  ///< rank 0: not said
    std::vector<std::string> components;
    int component_axis = -1;
    bool arrays_for_all = true;  ///< likewise box, components and component_axis
    bool commit_writes = false;
};
Settings settings_of(const Config& config, const std::string& path);

/// Codec "caesura", in any mode.
inline bool is_ours(const Settings& settings) {
    return settings.codec == "caesura" || settings.codec.starts_with("caesura:");
}

/// Does a bound mean the same of each quantity as of all together?
bool may_be_shared(const ErrorBound& bound);
/// Real and imaginary part, as h5py and others call them?
bool is_complex(const std::vector<std::string>& names);
/// Is there a bound with loss that is said of no dataset by name?
bool has_bound_for_all(const Config& config);
/// Does a rule give a dataset's quantity of this name a bound?
bool has_own_bound(const Config& config, const std::string& path, const std::string& name);
/// What the configuration says for each of a dataset's quantities. A bound without a component
/// holds for both parts of complex numbers. Of other quantities that no rule names it is an error,
/// or, where it is said of no dataset by name, nothing.
/// @param names  "": it has none, and no rule with a component is about it.
/// Errors: invalid_argument (a bound that would be one of all of them together).
Result<std::vector<writer::Component>> components_of(const Config& config, const std::string& path,
                                                     const std::vector<std::string>& names);

/// Rules that have matched no file, no dataset, or none of its quantities, so far: misspelt, maybe.
/// Each as a person finds it in the configuration: 'path = "/a/*", component = "Temp"'.
std::vector<std::string> rules_without_use(const Config& config);

}  // namespace caesura::vol
