#include "transit/service/settings.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/invalid.hpp"
#include "lambda/plugins.hpp"
#include "lambda/python_functions.hpp"
#include "transit/service/rooted_files.hpp"
#include "transit/service/toml_reader.hpp"

namespace caesura::transit {
namespace {

Status take_addresses(TomlReader& reader, std::string_view key, std::vector<Address>& addresses) {
    const toml::array* const list = reader.list(key);
    if (list == nullptr) return {};
    for (const toml::node& one : *list) {
        const auto text = one.value_exact<std::string>();
        if (!text) {
            reader.wrong(one, key, "must be a list of addresses");
            continue;
        }
        auto address = Address::parse(*text);
        if (!address.ok()) return address.status();
        addresses.push_back(std::move(*address));
    }
    return {};
}

Status take_listen(TomlReader& reader, Settings& settings) {
    Status status = take_addresses(reader, "listen", settings.listen);
    if (!status.ok() || !settings.listen.empty()) return status;
    auto address = Address::parse("unix:" + default_socket());
    if (!address.ok()) return address.status();
    settings.listen.push_back(std::move(*address));
    return {};
}

Status take_writes(TomlReader& reader, const std::string& name, Settings& settings) {
    const toml::array* const list = reader.list("write");
    if (list == nullptr) return {};
    for (const toml::node& one : *list) {
        if (one.as_table() == nullptr) {
            reader.wrong(one, "write", "must be tables: [[write]]");
            continue;
        }
        TomlReader rule(*one.as_table(), name);
        Settings::Write write;
        rule.take("user", write.user);
        rule.take("directory", write.directory);
        rule.number("weight", write.weight, 1e-3, k_weight_limit);
        rule.end();
        if (write.directory.empty()) rule.wrong(one, "write", "needs a directory");
        if (!rule.status().ok()) return rule.status();
        settings.writes.push_back(std::move(write));
    }
    return {};
}

Status take_reads(TomlReader& reader, const std::string& name, Settings& settings) {
    const toml::array* const list = reader.list("read");
    if (list == nullptr) return {};
    for (const toml::node& one : *list) {
        if (one.as_table() == nullptr) {
            reader.wrong(one, "read", "must be tables: [[read]]");
            continue;
        }
        TomlReader rule(*one.as_table(), name);
        Settings::Read read;
        rule.take("user", read.user);
        rule.take("owner", read.owner);
        rule.end();
        if (read.owner.empty()) rule.wrong(one, "read", "needs an owner");
        if (!rule.status().ok()) return rule.status();
        settings.reads.push_back(std::move(read));
    }
    return {};
}

void take_texts(TomlReader& reader, std::string_view key, std::vector<std::string>& texts) {
    const toml::array* const list = reader.list(key);
    if (list == nullptr) return;
    for (const toml::node& one : *list) {
        if (const auto text = one.value_exact<std::string>())
            texts.push_back(*text);
        else
            reader.wrong(one, key, "must be a list of texts");
    }
}

void take_objects(TomlReader& reader, Settings& settings) {
    reader.count("states_bytes", settings.service.objects.states_bytes, 0, std::int64_t{1} << 46);
    reader.count("objects_bytes", settings.service.objects.memory_bytes, 0, std::int64_t{1} << 46);
    reader.count("objects", settings.service.objects.objects, 1, 1 << 24);
    reader.take("sink", settings.service.sink);
    reader.count("sink_bytes", settings.service.sink_bytes, 1, std::int64_t{1} << 50);
    take_texts(reader, "on_dump", settings.service.on_dump);
    reader.take("plugins", settings.plugins);
    reader.take("python_functions", settings.python_functions);
    reader.take("python", settings.python);
    reader.take("key", settings.key_path);
    reader.count("functions_mb", settings.functions_mb, 1, 1 << 24);
}

/// To whom objects of a client belong. A client over TCP calls himself as he likes, and is none of
/// the node's users.
std::string owner_of(const Who& who) {
    if (who.kind == Address::Kind::tcp) return "tcp:" + who.identity;
    passwd entry{};
    passwd* found = nullptr;
    std::vector<char> memory(16384);
    const bool named = ::getpwuid_r(who.user, &entry, memory.data(), memory.size(), &found) == 0 &&
                       found != nullptr;
    return named ? std::string(entry.pw_name) : fmt::to_string(who.user);
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
    for (std::size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + with.size()))
        text.replace(at, what.size(), with);
    return text;
}

bool is_user(const std::string& rule, const Who& who) {
    if (rule == "*") return true;
    if (who.kind == Address::Kind::tcp) return rule == who.identity;
    if (rule == fmt::to_string(who.user)) return true;
    passwd entry{};
    passwd* found = nullptr;
    std::vector<char> memory(16384);
    return ::getpwuid_r(who.user, &entry, memory.data(), memory.size(), &found) == 0 &&
           found != nullptr && rule == entry.pw_name;
}

}  // namespace

