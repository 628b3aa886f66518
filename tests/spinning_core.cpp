// Goal: a writer that shares its only core with a process that never waits still finishes, as an
// ordinary user who may lower a thread's priority but not raise it again.
//
// Compression workers run at idle priority; on this core they get next to nothing, and close() may
// not wait for them: the caller's own thread has to do the queued work, and to redo what a starved
// worker has begun. What close() still waits for is the block that a worker is inside: its codec
// cannot be stopped there. So the test takes Caesura's own codec, whose block needs 3 ms; SZ3 needs
// 60 ms, which at a worker's share of such a core (3 parts of 1027) are 20 s. The program fails by
// its file being wrong, or by not ending (ctest's TIMEOUT); the time it took is printed, not
// judged.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "stock_reader.hpp"

namespace {

using namespace caesura;
namespace fs = std::filesystem;

constexpr std::uint64_t k_dumps = 2;
constexpr double k_bound = 1e-3;
const Shape k_shape{96, 128, 128};  // 6 MiB

/// What must hold for the rest to mean anything.
void need(bool condition, const char* what) {
    if (condition) return;
    std::perror(what);
    std::_Exit(2);
}

/// A directory anyone may write, with copies of the filter plugins that anyone may read: the
/// environment they come from may be closed to others.
fs::path open_directory() {
    std::string name = (fs::temp_directory_path() / "caesura-spinning-XXXXXX").string();
    need(::mkdtemp(name.data()) != nullptr, "mkdtemp");
    fs::permissions(name, fs::perms::all);
    std::string list = std::getenv("HDF5_PLUGIN_PATH") ? std::getenv("HDF5_PLUGIN_PATH") : "";
    for (std::size_t begin = 0; begin < list.size();) {
        const std::size_t end = std::min(list.find(':', begin), list.size());
        const fs::path source = list.substr(begin, end - begin);
        begin = end + 1;
        std::error_code ignored;
        for (const auto& entry : fs::directory_iterator(source, ignored))
            if (entry.path().extension() == ".so")
                fs::copy_file(entry.path(), name / entry.path().filename(), ignored);
    }
    ::setenv("HDF5_PLUGIN_PATH", name.c_str(), 1);
    return name;
}

/// From here on: one core, no privileges, nothing to raise a priority with.
void become_ordinary_user_on_one_core() {
    cpu_set_t may_use;
    need(::sched_getaffinity(0, sizeof may_use, &may_use) == 0, "sched_getaffinity");
    int core = CPU_SETSIZE - 1;  // the last one, which others use least
    while (core > 0 && !CPU_ISSET(core, &may_use)) --core;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    need(::sched_setaffinity(0, sizeof one, &one) == 0, "sched_setaffinity");
    const rlimit none{0, 0};
    need(::setrlimit(RLIMIT_NICE, &none) == 0, "setrlimit");
    if (::geteuid() == 0) {
        constexpr uid_t k_nobody = 65534;
        need(::setgid(k_nobody) == 0 && ::setuid(k_nobody) == 0, "setuid(nobody)");
        need(::setuid(0) != 0, "nobody must not become root again");
    }
    std::printf("core %d, user %u\n", core, static_cast<unsigned>(::getuid()));
}

/// A process that keeps the same core busy at normal priority until it is killed.
pid_t start_spinning() {
    const pid_t parent = ::getpid(), child = ::fork();
    need(child >= 0, "fork");
    if (child > 0) return child;
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);  // not to outlive a test that was killed
    if (::getppid() != parent) std::_Exit(0);
    for (volatile unsigned long turns = 0;;) turns = turns + 1;
}

std::vector<float> values(std::uint64_t dump) {
    return testing::make_field<float>(k_shape, static_cast<unsigned>(dump) + 1, 0);
}

Status write(const std::string& path) {
    WriterOptions options;
    options.bound = absolute(k_bound);
    options.chunk_bytes = 512u << 10;  // twelve blocks a dump
    auto writer = Writer::create(path, nullptr, options);
    if (!writer.ok()) return writer.status();
    auto field = (*writer)->define_field("rho", float32, k_shape, options.bound);
    if (!field.ok()) return field.status();
    for (std::uint64_t n = 0; n < k_dumps; ++n) {
        const auto data = values(n);
        auto iteration = (*writer)->begin_iteration(n);
        auto dump = iteration.begin_dump(static_cast<double>(n));
        if (Status status = dump.put(*field, {{0, 0, 0}, k_shape}, data.data()); !status.ok())
            return status;
        if (Status status = iteration.end(); !status.ok()) return status;
    }
    if (Status status = (*writer)->close(); !status.ok()) return status;
    const WriterReport report = (*writer)->report();
    std::printf(
        "compression %.2f s of CPU time, writes %.2f s, put %.2f s, end %.2f s, "
        "close %.2f s\n",
        report.compress_s, report.write_s, report.put_s, report.end_s, report.close_s);
    if ((*writer)->committed() != k_dumps - 1)
        return {StatusCode::internal, "close() returned ok, but not all dumps are committed"};
    return {};
}

std::string wrong_in(const std::string& path) {
    if (testing::iterations(path).size() != k_dumps) return "not all dumps are in the file";
    for (std::uint64_t n = 0; n < k_dumps; ++n) {
        const auto read = testing::read_dataset(path, "/data/" + std::to_string(n) + "/meshes/rho");
        if (auto wrong = testing::broken(values(n), read.values, k_bound); !wrong.empty())
            return "dump " + std::to_string(n) + ", " + wrong;
    }
    return {};
}

/// All of it, as the user who is left. The exit status.
int run_in(const fs::path& directory) {
    become_ordinary_user_on_one_core();
    const pid_t spinning = start_spinning();
    const auto begin = std::chrono::steady_clock::now();
    const std::string path = (directory / "run.h5").string();
    const Status status = write(path);
    const std::chrono::duration<double> write_s = std::chrono::steady_clock::now() - begin;
    (void)::kill(spinning, SIGKILL);
    (void)::waitpid(spinning, nullptr, 0);

    std::printf("%.2f s beside a spinning process\n", write_s.count());
    const std::string wrong = status.ok() ? wrong_in(path) : status.message();
    if (!wrong.empty()) std::printf("FAILED: %s\n", wrong.c_str());
    return wrong.empty() ? 0 : 1;
}

}  // namespace

int main() {
    const fs::path directory = open_directory();
    // In a child, because only this user may remove the directory.
    const pid_t child = ::fork();
    need(child >= 0, "fork");
    if (child == 0) std::exit(run_in(directory));
    int code = 0;
    need(::waitpid(child, &code, 0) == child, "waitpid");
    fs::remove_all(directory);
    return WIFEXITED(code) ? WEXITSTATUS(code) : 2;
}
