// cosmology: the command. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a check was violated.

#include <fmt/format.h>
#include <mpi.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>

#include "run.hpp"

namespace {

/// What the device's seconds are.
std::string device_label(const nlohmann::json& t) {
    if (t["device"]["kind"] == "emulated") return "emulated device";
    const auto name = t["device"]["name"].get<std::string>();
    return t["device_is_emulated"].get<bool>() ? name + " and emulated device" : name;
}

void print_summary(const nlohmann::json& t) {
    fmt::print("{}: {} ranks, {}^3 cells, {} steps, {} dumps\n", t["mode"].get<std::string>(),
               t["ranks"].get<int>(), t["grid"].get<int>(), t["steps"].get<int>(),
               t["dumps"].get<int>());
    fmt::print(
        "  {:.3f} s in all: host {:.3f}, communication {:.3f}, {} {:.3f}, "
        "output {:.3f}, open {:.3f}, close {:.3f}\n",
        t["wall_s"].get<double>(), t["host_s"].get<double>(), t["comm_s"].get<double>(),
        device_label(t), t["device_s"].get<double>(), t["output_s"].get<double>(),
        t["open_s"].get<double>(), t["close_s"].get<double>());
    if (t["file_bytes"].get<double>() > 0)
        fmt::print("  {:.1f} MB of values in a file of {:.1f} MB\n",
                   t["raw_bytes"].get<double>() / 1e6, t["file_bytes"].get<double>() / 1e6);
    if (t.contains("check"))
        fmt::print("  growth is within {:+.2f} % of linear theory over a factor {:.2f} in a\n",
                   100.0 * t["check"]["growth_departure"].get<double>(),
                   t["check"]["growth_checked_over_a"].get<double>());
}

int run_and_report(const cosmology::Options& options, int rank) {
    const cosmology::RunResult result = cosmology::run(options, MPI_COMM_WORLD);
    if (rank == 0) {
        if (!options.timing_json.empty()) {
            std::ofstream file(options.timing_json);
            file << result.timing.dump(2) << '\n';
            if (!file.flush())
                throw std::runtime_error("cannot write --timing-json " + options.timing_json);
        }
        if (!options.quiet) print_summary(result.timing);
        for (const auto& violation : result.violations)
            fmt::print(stderr, "cosmology: check violated: {}\n", violation);
    }
    return result.violations.empty() ? 0 : 3;
}

}  // namespace

int main(int argc, char** argv) {
    // FUNNELED is what Caesura needs; the mini-app itself has one thread.
    int provided = 0, rank = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    cosmology::Options options;
    try {
        options = cosmology::parse_options(argc, argv);
    } catch (const std::invalid_argument& error) {
        if (rank == 0) fmt::print(stderr, "cosmology: {}\n", error.what());
        MPI_Finalize();
        return 2;
    }
    if (options.help) {
        if (rank == 0) fmt::print("{}", cosmology::help_text());
        MPI_Finalize();
        return 0;
    }
    int code = 1;
    try {
        code = run_and_report(options, rank);
    } catch (const std::exception& error) {
        fmt::print(stderr, "cosmology: rank {}: {}\n", rank, error.what());
        std::fflush(stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);  // the others may be waiting in a collective call
    }
    MPI_Finalize();
    return code;
}
