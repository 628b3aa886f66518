// Status becomes a Python exception with the same message.
#include "bindings.hpp"

namespace caesura::python {

namespace {
// Borrowed for the life of the process: exception types are never unloaded.
PyObject* corrupt_error = nullptr;

PyObject* exception_of(StatusCode code) {
    switch (code) {
        case StatusCode::invalid_argument:
            return PyExc_ValueError;
        case StatusCode::io:
        case StatusCode::no_space:
            return PyExc_OSError;
        case StatusCode::corrupt:
        case StatusCode::insufficient_data:
            return corrupt_error;
        case StatusCode::ok:
        case StatusCode::unsupported:
        case StatusCode::cancelled:
        case StatusCode::internal:
            break;
    }
    return PyExc_RuntimeError;
}
}  // namespace

void raise_if_error(const Status& status) {
    if (status.ok()) return;
    // "%s" so that a per cent sign in the message is not taken for a format.
    PyErr_Format(exception_of(status.code()), "%s", status.message().c_str());
    throw nb::python_error();
}

void bind_errors(nb::module_& module) {
    corrupt_error = PyErr_NewExceptionWithDoc(
        "caesura.CorruptError", "The file contradicts itself or one of its checksums.",
        PyExc_Exception, nullptr);
    if (corrupt_error == nullptr) throw nb::python_error();
    module.attr("CorruptError") = nb::borrow(corrupt_error);
}

void share_errors() {
    const nb::object found = nb::module_::import_("caesura._core").attr("CorruptError");
    corrupt_error = nb::object(found).release().ptr();
}

}  // namespace caesura::python
