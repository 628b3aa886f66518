#include "lambda/python_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

namespace caesura::lambda {
namespace {

/// Pointers to texts with a null pointer at the end, as exec wants them.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

std::vector<std::string> environment_of(const PythonSettings& settings) {
    // One thread for numpy: others would share the limits, and reserve memory.
    std::vector<std::string> environment = {"LANG=C.UTF-8", "OMP_NUM_THREADS=1",
                                            "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1"};
    for (const char* name : {"PATH", "LD_LIBRARY_PATH", "TMPDIR"})
        if (const char* value = std::getenv(name))
            environment.push_back(fmt::format("{}={}", name, value));
    if (!settings.module_path.empty()) environment.push_back("PYTHONPATH=" + settings.module_path);
    return environment;
}

}  // namespace

Result<pid_t> spawn_python(const PythonSettings& settings, int connection, int values) {
    // Out of the way of the numbers that they get.
    const int connection_copy = ::fcntl(connection, F_DUPFD_CLOEXEC, 16);
    const int values_copy = ::fcntl(values, F_DUPFD_CLOEXEC, 16);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, connection_copy, 3);
    posix_spawn_file_actions_adddup2(&files, values_copy, 4);
    posix_spawn_file_actions_addclosefrom_np(&files, 5);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    // -P -s: no module from the current or the user's directory; -B: nothing written beside them.
    std::vector<std::string> words = {settings.python,        "-P", "-s", "-B", "-m",
                                      "caesura.lambda_worker"};
    words.insert(words.end(), settings.files.begin(), settings.files.end());
    auto environment = environment_of(settings);
    pid_t process = -1;
    const int error = ::posix_spawnp(&process, settings.python.c_str(), &files, &attributes,
                                     pointers_to(words).data(), pointers_to(environment).data());
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    ::close(connection_copy);
    ::close(values_copy);
    if (error != 0)
        return Status(StatusCode::io, fmt::format("{} cannot be started: {}", settings.python,
                                                  std::strerror(error)));
    return process;
}

}  // namespace caesura::lambda
