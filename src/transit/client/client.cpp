#include "transit/client/client.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "base/clock.hpp"
#include "transit/client/remote_files.hpp"
#include "transit/client/remote_sink.hpp"

namespace caesura::transit {
namespace {

HostIdentity this_host() {
    HostIdentity host;
    std::string text;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
    std::memcpy(host.boot.data(), text.data(), std::min(text.size(), host.boot.size()));
    struct stat info {};
    if (::stat("/proc/self/ns/pid", &info) == 0) host.pid_namespace = info.st_ino;
    if (::stat("/proc/self/ns/ipc", &info) == 0) host.ipc_namespace = info.st_ino;
    return host;
}

double now_s() { return base::Clock::steady().now_s(); }

}  // namespace

Client::Client(const ClientOptions& options, std::shared_ptr<ClientMemory> memory)
    : options_(options), owner_(::getpid()), memory_(std::move(memory)) {
    for (const auto asked : base::k_file_lockings)
        files_.push_back(std::make_unique<RemoteFiles>(*this, asked));
}

Client::~Client() {
    if (channel_ && !is_lost()) tell(Bye{});
}

base::FileSystem& Client::files(base::FileLocking asked) {
    return *files_[static_cast<std::size_t>(asked)];
}

Result<std::shared_ptr<Client>> Client::make(std::unique_ptr<Channel> channel,
                                             const ClientOptions& options,
                                             std::shared_ptr<ClientMemory> memory) {
    auto client = begin(std::move(channel), options, std::move(memory));
    const auto answer = client->await_welcome(k_greeting_s);
    if (!answer) return Status(StatusCode::io, fmt::format("no answer within {} s", k_greeting_s));
    if (!answer->ok()) return *answer;
    return client;
}

std::shared_ptr<Client> Client::begin(std::unique_ptr<Channel> channel,
                                      const ClientOptions& options,
                                      std::shared_ptr<ClientMemory> memory) {
    std::shared_ptr<Client> client(new Client(options, std::move(memory)));
    client->channel_ = std::move(channel);
    client->channel_->start(*client);
    Hello hello;
    hello.application = options.writer.name;
    hello.rank = options.writer.rank;
    hello.size = options.writer.size;
    hello.host = this_host();
    hello.budget_bytes = options.writer.budget_bytes;
    hello.weight = options.weight;
    client->tell(hello);
    return client;
}

std::shared_ptr<Client> Client::absent(const ClientOptions& options,
                                       std::shared_ptr<ClientMemory> memory, const Status& why) {
    std::shared_ptr<Client> client(new Client(options, std::move(memory)));
    client->lost_ = true;
    client->cause_ = why;
    client->why_lost_ = client->gone(why.message());
    return client;
}

std::optional<Status> Client::await_welcome(double at_most_s) {
    bool shares = false;
    {
        std::unique_lock lock(mutex_);
        const auto there = [&] { return welcome_.has_value() || is_lost(); };
        if (!changed_.wait_for(lock, std::chrono::duration<double>(at_most_s), there))
            return std::nullopt;
        if (!welcome_) return why_lost_;
        shares = welcome_->shares_memory && options_.share_memory;
    }
    if (shares && !shares_) share_arena();
    return Status{};
}

void Client::share_arena() {
    if (!memory_->arena && memory_->may_make_arena) {
        // Twice the budget: gaps, and blocks that wait to be freed.
        auto made =
            Arena::make(std::max<std::uint64_t>(2 * options_.writer.budget_bytes, 64u << 20));
        if (made.ok()) memory_->arena = std::move(*made);
    }
    if (!memory_->arena) return;  // values are sent
    shares_ = true;
    tell(Share{memory_->arena->key()});
}

// -------------------------------------------------------------------------------- to the service

void Client::tell(const ClientMessage& message, std::vector<std::span<const std::byte>> payload,
                  std::function<void()> done) {
    if (owner_ != ::getpid()) {
        if (done) done();
        return;
    }
    auto bytes = encode(message);
    if (!bytes.ok()) {  // what we make ourselves is right, or memory has run out
        if (done) done();
        return give_up(bytes.status());
    }
    channel_->send(std::move(*bytes), std::move(payload), std::move(done));
}

Result<Client::Reply> Client::ask(std::uint64_t request, const ClientMessage& message,
                                  std::span<const std::span<const std::byte>> payload) {
    if (owner_ != ::getpid())
        return Status(StatusCode::cancelled, "the service is that of the process's parent");
    {
        const std::lock_guard lock(mutex_);
        if (is_lost()) return why_lost_;
        asked_[request] = std::nullopt;
    }
    // The pieces are the caller's, and he must not go before they are sent.
    bool sent = payload.empty();
    std::function<void()> done;
    if (!sent)
        done = [&] {
            const std::lock_guard lock(mutex_);
            sent = true;
            changed_.notify_all();
        };
    tell(message, {payload.begin(), payload.end()}, std::move(done));
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return sent && (asked_.at(request).has_value() || is_lost()); });
    auto node = asked_.extract(request);
    if (!node.mapped()) return why_lost_;
    if (!node.mapped()->answer.status.ok()) return node.mapped()->answer.status;
    return std::move(*node.mapped());
}

