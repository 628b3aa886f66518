// H5A: attributes lie in every rank's image of the file, so all calls go to it.
#include "vol/callbacks.hpp"
#include "vol/forward.hpp"

namespace caesura::vol {

H5VL_attr_class_t attribute_callbacks() {
    H5VL_attr_class_t table{};
    table.create = MakesAtLocation<H5VLattr_create, H5I_ATTR>::call;
    table.open = MakesAtLocation<H5VLattr_open, H5I_ATTR>::call;
    table.read = OnObject<H5VLattr_read>::call;
    table.write = OnObject<H5VLattr_write>::call;
    table.get = OnObject<H5VLattr_get>::call;
    table.specific = AtLocation<H5VLattr_specific>::call;
    table.optional = OnObject<H5VLattr_optional>::call;
    table.close = Closes<H5VLattr_close>::call;
    return table;
}

}  // namespace caesura::vol
