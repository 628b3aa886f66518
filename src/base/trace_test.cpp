#include "base/trace.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

namespace caesura::base {
namespace {

TEST(Trace, writes_events_in_microseconds_since_the_origin) {
    const std::string path =
        ::testing::TempDir() + "caesura_trace_" + std::to_string(::getpid()) + ".json";
    TraceLane lane("write lane");
    lane.add({"write", "rho #0", 10.5, 10.75, 3, 1024});
    ASSERT_TRUE(write_chrome_trace(path, 2, 10.0, {&lane}).ok());
    const auto trace = nlohmann::json::parse(std::ifstream(path));
    std::filesystem::remove(path);
    const auto& event = trace["traceEvents"].back();
    EXPECT_EQ(event["cat"], "write");
    EXPECT_EQ(event["pid"], 2);
    EXPECT_DOUBLE_EQ(event["ts"].get<double>(), 5e5);
    EXPECT_DOUBLE_EQ(event["dur"].get<double>(), 2.5e5);
    EXPECT_EQ(event["args"]["bytes"], 1024);
}

TEST(Trace, says_the_numbers_of_an_event_that_are_finite) {
    const std::string path =
        ::testing::TempDir() + "caesura_trace_numbers_" + std::to_string(::getpid()) + ".json";
    TraceLane lane("outcomes");
    lane.add(
        {"block",
         "rho #0",
         1.0,
         2.0,
         3,
         4,
         0,
         {{"raw_bytes", 512.0}, {"error_over_bound", std::numeric_limits<double>::quiet_NaN()}}});
    ASSERT_TRUE(write_chrome_trace(path, 0, 0.0, {&lane}).ok());
    const auto trace = nlohmann::json::parse(std::ifstream(path));
    std::filesystem::remove(path);
    const auto& arguments = trace["traceEvents"].back()["args"];
    EXPECT_EQ(arguments["raw_bytes"], 512);
    EXPECT_FALSE(arguments.contains("error_over_bound"));
}

TEST(Trace, grows_while_another_thread_adds_and_misses_no_event) {
    const std::string path =
        ::testing::TempDir() + "caesura_live_trace_" + std::to_string(::getpid()) + ".json";
    constexpr std::uint64_t n = 5000;
    TraceLane busy("compress lane"), quiet("write lane");
    LiveTrace live(path, 1, 10.0, {&busy, &quiet});
    std::thread worker([&] {
        for (std::uint64_t i = 0; i < n; ++i)
            busy.add({"compress", "rho #" + std::to_string(i), 10.0 + static_cast<double>(i),
                      11.0 + static_cast<double>(i), i, i});
    });
    while (busy.size() < n) ASSERT_TRUE(live.append().ok());
    worker.join();
    quiet.add({"sync", "sync", 1.0, 2.0, 7, 0});
    ASSERT_TRUE(live.append().ok());
    ASSERT_TRUE(live.append().ok());
    std::stringstream text;
    text << std::ifstream(path).rdbuf() << "]";
    std::filesystem::remove(path);
    const auto trace = nlohmann::json::parse(text.str());
    ASSERT_EQ(trace.size(), 3 + n + 1);  // the rank's name and the lanes', then events
    std::uint64_t next = 0;
    for (const auto& event : trace) {
        if (event.value("cat", "") != "compress") continue;
        EXPECT_EQ(event["name"], "rho #" + std::to_string(next));
        EXPECT_DOUBLE_EQ(event["ts"].get<double>(), static_cast<double>(next) * 1e6);
        ++next;
    }
    EXPECT_EQ(next, n);
    EXPECT_EQ(trace.back()["cat"], "sync");
}

}  // namespace
}  // namespace caesura::base
