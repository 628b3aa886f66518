// Goal: when the process is ended from outside, the report tells of every file that is not whole,
// whatever the application's thread is at.
#include "vol/losses.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "vol/report.hpp"

namespace caesura::vol {
namespace {

/// Stands for a captured file: only its address counts.
const CapturedFile* file_number(std::size_t n) {
    static const std::array<char, 4> places{};
    return reinterpret_cast<const CapturedFile*>(&places.at(n));
}

struct Losses : testing::Test {
    std::filesystem::path path = std::filesystem::temp_directory_path() /
                                 ("caesura_losses_" + std::to_string(::getpid()) + ".json");
    std::shared_ptr<Config> config = std::make_shared<Config>();
    Losses() { config->report = path; }
    ~Losses() override { std::filesystem::remove(path); }

    nlohmann::json files() const {
        EXPECT_TRUE(write_reports().ok());
        return nlohmann::json::parse(std::ifstream(path)).at("files");
    }
};

// Each ends its process, as give_up_all() asks for.
using LossesDeathTest = Losses;

TEST_F(LossesDeathTest, tell_of_a_file_that_was_being_made) {
    const auto end = [&] {
        losses::watch(file_number(0), {config, "being_made.h5"});
        losses::give_up_all("SIGTERM");
        const auto told = files();
        const bool good = told.size() == 1 && told[0].at("path") == "being_made.h5" &&
                          told[0].at("error").get<std::string>().find("SIGTERM") < 100;
        ::_exit(good ? 0 : 1);
    };
    EXPECT_EXIT(end(), testing::ExitedWithCode(0), "");
}

TEST_F(LossesDeathTest, tell_of_closed_files_that_are_not_complete_and_of_no_others) {
    using losses::Progress;
    const auto end = [&] {
        int number = 0;
        for (const Progress progress : {Progress::begun, Progress::written, Progress::complete}) {
            losses::watch(file_number(number), {config, std::to_string(number) + ".h5"});
            losses::set_pending(file_number(number++), {1, 8}, [progress] { return progress; });
        }
        losses::give_up_all("SIGTERM");
        const auto told = files();
        const bool good = told.size() == 2 && told[0].contains("lost") &&
                          told[1].contains("for_recover") && told[1].at("path") == "1.h5";
        ::_exit(good ? 0 : 1);
    };
    EXPECT_EXIT(end(), testing::ExitedWithCode(0), "");
}

TEST_F(LossesDeathTest, hold_a_thread_that_comes_with_a_file_after_the_last_words) {
    const auto end = [&] {
        losses::give_up_all("SIGTERM");
        std::promise<void> made;
        std::thread([&] {
            losses::watch(file_number(0), {config, "too_late.h5"});
            made.set_value();
        }).detach();
        const auto came = made.get_future().wait_for(std::chrono::milliseconds(200));
        ::_exit(came == std::future_status::timeout ? 0 : 1);
    };
    EXPECT_EXIT(end(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace caesura::vol
