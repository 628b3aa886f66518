// Compiled functions of the operator's own: shared objects with the interface of caesura/lambda.h.
//
// Invariants:
//  - Loaded from the configured directory only, and only what the operator or root alone can write
//    (owned_path.hpp). The file that was checked is the
//    one that is loaded: both go through one descriptor.
//  - A plugin that cannot be taken adds nothing at all.
#pragma once

#include <string>
#include <vector>

#include "lambda/registry.hpp"

namespace caesura::lambda {

/// Add the functions of every *.so of a directory.
///
/// @return  for each shared object what was added, "file: name, name", or why it was not.
/// Errors: those of owned_directory(); a single object that is refused is none.
struct LoadedPlugins {
    std::vector<std::string> added;
    std::vector<Status> refused;
};
Result<LoadedPlugins> load_plugins(Registry& registry, const std::string& directory);

}  // namespace caesura::lambda
