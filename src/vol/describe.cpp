// What `caesura vol check` asks: what the connector would do with a file's datasets. Called through
// the plugin itself, so that the answer comes from the very binary that HDF5 loads.
#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "store/hdf5_handle.hpp"
#include "vol/callbacks.hpp"
#include "vol/capture.hpp"
#include "vol/foresee.hpp"

namespace caesura::vol {
namespace {

using nlohmann::json;
using store::Handle;

struct Visit {
    const Config& config;
    Foresight foresight{config};
    json datasets = json::array();
};

json describe_dataset(Visit& visit, const std::string& path, hid_t dataset) {
    const Config& config = visit.config;
    const Handle type(H5Dget_type(dataset), H5Tclose);
    const Handle space(H5Dget_space(dataset), H5Sclose);
    const Handle creation(H5Dget_create_plist(dataset), H5Pclose);
    const DatasetFacts facts = facts_of(path, type.get(), space.get(), creation.get());
    const Status status = qualifies(config, facts);
    json entry = {
        {"path", path}, {"bytes", facts.count * facts.value_bytes}, {"qualifies", status.ok()}};
    if (!status.ok()) {
        entry["why"] = status.message();
        return entry;
    }
    const Settings settings = settings_of(config, path);
    entry["codec"] = settings.codec;
    entry["bound_kind"] = std::string(kind_name(settings.bound));
    entry["bound"] = settings.bound.value;
    entry["chunk_bytes"] = settings.chunk_bytes;
    const auto looked = visit.foresight.look(dataset, facts);
    if (looked.ok())
        entry["number"] = *looked;  // until all have been looked at
    else
        entry["error"] = looked.status().message();
    return entry;
}

herr_t visit(hid_t root, const char* name, const H5O_info2_t* info, void* data) {
    return guarded([&]() -> herr_t {
        if (info->type != H5O_TYPE_DATASET) return 0;
        Visit& visit = *static_cast<Visit*>(data);
        // Arrays are read one by one: their chunk stays in memory.
        constexpr std::size_t k_slots = 12421, k_cache_bytes = 128u << 20;
        const Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
        H5Pset_chunk_cache(access.get(), k_slots, k_cache_bytes, H5D_CHUNK_CACHE_W0_DEFAULT);
        const Handle dataset(H5Dopen2(root, name, access.get()), H5Dclose);
        if (!dataset.ok()) return -1;
        visit.datasets.push_back(describe_dataset(visit, std::string("/") + name, dataset.get()));
        return 0;
    });
}

json describe_file(const Config& config, const std::string& path) {
    const store::QuietErrors quiet;
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_vol(access.get(), native_connector(), nullptr);
    const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
    Visit seen{config};
    if (!file.ok() ||
        H5Ovisit3(file.get(), H5_INDEX_NAME, H5_ITER_INC, visit, &seen, H5O_INFO_BASIC) < 0)
        return {{"error", store::hdf5_error(StatusCode::io, path).message()}};
    for (json& dataset : seen.datasets)
        if (dataset.contains("number")) {
            dataset["components"] = seen.foresight.tell(dataset["number"]);
            dataset.erase("number");
        }
    return seen.datasets;
}

json describe(const std::string& config_path, const std::string& file) {
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    hbool_t threads = false;
    H5is_library_threadsafe(&threads);
    json answer = {{"hdf5", fmt::format("{}.{}.{}", major, minor, release)},
                   {"built_for", H5_VERS_INFO},
                   {"threadsafe", static_cast<bool>(threads)}};
    auto config = load_config(config_path);
    if (!config.ok()) {
        answer["error"] = config.status().message();
        return answer;
    }
    answer["configuration"] = to_toml(**config);
    if (file.empty()) return answer;
    json datasets = describe_file(**config, file);
    if (datasets.is_object())
        answer["error"] = datasets["error"];
    else
        answer["datasets"] = std::move(datasets);
    if (answer.contains("datasets")) answer["rules_without_use"] = rules_without_use(**config);
    return answer;
}

}  // namespace
}  // namespace caesura::vol

/// JSON, to be freed with free(); null without memory. Either path may be empty.
extern "C" __attribute__((visibility("default"))) char* caesura_vol_describe(
    const char* config_path, const char* file) {
    return caesura::vol::guarded([&]() -> char* {
        const auto answer = caesura::vol::describe(config_path, file);
        return strdup(answer.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    });
}
