#include "transit/service/session.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "store/recover.hpp"

namespace caesura::transit {
namespace {

// Turns are sums of cost over weight, and lose small steps beside very large ones.
constexpr double k_least_weight = 1e-3;

}  // namespace

void OpenPaths::add(const std::string& path) {
    const std::lock_guard lock(mutex_);
    ++users_[path].open;
}

bool OpenPaths::remove(const std::string& path) {
    const std::lock_guard lock(mutex_);
    Users& users = users_.at(path);
    if (--users.open > 0) return false;
    ++users.recovering;
    return true;
}

void OpenPaths::recovered(const std::string& path) {
    const std::lock_guard lock(mutex_);
    const auto found = users_.find(path);
    --found->second.recovering;
    if (found->second.open == 0 && found->second.recovering == 0) users_.erase(found);
}

bool OpenPaths::is_anothers(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    const auto found = users_.find(path);
    return found != users_.end() && found->second.open + found->second.recovering > 1;
}

Session::Session(ClientId id, Permit permit, const Workshop& workshop, Lane& lane)
    : id_(id),
      permit_(std::move(permit)),
      workshop_(workshop),
      lane_(lane),
      desk_(workshop.objects,
            {errand_host(), workshop.replies, workshop.hdf5, workshop.dispatch,
             Asker{id, permit_.owner, permit_.reads, permit_.files}, permit_.credits_bytes}) {}

std::string Session::application() const {
    const std::lock_guard lock(hello_mutex_);
    return fmt::format("{}, rank {} of {}", hello_.application, hello_.rank, hello_.size);
}

double Session::weight() const {
    const std::lock_guard lock(hello_mutex_);
    return std::clamp(hello_.weight, k_least_weight, std::max(k_least_weight, permit_.weight));
}

void Session::handle(const ClientMessage& message, base::Buffer payload) try {
    if (!is_alive()) return;
    if (!greeted_ && !std::holds_alternative<Hello>(message)) {
        refuse({StatusCode::corrupt, "the first message is no hello"});
        return;
    }
    std::visit([&](const auto& one) { take(one, payload); }, message);
} catch (const std::bad_alloc&) {
    refuse({StatusCode::no_space, "the service is out of memory"});
}

void Session::answer(std::uint64_t request, Status status, std::uint64_t number,
                     base::Buffer payload) {
    Answer message;
    message.request = request;
    message.status = std::move(status);
    message.number = number;
    message.payload_bytes = payload.size();
    workshop_.replies.send(id_, message, std::move(payload));
}

void Session::refuse(const Status& why) {
    lost();
    workshop_.replies.drop(id_, why);
}

// ------------------------------------------------------------------------------ session

void Session::take(const Hello& message, base::Buffer&) {
    if (greeted_) return refuse({StatusCode::corrupt, "a second hello"});
    greeted_ = true;
    {
        const std::lock_guard lock(hello_mutex_);
        hello_ = message;
    }
    Welcome welcome;
    welcome.credits_bytes = permit_.credits_bytes;
    welcome.lease_s = workshop_.lease_s;
    welcome.limits = workshop_.limits;
    welcome.shares_memory = permit_.shares_memory;
    workshop_.replies.send(id_, welcome);
}

void Session::take(const Share& message, base::Buffer&) {
    if (!permit_.shares_memory || arena_)
        return refuse({StatusCode::corrupt, "memory that was not asked for"});
    auto opened = base::SharedMemory::open(message.key);
    if (!opened.ok()) return refuse(opened.status());
    arena_ = std::move(*opened);
}

void Session::take(const Bye&, base::Buffer&) {
    lost();
    end();
}

void Session::end() {
    workshop_.dispatch.forget(id_);
    desk_.end();
    // A dump may free itself while it is dropped.
    std::vector<ServedDump*> left;
    for (const auto& [number, dump] : dumps_) left.push_back(dump.get());
    for (ServedDump* const dump : left) dump->drop();
    // Workers are at blocks of these: ended() of the last one comes back here.
    self_ = dumps_.empty() && pressed_.empty() ? nullptr : shared_from_this();
    if (self_) return;
    for (auto& [number, file] : std::exchange(files_, {})) close(std::move(file));
}

void Session::ended(ServedDump& dump, std::optional<Finished> finished) {
    const std::uint64_t number = dump.order().dump;
    if (finished) {
        counters_.dumps.fetch_add(1, std::memory_order_relaxed);
        workshop_.replies.send(id_, *finished);
    }
    // Not before the caller, a call of the dump itself, is over.
    lane_.give([self = shared_from_this(), number] {
        self->dumps_.erase(number);
        if (!self->is_alive() && self->dumps_.empty() && self->pressed_.empty()) self->end();
    });
}

}  // namespace caesura::transit
