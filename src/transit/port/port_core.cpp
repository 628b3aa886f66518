#include "transit/port/port_core.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/invalid.hpp"

namespace caesura::transit {
namespace {

// A listener without room is asked again so often.
constexpr double k_reach_s = 0.01;
constexpr double k_last_words_s = 1.0;

Status check(const PortOptions& o) {
    const auto wrong = [](std::string what) { return base::invalid("port: " + std::move(what)); };
    for (const auto& [name, value] : {std::pair{"heartbeat_s", o.heartbeat_s},
                                      {"silence_s", o.silence_s},
                                      {"hand_shake_s", o.hand_shake_s},
                                      {"close_s", o.close_s},
                                      {"connects_per_s", o.connects_per_s}})
        if (!(value > 0.0) || !std::isfinite(value))
            return wrong(fmt::format("{} is {}; it must be positive", name, value));
    if (o.silence_s <= o.heartbeat_s)
        return wrong(fmt::format("silence_s is {}; it must be more than heartbeat_s, {}",
                                 o.silence_s, o.heartbeat_s));
    if (!(o.spin_s >= 0.0 && o.spin_s < 1.0))
        return wrong(fmt::format("spin_s is {}; it must be 0 to 1", o.spin_s));
    if (o.eager_bytes > Window::eager_bytes / 8)
        return wrong(
            fmt::format("eager_bytes is {}; at most {}", o.eager_bytes, Window::eager_bytes / 8));
    if (o.remote_memory && !o.trusted_network)
        return wrong("remote_memory is for a trusted_network only");
    if (o.socket_mode > 0777) return wrong(fmt::format("socket_mode is {:o}", o.socket_mode));
    if (o.clock == nullptr) return wrong("no clock");
    return {};
}

PortHandler& nobody() {
    static auto& handler = *new PortHandler;
    return handler;
}

}  // namespace

Port::Core::Core(PortOptions options, PortHandler& handler)
    : options_(std::move(options)), handler_(&handler) {}

Result<std::unique_ptr<Port::Core>> Port::Core::make(PortOptions options, PortHandler& handler) {
    if (Status status = transit::check(options); !status.ok()) return status;
    if (Status status = prepare_cryptography(); !status.ok()) return status;
    std::unique_ptr<Core> core(new Core(std::move(options), handler));
    if (Status status = core->open(); !status.ok()) return status;
    return core;
}

Status Port::Core::open() {
    if (!options_.secret_path.empty()) {
        auto secret = Secret::read(options_.secret_path);
        if (!secret.ok()) return secret.status();
        secret_ = *secret;
    }
    poll_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    wake_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!poll_.is_open() || !wake_.is_open() || !watch(wake_.get(), k_wake_tag))
        return {StatusCode::io, fmt::format("port: {}", std::strerror(errno))};
    turned_s_ = base::Clock::steady().now_s();
    checked_s_ = allowance_s_ = now_s();
    allowance_ = std::max(1.0, options_.connects_per_s);
    return {};
}

Port::Core::~Core() {
    handler_ = &nobody();
    local_.reset();
    std::vector<PeerId> all;
    for (const auto& [id, peer] : peers_) all.push_back(id);
    for (const PeerId id : all) close(id);
    const base::Clock& real = base::Clock::steady();
    const double until = real.now_s() + std::min(k_last_words_s, options_.close_s);
    while (!peers_.empty() && real.now_s() < until) run_once(until - real.now_s());
    for (const auto& [id, peer] : peers_)
        lose(*peer, {StatusCode::cancelled, "the port was destroyed"});
    while (!peers_.empty() && real.now_s() < until + k_last_words_s) {
        work();
        sweep();
    }
}

Result<std::shared_ptr<Fabric::Context>> Port::Core::context(Address::Kind kind) {
    const bool local = kind == Address::Kind::local;
    auto& known = local ? node_ : network_;
    if (known) return known;
    Fabric::Options options;
    options.reach = local ? Fabric::Reach::node : Fabric::Reach::network;
    options.remote_memory = options_.remote_memory;
    options.devices = options_.network_devices;
    options.transports = options_.transports;
    options.tcp_ports = options_.tcp_ports;
    auto made = Fabric::prepare(options);
    if (made.ok()) known = *made;
    return made;
}

Result<std::unique_ptr<Fabric>> Port::Core::make_fabric(Address::Kind kind, PeerId id) {
    auto its_context = context(kind);
    if (!its_context.ok()) return its_context.status();
    auto made = Fabric::make(*its_context);
    if (!made.ok()) return made;
    if (options_.header_bytes + k_around_header_bytes > (*made)->max_head_bytes())
        return base::invalid(fmt::format("port: header_bytes is {}; here at most {}",
                                         options_.header_bytes,
                                         (*made)->max_head_bytes() - k_around_header_bytes));
    if (!watch((*made)->descriptor(), fabric_tag(id)))
        return Status{StatusCode::io, fmt::format("port: {}", std::strerror(errno))};
    fabrics_.push_back({id, made->get()});
    return made;
}

