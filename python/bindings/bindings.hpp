// What the files of the Python module share: errors become exceptions, one bind function a part.
//
// Invariants:
//  - Only public calls of the library are bound; nothing here decides anything.
//  - Every call that can wait (put, end, close, reading, recovery) runs without the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include "caesura/base.hpp"
#include "plan/schedule.hpp"

namespace caesura::python {

namespace nb = nanobind;

/// Throws the Python exception for the Status: ValueError (invalid_argument), OSError (io,
/// no_space), CorruptError (corrupt, insufficient_data), RuntimeError else. Message verbatim.
/// Needs the GIL.
void raise_if_error(const Status& status);

template <class T>
T value_or_raise(Result<T>&& result) {
    if (!result.ok()) raise_if_error(result.status());
    return std::move(*result);
}

/// A Communicator whose calls are methods of a Python object (see caesura/communicator.py).
std::unique_ptr<Communicator> make_communicator(nb::object comm);

/// By its name in the library; ValueError naming the known ones.
plan::Algorithm to_algorithm(const std::string& name);

void bind_checkpointer(nb::module_& module);
void bind_codec(nb::module_& module);
void bind_errors(nb::module_& module);
/// For another module: exceptions are those of the module caesura._core.
void share_errors();
void bind_files(nb::module_& module);
void bind_lambdas(nb::module_& module);
/// Where there is a client of the service.
void bind_objects(nb::module_& module);
void bind_plan(nb::module_& module);
void bind_predict(nb::module_& module);
void bind_reader(nb::module_& module);
void bind_times(nb::module_& module);
void bind_together(nb::module_& module);
void bind_where(nb::module_& module);
void bind_writer(nb::module_& module);

}  // namespace caesura::python
