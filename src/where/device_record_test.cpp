#include "where/device_record.hpp"

#include <gtest/gtest.h>

namespace caesura::where {
namespace {

TEST(DeviceRecord, knows_ways_times_and_results_from_runs) {
    DeviceRecord record;
    EXPECT_EQ(record.predict("v", "f", 1e6, 0.0).known, plan::Known::nothing);
    for (int i = 0; i < 20; ++i)
        for (const double bytes : {1e6, 2e6, 4e6})
            record.learn("v", "f",
                         {bytes, bytes / 4, 0.0, bytes / 1e9, 1e-4 + bytes / 2e8, bytes / 4e9});
    const Expected expected = record.predict("v", "f", 3e6, 0.0);
    EXPECT_EQ(expected.known, plan::Known::like_sizes);
    EXPECT_NEAR(expected.to_s, 3e-3, 3e-4);
    EXPECT_NEAR(expected.compute_s, 1.51e-2, 1.5e-3);
    EXPECT_NEAR(expected.result_bytes, 0.75e6, 1e4);
    EXPECT_NEAR(expected.from_s, 0.75e6 / 4e9 * 4, 3e-4);
    EXPECT_NEAR(record.to().bytes_per_s(), 1e9, 1e8);
    const Expected inside = record.predict("v", "f", 3e6, 0.0, false, false);
    EXPECT_EQ(inside.to_s + inside.from_s, 0.0);
    EXPECT_EQ(record.predict("other", "f", 3e6, 0.0).known, plan::Known::nothing);
}

TEST(DeviceRecord, a_field_that_is_hard_to_compress_has_times_of_its_own) {
    DeviceRecord record;
    for (int i = 0; i < 20; ++i) {
        record.learn("v", "easy", {1e6, 1e4, 0.0, 0.0, 0.001, 0.0});
        record.learn("v", "hard", {1e6, 5e5, 0.0, 0.0, 0.004, 0.0});
    }
    EXPECT_NEAR(record.predict("v", "easy", 1e6, 0.0).compute_s, 0.001, 1e-4);
    EXPECT_NEAR(record.predict("v", "hard", 1e6, 0.0).compute_s, 0.004, 4e-4);
    const double usual_s = record.predict("v", "new", 1e6, 0.0).compute_s;
    EXPECT_GT(usual_s, 0.0009);
    EXPECT_LT(usual_s, 0.0045);
}

// Goal: samples stand for what is not known of a variant, and its own runs take their place.
TEST(DeviceRecord, a_new_variant_begins_with_the_samples) {
    DeviceRecord record;
    for (const double bytes : {2e6, 32e6})
        record.calibrate({bytes, bytes / 8, 0.0, bytes / 1e9, bytes / 1e9, bytes / 8e9});
    const Expected sampled = record.predict("v", "f", 16e6, 0.0);
    EXPECT_EQ(sampled.known, plan::Known::other_sizes) << "of another variant";
    EXPECT_LT(sampled.hoped_s, sampled.compute_s);
    EXPECT_NEAR(sampled.compute_s, 16e-3, 2e-3);
    EXPECT_NEAR(sampled.to_s, 16e-3, 2e-3);
    for (int i = 0; i < 20; ++i) record.learn("v", "f", {16e6, 2e6, 0.0, 16e-3, 0.048, 2e-3});
    EXPECT_NEAR(record.predict("v", "f", 16e6, 0.0).compute_s, 0.048, 5e-3);
    EXPECT_NEAR(record.predict("other", "f", 16e6, 0.0).compute_s, 16e-3, 2e-3);
}

// Goal: a device that was busy when a field came first is not given up for that field.
TEST(DeviceRecord, a_stall_in_a_fields_first_run_counts_for_little_and_is_forgotten) {
    DeviceRecord record;
    for (int i = 0; i < 30; ++i) record.learn("v", "a", {1e6, 1e5, 0.0, 0.0, 0.001, 0.0});
    record.learn("v", "b", {1e6, 1e5, 0.0, 0.0, 0.006, 0.0});
    EXPECT_LT(record.predict("v", "b", 1e6, 0.0).compute_s, 0.002);
    record.learn("v", "b", {1e6, 1e5, 0.0, 0.0, 0.006, 0.0});
    const double soon_s = record.predict("v", "b", 1e6, 0.0).compute_s;
    for (int i = 0; i < 300; ++i) record.learn("v", "a", {1e6, 1e5, 0.0, 0.0, 0.001, 0.0});
    EXPECT_LT(record.predict("v", "b", 1e6, 0.0).compute_s, 0.0011);
    EXPECT_GT(soon_s, 0.0011);
}

// Goal: what compressing samples took says nothing of an analysis, before and after its runs.
TEST(DeviceRecord, samples_say_nothing_of_what_is_not_like_them) {
    DeviceRecord record;
    for (const double bytes : {2e6, 32e6})
        record.calibrate({bytes, bytes / 8, 0.0, 0.0, bytes / 1e9, 0.0});
    EXPECT_EQ(record.predict("stats", "", 2e6, 0.0, true, true, false).known, plan::Known::nothing);
    for (int i = 0; i < 5; ++i) record.learn("stats", "", {2e6, 100.0, 0.0, 0.0, 1e-4, 0.0}, false);
    const Expected expected = record.predict("stats", "", 2e6, 0.0, true, true, false);
    EXPECT_EQ(expected.known, plan::Known::like_sizes);
    EXPECT_NEAR(expected.compute_s, 1e-4, 1e-5);
}

TEST(DeviceRecord, clients_cannot_make_it_grow_without_end) {
    DeviceRecord record;
    for (std::size_t i = 0; i < 4 * DeviceRecord::k_fields; ++i)
        record.learn("v", std::string(i + 1, 'x'), {1e6, 1e6, 0.0, 0.0, 0.001, 0.0});
    EXPECT_EQ(record.runs(), 4 * DeviceRecord::k_fields);
    EXPECT_NEAR(record.predict("v", std::string(1000, 'x'), 1e6, 0.0).compute_s, 0.001, 1e-4);
}

TEST(DeviceRecord, a_field_is_the_same_from_dump_to_dump) {
    EXPECT_EQ(field_of("/data/12/rho #3"), field_of("/data/7/rho #41"));
    EXPECT_NE(field_of("rho #3"), field_of("temperature #3"));
    EXPECT_LE(field_of(std::string(10000, 'a')).size(), 128u);
}

}  // namespace
}  // namespace caesura::where
