// What a session says to its client. The service's port implements it; tests have another one.
#pragma once

#include <vector>

#include "base/buffer.hpp"
#include "transit/messages.hpp"

namespace caesura::transit {

/// Names a client of a service; never used again.
using ClientId = std::uint64_t;

/// Any thread of normal priority; returns at once. To a client that is gone nothing happens.
class Replies {
  public:
    virtual ~Replies() = default;
    /// In the order of the calls of one thread.
    virtual void send(ClientId client, const ServiceMessage& message,
                      base::Buffer payload = {}) = 0;
    /// Several at once: whoever sends them is woken once.
    /// @param payload  of the last one.
    virtual void send_all(ClientId client, std::vector<ServiceMessage> messages,
                          base::Buffer payload = {}) {
        for (std::size_t i = 0; i + 1 < messages.size(); ++i) send(client, messages[i]);
        if (!messages.empty()) send(client, messages.back(), std::move(payload));
    }
    /// End the connection with a Refusal: it has broken the protocol, or may not be served.
    virtual void drop(ClientId client, const Status& why) = 0;
};

}  // namespace caesura::transit
