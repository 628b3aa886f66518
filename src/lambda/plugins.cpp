#include "lambda/plugins.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <fstream>
#include <vector>

#include "base/invalid.hpp"
#include "caesura/lambda.h"
#include "lambda/owned_path.hpp"
#include "lambda/plugin_function.hpp"

namespace caesura::lambda {
namespace {

Status refuse(const std::string& path, std::string_view why) {
    return {StatusCode::unsupported, fmt::format("{} is not loaded: {}", path, why)};
}

struct OpenedPlugin {
    const caesura_lambda_plugin* list;
    std::string version;  ///< of all of its functions
};

/// Equal bytes, equal functions. It tells versions apart, and protects from nobody.
Result<std::string> version_of(const OwnedFile& file) {
    std::ifstream in(file.descriptor_path(), std::ios::binary);
    const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> hash(XXH3_createState(),
                                                                               XXH3_freeState);
    if (!hash || XXH3_128bits_reset(hash.get()) != XXH_OK)
        return Status{StatusCode::no_space, "no memory to read " + file.path()};
    std::vector<char> bytes(1 << 16);
    while (in.read(bytes.data(), static_cast<std::streamsize>(bytes.size())) || in.gcount() > 0)
        XXH3_128bits_update(hash.get(), bytes.data(), static_cast<std::size_t>(in.gcount()));
    if (!in.eof()) return Status{StatusCode::io, file.path() + " cannot be read"};
    const XXH128_hash_t found = XXH3_128bits_digest(hash.get());
    return fmt::format("{:016x}{:016x}", found.high64, found.low64);
}

/// The list that the shared object at `path` exports.
Result<OpenedPlugin> open_plugin(const std::string& path) {
    auto file = open_owned_file(path);
    if (!file.ok()) return file.status();
    auto version = version_of(*file);
    if (!version.ok()) return version.status();
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
    return OpenedPlugin{plugin, std::move(*version)};
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
        const auto opened = open_plugin(path);
        if (!opened.ok()) {
            loaded.refused.push_back(opened.status());
            continue;
        }
        auto functions = functions_of(*opened->list, registry);
        if (!functions.ok()) {
            loaded.refused.push_back(refuse(path, functions.status().message()));
            continue;
        }
        std::vector<std::string> added;
        for (Function& function : *functions) {
            added.push_back(function.name);
            function.version = opened->version;
            if (Status status = registry.add(std::move(function)); !status.ok()) return status;
        }
        loaded.added.push_back(fmt::format("{}: {}", name, fmt::join(added, ", ")));
    }
    return loaded;
}

}  // namespace caesura::lambda
