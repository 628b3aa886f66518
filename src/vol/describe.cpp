// What `caesura vol check` asks: what the connector would do with a file's datasets. Called through
// the plugin itself, so that the answer comes from the very binary that HDF5 loads.
#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "store/hdf5_handle.hpp"
#include "vol/callbacks.hpp"
#include "vol/capture.hpp"
#include "vol/coordinates.hpp"
#include "vol/foresee.hpp"
#include "vol/found_datasets.hpp"
#include "vol/library_state.hpp"
#include "vol/object.hpp"

namespace caesura::vol {
namespace {

using nlohmann::json;
using store::Handle;

/// Told how far reading and sampling are; null: nobody asks.
using Watching = void (*)(const char* doing, std::uint64_t done_bytes, std::uint64_t all_bytes);
Watching g_watching = nullptr;

struct Found {
    DatasetFacts facts;
    json entry;
};
struct Visit {
    const Config& config;
    std::vector<Found> found;
    NamedCoordinates named;
};

/// What attributes of an object say of others.
void note_names(NamedCoordinates& named, hid_t object, H5I_type_t kind) {
    const LibraryState state;
    const store::QuietErrors quiet;
    const KeepErrors keep;
    named.add_lists_of({H5VLobject(object), kind});
}

herr_t visit(hid_t root, const char* name, const H5O_info2_t* info, void* data) {
    return guarded([&]() -> herr_t {
        Visit& visit = *static_cast<Visit*>(data);
        if (info->type == H5O_TYPE_GROUP) {
            const Handle group(H5Gopen2(root, name, H5P_DEFAULT), H5Gclose);
            if (group.ok()) note_names(visit.named, group.get(), H5I_GROUP);
        }
        if (info->type != H5O_TYPE_DATASET) return 0;
        const Handle dataset(H5Dopen2(root, name, H5P_DEFAULT), H5Dclose);
        if (!dataset.ok()) return -1;
        note_names(visit.named, dataset.get(), H5I_DATASET);
        const Handle type(H5Dget_type(dataset.get()), H5Tclose);
        const Handle space(H5Dget_space(dataset.get()), H5Sclose);
        const Handle creation(H5Dget_create_plist(dataset.get()), H5Pclose);
        const DatasetFacts facts =
            facts_of(std::string("/") + name, type.get(), space.get(), creation.get());
        const Status status = qualifies(visit.config, facts);
        json entry = {{"path", facts.path},
                      {"bytes", facts.count * facts.value_bytes},
                      {"qualifies", status.ok()}};
        if (!status.ok()) entry["why"] = status.message();
        visit.found.push_back({facts, std::move(entry)});
        return 0;
    });
}

/// What is known before others have been looked at. @return  its number, if it has one.
std::optional<std::size_t> look(const Config& config, Foresight& foresight, hid_t file,
                                Found& found) {
    json& entry = found.entry;
    const Settings settings = settings_of(config, found.facts.path);
    entry["codec"] = settings.codec;
    const ErrorBound bound = found.facts.is_exact() ? lossless() : settings.bound;
    entry["bound_kind"] = std::string(kind_name(bound));
    entry["bound"] = bound.value;
    entry["chunk_bytes"] = settings.chunk_bytes;
    const Handle dataset(H5Dopen2(file, found.facts.path.c_str(), H5P_DEFAULT), H5Dclose);
    const Result<std::size_t> looked = dataset.ok()
                                           ? foresight.look(dataset.get(), found.facts)
                                           : store::hdf5_error(StatusCode::io, found.facts.path);
    if (looked.ok()) {
        if (foresight.by_part(*looked)) entry["by_part"] = true;
        if (const std::string& why = foresight.exact_because(*looked); !why.empty()) {
            entry["kept_exact"] = why;
            entry["bound_kind"] = "lossless";
            entry["bound"] = 0.0;
        }
        return *looked;
    }
    entry["error"] = looked.status().message();
    return std::nullopt;
}

json describe_file(const Config& config, const std::string& path) {
    const store::QuietErrors quiet;
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_vol(access.get(), native_connector(), nullptr);
    const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
    Visit seen{config, {}, {}};
    if (!file.ok() ||
        H5Ovisit3(file.get(), H5_INDEX_NAME, H5_ITER_INC, visit, &seen, H5O_INFO_BASIC) < 0)
        return {{"error", store::hdf5_error(StatusCode::io, path).message()}};
    // HDF5 has not asked this process for the connector, and may not find the filter's plugin.
    if (const Status status = register_filter(); !status.ok()) return {{"error", status.message()}};
    Foresight foresight(config, file.get(), g_watching, std::move(seen.named));
    std::uint64_t all_bytes = 0;
    for (const Found& one : seen.found)
        if (one.entry["qualifies"]) all_bytes += one.facts.count * one.facts.value_bytes;
    foresight.expect(all_bytes);
    std::vector<std::optional<std::size_t>> numbers;
    for (Found& one : seen.found)
        numbers.push_back(one.entry["qualifies"] ? look(config, foresight, file.get(), one)
                                                 : std::nullopt);
    json datasets = json::array();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (numbers[i]) seen.found[i].entry["components"] = foresight.tell(*numbers[i]);
        datasets.push_back(std::move(seen.found[i].entry));
    }
    return datasets;
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

/// From now on caesura_vol_describe() tells how far it is, on its own thread; null: not any more.
extern "C" __attribute__((visibility("default"))) void caesura_vol_watch(
    void (*watching)(const char* doing, std::uint64_t done_bytes, std::uint64_t all_bytes)) {
    caesura::vol::g_watching = watching;
}

/// JSON, to be freed with free(); null without memory. Either path may be empty.
extern "C" __attribute__((visibility("default"))) char* caesura_vol_describe(
    const char* config_path, const char* file) {
    return caesura::vol::guarded([&]() -> char* {
        const auto answer = caesura::vol::describe(config_path, file);
        return strdup(answer.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    });
}
