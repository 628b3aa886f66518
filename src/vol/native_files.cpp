#include "vol/native_files.hpp"

#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>
#include <H5VLnative.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "store/hdf5_handle.hpp"
#include "vol/config.hpp"
#include "vol/native_dataset.hpp"
#include "vol/object.hpp"

namespace caesura::vol::native_files {
namespace {

struct Use {
    std::string path;
    unsigned long number = 0;
    std::optional<FileIdentity> identity;  ///< with the ordinary driver
};
/// Never destroyed: HDF5 may close files after our statics.
std::map<void*, Use>& uses() {
    static auto& live = *new std::map<void*, Use>;
    return live;
}

/// By the descriptor that HDF5 has: the name may lead elsewhere by now.
std::optional<FileIdentity> identity_behind(void* under) {
    void* handle = nullptr;
    H5VL_native_file_optional_args_t below{};
    below.get_vfd_handle.fapl_id = H5P_FILE_ACCESS_DEFAULT;
    below.get_vfd_handle.file_handle = &handle;
    H5VL_optional_args_t args{H5VL_NATIVE_FILE_GET_VFD_HANDLE, &below};
    if (H5VLfile_optional(under, native_connector(), &args, H5P_DATASET_XFER_DEFAULT, nullptr) <
            0 ||
        handle == nullptr)
        return std::nullopt;
    return identity_of(*static_cast<const int*>(handle));
}

/// Whose identifiers are all closed, while objects of them were open. They may be closed by now.
std::vector<Use>& left_open() {
    static auto& files = *new std::vector<Use>;
    return files;
}

constexpr unsigned k_objects = H5F_OBJ_DATASET | H5F_OBJ_GROUP | H5F_OBJ_DATATYPE | H5F_OBJ_ATTR;

std::size_t count_open_objects(void* under) {
    const KeepErrors keep;
    std::size_t count = 0;
    H5VL_file_get_args_t args{};
    args.op_type = H5VL_FILE_GET_OBJ_COUNT;
    args.args.get_obj_count.types = k_objects;
    args.args.get_obj_count.count = &count;
    const herr_t asked =
        H5VLfile_get(under, native_connector(), &args, H5P_DATASET_XFER_DEFAULT, nullptr);
    return asked < 0 ? 0 : count;
}

struct Search {
    unsigned long number;
    bool found = false;
};

herr_t note_if_in_file(hid_t id, void* search) {
    auto& [number, found] = *static_cast<Search*>(search);
    H5O_info2_t info{};
    found = H5Oget_info3(id, &info, H5O_INFO_BASIC) >= 0 && info.fileno == number;
    return found;
}

/// Has the application any object open of the file with this number?
bool is_held(unsigned long number) {
    const KeepErrors keep;
    const store::QuietErrors quiet;
    Search search{number};
    for (const H5I_type_t type : {H5I_DATASET, H5I_GROUP, H5I_DATATYPE, H5I_ATTR})
        if (!search.found) H5Iiterate(type, note_if_in_file, &search);
    return search.found;
}

}  // namespace

void note(void* under, const std::string& name, hid_t access) {
    const KeepErrors keep;
    Use use{absolute_path(name), 0, std::nullopt};
    if (const auto number = file_number_of({under, H5I_FILE}); number.ok()) use.number = *number;
    if (H5Pget_driver(access) == H5FD_SEC2) use.identity = identity_behind(under);
    uses()[under] = std::move(use);
}

void note_again(void* under, void* before) {
    if (const auto found = uses().find(before); found != uses().end()) {
        const Use use = found->second;
        uses()[under] = use;
    }
}

herr_t close(void* under, hid_t transfer, void** request_slot) {
    const bool is_left_open = count_open_objects(under) > 0;
    const herr_t status = H5VLfile_close(under, native_connector(), transfer, request_slot);
    const auto found = uses().find(under);
    if (status < 0 || found == uses().end()) return status;
    if (is_left_open && found->second.identity) left_open().push_back(std::move(found->second));
    uses().erase(found);
    return status;
}

bool has_open(const FileIdentity& identity) {
    if (std::any_of(uses().begin(), uses().end(),
                    [&](const auto& use) { return use.second.identity == identity; }))
        return true;
    std::erase_if(left_open(), [](const Use& use) { return !is_held(use.number); });
    return std::any_of(left_open().begin(), left_open().end(),
                       [&](const Use& use) { return use.identity == identity; });
}

std::string path_of(unsigned long number) {
    for (const auto& [under, use] : uses())
        if (use.number == number) return use.path;
    return {};
}

std::vector<hid_t> open_objects(void* under) {
    std::vector<hid_t> ids(count_open_objects(under));
    if (ids.empty()) return ids;
    const KeepErrors keep;
    std::size_t count = 0;
    H5VL_file_get_args_t args{};
    args.op_type = H5VL_FILE_GET_OBJ_IDS;
    args.args.get_obj_ids = {k_objects, ids.size(), ids.data(), &count};
    if (H5VLfile_get(under, native_connector(), &args, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
        count = 0;
    ids.resize(count);
    return ids;
}

}  // namespace caesura::vol::native_files
