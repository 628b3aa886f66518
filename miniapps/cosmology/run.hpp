// One whole run: the steps, the dumps, the stopwatch that is the same for every mode.
//
// Time charged to a mode: from a barrier before the file is opened to a barrier after it is closed,
// less what --raw-dir takes, which stands between barriers of its own. --check measures inside the
// steps: times of checked runs are not for comparison.
#pragma once

#include <mpi.h>

#include <nlohmann/json.hpp>

#include "options.hpp"

namespace cosmology {

/// What a run leaves behind.
struct RunResult {
    nlohmann::json timing;                ///< as --timing-json writes it; complete on rank 0 only
    std::vector<std::string> violations;  ///< of --check; the same on all ranks
};

/// Collective. Throws std::exception when the output or the set-up fails.
RunResult run(const Options& options, MPI_Comm comm);

}  // namespace cosmology
