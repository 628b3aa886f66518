#include "base/host.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cctype>

namespace caesura {
namespace {

/// Sets a variable and puts back what was there.
class Environment {
  public:
    Environment(const char* name, const char* value) : name_(name) {
        if (const char* before = std::getenv(name)) before_ = before, was_set_ = true;
        value != nullptr ? setenv(name, value, 1) : unsetenv(name);
    }
    ~Environment() { was_set_ ? setenv(name_, before_.c_str(), 1) : unsetenv(name_); }

  private:
    const char* name_;
    std::string before_;
    bool was_set_ = false;
};

TEST(Host, class_is_the_same_each_time_and_fit_for_a_file_name) {
    const HostClass host = host_class();
    EXPECT_EQ(host.name, host_class().name);
    EXPECT_GE(host.cores, 1);
    EXPECT_FALSE(host.processor.empty());
    EXPECT_LT(host.name.size(), 128u);
    EXPECT_TRUE(std::all_of(host.name.begin(), host.name.end(), [](unsigned char c) {
        return std::isdigit(c) || std::islower(c) || c == '-';
    })) << host.name;
    EXPECT_NE(host.name.find("-" + std::to_string(host.cores)), std::string::npos) << host.name;
}

TEST(Host, file_system_of_proc_is_a_number_and_of_nowhere_nothing) {
    EXPECT_EQ(file_system_type("/no/such/directory/anywhere"), "");
    EXPECT_EQ(file_system_type("/proc").substr(0, 2), "0x");
    EXPECT_FALSE(file_system_type(".").empty());
}

TEST(Host, calibration_lies_where_the_environment_says) {
    const Environment no_override("CAESURA_CALIBRATION", nullptr);
    {
        const Environment xdg("XDG_CONFIG_HOME", "/x");
        EXPECT_EQ(calibration_path("c-4"), "/x/caesura/calibration/c-4.json");
        const Environment given("CAESURA_CALIBRATION", "/y/z.json");
        EXPECT_EQ(calibration_path("c-4"), "/y/z.json");
    }
    const Environment no_xdg("XDG_CONFIG_HOME", nullptr);
    const Environment home("HOME", "/h");
    EXPECT_EQ(calibration_path("c-4"), "/h/.config/caesura/calibration/c-4.json");
    const Environment no_home("HOME", nullptr);
    EXPECT_EQ(calibration_path("c-4"), "");
}

}  // namespace
}  // namespace caesura
