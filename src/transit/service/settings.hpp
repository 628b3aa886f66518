// What the operator of a service says, as TOML.
//
// | key             | default           | meaning                                              |
// |-----------------|-------------------|------------------------------------------------------|
// | listen          | the user's socket | a list: one unix:PATH, one tcp:HOST:PORT             |
// | secret          | none              | tcp: a file that its owner alone may read            |
// | trusted_network | false             | tcp: payloads carry no tag                           |
// | threads         | all cores         | that compress                                        |
// | idle_priority   | true              | they run below everything else                       |
// | most_wait_s     | 10                | idle_priority: a block that none of them has begun   |
// |                 |                   | for so long is compressed at normal priority         |
// | lanes           | 4                 | threads that write                                   |
// | lease_s         | 10                | a client that is not heard for so long is gone       |
// | credits_bytes   | 268435456         | values of one client that may be under way           |
// | clients         | 1024              | at once                                              |
// | recover         | true              | files of clients that are gone                       |
// | other_users     | false             | unix: users besides this one and root may come       |
// | status          | none; with the    | a file that says every second how things stand       |
// |                 | user's socket one |                                                      |
// |                 | beside it         |                                                      |
// | objects_bytes   | 268435456         | values that clients put, in memory                   |
// | objects         | 65536             | at most                                              |
// | states_bytes    | 268435456         | of the states of analyses under way, of all clients  |
// | sink            | none              | a directory for values that memory has no room for   |
// | sink_bytes      | 17179869184       | of it                                                |
// | key             | none              | a file of 32 bytes that its owner alone may read:    |
// |                 |                   | what aead encrypts with in chains of the service     |
// | members         | none              | a list: addresses of other services of the group,    |
// |                 |                   | whose memory is used when this one's is full         |
// | group           | none              | "pmix": the services that mpirun or srun has started |
// |                 |                   | with this one are members, too; %r in this file is   |
// |                 |                   | the rank, %h the host                                |
// | group_wait_s    | 60                | how long each of them waits for the others to start  |
// | on_dump         | none              | a list: analyses of every field of every dump        |
// | plugins         | none              | a directory of functions in C                        |
// | python_functions| none              | a directory of functions in Python                   |
// | python          | "python3"         | that runs them                                       |
// | functions_mb    | 65536             | what a function may ask for of memory, in MiB        |
// | [[write]]       |                   | who may write where                                  |
// |   directory     |                   | absolute                                             |
// |   user          | "*"               | a user's name or number, a tcp client's name, or "*" |
// |   weight        | 1                 | the most that a client's wish counts                 |
// | [[read]]        |                   | who may read whose objects                           |
// |   user          | "*"               | as above                                             |
// |   owner         |                   | a user's name, "tcp:" and a client's name, or "*"    |
// | trace           | none              | a file: what was decided and predicted for each block |
// | choice          | "model"           | of devices, or "average": S4's running average       |
// | probe           | true, if there is | compress samples on each device when it starts       |
// |                 | a [[device]]      |                                                      |
// | host_last       | false             | the host's cores do only what no device can          |
// | [[device]]      |                   | compresses blocks beside the host's cores:           |
// |                 |                   | device_settings.hpp                                  |
#pragma once

#include "transit/port/address.hpp"
#include "transit/service/device_settings.hpp"
#include "transit/service/service_port.hpp"

namespace caesura::transit {

struct Settings {
    std::vector<Address> listen;
    ServiceOptions service;
    PortOptions port;
    std::uint64_t credits_bytes = std::uint64_t{256} << 20;
    std::string status_path, trace_path;
    struct Write {
        std::string user = "*";
        std::string directory;
        double weight = 1.0;
    };
    std::vector<Write> writes;
    struct Read {
        std::string user = "*";
        std::string owner;
    };
    std::vector<Read> reads;
    std::vector<Address> members;
    std::string group;  ///< empty, or "pmix"
    double group_wait_s = 60.0;
    std::string plugins, python_functions, python = "python3", key_path;
    std::int64_t functions_mb = 65536;
    std::vector<DeviceSettings> devices;
};

/// The functions that clients may have run: those built in, and the operator's.
struct OperatorFunctions {
    std::shared_ptr<const lambda::Registry> registry;
    std::vector<std::string> messages;  ///< what was added, and what was not and why
    lambda::Operator by;
};
/// Errors: a key that is none; a directory that is not there, or that others may write; an analysis
/// of on_dump that cannot run; names it.
Result<OperatorFunctions> functions_of(const Settings& settings);

/// Errors: invalid_argument, naming file, line, key and what there is; io.
Result<Settings> read_settings(const std::string& path);
Result<Settings> parse_settings(std::string_view toml, const std::string& name);

/// Where a service listens that is not told where: a socket in the user's run-time directory.
std::string default_socket();

/// Who may come, and what for. Errors: invalid_argument (a directory that is not there).
Result<Admission> admission_of(const Settings& settings);

}  // namespace caesura::transit
