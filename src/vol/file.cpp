// H5F: files. Which of them are captured is decided when they are created or opened.
#include "store/hdf5_handle.hpp"
#include "vol/callbacks.hpp"
#include "vol/forward.hpp"
#include "vol/info.hpp"

namespace caesura::vol {
namespace {

using store::Handle;

/// The application's access list with the native connector on it. Copying an MPI-IO list
/// duplicates its communicator, collectively (trap 14): once a call, as the calls that need it are
/// collective themselves.
Handle native_access(hid_t access) {
    Handle native(H5Pcopy(access), H5Pclose);
    if (native.ok() && H5Pset_vol(native.get(), native_connector(), nullptr) < 0) native.reset();
    return native;
}

void* file_create(const char* name, unsigned flags, hid_t creation, hid_t access, hid_t transfer,
                  void** request_slot) {
    return guarded([&]() -> void* {
        const Handle native = native_access(access);
        if (!native.ok()) return nullptr;
        auto made = std::make_unique<Object>(H5I_FILE, native_connector(), nullptr);
        const Request request(*made, request_slot);
        made->is_use_of_file = true;
        return adopt(std::move(made),
                     H5VLfile_create(name, flags, creation, native.get(), transfer, request_slot));
    });
}

void* file_open(const char* name, unsigned flags, hid_t access, hid_t transfer,
                void** request_slot) {
    return guarded([&]() -> void* {
        const Handle native = native_access(access);
        if (!native.ok()) return nullptr;
        auto made = std::make_unique<Object>(H5I_FILE, native_connector(), nullptr);
        const Request request(*made, request_slot);
        made->is_use_of_file = true;
        return adopt(std::move(made),
                     H5VLfile_open(name, flags, native.get(), transfer, request_slot));
    });
}

/// On a file that need not be open: there is no object, and the access list is the argument's.
herr_t by_name(H5VL_file_specific_args_t* below, hid_t& access, hid_t transfer,
               void** request_slot) {
    const Handle native = native_access(access);
    if (!native.ok()) return -1;
    access = native.get();
    const Object nowhere(H5I_FILE, native_connector(), nullptr);
    const Request request(nowhere, request_slot);
    return H5VLfile_specific(nullptr, native_connector(), below, transfer, request_slot);
}

herr_t reopen(void* object, H5VL_file_specific_args_t* args, hid_t transfer, void** request_slot) {
    const Object& file = object_of(object);
    auto again = object_near(file, H5I_FILE);
    again->is_use_of_file = true;
    const Request request(file, request_slot);
    const herr_t status =
        H5VLfile_specific(file.under, file.connector, args, transfer, request_slot);
    void*& opened = *args->args.reopen.file;
    if (status >= 0) opened = adopt(std::move(again), opened);
    return status;
}

herr_t file_specific(void* object, H5VL_file_specific_args_t* args, hid_t transfer,
                     void** request_slot) {
    return guarded([&] {
        H5VL_file_specific_args_t below = *args;
        switch (args->op_type) {
            case H5VL_FILE_IS_ACCESSIBLE:
                return by_name(&below, below.args.is_accessible.fapl_id, transfer, request_slot);
            case H5VL_FILE_DELETE:
                return by_name(&below, below.args.del.fapl_id, transfer, request_slot);
            case H5VL_FILE_REOPEN:
                return reopen(object, args, transfer, request_slot);
            case H5VL_FILE_FLUSH:
            case H5VL_FILE_IS_EQUAL:  // the second file comes as the native connector knows it
                break;
        }
        return OnObject<H5VLfile_specific>::call(object, args, transfer, request_slot);
    });
}

}  // namespace

H5VL_file_class_t file_callbacks() {
    H5VL_file_class_t table{};
    table.create = file_create;
    table.open = file_open;
    table.get = OnObject<H5VLfile_get>::call;
    table.specific = file_specific;
    table.optional = OnObject<H5VLfile_optional>::call;
    table.close = Closes<H5VLfile_close>::call;
    return table;
}

}  // namespace caesura::vol
