// caesura-serve as a process, Writers in others, UCX between them; and what is left when one of
// them is killed.
#include <gtest/gtest.h>

#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "stock_reader.hpp"
#include "transit/client/objects.hpp"
#include "transit/serve_process.hpp"

namespace caesura {
namespace {

const Shape k_serve_shape{64, 64, 64};
constexpr unsigned k_serve_seed = 4711;

std::vector<float> serve_values(unsigned dump) {
    return testing::make_field<float>(k_serve_shape, k_serve_seed + dump, 1);
}

class Serve : public testing::Serve {
  protected:
    // A run of some dumps; `at` is asked before each.
    Status run(const std::string& transport, unsigned dumps,
               const std::function<void(unsigned, Writer&)>& at = {}) {
        WriterOptions options;
        options.transport = transport;
        if (!name_.empty()) options.software = name_;
        options.chunk_bytes = 256u << 10;
        options.memory_bytes = 64u << 20;
        auto made = Writer::create(path(), nullptr, options);
        if (!made.ok()) return made.status();
        Writer& writer = **made;
        auto field = writer.define_field("f", float32, k_serve_shape, lossless());
        Status first;
        const auto note = [&](const Status& status) {
            if (first.ok()) first = status;
        };
        for (unsigned n = 0; n < dumps; ++n) {
            if (at) at(n, writer);
            auto iteration = writer.begin_iteration(n);
            note(iteration.begin_dump(0.0).put(*field, {{0, 0, 0}, k_serve_shape},
                                               serve_values(n).data()));
            note(iteration.end());
        }
        note(writer.close());
        return first;
    }
    std::string name_;  ///< the application's
    void expect_dumps(unsigned dumps) const {
        for (unsigned n = 0; n < dumps; ++n) {
            const auto read =
                testing::read_dataset(path(), "/data/" + std::to_string(n) + "/meshes/f");
            ASSERT_EQ(testing::broken(serve_values(n), read.values, 0.0), "") << "dump " << n;
        }
    }
};

std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Goal: another service and an emulated GPU do blocks of a service's clients, by UCX; the other is
// killed in the middle, and nobody loses a block. Trace and status say who did what.
TEST_F(Serve, has_other_devices_and_loses_nothing_with_them) {
    start_other(place_ + "/far");
    start("unix:" + place_ + "/socket",
          "choice = \"average\"\nstatus = \"" + place_ + "/status\"\ntrace = \"" + place_ +
              "/trace\"\n[[device]]\nkind = \"remote\"\naddress = \"unix:" + place_ +
              "/far\"\n[[device]]\nkind = \"emulated\"\nname = \"gpu\"\n");
    const Status told = run(address_, 8, [&](unsigned n, Writer& writer) {
        if (n != 4) return;
        EXPECT_TRUE(writer.finish_by(60.0).ok());
        ::kill(other_, SIGKILL);
        ::waitpid(std::exchange(other_, -1), nullptr, 0);
    });
    EXPECT_TRUE(told.ok()) << told.message();
    expect_dumps(8);
    const std::string trace = text_of(place_ + "/trace");
    for (const char* device : {"\"device\":\"remote\"", "\"device\":\"gpu (emulated)\"",
                               "\"device\":\"cpu\"", "\"predicted_s\""})
        EXPECT_NE(trace.find(device), std::string::npos) << device;
    EXPECT_NE(text_of(place_ + "/status").find("gpu (emulated)"), std::string::npos);
}

// Goal: a client's name that is no UTF-8 is shown as far as it can be, and ends nobody.
TEST_F(Serve, shows_names_that_are_no_text) {
    start("unix:" + place_ + "/socket", "status = \"" + place_ + "/status\"\n");
    name_ = "m\xfcller";
    const Status told = run(address_, 2, [&](unsigned n, Writer&) {
        const std::string shown = "m\xef\xbf\xbdller";
        while (n == 1 && ::kill(service_, 0) == 0 &&
               text_of(place_ + "/status").find(shown) == std::string::npos &&
               ::waitpid(service_, nullptr, WNOHANG) == 0)
            std::this_thread::yield();
    });
    EXPECT_TRUE(told.ok()) << told.message();
    const int status = stop(SIGTERM);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// Goal: an application's file comes out of a service on its node, which ends in good order.
TEST_F(Serve, writes_for_an_application_of_its_node) {
    start("unix:" + place_ + "/socket");
    EXPECT_TRUE(run(address_, 5).ok());
    expect_dumps(5);
    const int status = stop(SIGTERM);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_FALSE(std::filesystem::exists(place_ + "/socket"));
}

// Goal: the same over TCP, for who knows the secret; who does not is told so.
TEST_F(Serve, writes_over_tcp_for_whom_knows_the_secret) {
    start("tcp:127.0.0.1:0", "secret = \"" + place_ + "/secret\"\n");
    const Status told = run(address_ + ",secret=" + place_ + "/secret", 5);
    EXPECT_TRUE(told.ok()) << told.message();
    expect_dumps(5);
    std::ofstream(place_ + "/wrong") << "another secret, of about the same length as it";
    ::chmod((place_ + "/wrong").c_str(), 0600);
    EXPECT_FALSE(run(address_ + ",secret=" + place_ + "/wrong", 1).ok());
}

// Goal: a service that was killed with a client connected can be started again at the same port.
TEST_F(Serve, started_again_gets_its_port) {
    const std::string secret = "secret = \"" + place_ + "/secret\"\n";
    start("tcp:127.0.0.1:0", secret);
    const std::string listen = address_.substr(std::string("service:").size());
    EXPECT_FALSE(run(address_ + ",secret=" + place_ + "/secret", 2, [&](unsigned n, Writer&) {
                     if (n == 1) stop(SIGKILL);
                 }).ok());
    start(listen, secret);
    EXPECT_TRUE(run(address_ + ",secret=" + place_ + "/secret", 2).ok());
    expect_dumps(2);
}

// Goal: a service that is killed takes nothing with it from who may write by himself, and its end
// is noticed: ctest would end this test long before the lease does.
TEST_F(Serve, killed_it_loses_nothing_of_who_writes_by_himself) {
    lease_s_ = 3600;
    start("unix:" + place_ + "/socket");
    const Status told = run(address_ + ",on_loss=write", 8, [&](unsigned n, Writer&) {
        if (n == 4) stop(SIGKILL);
    });
    EXPECT_TRUE(told.ok()) << told.message();
    expect_dumps(8);
}

// Goal: it is an error for who may not, and what was committed stays.
TEST_F(Serve, killed_it_is_an_error_that_says_so) {
    start("unix:" + place_ + "/socket");
    std::optional<std::uint64_t> committed;
    const Status told = run(address_, 8, [&](unsigned n, Writer& writer) {
        if (n != 4) return;
        EXPECT_TRUE(writer.finish_by(60.0).ok());
        committed = writer.committed();
        stop(SIGKILL);
    });
    EXPECT_FALSE(told.ok());
    EXPECT_NE(told.message().find("the service is gone"), std::string::npos) << told.message();
    EXPECT_EQ(committed, 3u);
    ASSERT_TRUE(store::recover(path()).ok());
    expect_dumps(4);
}

// Goal: a client that is killed is noticed; its file is recovered by the service, which goes on.
TEST_F(Serve, recovers_the_file_of_a_client_that_is_killed) {
    start("unix:" + place_ + "/socket");
    const pid_t client = ::fork();
    if (client == 0) {
        (void)run(address_, 8, [&](unsigned n, Writer& writer) {
            if (n != 5) return;
            (void)writer.finish_by(60.0);
            ::kill(::getpid(), SIGKILL);
        });
        ::_exit(1);
    }
    int status = 0;
    ::waitpid(client, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    // The lock is free once the service has let go of the file; until then no reader can open it.
    std::string in_use = "not asked";
    for (int i = 0; i < 1000 && !in_use.empty(); ++i) {
        const auto recovered = store::recover(path());
        in_use = recovered.ok() ? "" : recovered.status().message();
        if (!in_use.empty()) ::usleep(10000);
    }
    EXPECT_EQ(in_use, "");
    expect_dumps(5);
    std::filesystem::remove(path());
    EXPECT_TRUE(run(address_, 3).ok());
    expect_dumps(3);
}

// Goal: objects get through a service of its own process: put, sunk, read, found, analysed; and a
// field of a file that a Writer has written through it.
TEST_F(Serve, keeps_and_analyses_objects) {
    std::filesystem::create_directories(place_ + "/sink");
    start("unix:" + place_ + "/socket",
          "objects_bytes = 2000000\nsink = \"" + place_ + "/sink\"\non_dump = [\"stats\"]\n");
    ASSERT_TRUE(run(address_, 2).ok());
    auto made = transit::Objects::connect(address_);
    ASSERT_TRUE(made.ok()) << made.status().message();
    transit::Objects& objects = **made;
    const auto values = serve_values(7);
    const auto id = objects.create({"mine", "f", float32, k_serve_shape});
    ASSERT_TRUE(id.ok()) << id.status().message();
    std::vector<transit::Ticket> tickets;
    const std::size_t slab = values.size() / 16;
    for (std::uint64_t i = 0; i < 16; ++i)
        tickets.push_back(objects.put(*id, {{4 * i, 0, 0}, {4, 64, 64}}, &values[i * slab]));
    for (const auto& ticket : tickets) {
        const Status status = ticket.wait();
        ASSERT_TRUE(status.ok()) << status.message();
    }
    std::vector<float> got(values.size());
    ASSERT_TRUE(objects.get(*id, {{0, 0, 0}, k_serve_shape}, got.data()).wait().ok());
    const auto expect_got = [&](const std::vector<float>& put) {
        EXPECT_EQ(testing::broken(put, std::vector<double>(got.begin(), got.end()), 0.0), "");
    };
    expect_got(values);
    const auto stats = objects.run(*id, "stats").wait();
    ASSERT_TRUE(stats.ok()) << stats.status().message();
    std::int64_t count = 0;
    for (const char* name : {"count", "nan", "infinite"})
        count += std::get<std::int64_t>(*stats->find(name));
    EXPECT_EQ(count, static_cast<std::int64_t>(values.size()));
    const auto found = objects.find({.container = path(), .name = "*f"});
    ASSERT_TRUE(found.ok()) << found.status().message();
    ASSERT_EQ(found->objects.size(), 2u);
    EXPECT_EQ(found->objects[1].results.size(), 1u);  // of on_dump
    ASSERT_TRUE(
        objects.get(found->objects[1].id, {{0, 0, 0}, k_serve_shape}, got.data()).wait().ok());
    expect_got(serve_values(1));
    made->reset();
    const int status = stop(SIGTERM);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// Goal: nobody writes where the operator did not let him.
TEST_F(Serve, keeps_clients_in_their_directory) {
    start("unix:" + place_ + "/socket");
    WriterOptions options;
    options.transport = address_;
    const auto made = Writer::create("/etc/caesura_was_here.h5", nullptr, options);
    ASSERT_FALSE(made.ok());
    EXPECT_NE(made.status().message().find(place_), std::string::npos) << made.status().message();
    EXPECT_FALSE(std::filesystem::exists("/etc/caesura_was_here.h5"));
}

}  // namespace
}  // namespace caesura