namespace {

// What one user's service needs that was told nothing.
std::string own_place(std::string_view suffix) {
    if (const char* const run = std::getenv("XDG_RUNTIME_DIR"); run != nullptr && *run == '/')
        return fmt::format("{}/caesura.{}", run, suffix);
    return fmt::format("{}/caesura-{}.{}", std::filesystem::temp_directory_path().string(),
                       ::getuid(), suffix);
}

/// By the directories, in the order of the operator's file.
using KnownFiles = std::map<std::vector<std::string>, std::shared_ptr<RootedFiles>>;

}  // namespace

std::string default_socket() { return own_place("sock"); }

Result<Settings> read_settings(const std::string& path) {
    std::ifstream file(path);
    if (!file) return Status{StatusCode::io, path + ": cannot be read"};
    std::ostringstream text;
    text << file.rdbuf();
    char host[256] = {};
    (void)::gethostname(host, sizeof host - 1);
    const char* const rank = std::getenv("PMIX_RANK");
    return parse_settings(
        replaced(replaced(text.str(), "%h", host), "%r", rank != nullptr ? rank : "0"), path);
}

Result<Settings> parse_settings(std::string_view text, const std::string& name) {
    const toml::parse_result parsed = toml::parse(text);
    if (!parsed)
        return base::invalid(fmt::format("{}, line {}: {}", name,
                                         parsed.error().source().begin.line,
                                         parsed.error().description()));
    Settings settings;
    settings.service.press.threads =
        std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    TomlReader reader(parsed.table(), name);
    if (Status status = take_listen(reader, settings); !status.ok())
        return status.with_context(name);
    if (Status status = take_addresses(reader, "members", settings.members); !status.ok())
        return status.with_context(name);
    reader.take("group", settings.group);
    if (!settings.group.empty() && settings.group != "pmix")
        reader.wrong(*parsed.table().get("group"), "group", "must be \"pmix\"");
    reader.number("group_wait_s", settings.group_wait_s, 0.1, 86400.0);
    if (Status status = take_writes(reader, name, settings); !status.ok()) return status;
    if (Status status = take_reads(reader, name, settings); !status.ok()) return status;
    take_objects(reader, settings);
    auto devices = take_devices(reader, name);
    if (!devices.ok()) return devices.status();
    settings.devices = std::move(*devices);
    reader.take("secret", settings.port.secret_path);
    reader.take("trusted_network", settings.port.trusted_network);
    reader.take("other_users", settings.port.other_users);
    reader.take("idle_priority", settings.service.press.idle_priority);
    reader.take("recover", settings.service.recover);
    if (parsed.table().get("listen") == nullptr) settings.status_path = own_place("json");
    reader.take("status", settings.status_path);
    reader.take("trace", settings.trace_path);
    reader.take("host_last", settings.service.host_last);
    settings.service.probe = !settings.devices.empty();
    reader.take("probe", settings.service.probe);
    std::string choice = "model";
    reader.take("choice", choice);
    if (choice == "average") settings.service.placer.rule = where::Rule::average;
    if (choice != "average" && choice != "model")
        reader.wrong(*parsed.table().get("choice"), "choice", "must be model or average");
    reader.count("threads", settings.service.press.threads, 1, 1024);
    reader.number("most_wait_s", settings.service.press.most_wait_s, 0.0, 86400.0);
    reader.count("lanes", settings.service.lanes, 1, 256);
    reader.count("clients", settings.port.connections, 1, 1 << 20);
    reader.count("credits_bytes", settings.credits_bytes, 1 << 20, std::int64_t{1} << 40);
    // Clients give a sign of life each second.
    reader.number("lease_s", settings.service.lease_s, 2.0, 3600.0);
    reader.end();
    if (!reader.status().ok()) return reader.status();
    if (settings.writes.empty())
        return base::invalid(fmt::format(
            "{}: nobody may write anywhere; add [[write]] with directory = \"...\"", name));
    settings.port.heartbeat_s = std::min(1.0, settings.service.lease_s / 4);
    if (settings.port.other_users) settings.port.socket_mode = 0666;
    return settings;
}

