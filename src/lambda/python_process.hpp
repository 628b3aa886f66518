// Starting the Python process of python_worker.hpp.
#pragma once

#include "lambda/python_worker.hpp"

namespace caesura::lambda {

/// @param connection, values  become descriptors 3 and 4 of the process; borrowed.
/// @return  the process, which leads a group of its own. Errors: io (no such program).
Result<pid_t> spawn_python(const PythonSettings& settings, int connection, int values);

}  // namespace caesura::lambda
