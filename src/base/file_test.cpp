#include "base/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace caesura::base {
namespace {

class FileTest : public ::testing::Test {
  protected:
    std::string path_ =
        ::testing::TempDir() + "caesura_file_test_" + std::to_string(::getpid()) + ".bin";
    void TearDown() override { std::filesystem::remove(path_); }
    static std::vector<std::byte> bytes(std::size_t n, int seed) {
        std::vector<std::byte> out(n);
        for (std::size_t i = 0; i < n; ++i)
            out[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(seed));
        return out;
    }
};

TEST_F(FileTest, gathers_more_buffers_than_one_system_call_takes) {
    auto file = FileSystem::posix().open(path_, FileSystem::Mode::create);
    ASSERT_TRUE(file.ok()) << file.status().message();
    const auto data = bytes(5000, 1);
    std::vector<std::span<const std::byte>> parts;
    for (std::size_t i = 0; i < data.size(); i += 2) parts.push_back({&data[i], 2});
    parts.push_back({});
    ASSERT_TRUE((*file)->write_at(10, parts).ok());
    std::vector<std::byte> back(data.size());
    ASSERT_TRUE((*file)->read_at(10, back).ok());
    EXPECT_EQ(back, data);
    EXPECT_EQ(*(*file)->size(), 5010u);
}

TEST_F(FileTest, what_the_disk_begins_with_early_lies_where_it_should) {
    constexpr std::size_t k_part = 8 << 20;  // it is handed over so many bytes at once
    for (const std::vector<std::size_t>& sizes : {std::vector<std::size_t>{k_part},
                                                  {k_part - 3, 5, k_part - 2},
                                                  {1, 0, 2 * k_part + 7, 9},
                                                  {2 * k_part},
                                                  {0},
                                                  {}}) {
        auto file = FileSystem::posix().open(path_, FileSystem::Mode::create);
        ASSERT_TRUE(file.ok()) << file.status().message();
        ASSERT_TRUE((*file)->truncate(0).ok());
        std::vector<std::vector<std::byte>> parts;
        std::vector<std::byte> all;
        for (const std::size_t size : sizes) {
            parts.push_back(bytes(size, static_cast<int>(parts.size())));
            all.insert(all.end(), parts.back().begin(), parts.back().end());
        }
        const std::vector<std::span<const std::byte>> buffers(parts.begin(), parts.end());
        ASSERT_TRUE((*file)->write_early(11, buffers).ok());
        std::vector<std::byte> back(all.size());
        ASSERT_TRUE((*file)->read_at(11, back).ok());
        EXPECT_TRUE(back == all) << sizes.size() << " buffers";
        EXPECT_EQ(*(*file)->size(), all.empty() ? 0 : all.size() + 11);
    }
}

TEST_F(FileTest, says_where_a_file_ends_too_early) {
    auto file = FileSystem::posix().open(path_, FileSystem::Mode::create);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->write_at(0, bytes(100, 0)).ok());
    std::vector<std::byte> back(200);
    const Status status = (*file)->read_at(0, back);
    EXPECT_EQ(status.code(), StatusCode::insufficient_data);
    EXPECT_NE(status.message().find("ends at byte 100"), std::string::npos) << status.message();
}

TEST_F(FileTest, a_file_that_is_there_is_as_it_was_after_creating_it_again) {
    const auto data = bytes(100, 3);
    ASSERT_TRUE(
        (*FileSystem::posix().open(path_, FileSystem::Mode::create))->write_at(0, data).ok());
    auto again = FileSystem::posix().open(path_, FileSystem::Mode::create);
    ASSERT_TRUE(again.ok());
    std::vector<std::byte> back(data.size());
    ASSERT_TRUE((*again)->read_at(0, back).ok());
    EXPECT_EQ(back, data);
}

TEST_F(FileTest, syncs_the_directory_of_a_name_with_or_without_a_directory_or_behind_a_link) {
    FileSystem& files = FileSystem::posix();
    ASSERT_TRUE(files.open(path_, FileSystem::Mode::create).ok());
    const std::filesystem::path before = std::filesystem::current_path();
    const std::string link = path_ + ".link";
    std::filesystem::create_symlink(path_, link);
    std::filesystem::current_path(std::filesystem::path(path_).parent_path());
    const std::string bare = std::filesystem::path(path_).filename();
    for (const std::string& path : {path_, bare, link}) {
        const Status status = files.sync_directory_of(path);
        EXPECT_TRUE(status.ok()) << status.message();
    }
    std::filesystem::current_path(before);
    std::filesystem::remove(link);
    std::filesystem::remove(path_);
    const Status gone = files.sync_directory_of(path_);
    EXPECT_EQ(gone.code(), StatusCode::io);
    EXPECT_NE(gone.message().find(path_), std::string::npos) << gone.message();
}

