#include "vol/object.hpp"

namespace caesura::vol {

hid_t native_connector() { return H5VL_NATIVE; }

Object::Object(H5I_type_t of_kind, hid_t below, std::shared_ptr<CapturedFile> in)
    : connector(below), kind(of_kind), file(std::move(in)) {}

}  // namespace caesura::vol
