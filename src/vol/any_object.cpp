// H5O: what can be done to an object of any kind.
#include "vol/callbacks.hpp"
#include "vol/captured_dataset.hpp"
#include "vol/copy_faults.hpp"
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
        CopyOfSource fit(from, *source_location);
        if (from.file != nullptr)
            if (const Status status = fit.prepare(source_name, copying); !status.ok())
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