bool Client::spend(std::uint64_t bytes) {
    std::unique_lock lock(mutex_);
    // More than there can ever be waits until nothing else is under way.
    const std::uint64_t needed = std::min(bytes, most_credits_bytes_);
    changed_.wait(lock, [&] { return credits_bytes_ >= needed || is_lost(); });
    credits_bytes_ -= std::min(bytes, credits_bytes_);
    return !is_lost();
}

void Client::enlist(std::uint64_t dump, RemoteSink& sink) {
    const std::lock_guard lock(sinks_mutex_);
    sinks_[dump] = &sink;
}

void Client::delist(std::uint64_t dump) {
    const std::lock_guard lock(sinks_mutex_);
    sinks_.erase(dump);
}

Result<std::unique_ptr<writer::DumpSink>> Client::sink(writer::SinkOrder order, run::DumpTask& task,
                                                       writer::Lanes lanes) try {
    // The service has never heard of these places. Jobs that were made for it before it was lost
    // are not compressed: a sink of its takes them, and gives them back.
    const bool is_made_for_it =
        task.n_jobs > 0 && task.jobs[0].elsewhere.load(std::memory_order_relaxed);
    if (is_lost() && writes_here() && !is_made_for_it)
        return std::unique_ptr<writer::DumpSink>(
            std::make_unique<writer::RegionSink>(std::move(order)));
    return std::unique_ptr<writer::DumpSink>(
        std::make_unique<RemoteSink>(shared_from_this(), std::move(order), task, std::move(lanes)));
} catch (const std::bad_alloc&) {
    return Status(StatusCode::no_space, "out of memory");
}

// ------------------------------------------------------------------------------ from the service

void Client::on_message(std::span<const std::byte> message, std::span<const std::byte> payload) {
    if (is_lost()) return;
    const auto parsed = parse_service(message, payload.size());
    if (!parsed.ok()) return give_up(parsed.status());
    std::visit([&](const auto& one) { take(one, payload); }, *parsed);
}

Status Client::gone(const std::string& why) const {
    return {StatusCode::io,
            fmt::format("the service is gone: {}. {}", why,
                        writes_here() ? "This process compresses and writes by itself until it is "
                                        "there again"
                                      : "Committed dumps are in the file; start it again, or let "
                                        "the Writer write by itself (on_loss=write)")};
}

void Client::on_lost(const Status& why, bool is_dead) {
    {
        const std::lock_guard lock(mutex_);
        if (lost_.exchange(true, std::memory_order_acq_rel)) return;
        const std::string text = why.ok() ? "it has ended the connection" : why.message();
        why_lost_ = cause_ = {StatusCode::io, text};
        if (welcome_) why_lost_ = gone(text);
        const double lease_s = welcome_ ? welcome_->lease_s : 0.0;
        over_s_ = is_dead ? 0.0 : now_s() + lease_s + options_.margin_s;
        changed_.notify_all();
    }
    fail_later();
    const std::lock_guard lock(sinks_mutex_);
    for (const auto& [dump, sink] : sinks_) sink->lost();
}

