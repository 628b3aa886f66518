// What one thread of the executor leaves for another: errors and samples of writes.
#include <gtest/gtest.h>

#include <thread>

#include "run/first_error.hpp"
#include "run/write_samples.hpp"

namespace caesura::run {
namespace {

// Goal: an error that can be seen can be told. An error without words once let a Writer close as if
// nothing had failed.
TEST(FirstError, has_its_words_when_it_is_seen) {
    for (int round = 0; round < 2000; ++round) {
        FirstError error;
        std::jthread other([&] { error.keep({StatusCode::no_space, "the first"}); });
        while (!error.happened()) std::this_thread::yield();
        ASSERT_EQ(error.status().code(), StatusCode::no_space);
        other.join();
        error.keep({StatusCode::io, "a later one"});
        ASSERT_EQ(error.status().code(), StatusCode::no_space);
    }
}

// Goal: every sample is of one write, each comes once, in order; of too many the oldest are lost.
TEST(WriteSamples, are_each_of_one_write) {
    constexpr std::uint64_t k_writes = 300000;
    WriteSamples samples;
    std::jthread lane([&] {
        for (std::uint64_t n = 1; n <= k_writes; ++n)
            samples.note({n, static_cast<double>(n), static_cast<double>(n)});
    });
    std::uint64_t last = 0;
    while (last < k_writes)
        for (const WriteSample& sample : samples.take()) {
            ASSERT_GT(sample.bytes, last);
            ASSERT_EQ(sample.begin_s, static_cast<double>(sample.bytes));
            ASSERT_EQ(sample.write_s, static_cast<double>(sample.bytes));
            last = sample.bytes;
        }
    lane.join();
    EXPECT_EQ(samples.writes(), k_writes);
    EXPECT_TRUE(samples.take().empty());
}

}  // namespace
}  // namespace caesura::run
