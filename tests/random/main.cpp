// Random programs, one after the other, each read back and compared; with --kill each is killed at
// a random instant and its file recovered. `--help` says how.
#include <fmt/format.h>
#include <hdf5.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "caesura/store.hpp"
#include "program.hpp"

namespace caesura::random_programs {
namespace {

constexpr const char* k_help =
    "random_programs [--count N] [--seed S] [--kill] [--keep] [--dir DIR] [--show]\n"
    "Runs N random uses of the Writer (100), the first from seed S (1), the next from S + 1, ...;\n"
    "reads each file back by the Reader and by HDF5 and compares every value.\n"
    "--kill  kill each at a random instant, recover the file: no committed dump may be lost\n"
    "--keep  stop at a program that goes wrong, and leave its files     --show  print each "
    "program\n";

struct Options {
    std::uint64_t count = 100, seed = 1;
    bool kill = false, keep = false, show = false;
    std::string dir = std::filesystem::temp_directory_path();
};

double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

std::vector<std::uint64_t> dumps_of(const Program& program) {
    std::vector<std::uint64_t> all;
    for (const KeptDump& kept : program.kept("%06T")) all.push_back(kept.plan->iteration);
    return all;
}

/// Files of programs of this process.
std::vector<std::string> files_in(const std::string& dir) {
    std::vector<std::string> found;
    const std::string begin = fmt::format("random_program_{}", static_cast<long>(::getpid()));
    for (const auto& entry : std::filesystem::directory_iterator(dir))
        if (entry.path().filename().string().starts_with(begin)) found.push_back(entry.path());
    return found;
}

void remove_files(const std::string& dir) {
    for (const std::string& file : files_in(dir)) std::filesystem::remove(file);
}

std::string run_whole(const Program& program, const std::string& path) {
    if (const Status status = run(program, path); !status.ok()) return status.message();
    return wrong_with(program, path, dumps_of(program));
}

/// Runs the program in a process of its own and kills it after so long; < 0: not at all.
/// @return the last iteration that it said was committed, as bytes in a pipe say.
std::optional<std::uint64_t> run_apart(const Program& program, const std::string& path,
                                       double kill_after_s, std::string& wrong) {
    int pipe_ends[2] = {-1, -1};
    if (::pipe(pipe_ends) != 0) {
        wrong = "no pipe";
        return {};
    }
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(pipe_ends[0]);
        const Status status = run(program, path, [&](std::uint64_t iteration) {
            if (::write(pipe_ends[1], &iteration, sizeof iteration) != sizeof iteration) ::_exit(3);
        });
        if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
        ::_exit(status.ok() ? 0 : 2);
    }
    ::close(pipe_ends[1]);
    if (kill_after_s >= 0) {
        std::this_thread::sleep_for(std::chrono::duration<double>(kill_after_s));
        ::kill(child, SIGKILL);
    }
    std::optional<std::uint64_t> last;
    std::uint64_t iteration = 0;
    while (::read(pipe_ends[0], &iteration, sizeof iteration) == sizeof iteration) last = iteration;
    ::close(pipe_ends[0]);
    int how = 0;
    ::waitpid(child, &how, 0);
    if (WIFEXITED(how) && WEXITSTATUS(how) != 0)
        wrong = fmt::format("it ended with {}", WEXITSTATUS(how));
    return last;
}

/// @param how  for people: what the kill met.
std::string run_killed(const Program& program, const std::string& path, std::string& how) {
    std::string wrong;
    const double begin_s = now_s();
    (void)run_apart(program, path, -1.0, wrong);
    if (!wrong.empty()) return wrong;
    const double whole_s = now_s() - begin_s;
    const std::string dir = std::filesystem::path(path).parent_path();
    remove_files(dir);
    std::mt19937 random(static_cast<unsigned>(program.seed));
    const double kill_s = whole_s * std::uniform_real_distribution<double>(0.3, 1.05)(random);
    const auto last = run_apart(program, path, kill_s, wrong);
    if (!wrong.empty()) return wrong;
    how = fmt::format("killed after {:.4f} of {:.4f} s, committed {}", kill_s, whole_s,
                      last ? std::to_string(*last) : "nothing");
    std::vector<std::uint64_t> must_have;
    for (const std::uint64_t iteration : dumps_of(program))
        if (last && iteration <= *last) must_have.push_back(iteration);
    for (const std::string& file : files_in(dir)) {
        const auto recovered = store::recover(file);
        if (recovered.ok()) continue;
        // Killed before the file had its first bytes; what is missed is found.
        if (recovered.status().code() != StatusCode::corrupt)
            return "recover: " + recovered.status().message();
        std::filesystem::remove(file);
    }
    return wrong_with(program, path, must_have);
}

int go(const Options& options) {
    std::uint64_t failed = 0, in_the_middle = 0;
    std::printf("%llu programs from seed %llu%s\n", static_cast<unsigned long long>(options.count),
                static_cast<unsigned long long>(options.seed), options.kill ? ", killed" : "");
    double told_s = now_s();
    for (std::uint64_t i = 0; i < options.count; ++i) {
        const Program program(options.seed + i, options.kill);
        const std::string path =
            fmt::format("{}/random_program_{}{}.h5", options.dir, static_cast<long>(::getpid()),
                        program.is_series ? "_%06T" : "");
        if (options.show) std::printf("%s\n", program.text().c_str());
        std::string how;
        const std::string wrong =
            options.kill ? run_killed(program, path, how) : run_whole(program, path);
        in_the_middle += how.find("committed nothing") == std::string::npos && !how.empty();
        if (!wrong.empty()) {
            ++failed;
            std::printf("FAILED %s\n  %s\n  %s\n", program.text().c_str(), how.c_str(),
                        wrong.c_str());
            if (options.keep) return 1;
        }
        remove_files(options.dir);
        if (now_s() - told_s > 10.0) {
            told_s = now_s();
            std::printf("%llu done, %llu failed\n", static_cast<unsigned long long>(i + 1),
                        static_cast<unsigned long long>(failed));
        }
        std::fflush(stdout);
    }
    std::printf("%llu programs, %llu failed", static_cast<unsigned long long>(options.count),
                static_cast<unsigned long long>(failed));
    if (options.kill)
        std::printf(", %llu killed after a commit", static_cast<unsigned long long>(in_the_middle));
    std::printf("\n");
    return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace caesura::random_programs

int main(int argc, char** argv) {
    caesura::random_programs::Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        const auto next = [&]() -> const char* { return i + 1 < argc ? argv[++i] : "0"; };
        if (word == "--count")
            options.count = std::strtoull(next(), nullptr, 10);
        else if (word == "--seed")
            options.seed = std::strtoull(next(), nullptr, 10);
        else if (word == "--dir")
            options.dir = next();
        else if (word == "--kill")
            options.kill = true;
        else if (word == "--keep")
            options.keep = true;
        else if (word == "--show")
            options.show = true;
        else {
            std::fputs(caesura::random_programs::k_help, word == "--help" ? stdout : stderr);
            return word == "--help" ? 0 : 2;
        }
    }
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    H5PLprepend(CAESURA_TEST_PLUGINS);
    return caesura::random_programs::go(options);
}
