#include "base/process.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "base/file.hpp"

namespace caesura::base {
namespace {

/// What `call` returns in a forked child.
template <class Call>
int in_child(Call&& call) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(call());
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << status;
    return WEXITSTATUS(status);
}

// Goal: the process that made an object may use it, and a forked child is told why it may not.
TEST(Process, a_forked_child_is_told_that_the_object_is_its_parents) {
    const Process process;
    EXPECT_TRUE(process.check("run.h5: the Writer").ok());
    const std::string parent = std::to_string(::getpid());
    EXPECT_EQ(0, in_child([&] {
                  const Status status = process.check("run.h5: the Writer");
                  const bool says = status.message().find("run.h5: the Writer") == 0 &&
                                    status.message().find("process " + parent) != std::string::npos;
                  return status.code() == StatusCode::cancelled && says ? 0 : 1;
              }));
    EXPECT_TRUE(process.check("run.h5: the Writer").ok());
}

// Goal: what is left has no destructor call, neither then nor at the end.
TEST(Process, what_a_child_leaves_is_not_destroyed) {
    struct Fatal {
        ~Fatal() { ::_exit(7); }
    };
    EXPECT_EQ(0, in_child([] {
                  auto object = std::make_unique<Fatal>();
                  Process::leave(object);
                  return object == nullptr ? 0 : 1;
              }));
}

// Goal: a lock ends with the File of the process that took it: a child that lives longer does not
// keep it, and a child that destroys its copy does not end it.
TEST(Process, a_forked_child_neither_keeps_nor_ends_a_lock) {
    const std::string path =
        ::testing::TempDir() + "caesura_process_test_" + std::to_string(::getpid());
    auto& files = FileSystem::posix(FileLocking::on);
    auto held = files.open(path, FileSystem::Mode::create);
    ASSERT_TRUE((*held)->lock(false).ok());
    const auto is_locked = [&] {
        auto other = files.open(path, FileSystem::Mode::read_write);
        return !(*other)->lock(true).ok();
    };
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[1]);
        char byte = 0;
        (void)!::read(ends[0], &byte, 1);  // until the parent is done
        ::_exit(0);
    }
    EXPECT_EQ(0, in_child([&] {
                  held->reset();
                  return 0;
              }));
    EXPECT_TRUE(is_locked());
    held->reset();
    EXPECT_FALSE(is_locked());
    ::close(ends[1]);
    ::close(ends[0]);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    (void)files.remove(path);
}

}  // namespace
}  // namespace caesura::base
