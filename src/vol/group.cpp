// H5G: groups, and files mounted on them.
#include "vol/callbacks.hpp"
#include "vol/forward.hpp"

namespace caesura::vol {
namespace {

/// Objects reached through a mount would be taken for the outer file's, and committed with it.
Status check_mount(const Object& outer, const Object& mounted) {
    if (outer.file == nullptr && mounted.file == nullptr) return {};
    return {StatusCode::unsupported,
            "a file that Caesura writes cannot be mounted, nor mounted on"};
}

/// The library hands the file to be mounted as this connector knows it.
herr_t group_specific(void* object, H5VL_group_specific_args_t* args, hid_t transfer,
                      void** request) {
    H5VL_group_specific_args_t below = *args;
    if (args->op_type == H5VL_GROUP_MOUNT) {
        const Object& mounted = object_of(args->args.mount.child_file);
        if (const Status status = check_mount(object_of(object), mounted); !status.ok())
            return fail(status);
        below.args.mount.child_file = mounted.under;
    }
    return OnObject<H5VLgroup_specific>::call(object, &below, transfer, request);
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
