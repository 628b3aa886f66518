// H5G: groups, and files mounted on them.
#include "vol/callbacks.hpp"
#include "vol/forward.hpp"

namespace caesura::vol {
namespace {

/// The library hands the file to be mounted as this connector knows it.
herr_t group_specific(void* object, H5VL_group_specific_args_t* args, hid_t transfer,
                      void** request) {
    H5VL_group_specific_args_t below = *args;
    if (args->op_type == H5VL_GROUP_MOUNT)
        below.args.mount.child_file = under_or_null(args->args.mount.child_file);
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
