#include "lambda/plugins.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/invalid.hpp"
#include "caesura/lambda.h"
#include "lambda/owned_path.hpp"
#include "lambda/plugin_function.hpp"

namespace caesura::lambda {
namespace {

Status refuse(const std::string& path, std::string_view why) {
    return {StatusCode::unsupported, fmt::format("{} is not loaded: {}", path, why)};
}

/// The list that the shared object at `path` exports.
Result<const caesura_lambda_plugin*> open_plugin(const std::string& path) {
    auto file = open_owned_file(path);
    if (!file.ok()) return file.status();
    void* object = dlopen(file->descriptor_path().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        const char* why = dlerror();
        return refuse(path, why ? why : "no reason");
    }
    // Never closed: the dynamic linker knows it by this name, and would take a later file with the
    // same descriptor for it.
    file->release();
    const auto find = reinterpret_cast<const caesura_lambda_plugin* (*)()>(
        dlsym(object, "caesura_lambda_plugin_functions"));
    if (!find) return refuse(path, "it has no caesura_lambda_plugin_functions");
    const caesura_lambda_plugin* plugin = find();
    if (!plugin) return refuse(path, "it gives no list of functions");
    if (plugin->abi != CAESURA_LAMBDA_ABI)
        return refuse(path, fmt::format("it was compiled for version {} of lambda.h; this is {}",
                                        plugin->abi, CAESURA_LAMBDA_ABI));
    return plugin;
}

/// All functions of a plugin, or none.
Result<std::vector<Function>> functions_of(const caesura_lambda_plugin& plugin,
                                           const Registry& registry) {
    std::vector<Function> functions;
    for (std::size_t i = 0; i < plugin.n_functions; ++i) {
        auto function = plugin_function(plugin.functions[i]);
        if (!function.ok()) return function.status();
        // As the registry would say, before anything is added.
        Registry trial;
        if (registry.find(function->name))
            return base::invalid(fmt::format("a function '{}' is there already", function->name));
        if (Status status = trial.add(*function); !status.ok()) return status;
        for (const Function& other : functions)
            if (other.name == function->name)
                return base::invalid(fmt::format("'{}' comes twice", function->name));
        functions.push_back(std::move(*function));
    }
    return functions;
}

}  // namespace

Result<LoadedPlugins> load_plugins(Registry& registry, const std::string& given) {
    const auto directory = owned_directory(given);
    if (!directory.ok()) return directory.status();
    const auto names = files_ending(*directory, ".so");
    if (!names.ok()) return names.status();
    LoadedPlugins loaded;
    for (const std::string& name : *names) {
        const std::string path = *directory + "/" + name;
        const auto plugin = open_plugin(path);
        if (!plugin.ok()) {
            loaded.refused.push_back(plugin.status());
            continue;
        }
        auto functions = functions_of(**plugin, registry);
        if (!functions.ok()) {
            loaded.refused.push_back(refuse(path, functions.status().message()));
            continue;
        }
        std::vector<std::string> added;
        for (Function& function : *functions) {
            added.push_back(function.name);
            if (Status status = registry.add(std::move(function)); !status.ok()) return status;
        }
        loaded.added.push_back(fmt::format("{}: {}", name, fmt::join(added, ", ")));
    }
    return loaded;
}

}  // namespace caesura::lambda
