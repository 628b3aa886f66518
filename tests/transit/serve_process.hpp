// caesura-serve as a process of a test, in a directory of its own in which it may write.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace caesura::testing {

class Serve : public ::testing::Test {
  protected:
    void SetUp() override {
        place_ = ::testing::TempDir() + "caesura_serve_" + std::to_string(::getpid());
        std::filesystem::create_directories(place_);
        std::ofstream(place_ + "/secret") << "a secret that both sides know, of some length";
        ::chmod((place_ + "/secret").c_str(), 0600);
    }
    void TearDown() override {
        if (service_ > 0) stop(SIGKILL);
        if (service_ = std::exchange(other_, -1); service_ > 0) stop(SIGKILL);
        std::filesystem::remove_all(place_);
    }
    // Starts it, and waits until it says where it is.
    void start(const std::string& listen, const std::string& more = {}) {
        const std::string config = place_ + "/serve.toml";
        std::ofstream(config) << "listen = [\"" << listen
                              << "\"]\nthreads = 1\nlease_s = " << lease_s_ << "\n"
                              << more << "[[write]]\ndirectory = \"" << place_ << "\"\n";
        int ends[2];
        ASSERT_EQ(::pipe(ends), 0);
        service_ = ::fork();
        if (service_ == 0) {
            ::dup2(ends[1], STDOUT_FILENO);
            ::close(ends[0]);
            ::execl(CAESURA_SERVE, CAESURA_SERVE, config.c_str(), nullptr);
            ::_exit(127);
        }
        ::close(ends[1]);
        char byte = 0;
        address_.clear();
        while (::read(ends[0], &byte, 1) == 1 && byte != '\n') address_ += byte;
        ::close(ends[0]);
        ASSERT_EQ(address_.rfind("service:", 0), 0u) << "it did not start: '" << address_ << "'";
    }
    // Another one, as a device of that which start() starts.
    void start_other(const std::string& socket) {
        start("unix:" + socket);
        other_ = std::exchange(service_, -1);
    }
    int stop(int signal) {
        ::kill(service_, signal);
        int status = 0;
        ::waitpid(service_, &status, 0);
        service_ = -1;
        return status;
    }
    std::string path() const { return place_ + "/run.h5"; }

    int lease_s_ = 2;
    std::string place_, address_;
    pid_t service_ = -1, other_ = -1;
};

}  // namespace caesura::testing
