#include "lambda/python_worker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/invalid.hpp"
#include "base/little_endian.hpp"
#include "lambda/python_process.hpp"

namespace caesura::lambda {
namespace {

using Json = nlohmann::json;

constexpr std::uint32_t k_longest_message = 64u << 20;

/// Text as JSON, with whatever is no UTF-8 replaced.
std::string dump(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json list_of(const Shape& shape) {
    return std::vector<std::uint64_t>(shape.data(), shape.data() + shape.rank());
}

Json json_of(const RegionView& region) {
    Json tags = Json::object();
    for (const Tag& tag : region.tags) tags[tag.first] = tag.second;
    return {{"object", std::string(region.object)},
            {"id", region.id},
            {"dtype", std::string(to_string(region.dtype))},
            {"shape", list_of(region.shape)},
            {"offset", list_of(region.box.offset)},
            {"extent", list_of(region.box.extent)},
            {"time", region.time},
            {"owner", std::string(region.owner)},
            {"tags", std::move(tags)}};
}

Json json_of(const Arguments& arguments) {
    Json out = Json::object();
    for (const auto& [name, argument] : arguments.all()) {
        const auto* written = std::get_if<std::string>(&argument);
        const bool whole = std::holds_alternative<std::int64_t>(argument);
        const char* kind = written                                  ? "text"
                           : whole                                  ? "whole"
                           : std::holds_alternative<bool>(argument) ? "flag"
                                                                    : "number";
        out[name] = Json::array({kind, written ? *written : text(argument)});
    }
    return out;
}

/// nullopt: the process said nonsense.
std::optional<Parameter> parameter_of(const Json& json) {
    constexpr std::pair<const char*, Parameter::Type> k_types[] = {
        {"whole", Parameter::Type::whole},
        {"number", Parameter::Type::number},
        {"text", Parameter::Type::text},
        {"flag", Parameter::Type::flag}};
    const auto text_at = [&](const char* key) {
        const auto found = json.find(key);
        return found != json.end() && found->is_string() ? found->get<std::string>()
                                                         : std::string();
    };
    Parameter parameter{text_at("name"), Parameter::Type::number, text_at("help")};
    bool known = false;
    for (const auto& [name, type] : k_types)
        if (text_at("type") == name) {
            parameter.type = type;
            known = true;
        }
    if (!known) return {};
    if (!json.contains("fallback")) {
        parameter.required = true;
        return parameter;
    }
    const auto bound =
        Arguments::bind({"fallback", "", {{parameter.name, text_at("fallback")}}}, {parameter});
    if (text_at("fallback").empty() || !bound.ok()) return {};
    parameter.fallback = bound->all().front().second;
    return parameter;
}

std::optional<PythonWorker::Hello> hello_of(const std::string& body) {
    const Json json = Json::parse(body, nullptr, false);
    if (!json.is_object() || !json.contains("functions") || !json.contains("errors")) return {};
    PythonWorker::Hello hello;
    for (const Json& error : json["errors"])
        if (error.is_string()) hello.errors.push_back(error.get<std::string>());
    for (const Json& function : json["functions"]) {
        PythonWorker::Described described;
        for (const auto& [key, to] :
             {std::pair{"name", &described.name}, std::pair{"help", &described.help}}) {
            if (!function.is_object() || !function.contains(key) || !function[key].is_string())
                return {};
            *to = function[key].get<std::string>();
        }
        described.is_iterative = function.value("kind", Json()) == "iterative";
        if (function.contains("parameters"))
            for (const Json& one : function["parameters"]) {
                auto parameter = one.is_object() ? parameter_of(one) : std::nullopt;
                if (!parameter) return {};
                described.parameters.push_back(std::move(*parameter));
            }
        hello.functions.push_back(std::move(described));
    }
    return hello;
}

double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

Status nonsense(const std::string& who) {
    return {StatusCode::internal, fmt::format("{}: its process said nonsense", who)};
}

}  // namespace

// ---------------------------------------------------------------------------------- process

PythonWorker::~PythonWorker() { stop(); }

Status PythonWorker::spawn() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return {StatusCode::io, fmt::format("socketpair: {}", std::strerror(errno))};
    connection_ = ends[0];
    values_ = ::memfd_create("caesura-lambda", MFD_CLOEXEC);
    const auto process = values_ < 0 ? Result<pid_t>(Status(StatusCode::io, "memfd_create"))
                                     : spawn_python(settings_, ends[1], values_);
    ::close(ends[1]);
    if (!process.ok()) {
        stop();
        return process.status();
    }
    process_ = *process;
    end_ = static_cast<int>(::syscall(SYS_pidfd_open, process_, 0));
    ++starts_;
    return {};
}

// With the whole process group: what a function has started goes too.
void PythonWorker::stop() {
    if (process_ > 0) {
        ::kill(-process_, SIGKILL);
        while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    for (int* descriptor : {&connection_, &values_, &end_})
        if (*descriptor >= 0) ::close(std::exchange(*descriptor, -1));
    process_ = -1;
}

bool PythonWorker::has_ended() const {
    siginfo_t info{};
    const int how = WEXITED | WNOHANG | WNOWAIT;
    return ::waitid(P_PID, static_cast<id_t>(process_), &info, how) != 0 || info.si_pid != 0;
}

// The connection ended. Why, as far as the kernel knows.
Status PythonWorker::ended(const std::string& who) {
    // It is dying and keeps its own reason; if a function closed the descriptor alone, this is it.
    ::kill(-process_, SIGKILL);
    siginfo_t info{};
    const bool known = ::waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOWAIT) == 0;
    const int how = known ? info.si_status : 0;
    const bool by_signal = known && info.si_code != CLD_EXITED;
    stop();
    if (by_signal && how == SIGXCPU)
        return {StatusCode::cancelled,
                fmt::format("{} took more than {} s of processor time and was stopped", who,
                            settings_.limits.cpu_s)};
    if (by_signal)
        return {StatusCode::internal,
                fmt::format("{}: its process crashed ({})", who, ::strsignal(how))};
    return {StatusCode::internal, fmt::format("{}: its process ended (exit code {})", who, how)};
}

// Without its limits a function does not run.
Status PythonWorker::limit(int resource, std::uint64_t soft) const {
    const auto which = static_cast<__rlimit_resource>(resource);
    rlimit limit{};
    const bool known = ::prlimit(process_, which, nullptr, &limit) == 0;
    limit.rlim_cur = std::min(static_cast<rlim_t>(soft), limit.rlim_max);
    if (known && ::prlimit(process_, which, &limit, nullptr) == 0) return {};
    return {StatusCode::io,
            fmt::format("functions in Python: no limit can be set: {}", std::strerror(errno))};
}

Status PythonWorker::limit_memory() const {
    std::uint64_t pages = 0;
    std::ifstream(fmt::format("/proc/{}/statm", process_)) >> pages;
    const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    if (Status status = limit(RLIMIT_CORE, 0); !status.ok()) return status;
    return limit(RLIMIT_AS, pages * page_bytes + settings_.limits.memory_bytes);
}

Status PythonWorker::limit_cpu() const {
    clockid_t clock;
    timespec used{};
    if (::clock_getcpuclockid(process_, &clock) == 0) (void)::clock_gettime(clock, &used);
    const double until_s = static_cast<double>(used.tv_sec) +
                           static_cast<double>(used.tv_nsec) * 1e-9 + settings_.limits.cpu_s;
    return limit(RLIMIT_CPU, static_cast<std::uint64_t>(std::ceil(until_s)));
}

// --------------------------------------------------------------------------------- messages

Status PythonWorker::send(char letter, const std::string& body, const std::string& who) {
    std::string message(4, '\0');
    base::put_little(reinterpret_cast<std::byte*>(message.data()), body.size() + 1, 4);
    message += letter + body;
    for (std::size_t sent = 0; sent < message.size();) {
        const ssize_t n = ::send(connection_, message.data() + sent, message.size() - sent,
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            sent += static_cast<std::size_t>(n);
        } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            pollfd ready{connection_, POLLOUT, 0};
            const int limit_ms = static_cast<int>(std::min(settings_.limits.wall_s, 1e6) * 1e3);
            if (::poll(&ready, 1, limit_ms) == 0) {
                stop();
                return {StatusCode::cancelled, fmt::format("{}: its process does not listen", who)};
            }
        } else {
            return ended(who);
        }
    }
    return {};
}

