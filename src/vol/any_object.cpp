// H5O: what can be done to an object of any kind.
#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

#include "vol/callbacks.hpp"
#include "vol/captured_dataset.hpp"
#include "vol/chunk_offsets.hpp"
#include "vol/forward.hpp"

namespace caesura::vol {
namespace {

void* object_open(void* object, const H5VL_loc_params_t* location, H5I_type_t* kind, hid_t transfer,
                  void** request_slot) {
    return guarded([&]() -> void* {
        const Object& at = object_of(object);
        auto opened = object_near(at, H5I_BADID);
        const Request request(at, request_slot);
        opened->under =
            H5VLobject_open(at.under, location, at.connector, kind, transfer, request_slot);
        if (opened->under == nullptr) return nullptr;  // and nobody has said what it is
        opened->kind = *kind;
        CapturedFile::find_holder(*opened);
        if (*kind == H5I_DATASET && opened->file != nullptr) inspect_without_list(*opened);
        return opened.release();
    });
}

/// Where something is looked for by its name.
H5VL_loc_params_t by_name(const H5VL_loc_params_t& at, const char* name) {
    H5VL_loc_params_t location = at;
    location.type = H5VL_OBJECT_BY_NAME;
    location.loc_data.loc_by_name = {name, H5P_LINK_ACCESS_DEFAULT};
    return location;
}

/// The paths below `name` of all datasets that a copy of it would hold; "." if it is one.
std::vector<std::string> datasets_in(const Object& from, const H5VL_loc_params_t& at,
                                     const char* name, hid_t copying) {
    struct Found {
        bool shallow;
        std::vector<std::string> datasets;
    };
    unsigned flags = 0;
    H5Pget_copy_object(copying, &flags);
    Found found{(flags & H5O_COPY_SHALLOW_HIERARCHY_FLAG) != 0, {}};
    const H5VL_loc_params_t location = by_name(at, name);
    H5VL_object_specific_args_t visit{};
    visit.op_type = H5VL_OBJECT_VISIT;
    visit.args.visit = {H5_INDEX_NAME, H5_ITER_NATIVE, H5O_INFO_BASIC,
                        [](hid_t, const char* path, const H5O_info2_t* info, void* data) -> herr_t {
                            return guarded([&] {
                                Found& all = *static_cast<Found*>(data);
                                const bool copied =
                                    !all.shallow || std::strchr(path, '/') == nullptr;
                                if (info->type == H5O_TYPE_DATASET && copied)
                                    all.datasets.emplace_back(path);
                                return 0;
                            });
                        },
                        &found};
    const store::QuietErrors quiet;  // what is not there is H5Ocopy's own matter
    H5VLobject_specific(from.under, &location, from.connector, &visit, H5P_DATASET_XFER_DEFAULT,
                        nullptr);
    return std::move(found.datasets);
}

/// HDF5 (1.14.5 and 2.0.0) puts the chunks of some datasets in wrong places of a copy.
Status check_copy(const Object& from, const H5VL_loc_params_t& at, const char* name,
                  hid_t copying) {
    const KeepErrors keep;
    for (const std::string& below : datasets_in(from, at, name, copying)) {
        const std::string path = below == "." ? name : fmt::format("{}/{}", name, below);
        auto source = object_near(from, H5I_DATASET);
        source->under =
            H5VLdataset_open(from.under, &at, from.connector, path.c_str(),
                             H5P_DATASET_ACCESS_DEFAULT, H5P_DATASET_XFER_DEFAULT, nullptr);
        if (source->under == nullptr) continue;
        const bool wrong = has_wrong_copies(*source);
        H5VLdataset_close(source->under, from.connector, H5P_DATASET_XFER_DEFAULT, nullptr);
        if (wrong)
            return {StatusCode::unsupported,
                    fmt::format("H5Ocopy of {}: its only axis without limit is not the first, and "
                                "HDF5 loses chunks of such a dataset in a copy; use H5Dcreate, "
                                "H5Dread and H5Dwrite in its place",
                                path)};
    }
    return {};
}

/// Where data are copied within or out of a captured file they must be there first; what is copied
/// into one is the same on all ranks, as fill values are.
herr_t object_copy(void* source, const H5VL_loc_params_t* source_location, const char* source_name,
                   void* target, const H5VL_loc_params_t* target_location, const char* target_name,
                   hid_t copying, hid_t link_creation, hid_t transfer, void** request_slot) {
    return guarded([&] {
        const Object& from = object_of(source);
        CapturedFile* const into = object_of(target).file.get();
        if (from.file != nullptr)
            if (const Status status = from.file->settle({from.under, from.kind}); !status.ok())
                return fail(status);
        if (from.file != nullptr)
            if (const Status status = check_copy(from, *source_location, source_name, copying);
                !status.ok())
                return fail(status);
        const Request request(from, request_slot);
        const auto copy = [&] {
            return H5VLobject_copy(from.under, source_location, source_name, under_or_null(target),
                                   target_location, target_name, from.connector, copying,
                                   link_creation, transfer, request_slot);
        };
        if (into == nullptr) return copy();
        into->note_blocks_stored();
        return into->filling(copy);
    });
}

herr_t object_specific(void* object, const H5VL_loc_params_t* location,
                       H5VL_object_specific_args_t* args, hid_t transfer, void** request) {
    return guarded([&] {
        const auto call = [&] {
            return AtLocation<H5VLobject_specific>::call(object, location, args, transfer, request);
        };
        return args->op_type == H5VL_OBJECT_FLUSH ? flush_serial_object(object, call) : call();
    });
}

}  // namespace

H5VL_object_class_t object_callbacks() {
    H5VL_object_class_t table{};
    table.open = object_open;
    table.copy = object_copy;
    // Trap 1: for H5VL_OBJECT_GET_FILE the library wants the native connector's own file. It
    // compares that with the files that are open, and wraps it itself if there is none.
    table.get = AtLocation<H5VLobject_get>::call;
    table.specific = object_specific;
    table.optional = AtLocation<H5VLobject_optional>::call;
    return table;
}

}  // namespace caesura::vol
