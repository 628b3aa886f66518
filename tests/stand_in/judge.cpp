#include "judge.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <vector>

extern char** environ;

namespace stand_in {
namespace {

/// As this process has it, but for what would change how files are read.
std::vector<std::string> environment_with(const std::string& filters) {
    std::vector<std::string> made;
    for (char** one = environ; *one != nullptr; ++one)
        if (std::strncmp(*one, "HDF5_", 5) != 0) made.emplace_back(*one);
    made.push_back("HDF5_PLUGIN_PATH=" + filters);
    made.push_back("HDF5_USE_FILE_LOCKING=FALSE");
    return made;
}

}  // namespace

Judge::Judge(const std::string& program, const std::string& filters) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    std::vector<std::string> texts = environment_with(filters);
    std::vector<char*> variables;
    for (std::string& text : texts) variables.push_back(text.data());
    variables.push_back(nullptr);
    std::string name = program, word = "--judge";
    char* arguments[] = {name.data(), word.data(), nullptr};
    if (posix_spawn(&process_, program.c_str(), &actions, nullptr, arguments, variables.data()) !=
        0)
        process_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    asks_ = to[1];
    hears_ = from[0];
}

Judge::~Judge() {
    close(asks_);
    close(hears_);
    if (process_ > 0) waitpid(process_, nullptr, 0);
}

std::string Judge::compare(const std::string& native, const std::string& ours, double bound) {
    const std::string question = fmt::format("{} {} {}\n", native, ours, bound);
    if (write(asks_, question.data(), question.size()) != static_cast<ssize_t>(question.size()))
        return "the process that judges is gone";
    std::string answer;
    char one = 0;
    while (read(hears_, &one, 1) == 1 && one != '\n') answer.push_back(one);
    if (one != '\n') return "the process that judges ended while it read the files";
    return answer;
}

int serve_as_judge() {
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        std::string native, ours;
        double bound = 0;
        words >> native >> ours >> bound;
        std::string said = difference_of_files(native, ours, bound);
        for (char& c : said)
            if (c == '\n') c = ' ';
        std::cout << said << std::endl;
    }
    return 0;
}

}  // namespace stand_in
