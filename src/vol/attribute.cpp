// H5A: attributes lie in every rank's image of the file, so all calls go to it.
#include "vol/callbacks.hpp"
#include "vol/forward.hpp"
#include "vol/native_attribute.hpp"

namespace caesura::vol {
namespace {

/// Some say which datasets are coordinates (coordinates.hpp).
herr_t attribute_write(void* object, hid_t type, const void* values, hid_t transfer, void** slot) {
    const herr_t written = OnObject<H5VLattr_write>::call(object, type, values, transfer, slot);
    const Object& on = object_of(object);
    if (written < 0 || on.file == nullptr || !on.file->asks_for_coordinates()) return written;
    return guarded([&] {
        const store::QuietErrors quiet;
        const KeepErrors keep;
        const NativeAttribute attribute(on.under);
        if (!NamedCoordinates::is_list(attribute.name())) return written;
        if (const auto text = attribute.text()) on.file->named_coordinates.add(*text);
        return written;
    });
}

}  // namespace

H5VL_attr_class_t attribute_callbacks() {
    H5VL_attr_class_t table{};
    table.create = MakesAtLocation<H5VLattr_create, H5I_ATTR>::call;
    table.open = MakesAtLocation<H5VLattr_open, H5I_ATTR>::call;
    table.read = OnObject<H5VLattr_read>::call;
    table.write = attribute_write;
    table.get = OnObject<H5VLattr_get>::call;
    table.specific = AtLocation<H5VLattr_specific>::call;
    table.optional = OnObject<H5VLattr_optional>::call;
    table.close = Closes<H5VLattr_close>::call;
    return table;
}

}  // namespace caesura::vol
