// H5T: committed datatypes.
#include "vol/callbacks.hpp"
#include "vol/forward.hpp"

namespace caesura::vol {
namespace {

herr_t datatype_specific(void* object, H5VL_datatype_specific_args_t* args, hid_t transfer,
                         void** request) {
    return guarded([&] {
        const auto call = [&] {
            return OnObject<H5VLdatatype_specific>::call(object, args, transfer, request);
        };
        return args->op_type == H5VL_DATATYPE_FLUSH ? flush_serial_object(object, call) : call();
    });
}

}  // namespace

H5VL_datatype_class_t datatype_callbacks() {
    H5VL_datatype_class_t table{};
    table.commit = MakesAtLocation<H5VLdatatype_commit, H5I_DATATYPE>::call;
    table.open = MakesAtLocation<H5VLdatatype_open, H5I_DATATYPE>::call;
    table.get = OnObject<H5VLdatatype_get>::call;
    table.specific = datatype_specific;
    table.optional = OnObject<H5VLdatatype_optional>::call;
    table.close = Closes<H5VLdatatype_close>::call;
    return table;
}

}  // namespace caesura::vol