void Client::give_up(const Status& why) {
    on_lost(why, false);
    if (channel_) channel_->end();
}

void Client::on_dead() {
    const std::lock_guard lock(mutex_);
    over_s_ = 0.0;
    changed_.notify_all();
}

void Client::wait_for_end() {
    std::unique_lock lock(mutex_);
    while (over_s_ > 0.0 && now_s() < over_s_)
        changed_.wait_for(lock, std::chrono::duration<double>(over_s_ - now_s()));
}

Status Client::loss() const {
    const std::lock_guard lock(mutex_);
    return why_lost_;
}

void Client::note_refusal(const std::string& path, const Status& why) {
    const std::lock_guard lock(mutex_);
    refusals_.try_emplace(path, why);  // what is said is the first, whenever somebody asks
}

Status Client::refusal(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    if (refusals_.empty()) return {};
    const auto found = refusals_.find(absolute(path));
    return found == refusals_.end() ? Status{} : found->second;
}

Status Client::cause() const {
    const std::lock_guard lock(mutex_);
    return cause_;
}

void Client::take(const Welcome& message, std::span<const std::byte>) {
    const std::lock_guard lock(mutex_);
    welcome_ = message;
    credits_bytes_ = most_credits_bytes_ = message.credits_bytes;
    changed_.notify_all();
}

void Client::take(const Refusal& message, std::span<const std::byte>) {
    on_lost(message.status, false);
}

void Client::take(const Answer& message, std::span<const std::byte> payload) {
    Reply reply{message, {}, {}};
    if (!payload.empty()) {
        auto buffer = pool().take(payload.size());
        if (buffer.ok()) {
            std::memcpy(buffer->data(), payload.data(), payload.size());
            reply.payload = std::move(*buffer);
        } else {
            reply.answer.status = buffer.status();
        }
    }
    {
        const std::lock_guard lock(mutex_);
        const auto found = asked_.find(message.request);
        if (found != asked_.end()) {
            found->second = std::move(reply);
            changed_.notify_all();
            return;
        }
    }
    const Status status = reply.answer.status;
    answer_later(message.request, status.ok() ? Result<Reply>(std::move(reply)) : status);
}

void Client::take(const FoundObjects& message, std::span<const std::byte>) {
    if (!message.status.ok())
        answer_later(message.request, message.status);
    else
        answer_later(message.request, Reply{{}, {}, message});
}

void Client::take(const FoundInDump& message, std::span<const std::byte>) {
    const std::lock_guard lock(sinks_mutex_);
    if (const auto found = sinks_.find(message.dump); found != sinks_.end())
        found->second->found(message);
}

void Client::take(const Credit& message, std::span<const std::byte>) {
    const std::lock_guard lock(mutex_);
    credits_bytes_ = std::min(most_credits_bytes_, credits_bytes_ + message.bytes);
    changed_.notify_all();
}

void Client::take(const Taken& message, std::span<const std::byte>) {
    const std::lock_guard lock(sinks_mutex_);
    if (const auto found = sinks_.find(message.dump); found != sinks_.end())
        found->second->taken(message.job);
}

void Client::take(const BlockResult& message, std::span<const std::byte> payload) {
    const std::lock_guard lock(sinks_mutex_);
    if (const auto found = sinks_.find(message.dump); found != sinks_.end())
        found->second->result(message, payload);
}

void Client::take(const Finished& message, std::span<const std::byte>) {
    const std::lock_guard lock(sinks_mutex_);
    for (const auto& [dump, sink] : sinks_)
        if (sink->finished(message)) return;
}

}  // namespace caesura::transit
