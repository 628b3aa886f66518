// Goal: what others have of the cores is told from what this process has itself.
#include "where/utilisation.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace caesura::where {
namespace {

TEST(Utilisation, is_the_share_that_others_have) {
    CpuPlace place;
    place.cores = {0, 1};
    EXPECT_NEAR(busy_share(place, {10.0, 5.0, 0.0}, {10.5, 5.5, 0.0}, 1.0), 0.5, 1e-12);
    EXPECT_EQ(busy_share(place, {10.0, 5.0, 0.0}, {11.6, 5.5, 0.0}, 1.0), 0.0)
        << "ticks are coarse";
    EXPECT_EQ(busy_share(place, {10.0, 0.0, 0.0}, {9.9, 0.0, 0.0}, 1.0), 1.0);
    EXPECT_EQ(busy_share(place, {}, {1.0, 0.0, 0.0}, 0.0), 0.0);
    place.quota_cores = 0.5;
    EXPECT_NEAR(busy_share(place, {}, {1.0, 0.0, 0.4}, 1.0), 0.8, 1e-12) << "the quota is nearer";
}

TEST(Utilisation, reads_the_cores_that_it_may_use_and_the_quota_of_its_group) {
    namespace fs = std::filesystem;
    const std::string root = ::testing::TempDir() + "caesura_utilisation";
    fs::create_directories(root + "/proc/self");
    fs::create_directories(root + "/sys/fs/cgroup/job");
    std::ofstream(root + "/proc/self/cgroup") << "0::/job\n";
    std::ofstream(root + "/proc/stat") << "cpu 9 9 9 9 9 9 9 9\ncpu0 100 0 50 60 20 0 0 0\n"
                                          "cpu1 300 0 0 900 0 0 0 0\nintr 7\n";
    std::ofstream(root + "/sys/fs/cgroup/job/cpu.max") << "150000 100000\n";
    std::ofstream(root + "/sys/fs/cgroup/job/cpu.stat") << "usage_usec 2500000\nuser_usec 1\n";
    CpuPlace place = find_cpu_place(root);
    EXPECT_FALSE(place.cores.empty());
    EXPECT_NEAR(place.quota_cores, 1.5, 1e-12);
    place.cores = {0};
    const auto times = read_cpu_times(place, root);
    ASSERT_TRUE(times);
    EXPECT_NEAR(times->all_idle_s, 0.8, 1e-9);
    EXPECT_NEAR(times->group_busy_s, 2.5, 1e-9);
    place.cores = {7};
    EXPECT_FALSE(read_cpu_times(place, root));
    fs::remove_all(root);
}

TEST(Utilisation, is_known_before_the_first_period_is_over) {
    HostUtilisation host(1e9);
    EXPECT_EQ(host.share(100.0), 0.0);
    // No core was idle for the 10 s that are said to have gone by.
    EXPECT_GT(host.share(110.0), 0.9);
}

TEST(Utilisation, of_this_host_is_a_share) {
    HostUtilisation host(0.0);
    for (const double now_s : {0.0, 0.01, 0.02}) {
        const double share = host.share(now_s);
        EXPECT_GE(share, 0.0);
        EXPECT_LE(share, 1.0);
    }
    EXPECT_FALSE(GpuUtilisation::open(1 << 20).ok()) << "no such GPU";
}

}  // namespace
}  // namespace caesura::where
