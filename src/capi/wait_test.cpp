// Goal: a wait passes on what its call does, and its time is known to be free, marks or not.
#include "caesura/wait.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "caesura/writer.hpp"

namespace {

namespace fs = std::filesystem;

double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}
void compute(double seconds) {
    for (const double until_s = now_s() + seconds; now_s() < until_s;) {
    }
}

TEST(Wait, passes_on_results_references_and_exceptions) {
    int value = 3;
    EXPECT_EQ(caesura::wait([] { return 7; }), 7);
    int& same = caesura::wait([&]() -> int& { return value; });
    EXPECT_EQ(&same, &value);
    EXPECT_THROW(caesura::wait([] { throw std::runtime_error("device lost"); }),
                 std::runtime_error);
    caesura::wait([&] { value = 4; });
    EXPECT_EQ(value, 4);
}

// The time of the waits is measured here too, around the calls, so that a slow machine changes
// both.
TEST(Wait, is_seen_as_a_pause_and_the_rest_as_computing) {
    const fs::path path =
        fs::temp_directory_path() / ("caesura_wait_test_" + std::to_string(now_s()) + ".h5");
    auto writer = caesura::Writer::create(path.string(), nullptr);
    ASSERT_TRUE(writer.ok()) << writer.status().message();
    double waited_s = 0.0;
    for (std::uint64_t n = 0; n < 3; ++n) {
        auto iteration = (*writer)->begin_iteration(n);
        for (int part = 0; part < 2; ++part) {
            compute(0.01);
            const double begin_s = now_s();
            caesura::wait([] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
            waited_s += now_s() - begin_s;
        }
        ASSERT_TRUE(iteration.end().ok());
    }
    const caesura::WriterReport report = (*writer)->report();
    EXPECT_GE(report.seen_waiting_s, 3 * 2 * 0.005 - 1e-6);
    EXPECT_LE(report.seen_waiting_s, waited_s + 1e-6);
    EXPECT_GE(report.seen_intervals, 3u * 2u);
    EXPECT_EQ(report.seen_communicating_s, 0.0);
    EXPECT_TRUE((*writer)->close().ok());
    fs::remove(path);
}

}  // namespace
