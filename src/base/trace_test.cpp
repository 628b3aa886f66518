#include "base/trace.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

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

}  // namespace
}  // namespace caesura::base
