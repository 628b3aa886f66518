#include "lambda/python_functions.hpp"

#include <fmt/format.h>

#include "lambda/owned_path.hpp"

namespace caesura::lambda {
namespace {

Function python_function(const PythonWorker::Described& described,
                         const std::shared_ptr<PythonWorker>& worker) {
    Function function{described.name, Kind::analysis, described.help, described.parameters};
    Variant variant{Device::cpu, "python", "the operator's own, in a process of its own"};
    const std::string name = described.name;
    if (described.is_iterative)
        variant.iterative = [worker, name](const Arguments& arguments, RegionIterator& regions) {
            return worker->call(name, arguments, nullptr, &regions);
        };
    else
        variant.direct = [worker, name](const Arguments& arguments, const RegionView& region) {
            return worker->call(name, arguments, &region, nullptr);
        };
    function.variants.push_back(std::move(variant));
    return function;
}

}  // namespace

Result<LoadedPlugins> add_python_functions(Registry& registry, const std::string& given,
                                           PythonSettings settings) {
    const auto directory = owned_directory(given);
    if (!directory.ok()) return directory.status();
    const auto names = files_ending(*directory, ".py");
    if (!names.ok()) return names.status();
    LoadedPlugins loaded;
    settings.files.clear();
    for (const std::string& name : *names) {
        const std::string path = *directory + "/" + name;
        // Nobody else can write the directory, so the name leads to the same file later.
        if (const auto file = open_owned_file(path); file.ok())
            settings.files.push_back(path);
        else
            loaded.refused.push_back(file.status());
    }
    const auto worker = std::make_shared<PythonWorker>(std::move(settings));
    const auto hello = worker->start();
    if (!hello.ok()) return hello.status();
    for (const std::string& error : hello->errors)
        loaded.refused.emplace_back(StatusCode::invalid_argument, error);
    for (const PythonWorker::Described& described : hello->functions) {
        if (Status status = registry.add(python_function(described, worker)); !status.ok())
            loaded.refused.push_back(status.with_context(described.name));
        else
            loaded.added.push_back(described.name);
    }
    return loaded;
}

}  // namespace caesura::lambda