bool Port::Core::watch(int descriptor, std::uint64_t tag) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLRDHUP;
    event.data.u64 = tag;
    return ::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

// Explicitly: a child of fork() may hold the other end of what we close.
void Port::Core::unwatch(int descriptor) {
    (void)::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
}

Port::Core::Peer* Port::Core::find(PeerId id) const {
    const auto found = peers_.find(id);
    return found == peers_.end() ? nullptr : found->second.get();
}

// --------------------------------------------------------------------------- the loop

void Port::Core::post(std::function<void()> function) {
    if (!calls_.push(std::move(function))) return;
    const std::uint64_t one = 1;
    while (::write(wake_.get(), &one, sizeof one) < 0 && errno == EINTR) {
    }
}

bool Port::Core::run_once(double timeout_s) {
    if (is_child()) return false;
    lose_all_if_away();
    bool any = calls_.run();
    any |= work();
    check_times();
    if (local_ && !local_watched_ && may_let_in() && now_s() >= listen_again_s_)
        local_watched_ = watch(local_->descriptor(), k_local_tag);
    if (!any && options_.spin_s > 0.0 && timeout_s > 0.0) {
        const base::Clock& real = base::Clock::steady();
        const double until = real.now_s() + std::min(options_.spin_s, timeout_s);
        while (!any && real.now_s() < until) any = work() || !calls_.empty();
    }
    if (!any) any = wait(timeout_s);
    sweep();
    return any;
}

bool Port::Core::work() {
    bool any = false;
    // By index: a handler may make new ones.
    for (std::size_t i = 0; i < fabrics_.size(); ++i) {
        const auto [id, fabric] = fabrics_[i];
        if (!fabric->awake()) continue;
        std::vector<Fabric::Event> events = std::move(events_);
        events.clear();
        fabric->progress(events);
        any |= !events.empty();
        for (Fabric::Event& event : events) {
            if (event.kind == Fabric::Event::Kind::asked)
                on_asked(event);
            else if (Peer* peer = find(id))
                handle(*peer, event);
        }
        events.clear();
        events_ = std::move(events);
    }
    return any;
}

bool Port::Core::sleep() {
    for (const auto& [id, fabric] : fabrics_)
        if (fabric->awake() && !fabric->sleep()) return false;
    return calls_.empty() && finished_.empty() && finish_later_.empty();
}

bool Port::Core::wait(double timeout_s) {
    if (!sleep()) return work() || !calls_.empty();
    const double wait_s = std::clamp(std::min(timeout_s, next_check_s()), 0.0, 3600.0);
    std::array<epoll_event, 64> events;
    const int n = ::epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()),
                               static_cast<int>(std::ceil(wait_s * 1e3)));
    lose_all_if_away();
    bool any = false;  // n < 0: a signal, and the caller comes again
    for (int i = 0; i < n; ++i) any |= woken(events[static_cast<std::size_t>(i)].data.u64);
    any |= work();
    return any || calls_.run();
}

bool Port::Core::woken(std::uint64_t tag) {
    if (tag == k_wake_tag) {
        std::uint64_t count;
        while (::read(wake_.get(), &count, sizeof count) < 0 && errno == EINTR) {
        }
    } else if (tag == fabric_tag(0)) {
        tcp_->wake();
    } else if (tag == k_local_tag) {
        accept_local();
    } else if (Peer* peer = find(tag / 2)) {
        if (tag == socket_tag(peer->id))
            on_socket(*peer);
        else if (peer->fabric)
            peer->fabric->wake();
    }
    return true;
}

// --------------------------------------------------------------------------- what has happened

void Port::Core::handle(Peer& peer, Fabric::Event& event) {
    using Kind = Fabric::Event::Kind;
    switch (event.kind) {
        case Kind::arrival:
            if (event.channel == Fabric::Channel::packet)
                return on_packet(peer, std::move(event.arrival));
            if (event.arrival.waiting.handle != nullptr) peer.leave(event.arrival.waiting);
            return on_greeting(peer, event.arrival.head());
        case Kind::sent:
            if (event.number == k_beat_number) peer.beat_on_its_way = false;
            if (peer.outbox && event.number < k_beat_number)
                peer.outbox->completed(event.number, event.status);
            if (!event.status.ok()) lose(peer, event.status);
            break;
        case Kind::fetched: {
            Status status = event.status;
            if (status.ok()) status = peer.inbox->fetched(event.number);
            peer.heard_s = now_s();
            if (!status.ok()) lose(peer, std::move(status));
            break;
        }
        case Kind::failed:
            // Whoever has said good-bye goes.
            if (peer.stage != Stage::leaving || !peer.outbox->idle())
                lose(peer, event.status);
            else
                lose(peer, {});
            break;
        case Kind::closed:
            return finish(peer);
        case Kind::asked:
            break;
    }
    if (peer.stage == Stage::leaving && peer.heard_good_bye && peer.outbox->idle()) lose(peer, {});
}

