// The module caesura_lab._core. The package around it is what people import.
#include "bindings.hpp"

namespace caesura::python {
void bind_planners(nb::module_& module);
void bind_simulate(nb::module_& module);
}  // namespace caesura::python

NB_MODULE(_core, module) {
    module.doc() = "The lab's C++; use the package `caesura_lab` instead.";
    caesura::python::share_errors();
    caesura::python::bind_planners(module);
    caesura::python::bind_simulate(module);
}
