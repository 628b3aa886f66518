// A service and its clients in one process, without a network between them: what is sent is handed
// over on a thread of its own, as a port would. A test can cut anybody off at any message.
#pragma once

#include <atomic>
#include <cstring>
#include <map>

#include "transit/client/client.hpp"
#include "transit/service/rooted_files.hpp"
#include "transit/service/service.hpp"

namespace caesura::transit {

class Loopback final : public Replies {
  public:
    struct Options {
        ServiceOptions service;
        std::string root;
        std::uint64_t credits_bytes = std::uint64_t{256} << 20;
        bool shares_memory = true;
        /// After so many messages of clients the service dies; negative: never.
        std::int64_t die_after = -1;
        /// What else a client may; null: it is "tester".
        std::function<void(ClientId, Permit&)> permit = {};
    };
    explicit Loopback(Options options) : options_(std::move(options)) {
        std::unique_ptr<Spool> spool;
        if (!options_.service.sink.empty())
            spool = Spool::make(options_.service.sink, options_.service.sink_bytes).value();
        service_ = std::make_unique<Service>(options_.service, *this, std::move(spool));
    }
    ~Loopback() override {
        stop_service();
        wait_for_port();
    }

    std::unique_ptr<Channel> connect();

    void send(ClientId client, const ServiceMessage& message, base::Buffer payload) override {
        auto bytes = encode(message);
        if (!bytes.ok()) return drop(client, bytes.status());
        auto held = std::make_shared<base::Buffer>(std::move(payload));
        port_.give([this, client, held, told = std::move(*bytes)] {
            if (ChannelListener* const listener = listener_of(client))
                listener->on_message(told, std::as_const(*held).bytes());
        });
    }
    void drop(ClientId client, const Status& why) override {
        port_.give([this, client, why] { part(client, why, false); });
    }

    /// As if the client's process had been killed. Returns when its session has ended.
    void kill_client(ClientId client) {
        port_.give([this, client] { part(client, {StatusCode::io, "killed"}, true); });
        wait_for_port();
    }
    /// As if the service's process had been killed (with ServiceOptions::recover off); what its
    /// lanes are in the middle of is finished.
    void kill_service() {
        port_.give([this] { die(); });
        wait_for_port();
    }
    /// Another one at the same place, if it is dead. Returns when it listens.
    void restart_service() {
        port_.give([this] {
            if (!std::exchange(dead_, false)) return;
            options_.die_after = -1;
            service_ = std::make_unique<Service>(options_.service, *this, nullptr);
        });
        wait_for_port();
    }
    void wait_for_port() {
        std::atomic<bool> done{false};
        port_.give([&] { done = true; });
        while (!done) std::this_thread::yield();
    }
    std::int64_t messages() const { return messages_; }
    ClientId last_client() const { return last_client_; }
    const Service& service() const { return *service_; }

  private:
    class End;
    ChannelListener* listener_of(ClientId client) {
        const auto found = listeners_.find(client);
        return found == listeners_.end() ? nullptr : found->second;
    }
    // The rest is the port's thread's.
    void part(ClientId client, const Status& why, bool is_dead) {
        if (service_) service_->lost(client);
        auto node = listeners_.extract(client);
        if (node) node.mapped()->on_lost(why, is_dead);
    }
    void die() {
        dead_ = true;
        service_.reset();
        for (const auto& [client, listener] : std::exchange(listeners_, {}))
            listener->on_lost({StatusCode::io, "the service was killed"}, true);
    }
    void stop_service() {
        std::unique_ptr<Service> gone;
        std::atomic<bool> done{false};
        port_.give([&] {
            gone = std::move(service_);
            done = true;
        });
        while (!done) std::this_thread::yield();
    }
    void receive(ClientId client, std::span<const std::byte> message,
                 std::span<const std::span<const std::byte>> payload) {
        if (dead_ || !service_ || !listener_of(client)) return;
        if (messages_++ == options_.die_after) return die();
        std::size_t bytes = 0;
        for (const auto& piece : payload) bytes += piece.size();
        base::Buffer buffer;
        if (bytes > 0) {
            buffer = std::move(pool_.take(bytes).value());
            std::size_t at = 0;
            for (const auto& piece : payload) {
                std::memcpy(buffer.data() + at, piece.data(), piece.size());
                at += piece.size();
            }
        }
        service_->message(client, message, std::move(buffer));
    }

    Options options_;
    base::BufferPool pool_;
    std::unique_ptr<Service> service_;
    std::map<ClientId, ChannelListener*> listeners_;
    std::atomic<std::int64_t> messages_{0};
    std::atomic<ClientId> last_client_{0};
    bool dead_ = false;
    Lane port_;  ///< ends first
};

/// A client's end.
class Loopback::End final : public Channel {
  public:
    End(Loopback& hub, ClientId client) : hub_(hub), client_(client) {}
    ~End() override {
        hub_.port_.give([this] {
            hub_.listeners_.erase(client_);
            if (hub_.service_) hub_.service_->lost(client_);
        });
        hub_.wait_for_port();
    }
    void start(ChannelListener& listener) override {
        hub_.port_.give([this, &listener] {
            if (hub_.dead_ || !hub_.service_)
                return listener.on_lost({StatusCode::io, "nobody listens"}, true);
            hub_.listeners_[client_] = &listener;
            Permit permit;
            permit.files = RootedFiles::make({hub_.options_.root}).value();
            permit.shares_memory = hub_.options_.shares_memory;
            permit.credits_bytes = hub_.options_.credits_bytes;
            permit.owner = "tester";
            if (hub_.options_.permit) hub_.options_.permit(client_, permit);
            hub_.service_->connected(client_, std::move(permit));
        });
    }
    void send(std::vector<std::byte> message, std::vector<std::span<const std::byte>> payload,
              std::function<void()> done) override {
        hub_.port_.give([this, message = std::move(message), payload = std::move(payload),
                         done = std::move(done)] {
            hub_.receive(client_, message, payload);
            if (done) done();
        });
    }

  private:
    Loopback& hub_;
    const ClientId client_;
};

inline std::unique_ptr<Channel> Loopback::connect() {
    return std::make_unique<End>(*this, ++last_client_);
}

}  // namespace caesura::transit
