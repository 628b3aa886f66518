// The program: options, run, what came of it. Exit 1: error, 2: options, 3: --check failed.

#include <fmt/core.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "run.hpp"
#include "sink.hpp"

namespace {

int checked(const blast::Options& options, const blast::RunResult& result) {
    if (!options.check) return 0;
    const bool conserved =
        std::abs(result.mass_drift) < 1e-12 && std::abs(result.energy_drift) < 1e-12;
    return conserved && result.nested ? 0 : 3;
}

}  // namespace

int main(int argc, char** argv) {
    int provided = 0, rank = 0, code = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments == std::vector<std::string>{"--help"}) {
        if (rank == 0) fmt::print("{}{}", blast::help_text(), blast::sink_text());
        MPI_Finalize();
        return 0;
    }
    try {
        const auto options = blast::parse(arguments);
        const auto result = blast::run(options, MPI_COMM_WORLD);
        if (rank == 0)
            fmt::print(
                "{} regrids, mass drift {:.1e}, energy drift {:.1e}, nested: {}\n{:.0f} bytes",
                result.regrids, result.mass_drift, result.energy_drift, result.nested,
                result.raw_bytes);
        if (rank == 0 && result.stored_bytes > 0)
            fmt::print(" in {:.0f}: ratio {:.2f}", result.stored_bytes,
                       result.raw_bytes / result.stored_bytes);
        if (rank == 0) fmt::print("\n");
        code = checked(options, result);
    } catch (const std::invalid_argument& error) {
        if (rank == 0) fmt::print(stderr, "blast: {}\n", error.what());
        code = 2;
    } catch (const std::exception& error) {
        fmt::print(stderr, "blast, rank {}: {}\n", rank, error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return code;
}
