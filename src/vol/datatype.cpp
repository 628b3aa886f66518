// H5T: committed datatypes.
#include "vol/callbacks.hpp"
#include "vol/forward.hpp"

namespace caesura::vol {

H5VL_datatype_class_t datatype_callbacks() {
    H5VL_datatype_class_t table{};
    table.commit = MakesAtLocation<H5VLdatatype_commit, H5I_DATATYPE>::call;
    table.open = MakesAtLocation<H5VLdatatype_open, H5I_DATATYPE>::call;
    table.get = OnObject<H5VLdatatype_get>::call;
    table.specific = OnObject<H5VLdatatype_specific>::call;
    table.optional = OnObject<H5VLdatatype_optional>::call;
    table.close = Closes<H5VLdatatype_close>::call;
    return table;
}

}  // namespace caesura::vol
