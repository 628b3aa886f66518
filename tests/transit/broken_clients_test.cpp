// Goal: a client that does what it should not costs itself, and neither the service nor others.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <semaphore>

#include "store/shared_file.hpp"
#include "transit/client/objects.hpp"
#include "transit/client/remote_files.hpp"
#include "transit/loopback.hpp"

namespace caesura::transit {
namespace {

/// Opening a file "held..." holds the lane, until the test lets it go on.
struct Hold {
    std::binary_semaphore arrived{0}, may_go{0};
};

class HeldFiles final : public base::FileSystem {
  public:
    HeldFiles(std::shared_ptr<base::FileSystem> files, Hold& hold)
        : files_(std::move(files)), hold_(hold) {}
    Result<std::unique_ptr<base::File>> open(const std::string& path, Mode mode) override {
        if (path.find("/held") != std::string::npos) {
            hold_.arrived.release();
            hold_.may_go.acquire();
        }
        return files_->open(path, mode);
    }
    Status sync_directory_of(const std::string& path) override {
        return files_->sync_directory_of(path);
    }

  private:
    std::shared_ptr<base::FileSystem> files_;
    Hold& hold_;
};

class BrokenClients : public ::testing::Test {
  protected:
    void SetUp() override {
        place_ = ::testing::TempDir() + "caesura_broken_" + std::to_string(::getpid());
        std::filesystem::create_directories(place_);
    }
    void TearDown() override { std::filesystem::remove_all(place_); }
    std::string place_;
};

// A dump that was dropped twice ended twice, and its second end took another of the same number.
TEST_F(BrokenClients, who_drop_a_dump_twice_lose_no_other) {
    Hold hold;
    Loopback::Options options;
    options.root = place_;
    options.permit = [&hold](ClientId, Permit& permit) {
        permit.files = std::make_shared<HeldFiles>(permit.files, hold);
    };
    Loopback hub(options);
    const auto client = Client::make(hub.connect(), {}).value();
    const store::RunId run{};
    ASSERT_TRUE(store::SharedFile::create(client->files(base::FileLocking::best_effort),
                                          place_ + "/run.h5", run, false)
                    .ok());
    const auto file = client->files(base::FileLocking::best_effort)
                          .open(place_ + "/run.h5", base::FileSystem::Mode::read_write)
                          .value();
    BeginDump begin;
    begin.request = client->next_number();
    begin.dump = 1;
    begin.file = dynamic_cast<RemoteFile&>(*file).number();
    ASSERT_TRUE(client->ask(begin.request, begin).ok());
    const auto hold_lane = [&](const char* name) {
        OpenFile message;
        message.request = client->next_number();
        message.path = place_ + name;
        message.mode = base::FileSystem::Mode::create;
        client->tell(message);
    };
    // Behind the first hold: dropped, held again, dropped again. So the first drop's end comes
    // behind the second drop, and what is sent now behind that end.
    hold_lane("/held1");
    hold.arrived.acquire();
    client->tell(DropDump{client->next_number(), 1});
    hold_lane("/held2");
    client->tell(DropDump{client->next_number(), 1});
    hub.wait_for_port();
    hold.may_go.release();
    hold.arrived.acquire();
    begin.request = client->next_number();
    client->tell(begin);
    hub.wait_for_port();
    hold.may_go.release();
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(file->size().ok());  // until all of that is done
    begin.request = client->next_number();
    const Status again = client->ask(begin.request, begin).status();
    EXPECT_NE(again.message().find("dump 1 is under way"), std::string::npos) << again.message();
}

// A service that lives and does not answer holds only those who want to wait.
TEST_F(BrokenClients, with_patience_give_up_a_service_that_does_not_answer) {
    Hold hold;
    Loopback::Options options;
    options.root = place_;
    options.service.lanes = 1;
    options.permit = [&hold](ClientId, Permit& permit) {
        permit.files = std::make_shared<HeldFiles>(permit.files, hold);
    };
    Loopback hub(options);
    const auto other = Client::make(hub.connect(), {}).value();
    Objects objects(Client::make(hub.connect(), {}).value());
    OpenFile message;
    message.request = other->next_number();
    message.path = place_ + "/held";
    message.mode = base::FileSystem::Mode::create;
    other->tell(message);
    hold.arrived.acquire();
    objects.set_patience(0.05);
    Objects::NewObject wanted;
    wanted.container = "c";
    wanted.name = "rho";
    wanted.shape = Shape{8};
    const Status status = objects.create(wanted).status();
    EXPECT_NE(status.message().find("no answer within"), std::string::npos) << status.message();
    hold.may_go.release();
}

// What the client expects of a block, and its weight, may be anything that parses.
TEST_F(BrokenClients, of_next_to_no_weight_do_not_stop_the_queue) {
    Loopback::Options options;
    options.root = place_;
    Loopback hub(options);
    ClientOptions light;
    light.weight = 1e-310;
    const auto client = Client::make(hub.connect(), light).value();
    ASSERT_TRUE(client->files(base::FileLocking::best_effort)
                    .open(place_ + "/a", base::FileSystem::Mode::create)
                    .ok());
    ASSERT_EQ(hub.service().status().size(), 1u);
    EXPECT_GE(hub.service().status()[0].weight, 1e-3);
}

}  // namespace
}  // namespace caesura::transit
