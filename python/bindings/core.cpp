// The module caesura._core. The package around it is what people import.
#include "bindings.hpp"

NB_MODULE(_core, module) {
    module.doc() = "Caesura's C++ library; use the package `caesura` instead.";
    caesura::python::bind_errors(module);
    caesura::python::bind_codec(module);
    caesura::python::bind_files(module);
    caesura::python::bind_lambdas(module);
#ifdef CAESURA_HAS_SERVICE
    caesura::python::bind_objects(module);
#endif
    caesura::python::bind_plan(module);
    caesura::python::bind_predict(module);
    caesura::python::bind_reader(module);
    caesura::python::bind_times(module);
    caesura::python::bind_together(module);
    caesura::python::bind_checkpointer(module);
    caesura::python::bind_where(module);
    caesura::python::bind_writer(module);
}
