#include "vol/native_files.hpp"

#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>
#include <H5VLnative.h>

#include <algorithm>
#include <map>
#include <optional>

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

void forget(void* under) { uses().erase(under); }

bool has_open(const FileIdentity& identity) {
    return std::any_of(uses().begin(), uses().end(),
                       [&](const auto& use) { return use.second.identity == identity; });
}

std::string path_of(unsigned long number) {
    for (const auto& [under, use] : uses())
        if (use.number == number) return use.path;
    return {};
}

}  // namespace caesura::vol::native_files
