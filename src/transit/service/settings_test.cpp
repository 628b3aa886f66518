#include "transit/service/settings.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace caesura::transit {
namespace {

// Goal: every key is understood.
TEST(ServiceSettings, reads_every_key) {
    const auto read = parse_settings(R"(
listen = ["unix:/run/caesura.sock", "tcp:0.0.0.0:4711"]
secret = "/etc/caesura/secret"
trusted_network = true
threads = 3
idle_priority = false
lanes = 2
lease_s = 20
credits_bytes = 67108864
clients = 8
recover = false
other_users = true
status = "/run/caesura.json"
objects_bytes = 1000000
states_bytes = 3000000
objects = 100
sink = "/scratch/sink"
sink_bytes = 2000000
on_dump = ["stats", "min"]
plugins = "/etc/caesura/plugins"
python_functions = "/etc/caesura/functions"
python = "python3.11"
key = "/etc/caesura/key"
functions_mb = 512
[[read]]
user = "bob"
owner = "alice"
[[write]]
user = "alice"
directory = "/scratch/alice"
weight = 4
[[write]]
directory = "/scratch/all"
)",
                                     "serve.toml");
    ASSERT_TRUE(read.ok()) << read.status().message();
    ASSERT_EQ(read->listen.size(), 2u);
    EXPECT_EQ(read->listen[1].text(), "tcp:0.0.0.0:4711");
    EXPECT_EQ(read->port.secret_path, "/etc/caesura/secret");
    EXPECT_TRUE(read->port.trusted_network && read->port.other_users);
    EXPECT_EQ(read->service.press.threads, 3);
    EXPECT_FALSE(read->service.press.idle_priority || read->service.recover);
    EXPECT_EQ(read->service.lanes, 2);
    EXPECT_EQ(read->service.lease_s, 20.0);
    EXPECT_EQ(read->credits_bytes, 67108864u);
    EXPECT_EQ(read->port.connections, 8u);
    EXPECT_EQ(read->status_path, "/run/caesura.json");
    EXPECT_EQ(read->service.objects.memory_bytes, 1000000u);
    EXPECT_EQ(read->service.objects.states_bytes, 3000000u);
    EXPECT_EQ(read->service.objects.objects, 100u);
    EXPECT_EQ(read->service.sink, "/scratch/sink");
    EXPECT_EQ(read->service.sink_bytes, 2000000u);
    EXPECT_EQ(read->service.on_dump, (std::vector<std::string>{"stats", "min"}));
    EXPECT_EQ(read->plugins + read->python_functions + read->python,
              "/etc/caesura/plugins/etc/caesura/functionspython3.11");
    EXPECT_EQ(read->functions_mb, 512);
    EXPECT_EQ(read->key_path, "/etc/caesura/key");
    ASSERT_EQ(read->reads.size(), 1u);
    EXPECT_EQ(read->reads[0].user + read->reads[0].owner, "bobalice");
    ASSERT_EQ(read->writes.size(), 2u);
    EXPECT_EQ(read->writes[0].user, "alice");
    EXPECT_EQ(read->writes[0].weight, 4.0);
    EXPECT_EQ(read->writes[1].user, "*");
}

// Goal: so are those of devices, and how they are chosen.
TEST(ServiceSettings, reads_every_key_of_devices) {
    const auto read = parse_settings(R"(
trace = "/run/trace.json"
choice = "average"
host_last = true
[[device]]
kind = "emulated"
name = "gpu0"
memory_bytes = 1048576
object_bytes = 2097152
coder = "codec"
link_bytes_per_s = 1e9
compress_bytes_per_s = 2e9
per_block_s = 0.001
kept_bytes = 4096
[[device]]
kind = "remote"
address = "tcp:10.0.0.7:4711"
secret = "/etc/caesura/secret"
trusted_network = true
at_once = 2
patience_s = 3
[[write]]
directory = "/scratch"
)",
                                     "serve.toml");
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read->trace_path, "/run/trace.json");
    EXPECT_EQ(read->service.placer.rule, where::Rule::average);
    EXPECT_TRUE(read->service.host_last);
    ASSERT_EQ(read->devices.size(), 2u);
    const DeviceSettings &gpu = read->devices[0], &remote = read->devices[1];
    EXPECT_EQ(gpu.name, "gpu0");
    EXPECT_EQ(gpu.kind, DeviceSettings::Kind::emulated);
    EXPECT_EQ(gpu.memory_bytes, 1048576u);
    EXPECT_EQ(read->devices[0].object_bytes, 2097152u);
    EXPECT_EQ(gpu.coder, "codec");
    EXPECT_EQ(gpu.link_bytes_per_s, 1e9);
    EXPECT_EQ(gpu.compress_bytes_per_s, 2e9);
    EXPECT_EQ(gpu.per_block_s, 0.001);
    EXPECT_EQ(gpu.kept_bytes, 4096u);
    EXPECT_EQ(remote.name, "remote");
    EXPECT_EQ(remote.address, "tcp:10.0.0.7:4711");
    EXPECT_EQ(remote.secret_path, "/etc/caesura/secret");
    EXPECT_TRUE(remote.trusted_network);
    EXPECT_EQ(remote.at_once, 2);
    EXPECT_EQ(remote.patience_s, 3.0);
}