Result<Admission> admission_of(const Settings& settings) {
    for (const Settings::Write& write : settings.writes)
        if (auto files = RootedFiles::make({write.directory}); !files.ok()) return files.status();
    // Clients with the same directories share their descriptors: objects keep them beyond a client.
    const auto known = std::make_shared<KnownFiles>();
    return Admission([settings, known](const Who& who) -> Result<Permit> {
        std::vector<std::string> directories;
        Permit permit;
        permit.weight = 0.0;
        for (const Settings::Write& write : settings.writes) {
            if (!is_user(write.user, who)) continue;
            directories.push_back(write.directory);
            permit.weight = std::max(permit.weight, write.weight);
        }
        if (directories.empty())
            return Status{
                StatusCode::invalid_argument,
                fmt::format("{} may not write here: no [[write]] of the service names it",
                            who.kind == Address::Kind::tcp ? who.identity
                                                           : fmt::format("user {}", who.user))};
        std::shared_ptr<RootedFiles>& files = (*known)[directories];
        if (files == nullptr || !files->is_current()) {
            auto made = RootedFiles::make(std::move(directories));
            if (!made.ok()) return made.status();
            files = std::move(*made);
        }
        permit.files = files;
        permit.credits_bytes = settings.credits_bytes;
        permit.owner = owner_of(who);
        for (const Settings::Read& read : settings.reads)
            if (is_user(read.user, who)) permit.reads.push_back(read.owner);
        // What this user's process does to its memory it can do to this one anyway.
        permit.shares_memory =
            who.kind == Address::Kind::local && who.user == ::getuid() && who.process > 0;
        return permit;
    });
}

Result<OperatorFunctions> functions_of(const Settings& settings) {
    auto registry = std::make_shared<lambda::Registry>(settings.functions_mb);
    OperatorFunctions functions;
    const auto note = [&](const lambda::LoadedPlugins& loaded) {
        for (const std::string& added : loaded.added) functions.messages.push_back(added);
        for (const Status& refused : loaded.refused)
            functions.messages.push_back("refused: " + refused.message());
    };
    if (!settings.key_path.empty()) {
        auto key = lambda::Key::read(settings.key_path);
        if (!key.ok()) return key.status();
        functions.by.key = std::move(*key);
    }
    if (!settings.plugins.empty()) {
        const auto loaded = lambda::load_plugins(*registry, settings.plugins);
        if (!loaded.ok()) return loaded.status();
        note(*loaded);
    }
    if (!settings.python_functions.empty()) {
        lambda::PythonSettings python;
        python.python = settings.python;
        const auto loaded =
            lambda::add_python_functions(*registry, settings.python_functions, python);
        if (!loaded.ok()) return loaded.status();
        note(*loaded);
    }
    for (const std::string& call : settings.service.on_dump) {
        const auto state = registry->start(call);
        if (!state.ok()) return state.status().with_context("on_dump");
        if (state->passes_left() > 0)
            return base::invalid(
                fmt::format("on_dump: {} passes over the values more than once; "
                            "a histogram needs low and high",
                            call));
    }
    functions.registry = std::move(registry);
    return functions;
}

}  // namespace caesura::transit
