// H5G: groups, and files mounted on them.
#include "vol/callbacks.hpp"
#include "vol/forward.hpp"

namespace caesura::vol {
namespace {

/// The native connector forgets nothing of a file that is mounted, and we must not either: its
/// CapturedFile lives as long as what it is mounted on.
Status check_mount(const Object& outer, const Object& mounted) {
    if (outer.file != nullptr || mounted.file == nullptr) return {};
    return {StatusCode::unsupported,
            mounted.file->name() +
                ": Caesura writes this file, so that it cannot be mounted on one that HDF5 writes "
                "by itself"};
}

/// The library hands the file to be mounted as this connector knows it.
herr_t mount(void* object, H5VL_group_specific_args_t below, hid_t transfer, void** request) {
    const Object& mounted = object_of(below.args.mount.child_file);
    const std::shared_ptr<CapturedFile> outer = object_of(object).file;
    if (const Status status = check_mount(object_of(object), mounted); !status.ok())
        return fail(status);
    below.args.mount.child_file = mounted.under;
    const herr_t done = OnObject<H5VLgroup_specific>::call(object, &below, transfer, request);
    if (done < 0) return done;
    CapturedFile::note_crossing();
    if (mounted.file != nullptr) mounted.file->mounted_on = outer;
    return done;
}

/// The captured file that is mounted at a name; null if there is none.
std::shared_ptr<CapturedFile> mounted_at(const Object& outer, const char* name, hid_t transfer) {
    H5VL_loc_params_t location{};
    location.type = H5VL_OBJECT_BY_SELF;
    location.obj_type = outer.kind;
    Object root(H5I_GROUP, outer.connector, nullptr);
    root.under = H5VLgroup_open(outer.under, &location, outer.connector, name,
                                H5P_GROUP_ACCESS_DEFAULT, transfer, nullptr);
    if (root.under == nullptr) return nullptr;
    CapturedFile::find_holder(root);
    H5VLgroup_close(root.under, outer.connector, transfer, nullptr);
    return root.file;
}

herr_t unmount(void* object, H5VL_group_specific_args_t* args, hid_t transfer, void** request) {
    const auto mounted = mounted_at(object_of(object), args->args.unmount.name, transfer);
    const herr_t done = OnObject<H5VLgroup_specific>::call(object, args, transfer, request);
    if (done >= 0 && mounted != nullptr) mounted->mounted_on.reset();
    return done;
}

herr_t group_specific(void* object, H5VL_group_specific_args_t* args, hid_t transfer,
                      void** request) {
    return guarded([&] {
        if (args->op_type == H5VL_GROUP_MOUNT) return mount(object, *args, transfer, request);
        if (args->op_type == H5VL_GROUP_UNMOUNT) return unmount(object, args, transfer, request);
        const auto call = [&] {
            return OnObject<H5VLgroup_specific>::call(object, args, transfer, request);
        };
        return args->op_type == H5VL_GROUP_FLUSH ? flush_serial_object(object, call) : call();
    });
}

}  // namespace

H5VL_group_class_t group_callbacks() {
    H5VL_group_class_t table{};
    table.create = MakesAtLocation<H5VLgroup_create, H5I_GROUP>::call;
    table.open = MakesAtLocation<H5VLgroup_open, H5I_GROUP>::call;
    table.get = OnObject<H5VLgroup_get>::call;
    table.specific = group_specific;
    table.optional = OnObject<H5VLgroup_optional>::call;
    table.close = Closes<H5VLgroup_close>::call;
    return table;
}

}  // namespace caesura::vol
