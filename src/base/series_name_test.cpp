// Goal: a path with openPMD's %T names one file for each number, and those files are found again.
#include "base/series_name.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace caesura::base {
namespace {

SeriesName parsed(const std::string& path) {
    auto name = SeriesName::parse(path);
    EXPECT_TRUE(name.ok() && *name) << path;
    return **name;
}

TEST(SeriesName, has_a_file_for_each_number) {
    EXPECT_EQ(parsed("out/run_%06T.h5").path_of(42), "out/run_000042.h5");
    EXPECT_EQ(parsed("run_%06T.h5").path_of(12345678), "run_12345678.h5");
    EXPECT_EQ(parsed("/x/%T").path_of(7), "/x/7");
    EXPECT_EQ(parsed("out/run_%06T.h5").format(), "run_%06T.h5");
    EXPECT_EQ(parsed("run_%T.h5").directory(), ".");
    EXPECT_EQ(parsed("/run_%T.h5").directory(), "/");
    EXPECT_EQ(parsed("a/b/run_%T.h5").directory(), "a/b");
}

TEST(SeriesName, is_none_without_a_mark) {
    for (const char* path : {"run.h5", "run_%d.h5", "50%", "run_%6T.h5", "%r.json", ""}) {
        const auto name = SeriesName::parse(path);
        EXPECT_TRUE(name.ok() && !*name) << path;
    }
}

TEST(SeriesName, refuses_what_would_be_ambiguous) {
    for (const char* path : {"run_%T_%06T.h5", "out_%T/run.h5", "out_%T/run_%T.h5", "run_%021T.h5",
                             "run_%099999999999999999999T.h5"}) {
        const auto name = SeriesName::parse(path);
        EXPECT_EQ(name.status().code(), StatusCode::invalid_argument) << path;
        EXPECT_NE(name.status().message().find(path), std::string::npos);
    }
}

TEST(SeriesName, tells_the_number_of_a_file) {
    const SeriesName six = parsed("out/run_%06T.h5"), any = parsed("run_%T.h5");
    EXPECT_EQ(six.number_of("run_000042.h5"), 42u);
    EXPECT_EQ(six.number_of("run_12345678.h5"), 12345678u);
    for (const char* other : {"run_42.h5", "run_0000042.h5", "run_.h5", "run_-00042.h5",
                              "run_000042.h5.tmp", "ran_000042.h5", "run_99999999999999999999.h5"})
        EXPECT_EQ(six.number_of(other), std::nullopt) << other;
    EXPECT_EQ(any.number_of("run_42.h5"), 42u);
    EXPECT_EQ(any.number_of("run_.h5"), std::nullopt);
}

TEST(SeriesName, finds_its_files_by_number) {
    const std::filesystem::path here =
        std::filesystem::path(::testing::TempDir()) / "caesura_series_name";
    std::filesystem::remove_all(here);
    std::filesystem::create_directories(here);
    for (const char* name : {"run_000100.h5", "run_000002.h5", "run_1000000.h5", "other.h5"})
        std::ofstream(here / name) << "x";
    const auto found = parsed((here / "run_%06T.h5").string()).find();
    ASSERT_TRUE(found.ok()) << found.status().message();
    ASSERT_EQ(found->size(), 3u);
    EXPECT_EQ((*found)[0].number, 2u);
    EXPECT_EQ((*found)[1].path, (here / "run_000100.h5").string());
    EXPECT_EQ((*found)[2].number, 1000000u);

    std::ofstream(here / "run_02.h5") << "x";
    const auto twice = parsed((here / "run_%T.h5").string()).find();
    EXPECT_EQ(twice.status().code(), StatusCode::invalid_argument);
    const auto nowhere = parsed((here / "none" / "run_%T.h5").string()).find();
    EXPECT_EQ(nowhere.status().code(), StatusCode::io);
    std::filesystem::remove_all(here);
}

}  // namespace
}  // namespace caesura::base