// Goal: a mistake is named with its line.
TEST(ServiceSettings, names_the_line_of_a_mistake) {
    const std::string write = "[[write]]\ndirectory = \"/tmp\"\n";
    for (const auto& [text, named] : std::vector<std::pair<std::string, std::string>>{
             {"threads = 0\n" + write, "line 1: threads"},
             {"\nthreds = 2\n" + write, "line 2: threds"},
             {"lease_s = \"long\"\n" + write, "line 1: lease_s"},
             {"listen = [\"pigeon:x\"]\n" + write, "pigeon"},
             {"threads = = 2", "line 1"},
             {"on_dump = [1]\n" + write, "line 1: on_dump"},
             {write + "[[read]]\nuser = \"bob\"\n", "owner"},
             {"", "[[write]]"},
             {"choice = \"best\"\n" + write, "line 1: choice"},
             {write + "[[device]]\nkind = \"fpga\"\n", "line 3: kind"},
             {write + "[[device]]\nkind = \"cuda\"\naddress = \"tcp:a:1\"\n", "line 5: address"},
             {write + "[[device]]\nkind = \"remote\"\n", "line 3: address"},
             {write + "[[device]]\nkind = \"emulated\"\nlink_bytes_per_s = 0\n", "line 5: link"},
             {write + "[[device]]\nkind = \"emulated\"\ncoder = \"zip\"\n", "line 3: coder"},
             {write + "[[device]]\nkind = \"emulated\"\nname = \"cpu\"\n", "line 3: name"},
             {"device = 3\n" + write, "line 1: device"},
             {"[[write]]\nuser = \"a\"\n", "directory"},
             {"[[write]]\ndirectory = \"/tmp\"\nwieght = 1\n", "line 3: wieght"}}) {
        const auto read = parse_settings(text, "serve.toml");
        ASSERT_FALSE(read.ok()) << text;
        EXPECT_NE(read.status().message().find(named), std::string::npos)
            << read.status().message();
    }
}

// Goal: who may write where is what the rules say, by name, number and identity.
TEST(ServiceSettings, admits_whom_the_rules_name) {
    const std::string me = std::to_string(::getuid());
    auto settings = parse_settings("[[write]]\nuser = \"" + me +
                                       "\"\ndirectory = \"/tmp\"\nweight = 3\n"
                                       "[[write]]\nuser = \"staging\"\ndirectory = \"/tmp\"\n",
                                   "serve.toml");
    ASSERT_TRUE(settings.ok()) << settings.status().message();
    const auto admission = admission_of(*settings);
    ASSERT_TRUE(admission.ok()) << admission.status().message();
    Who who;
    who.user = ::getuid();
    who.process = ::getpid();
    auto permit = (*admission)(who);
    ASSERT_TRUE(permit.ok()) << permit.status().message();
    EXPECT_EQ(permit->weight, 3.0);
    EXPECT_TRUE(permit->shares_memory);
    who.user = ::getuid() + 1;
    EXPECT_FALSE((*admission)(who).ok());
    who.kind = Address::Kind::tcp;
    who.identity = "staging";
    permit = (*admission)(who);
    ASSERT_TRUE(permit.ok());
    EXPECT_FALSE(permit->shares_memory);
    who.identity = "stranger";
    EXPECT_NE((*admission)(who).status().message().find("stranger"), std::string::npos);
}

// Goal: what every dump is to be analysed by must be there, and see its values once.
TEST(ServiceSettings, name_an_analysis_that_cannot_run_on_dumps) {
    Settings settings;
    settings.service.on_dump = {"stats", "histogram(bins=8, low=0, high=1)"};
    EXPECT_TRUE(functions_of(settings).ok());
    for (const char* call : {"nonsense", "histogram(bins=8)", "shuffle"}) {
        settings.service.on_dump = {call};
        const auto functions = functions_of(settings);
        ASSERT_FALSE(functions.ok()) << call;
        EXPECT_NE(functions.status().message().find("on_dump"), std::string::npos)
            << functions.status().message();
    }
    settings.service.on_dump.clear();
    settings.plugins = "/nowhere";
    EXPECT_FALSE(functions_of(settings).ok());
}

// Goal: a key that is not there, or that others may read, ends the start with its name.
TEST(ServiceSettings, refuse_a_key_that_others_may_read) {
    Settings settings;
    settings.key_path = "/nowhere/key";
    EXPECT_NE(functions_of(settings).status().message().find("/nowhere/key"), std::string::npos);
    const std::string path =
        ::testing::TempDir() + "caesura_serve_key_" + std::to_string(::getpid());
    std::ofstream(path) << std::string(lambda::Key::k_bytes, 'k');
    settings.key_path = path;
    ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
    EXPECT_NE(functions_of(settings).status().message().find("chmod 600"), std::string::npos);
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    const auto functions = functions_of(settings);
    ASSERT_TRUE(functions.ok()) << functions.status().message();
    EXPECT_NE(functions->by.key, nullptr);
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace caesura::transit
