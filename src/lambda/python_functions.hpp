// The operator's functions in Python as functions of the registry.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lambda/plugins.hpp"
#include "lambda/python_worker.hpp"
#include "lambda/registry.hpp"

namespace caesura::lambda {

/// Add the marked functions of every *.py of a directory, as `file.function`. They share one
/// process, which lives as long as the registry.
///
/// @param settings  `files` is filled here.
/// @return  what was added, and why a file or function was not.
/// Errors: those of owned_directory() and PythonWorker::start().
Result<LoadedPlugins> add_python_functions(Registry& registry, const std::string& directory,
                                           PythonSettings settings);

}  // namespace caesura::lambda