Status PythonWorker::read_all(char* to, std::size_t n, Allowance& time, const std::string& who) {
    while (n > 0) {
        const double begin_s = now_s();
        pollfd ready[] = {{connection_, POLLIN, 0}, {end_, POLLIN, 0}};
        const double wait_ms = std::ceil(std::clamp(time.left_s, 0.0, 1e6) * 1e3);
        const int found = ::poll(ready, 2, static_cast<int>(wait_ms));
        time.left_s -= now_s() - begin_s;
        if (found == 0 || (found < 0 && errno == EINTR)) {
            if (found < 0 && time.left_s > 0.0) continue;
            stop();
            return {StatusCode::cancelled,
                    fmt::format("{} took more than {} s and was stopped", who, time.limit_s)};
        }
        if (ready[0].revents == 0) return ended(who);
        const ssize_t got = ::recv(connection_, to, n, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return ended(who);
        to += got;
        n -= static_cast<std::size_t>(got);
    }
    return {};
}

Result<PythonWorker::Message> PythonWorker::receive(Allowance& time, const std::string& who) {
    char head[5];
    if (Status status = read_all(head, sizeof head, time, who); !status.ok()) return status;
    const std::uint64_t length = base::get_little(reinterpret_cast<std::byte*>(head), 4);
    if (length < 1 || length > k_longest_message) {
        stop();
        return nonsense(who);
    }
    Message message{head[4], std::string(length - 1, '\0')};
    if (Status status = read_all(message.body.data(), length - 1, time, who); !status.ok())
        return status;
    return message;
}

Status PythonWorker::put_values(const RegionView& region) {
    const auto* from = reinterpret_cast<const char*>(region.values.data());
    for (std::size_t at = 0; at < region.values.size();) {
        const ssize_t n =
            ::pwrite(values_, from + at, region.values.size() - at, static_cast<off_t>(at));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
            return {StatusCode::no_space, fmt::format("{}: no memory to share its values: {}",
                                                      describe(region), std::strerror(errno))};
        at += static_cast<std::size_t>(n);
    }
    return {};
}

// ------------------------------------------------------------------------------------ calls

Result<PythonWorker::Hello> PythonWorker::read_hello() {
    Allowance time{settings_.limits.start_s};
    const auto message = receive(time, "loading functions in Python");
    if (!message.ok()) return message.status();
    auto hello = message->letter == 'H' ? hello_of(message->body) : std::nullopt;
    if (!hello) {
        stop();
        return nonsense("functions in Python");
    }
    if (Status status = limit_memory(); !status.ok()) {
        stop();
        return status;
    }
    return *hello;
}

Result<PythonWorker::Hello> PythonWorker::start() {
    const std::lock_guard lock(mutex_);
    if (process_ > 0) return hello_;
    if (Status status = spawn(); !status.ok()) return status;
    auto hello = read_hello();
    if (hello.ok()) hello_ = *hello;
    return hello;
}

Status PythonWorker::give_next(RegionIterator& regions, const std::string& who) {
    const auto region = regions.next();
    if (!region.ok()) {
        stop();  // it waits inside the function, for good
        return region.status().with_context(who);
    }
    if (!*region) return send('N', "null", who);
    if (Status status = put_values(**region); !status.ok()) {
        stop();
        return status.with_context(who);
    }
    return send('N', dump(json_of(**region)), who);
}

Result<Results> PythonWorker::converse(const std::string& function, RegionIterator* regions) {
    Allowance time{settings_.limits.wall_s};
    while (true) {
        const auto message = receive(time, function);
        if (!message.ok()) return message.status();
        if (message->letter == 'N' && regions && message->body.empty()) {
            if (Status status = give_next(*regions, function); !status.ok()) return status;
            continue;
        }
        const std::string said = is_utf8(message->body) ? message->body : "?";
        if (message->letter == 'E') return base::invalid(fmt::format("{}: {}", function, said));
        if (message->letter == 'M') {
            stop();  // what is left of it may be anywhere
            return Status(StatusCode::no_space,
                          fmt::format("{} needs more than {} MiB of memory: {}", function,
                                      settings_.limits.memory_bytes >> 20, said));
        }
        auto results = message->letter == 'R'
                           ? Results::parse(std::as_bytes(std::span(message->body)))
                           : Result<Results>(nonsense(function));
        if (results.ok()) return results;
        stop();
        return nonsense(function);
    }
}

Result<Results> PythonWorker::call(const std::string& function, const Arguments& arguments,
                                   const RegionView* region, RegionIterator* regions) {
    std::optional<Result<Results>> made;
    const Status status = helper_.at_normal_priority([&]() -> Status {
        made = call_here(function, arguments, region, regions);
        return {};
    });
    if (!made) return status.with_context(function);
    return std::move(*made);
}

Result<Results> PythonWorker::call_here(const std::string& function, const Arguments& arguments,
                                        const RegionView* region, RegionIterator* regions) {
    const std::lock_guard lock(mutex_);
    if (process_ > 0 && has_ended()) stop();  // between two calls
    if (process_ <= 0) {
        if (Status status = spawn(); !status.ok()) return status.with_context(function);
        const auto hello = read_hello();
        if (!hello.ok()) return hello.status().with_context(function);
        hello_ = *hello;
    }
    if (Status status = limit_cpu(); !status.ok()) return status.with_context(function);
    Json call{{"function", function}, {"arguments", json_of(arguments)}};
    if (region) {
        if (Status status = put_values(*region); !status.ok()) return status.with_context(function);
        call["region"] = json_of(*region);
    }
    if (Status status = send('C', dump(call), function); !status.ok()) return status;
    return converse(function, regions);
}

}  // namespace caesura::lambda
