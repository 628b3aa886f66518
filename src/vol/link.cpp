// H5L: links. Calls with two places may leave one of them out (H5L_SAME_LOC).
#include "vol/callbacks.hpp"
#include "vol/forward.hpp"

namespace caesura::vol {
namespace {

herr_t link_create(H5VL_link_create_args_t* args, void* object, const H5VL_loc_params_t* location,
                   hid_t creation, hid_t access, hid_t transfer, void** request_slot) {
    return guarded([&] {
        H5VL_link_create_args_t below = *args;
        void* named = object;
        if (args->op_type == H5VL_LINK_CREATE_HARD) {
            void*& target = below.args.hard.curr_obj;
            if (named == nullptr) named = target;
            target = under_or_null(target);
        }
        const Object& on = object_of(named);
        const Request request(on, request_slot);
        return H5VLlink_create(&below, under_or_null(object), location, on.connector, creation,
                               access, transfer, request_slot);
    });
}

using TwoPlaces = herr_t (*)(void*, const H5VL_loc_params_t*, void*, const H5VL_loc_params_t*,
                             hid_t, hid_t, hid_t, hid_t, void**);

template <TwoPlaces Below>
herr_t between(void* source, const H5VL_loc_params_t* source_location, void* target,
               const H5VL_loc_params_t* target_location, hid_t creation, hid_t access,
               hid_t transfer, void** request_slot) {
    return guarded([&] {
        const Object& on = object_of(source != nullptr ? source : target);
        const Request request(on, request_slot);
        return Below(under_or_null(source), source_location, under_or_null(target), target_location,
                     on.connector, creation, access, transfer, request_slot);
    });
}

}  // namespace

H5VL_link_class_t link_callbacks() {
    H5VL_link_class_t table{};
    table.create = link_create;
    table.copy = between<H5VLlink_copy>;
    table.move = between<H5VLlink_move>;
    table.get = AtLocation<H5VLlink_get>::call;
    table.specific = AtLocation<H5VLlink_specific>::call;
    table.optional = AtLocation<H5VLlink_optional>::call;
    return table;
}

}  // namespace caesura::vol
