// caesura-serve: the service as a program.
//
//     caesura-serve CONFIG.toml
//
// It prints the addresses to connect to, one a line, and runs until SIGTERM or SIGINT. Then it
// takes nobody new, tells its clients, and ends when the last has gone. SIGQUIT ends it at once,
// and so does a second SIGINT; a second SIGTERM changes nothing, because batch systems send
// several.
#include <fmt/format.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.hpp"
#include "group.hpp"
#include "transit/members/members.hpp"
#include "transit/service/decision_trace.hpp"
#include "transit/service/settings.hpp"

namespace {

using namespace caesura;

constexpr char k_of_a_group[] = "a service of the group";
constexpr double k_turn_s = 0.25, k_status_s = 1.0;

nlohmann::json members_text(const transit::Members* members) {
    nlohmann::json all = nlohmann::json::array();
    if (members == nullptr) return all;
    for (const transit::Members::Counts& one : members->counts())
        all.push_back({{"address", one.name},
                       {"regions", one.regions},
                       {"put_bytes", one.put_bytes},
                       {"got_bytes", one.got_bytes},
                       {"passes", one.passes},
                       {"passed_bytes", one.passed_bytes}});
    return all;
}

nlohmann::json objects_text(const transit::ObjectStore::Counts& counts) {
    nlohmann::json devices = nlohmann::json::array();
    for (const auto& one : counts.devices)
        devices.push_back({{"device", one.name},
                           {"bytes", one.bytes},
                           {"most_bytes", one.most_bytes},
                           {"failed", one.is_lost}});
    return {{"objects", counts.objects},
            {"memory_bytes", counts.memory_bytes},
            {"guest_bytes", counts.guest_bytes},
            {"sink_bytes", counts.spool_bytes},
            {"sunk", counts.sunk},
            {"came_back", counts.came_back},
            {"moved_away", counts.moved_away},
            {"chained_raw_bytes", counts.chained_raw_bytes},
            {"chained_bytes", counts.chained_bytes},
            {"open_files", counts.open_files},
            {"open_bytes", counts.open_bytes},
            {"filed_regions", counts.filed_regions},
            {"filed_bytes", counts.filed_bytes},
            {"states_bytes", counts.states_bytes},
            {"states_refused", counts.states_refused},
            {"devices", devices}};
}

std::string status_text(const transit::ServicePort& port, const transit::Members* members,
                        bool draining) {
    nlohmann::json clients = nlohmann::json::array();
    for (const transit::ClientStatus& one : port.status())
        clients.push_back({{"client", one.id},
                           {"application", one.application},
                           {"weight", one.weight},
                           {"age_s", one.age_s},
                           {"blocks", one.blocks},
                           {"raw_bytes", one.raw_bytes},
                           {"stored_bytes", one.stored_bytes},
                           {"dumps", one.dumps},
                           {"waiting_blocks", one.waiting_blocks},
                           {"outstanding_bytes", one.outstanding_bytes}});
    nlohmann::json devices = nlohmann::json::array();
    for (const transit::DeviceStatus& one : port.devices())
        devices.push_back({{"device", one.name},
                           {"blocks", one.blocks},
                           {"regions", one.regions},
                           {"bytes", one.bytes},
                           {"waiting", one.waiting},
                           {"utilisation", one.utilisation},
                           {"failures", one.failures},
                           {"paused_s", one.paused_s},
                           {"to_bytes_per_s", one.to_bytes_per_s},
                           {"from_bytes_per_s", one.from_bytes_per_s},
                           {"median_error", one.error}});
    const transit::PortCounts& counts = port.counts();
    const double time_s =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    const nlohmann::json all = {{"process", ::getpid()},
                                {"draining", draining},
                                {"time_s", time_s},
                                {"waiting_blocks", port.waiting()},
                                {"clients", clients},
                                {"devices", devices},
                                {"connected", counts.connected},
                                {"lost", counts.lost},
                                {"turned_away", counts.turned_away},
                                {"unproved", counts.unproved},
                                {"objects", objects_text(port.objects().counts())},
                                {"members", members_text(members)}};
    // Clients' names may be no UTF-8.
    return all.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// Whole at every instant. That it cannot be written ends nothing.
void write_status(const std::string& path, const std::string& text) {
    const std::string partial = path + ".partial";
    std::FILE* const file = std::fopen(partial.c_str(), "w");
    if (file == nullptr) return;
    const bool written = std::fputs(text.c_str(), file) >= 0;
    if (std::fclose(file) == 0 && written) (void)std::rename(partial.c_str(), path.c_str());
}

int fail(const Status& status) {
    std::fprintf(stderr, "caesura-serve: %s\n", status.message().c_str());
    return 3;
}

/// This service as a client of the others. They tell services of a group apart by host and process.
std::unique_ptr<transit::Members> members_of(const transit::Settings& settings) {
    if (settings.members.empty() && settings.group.empty()) return nullptr;
    char host[256] = {};
    (void)::gethostname(host, sizeof host - 1);
    const std::string name = std::string(host) + ":" + std::to_string(::getpid()) + ":" +
                             std::to_string(static_cast<long long>(std::time(nullptr)));
    constexpr double k_again_s = 5.0, k_patience_s = 60.0;
    return std::make_unique<transit::Members>(name, std::vector<transit::Members::Member>{},
                                              k_again_s, k_patience_s);
}

void add_member(transit::Members& members, const transit::Settings& settings,
                const std::string& address) {
    std::string service = "service:" + address;
    if (!settings.port.secret_path.empty()) service += ",secret=" + settings.port.secret_path;
    if (settings.port.trusted_network) service += ",trusted=yes";
    members.add({address, [service] { return transit::Objects::connect(service, k_of_a_group); }});
}

/// Those that the operator names, and those of the launcher: they reach this one at its last
/// address.
Status find_members(transit::Members* members, const transit::Settings& settings,
                    const std::optional<Group>& group, const std::string& own) {
    for (const transit::Address& address : settings.members)
        add_member(*members, settings, address.text());
    if (!group) return {};
    const auto others = group->exchange(own, settings.group_wait_s);
    if (!others.ok()) return others.status();
    for (const std::string& address : *others) add_member(*members, settings, address);
    return {};
}

/// Services of a group are clients of each other as long as they live: nobody waits for them.
bool has_applications(const transit::ServicePort& port) {
    const auto clients = port.status();
    return std::any_of(clients.begin(), clients.end(), [](const transit::ClientStatus& one) {
        return !one.application.starts_with(k_of_a_group);
    });
}

// The devices and the trace that the operator has asked for.
Status equip(transit::Settings& settings) {
    auto devices = std::make_shared<std::vector<std::unique_ptr<transit::BlockDevice>>>();
    auto memories = std::make_shared<std::vector<std::unique_ptr<transit::DeviceMemory>>>();
    std::vector<std::string> names{"cpu"};
    for (const transit::DeviceSettings& wanted : settings.devices) {
        auto device = transit::make_device(wanted);
        if (!device.ok()) return device.status();
        names.push_back((*device)->label());
        devices->push_back(std::move(*device));
        auto memory = transit::make_device_memory(wanted);
        if (!memory.ok()) return memory.status();
        if (*memory) memories->push_back(std::move(*memory));
    }
    settings.service.make_devices = [devices] { return std::move(*devices); };
    settings.service.make_device_memories = [memories] { return std::move(*memories); };
    if (settings.trace_path.empty()) return {};
    auto trace = transit::DecisionTrace::create(settings.trace_path, std::move(names));
    if (!trace.ok()) return trace.status();
    settings.service.trace = [held = std::move(*trace)](const transit::Placed& placed) {
        held->add(placed);
    };
    return {};
}

/// As if it had been killed, whatever its threads wait for: its clients know what to do then. What
/// has a name goes.
[[noreturn]] void end_at_once(const transit::Settings& settings) {
    for (const transit::Address& address : settings.listen)
        if (address.kind == transit::Address::Kind::local) (void)std::remove(address.path.c_str());
    if (!settings.status_path.empty()) (void)std::remove(settings.status_path.c_str());
    std::_Exit(1);
}

int serve(transit::Settings& settings, const std::optional<Group>& group, int signals) {
    if (const Status status = equip(settings); !status.ok()) return fail(status);
    auto admission = transit::admission_of(settings);
    if (!admission.ok()) return fail(admission.status());
    auto functions = transit::functions_of(settings);
    if (!functions.ok()) return fail(functions.status());
    for (const std::string& message : functions->messages)
        std::fprintf(stderr, "caesura-serve: %s\n", message.c_str());
    transit::ServiceOptions options = settings.service;
    options.functions = functions->registry;
    options.by = functions->by;
    const auto members = members_of(settings);
    options.far = members.get();
    auto port = transit::ServicePort::make(options, settings.port, std::move(*admission));
    if (!port.ok()) return fail(port.status());
    std::string last;
    for (const transit::Address& address : settings.listen) {
        const auto listening = (*port)->listen(address);
        if (!listening.ok()) return fail(listening.status());
        std::printf("service:%s\n", listening->text().c_str());
        last = listening->text();
    }
    std::fflush(stdout);
    if (const Status status = find_members(members.get(), settings, group, last); !status.ok())
        return fail(status);
    const base::Clock& clock = base::Clock::steady();
    double next_status_s = 0.0;
    bool draining = false;
    for (;;) {
        (*port)->run_once(k_turn_s);
        signalfd_siginfo signal{};
        if (::read(signals, &signal, sizeof signal) == sizeof signal) {
            const bool again = draining && signal.ssi_signo == SIGINT;
            if (again || signal.ssi_signo == SIGQUIT) end_at_once(settings);
            draining = true;
            (*port)->drain();
        }
        if (!settings.status_path.empty() && clock.now_s() >= next_status_s) {
            write_status(settings.status_path, status_text(**port, members.get(), draining));
            next_status_s = clock.now_s() + k_status_s;
        }
        if (draining && !has_applications(**port)) return 0;
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2 || argv[1][0] == '-') {
        std::fprintf(stderr, "usage: caesura-serve CONFIG.toml\n");
        return 2;
    }
    // A service that is started again gets its port, whatever connections linger.
    (void)::setenv("UCX_TCP_CM_REUSEADDR", "y", 0);
    // Before there is any other thread, so that all have them blocked.
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGTERM);
    ::sigaddset(&set, SIGINT);
    ::sigaddset(&set, SIGQUIT);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    const int signals = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    auto settings = transit::read_settings(argv[1]);
    if (!settings.ok()) return fail(settings.status());
    std::optional<Group> group;
    if (!settings->group.empty()) {
        auto joined = Group::join();
        if (!joined.ok()) return fail(joined.status());
        group.emplace(std::move(*joined));
    }
    const int code = serve(*settings, group, signals);
    if (!settings->status_path.empty()) (void)std::remove(settings->status_path.c_str());
    return code;
}
