// A whole run: steps, regrids and dumps.
#pragma once

#include <functional>

#include "hierarchy.hpp"

namespace blast {

struct RunResult {
    int regrids = 0;                              ///< that changed a box
    double mass_drift = 0.0, energy_drift = 0.0;  ///< relative, from start to end
    bool nested = true;                           ///< after every regrid
    double raw_bytes = 0.0;     ///< of all boxes in all dumps, what lies between them not counted
    double stored_bytes = 0.0;  ///< of all ranks; 0: nobody has counted
};

/// Collective. @param on_dump  called after each dump was handed over, with its step.
RunResult run(const Options& options, MPI_Comm comm,
              const std::function<void(int, const Hierarchy&)>& on_dump = {});

}  // namespace blast
