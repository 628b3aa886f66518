#include "transit/service/rooted_files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace caesura::transit {
namespace {

using Mode = base::FileSystem::Mode;

class RootedFilesTest : public ::testing::Test {
  protected:
    void SetUp() override {
        place_ =
            std::filesystem::path(::testing::TempDir()) / ("rooted_" + std::to_string(::getpid()));
        std::filesystem::create_directories(place_ / "in" / "deeper");
        std::filesystem::create_directories(place_ / "out");
        std::ofstream(place_ / "out" / "secret") << "not for clients";
        auto made = RootedFiles::make({(place_ / "in").string()});
        ASSERT_TRUE(made.ok()) << made.status().message();
        files_ = std::move(*made);
    }
    void TearDown() override { std::filesystem::remove_all(place_); }
    StatusCode code(const std::string& path, Mode mode) {
        return files_->open((place_ / path).string(), mode).status().code();
    }
    std::filesystem::path place_;
    std::unique_ptr<RootedFiles> files_;
};

// Goal: what lies below the root can be made, read, written and synced.
TEST_F(RootedFilesTest, files_below_the_root_are_as_any_others) {
    const std::string path = (place_ / "in/deeper/run.h5").string();
    EXPECT_EQ(files_->open(path, Mode::read).status().code(), StatusCode::io);
    auto file = files_->open(path, Mode::create);
    ASSERT_TRUE(file.ok()) << file.status().message();
    const std::byte bytes[3] = {std::byte{1}, std::byte{2}, std::byte{3}};
    EXPECT_TRUE((*file)->write_at(0, std::span<const std::byte>(bytes)).ok());
    EXPECT_TRUE((*file)->sync().ok());
    EXPECT_TRUE(files_->sync_directory_of(path).ok());
    EXPECT_EQ(std::filesystem::file_size(path), 3u);
    EXPECT_TRUE(files_->open(path, Mode::read_write).ok());
    EXPECT_TRUE(files_->sync_directory_of((place_ / "in/top.h5").string()).ok());
}

// Goal: a pipe that a client has made stops nobody: it is refused, not waited for.
TEST_F(RootedFilesTest, pipes_and_directories_are_refused_at_once) {
    ASSERT_EQ(::mkfifo((place_ / "in/pipe").c_str(), 0600), 0);
    for (const Mode mode : {Mode::read, Mode::read_write, Mode::create}) {
        EXPECT_EQ(code("in/pipe", mode), StatusCode::invalid_argument);
        EXPECT_NE(code("in/deeper", mode), StatusCode::ok);
    }
}

// Goal: neither dots nor links nor another root's name lead out.
TEST_F(RootedFilesTest, nothing_leads_out_of_the_root) {
    std::filesystem::create_symlink(place_ / "out" / "secret", place_ / "in" / "link");
    std::filesystem::create_directory_symlink(place_ / "out", place_ / "in" / "door");
    std::filesystem::create_symlink("../out/secret", place_ / "in" / "relative");
    for (const Mode mode : {Mode::read, Mode::read_write, Mode::create})
        for (const char* path : {"in/../out/secret", "in/link", "in/door/secret", "in/relative",
                                 "in/deeper/../../out/new", "out/secret", "in", "in/"})
            EXPECT_NE(code(path, mode), StatusCode::ok) << path;
    EXPECT_EQ(code("in/door/secret", Mode::read), StatusCode::invalid_argument);
    EXPECT_EQ(code("out/secret", Mode::read), StatusCode::invalid_argument);
    EXPECT_FALSE(std::filesystem::exists(place_ / "out" / "new"));
    const Status status = files_->open((place_ / "inside.h5").string(), Mode::create).status();
    EXPECT_EQ(status.code(), StatusCode::invalid_argument);
    EXPECT_NE(status.message().find((place_ / "in").string()), std::string::npos);
}

// Goal: a link that stays inside is followed.
TEST_F(RootedFilesTest, a_link_that_stays_below_the_root_is_followed) {
    std::filesystem::create_symlink("deeper/run.h5", place_ / "in" / "latest.h5");
    EXPECT_TRUE(files_->open((place_ / "in/latest.h5").string(), Mode::create).ok());
    EXPECT_TRUE(std::filesystem::exists(place_ / "in/deeper/run.h5"));
}

// Goal: a configuration that cannot be is named.
TEST(RootedFiles, refuses_roots_that_are_none) {
    EXPECT_EQ(RootedFiles::make({}).status().code(), StatusCode::invalid_argument);
    EXPECT_EQ(RootedFiles::make({"relative"}).status().code(), StatusCode::invalid_argument);
    const Status status = RootedFiles::make({"/nowhere/at/all"}).status();
    EXPECT_EQ(status.code(), StatusCode::invalid_argument);
    EXPECT_NE(status.message().find("/nowhere/at/all"), std::string::npos);
}

}  // namespace
}  // namespace caesura::transit