TEST_F(FileTest, names_the_path_it_cannot_create) {
    auto file = FileSystem::posix().open("/nonexistent_directory/x.h5", FileSystem::Mode::create);
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.status().code(), StatusCode::io);
    EXPECT_NE(file.status().message().find("/nonexistent_directory/x.h5"), std::string::npos);
}

TEST_F(FileTest, an_exclusive_lock_is_refused_while_another_holds_it) {
    auto one = FileSystem::posix().open(path_, FileSystem::Mode::create);
    auto two = FileSystem::posix().open(path_, FileSystem::Mode::read_write);
    ASSERT_TRUE((*one)->lock(false).ok());
    EXPECT_TRUE((*two)->lock(false).ok());
    EXPECT_EQ((*two)->lock(true).code(), StatusCode::io);
}

/// Goal: locks are used when HDF5 would use them; the environment goes before what was asked.
TEST_F(FileTest, locks_are_used_when_hdf5_would_use_them) {
    struct Case {
        const char* environment;
        FileLocking asked, expected;
    };
    using enum FileLocking;
    const char* const name = "HDF5_USE_FILE_LOCKING";
    const char* const before = std::getenv(name);
    const std::string kept = before == nullptr ? "" : before;
    for (const Case& one : std::vector<Case>{{nullptr, off, off},
                                             {nullptr, on, on},
                                             {nullptr, best_effort, best_effort},
                                             {nullptr, yielding, yielding},
                                             {"FALSE", yielding, off},
                                             {"TRUE", yielding, yielding},
                                             {"FALSE", on, off},
                                             {"0", best_effort, off},
                                             {"TRUE", off, on},
                                             {"1", off, on},
                                             {"BEST_EFFORT", off, best_effort},
                                             {"false", on, on},
                                             {"", off, off}}) {
        SCOPED_TRACE(one.environment == nullptr ? "unset" : one.environment);
        one.environment == nullptr ? ::unsetenv(name) : ::setenv(name, one.environment, 1);
        EXPECT_EQ(file_locking(one.asked), one.expected);
        auto& files = FileSystem::posix(one.asked);
        auto held = files.open(path_, FileSystem::Mode::create);
        auto other = files.open(path_, FileSystem::Mode::read_write);
        ASSERT_TRUE((*held)->lock(false).ok());
        EXPECT_EQ((*other)->lock(true).ok(), one.expected == off);
    }
    before == nullptr ? ::unsetenv(name) : ::setenv(name, kept.c_str(), 1);
}

/// Goal: where HDF5 asks for no lock a reader's lock stops nobody, and a run of ours still does.
TEST_F(FileTest, who_yields_passes_over_readers_and_not_over_runs) {
    const auto begin = [&](FileLocking locking) {
        auto file = FileSystem::posix(locking).open(path_, FileSystem::Mode::create);
        EXPECT_TRUE(file.ok());
        return std::move(*file);
    };
    const auto one = begin(FileLocking::yielding);
    const int reader = ::open(path_.c_str(), O_RDONLY);
    ASSERT_EQ(::flock(reader, LOCK_SH | LOCK_NB), 0);
    EXPECT_TRUE(one->lock(true).ok());
    EXPECT_TRUE(one->lock(false).ok());
    EXPECT_EQ(begin(FileLocking::best_effort)->lock(true).code(), StatusCode::io);
    EXPECT_EQ(begin(FileLocking::yielding)->lock(true).code(), StatusCode::io);
    one->unlock();
    EXPECT_TRUE(begin(FileLocking::yielding)->lock(true).ok());
    EXPECT_EQ(begin(FileLocking::best_effort)->lock(true).code(), StatusCode::io);
    ::close(reader);
    EXPECT_TRUE(begin(FileLocking::best_effort)->lock(true).ok());
}

TEST_F(FileTest, a_full_device_is_no_space) {
    auto file = FileSystem::posix().open("/dev/full", FileSystem::Mode::read_write);
    if (!file.ok()) GTEST_SKIP() << "no /dev/full here";
    EXPECT_EQ((*file)->write_at(0, bytes(10, 0)).code(), StatusCode::no_space);
}

}  // namespace
}  // namespace caesura::base