void Port::Core::on_packet(Peer& peer, Arrival&& arrival) {
    const Waiting waiting = arrival.waiting;
    const auto leave = [&] {
        if (waiting.handle != nullptr) peer.leave(waiting);
    };
    if (token_of(arrival.head()) != peer.mine) {
        ++counts_.strays;
        return leave();
    }
    if (peer.stage == Stage::leaving) {
        const std::uint64_t bytes = waiting.handle ? waiting.bytes : arrival.data().size();
        const auto decoded = decode(arrival.head(), bytes, peer.incoming());
        leave();
        peer.heard_good_bye |= decoded.ok() && decoded->head.kind == PacketKind::good_bye;
        if (peer.heard_good_bye && peer.outbox->idle()) lose(peer, {});
        return;
    }
    if (peer.stage == Stage::greeting && !peer.who.asked && peer.early.size() < Window::packets &&
        arrival.bytes.size() <= Window::eager_bytes / 8) {
        peer.early.push_back(std::move(arrival));
        return;
    }
    if (peer.stage != Stage::open) {
        leave();
        return lose(peer, {StatusCode::corrupt, "a packet before the hand-shake is over"});
    }
    Status status = peer.inbox->arrived(std::move(arrival));
    if (!status.ok()) return lose(peer, std::move(status));
    peer.heard_s = now_s();
}

// --------------------------------------------------------------------------- time

// Who is listened to and was stopped for so long has been given up by whoever had connected, and
// they may have taken over his work: nothing is heard that still lies in sockets or memory.
void Port::Core::lose_all_if_away() {
    const double now = base::Clock::steady().now_s(), away_s = now - turned_s_;
    turned_s_ = now;
    if (away_s <= options_.silence_s || !(local_ || tcp_)) return;
    std::vector<PeerId> all;
    for (const auto& [id, peer] : peers_)
        if (peer->stage == Stage::open && peer->who.asked) all.push_back(id);
    for (const PeerId id : all)
        if (Peer* const peer = find(id))
            lose(*peer, {StatusCode::io, fmt::format("this process stood still for {:.1f} s, "
                                                     "longer than its peers wait ({} s)",
                                                     away_s, options_.silence_s)});
}

double Port::Core::next_check_s() const {
    if (peers_.empty() && (!local_ || local_watched_)) return 3600.0;
    double next = std::min(options_.heartbeat_s, options_.hand_shake_s) / 4;
    if (local_ && !local_watched_) next = std::min(next, k_reach_s);
    for (const auto& [id, peer] : peers_)
        if (peer->stage == Stage::reaching) return std::min(next, k_reach_s);
    return next;
}

void Port::Core::check_times() {
    const double now = now_s(), passed = now - checked_s_;
    if (passed < std::min(next_check_s(), k_reach_s)) return;
    checked_s_ = now;
    std::vector<PeerId> all;
    all.reserve(peers_.size());
    for (const auto& [id, peer] : peers_) all.push_back(id);
    for (const PeerId id : all) {
        Peer* peer = find(id);
        if (peer == nullptr) continue;
        // Who was not here himself cannot say that others were silent.
        if (passed > options_.silence_s / 2) peer->heard_s = now;
        check(*peer, now);
    }
}

void Port::Core::check(Peer& peer, double now) {
    const auto too_late = [&](std::string_view what, double limit_s) {
        lose(peer, {StatusCode::io, fmt::format("{} within {} s", what, limit_s)});
    };
    switch (peer.stage) {
        case Stage::reaching:
            if (now > peer.deadline_s) return too_late("no room", options_.hand_shake_s);
            return reach(peer);
        case Stage::greeting:
            if (now > peer.deadline_s) return too_late("no hand-shake", options_.hand_shake_s);
            return;
        case Stage::leaving:
            if (now > peer.deadline_s) return too_late("no good-bye", options_.close_s);
            return beat(peer, now);
        case Stage::open:
            if (now - peer.heard_s > options_.silence_s)
                return too_late("no sign of life", options_.silence_s);
            return beat(peer, now);
        case Stage::ending:
            return;
    }
}

void Port::Core::beat(Peer& peer, double now) {
    if (peer.beat_on_its_way || now - peer.said_s < options_.heartbeat_s) return;
    peer.said_s = now;
    peer.beat_on_its_way = true;
    peer.fabric->send(Fabric::Channel::packet, {k_beat_number, peer.outbox->make_beat()});
}

}  // namespace caesura::transit
