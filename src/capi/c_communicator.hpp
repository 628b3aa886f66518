// A Communicator over the function table of the C API.
#pragma once

#include "caesura/base.hpp"
#include "caesura/caesura.h"

namespace caesura::capi {

/// Takes the table over: its destroy is called once, at the end. Errors: invalid_argument (a
/// function is missing, or rank and size contradict each other).
Result<std::unique_ptr<Communicator>> make_c_communicator(const caesura_communicator& table);

}  // namespace caesura::capi
