// Goal: a file that a client is just giving back is waited for, and whatever is said of a file
// calls it by its name.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <future>

#include "transit/client/remote_files.hpp"
#include "transit/loopback.hpp"

namespace caesura::transit {
namespace {

class FilesInUse : public ::testing::Test {
  protected:
    void SetUp() override {
        place_ = ::testing::TempDir() + "caesura_in_use_" + std::to_string(::getpid());
        std::filesystem::create_directories(place_);
        path_ = place_ + "/run.h5";
    }
    void TearDown() override { std::filesystem::remove_all(place_); }
    Loopback::Options options(double lease_s) const {
        Loopback::Options options;
        options.root = place_;
        options.service.lease_s = lease_s;
        return options;
    }
    static std::shared_ptr<Client> client(Loopback& hub) {
        return Client::make(hub.connect(), {}).value();
    }
    std::unique_ptr<base::File> open(Client& client) const {
        return RemoteFiles(client, base::FileLocking::best_effort)
            .open(path_, base::FileSystem::Mode::create)
            .value();
    }
    std::string place_, path_;
};

TEST_F(FilesInUse, are_had_when_the_client_that_has_them_has_gone) {
    Loopback hub(options(60.0));
    for (const bool killed : {false, true}) {
        auto first = client(hub);
        const ClientId number = hub.last_client();
        auto held = open(*first);
        ASSERT_TRUE(held->lock(true).ok());
        const auto second = client(hub);
        const auto wanted = open(*second);
        auto locked = std::async(std::launch::async, [&] { return wanted->lock(true); });
        // Answers of the same service: the lock has been asked for meanwhile.
        for (int i = 0; i < 100; ++i) ASSERT_TRUE(held->size().ok());
        EXPECT_NE(locked.wait_for(std::chrono::seconds(0)), std::future_status::ready);
        if (killed) hub.kill_client(number);
        held.reset();
        first.reset();
        const Status status = locked.get();
        EXPECT_TRUE(status.ok()) << status.message();
    }
}

TEST_F(FilesInUse, are_an_error_that_names_them_when_a_client_keeps_them) {
    Loopback hub(options(0.05));
    const auto first = client(hub), second = client(hub);
    const auto held = open(*first), wanted = open(*second);
    ASSERT_TRUE(held->lock(true).ok());
    const Status status = wanted->lock(true);
    EXPECT_EQ(status.code(), StatusCode::io);
    EXPECT_NE(status.message().find(path_ + ": is in use"), std::string::npos) << status.message();
}

TEST_F(FilesInUse, of_others_than_clients_are_an_error_at_once) {
    Loopback hub(options(3600.0));
    const auto held = base::FileSystem::posix().open(path_, base::FileSystem::Mode::create).value();
    ASSERT_TRUE(held->lock(true).ok());
    const auto asker = client(hub);
    EXPECT_EQ(open(*asker)->lock(true).code(), StatusCode::io);
}

}  // namespace
}  // namespace caesura::transit
