// Holds the VOL connector to native HDF5: random sequences of HDF5 calls are made natively and
// under the connector, in two files, and every outcome is compared. run.py starts it, sums up and
// shrinks.
//
// One line of output for each sequence that failed, and one at the end:
//   DIFFERENCE seed=.. step=.. op=.. facts=.. what=..      STEPS 0,3,9      DONE sequences=..
//   calls=..
#include <execinfo.h>
#include <hdf5.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "planted.hpp"
#include "sequence.hpp"
#include "step.hpp"

namespace stand_in {
namespace {

/// By write() alone: the process may be in any state.
void say_where(const char* what) {
    char text[700];
    const int n =
        std::snprintf(text, sizeof text, "%s side=%s %s\n", what, side_it_is, where_it_is);
    if (n > 0 && write(1, text, static_cast<std::size_t>(n)) < 0) _exit(9);
}

/// The innermost calls, for whoever reads the log.
void say_calls() {
    void* calls[40];
    backtrace_symbols_fd(calls, backtrace(calls, 40), 1);
}

void on_crash(int number) {
    const char* what = number == SIGSEGV   ? "CRASH SIGSEGV"
                       : number == SIGABRT ? "CRASH SIGABRT"
                                           : "CRASH signal";
    say_where(what);
    say_calls();
    signal(number, SIG_DFL);
    raise(number);
}

void on_alarm(int) {
    say_where("HANG");
    say_calls();
    _exit(14);
}

void watch_for_crashes() {
    for (const int number : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE}) signal(number, on_crash);
    signal(SIGALRM, on_alarm);
}

std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
    return parts;
}

/// A file with the steps of an attempt in each line.
void read_attempts(const std::string& path, std::vector<std::vector<std::uint64_t>>& attempts) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        attempts.emplace_back();
        for (const std::string& step : split(line, ','))
            attempts.back().push_back(std::stoull(step));
    }
}

Options parse(int count, char** words) {
    Options options;
    for (int i = 1; i + 1 < count; i += 2) {
        const std::string name = words[i], value = words[i + 1];
        if (name == "--seed") options.seed = std::stoull(value);
        if (name == "--sequences") options.sequences = std::stoi(value);
        if (name == "--calls") options.calls = std::stoi(value);
        if (name == "--directory") options.directory = value;
        if (name == "--side") options.side = value;
        if (name == "--without") options.without = split(value, ',');
        if (name == "--planted") options.planted = value;
        if (name == "--show") options.shows = value == "1";
        if (name == "--leave-open") options.leaves_open = value == "1";
        if (name == "--limit") options.limit_s = static_cast<unsigned>(std::stoul(value));
        if (name == "--keep") read_attempts(value, options.kept);
    }
    return options;
}

void print(const World& world, std::uint64_t seed, const Verdict& verdict, int attempt,
           const Options& options) {
    std::string steps;
    for (const std::uint64_t step : verdict.steps)
        steps += (steps.empty() ? "" : ",") + std::to_string(step);
    if (verdict.difference)
        std::printf(
            "DIFFERENCE seed=%llu attempt=%d rank=%d step=%llu steps=%s setting=%s,%s "
            "op=%s facts=%s what=%s\n",
            static_cast<unsigned long long>(seed), attempt, world.rank,
            static_cast<unsigned long long>(verdict.step), steps.c_str(),
            std::filesystem::path(world.setting.config).stem().c_str(),
            world.setting.mpio ? "mpio" : "own", verdict.operation.c_str(), verdict.facts.c_str(),
            verdict.difference->c_str());
    else if (!options.kept.empty() && world.rank == 0)
        std::printf("ALIKE seed=%llu attempt=%d\n", static_cast<unsigned long long>(seed), attempt);
    if (options.shows && world.rank == 0) std::printf("PROGRAM\n%sEND\n", verdict.program.c_str());
    std::fflush(stdout);
}

void start(World& world, const Options& options) {
    MPI_Comm_rank(world.communicator, &world.rank);
    MPI_Comm_size(world.communicator, &world.ranks);
    world.base = world.directory = options.directory;
    if (!options.side.empty()) {
        world.by_environment = true;
        world.runs = {options.side == "native", options.side == "ours"};
    } else {
        world.connector = options.planted.empty()
                              ? H5VLregister_connector_by_name("caesura", H5P_DEFAULT)
                              : register_with_fault(options.planted);
        if (world.connector < 0) {
            std::fprintf(stderr, "the connector cannot be loaded: see HDF5_PLUGIN_PATH\n");
            MPI_Abort(world.communicator, 2);
        }
    }
    if (world.rank == 0 && world.runs[ours]) write_configurations(world.base);
    MPI_Barrier(world.communicator);
}

int run(World& world, const Options& options, Judge* judge) {
    long long calls = 0;
    int failed = 0;
    const int attempts =
        options.kept.empty() ? options.sequences : static_cast<int>(options.kept.size());
    for (int i = 0; i < attempts; ++i) {
        const std::uint64_t seed =
            options.seed + (options.kept.empty() ? static_cast<std::uint64_t>(i) : 0);
        world.setting = setting_of(seed, world);
        if (world.connector >= 0)
            H5VLconnector_str_to_info(("config=" + world.setting.config).c_str(), world.connector,
                                      &world.info);
        bound_of_sequence = world.setting.bound;
        alarm(options.limit_s);
        const auto* kept =
            options.kept.empty() ? nullptr : &options.kept[static_cast<std::size_t>(i)];
        const Verdict verdict = run_sequence(world, options, seed, kept, judge);
        if (world.info != nullptr)
            H5VLfree_connector_info(world.connector, std::exchange(world.info, nullptr));
        calls += verdict.calls;
        failed += verdict.difference.has_value();
        print(world, seed, verdict, i, options);
    }
    alarm(options.limit_s);
    std::snprintf(where_it_is, sizeof where_it_is, "seed=%llu step=1000 op=end",
                  static_cast<unsigned long long>(options.seed));
    if (world.rank == 0)
        std::printf("DONE sequences=%d calls=%lld failed=%d\n", attempts, calls, failed);
    return 0;
}

}  // namespace
}  // namespace stand_in

int main(int count, char** words) {
    using namespace stand_in;
    if (count > 1 && std::strcmp(words[1], "--judge") == 0) return serve_as_judge();
    if (count > 1 && std::strcmp(words[1], "--faults") == 0) {
        for (const Fault& one : faults()) std::printf("%s\t%s\n", one.name, one.kind);
        return 0;
    }
    const Options options = parse(count, words);
    MPI_Init(&count, &words);
    watch_for_crashes();
    // Failures are drawn on purpose; with this variable each one's stack is printed.
    if (std::getenv("STAND_IN_ERRORS") == nullptr) H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    int status = 0;
    {
        World world;
        start(world, options);
        std::optional<Judge> judge;
        const char* filters = std::getenv("STAND_IN_FILTERS");
        if (options.side.empty() && filters != nullptr) judge.emplace("/proc/self/exe", filters);
        status = run(world, options, judge ? &*judge : nullptr);
        if (world.connector >= 0) H5VLclose(world.connector);
    }
    std::fflush(stdout);
    MPI_Finalize();
    return status;
}
