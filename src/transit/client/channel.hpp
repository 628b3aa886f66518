// The way to a service, as its client sees it: a connection that is there, or lost for good.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/buffer.hpp"

namespace caesura::transit {

/// One thread, of the channel.
class ChannelListener {
  public:
    virtual ~ChannelListener() = default;
    /// @param message, payload  valid during the call.
    virtual void on_message(std::span<const std::byte> message,
                            std::span<const std::byte> payload) = 0;
    /// Nothing comes any more.
    /// @param is_dead  the service's process has ended for certain: it does nothing any more,
    /// either.
    virtual void on_lost(const Status& why, bool is_dead) = 0;
    /// After on_lost() that did not know it yet: the service's process has ended.
    virtual void on_dead() = 0;
};

class Channel {
  public:
    virtual ~Channel() = default;
    /// Calls of the listener begin. @param listener  until the channel is destroyed.
    virtual void start(ChannelListener& listener) = 0;
    /// The client has given the service up: no sign of life goes out any more, so that the service
    /// gives the client up too. Any thread; on_lost() may follow.
    virtual void end() {}
    /// In the order of calls. Any thread of normal priority; returns at once.
    /// @param payload  its pieces live until `done`, which is called also if it is lost.
    virtual void send(std::vector<std::byte> message,
                      std::vector<std::span<const std::byte>> payload = {},
                      std::function<void()> done = {}) = 0;
};

}  // namespace caesura::transit
