// What a session says to its client. The service's port implements it; tests have another one.
#pragma once

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
    /// End the connection with a Refusal: it has broken the protocol, or may not be served.
    virtual void drop(ClientId client, const Status& why) = 0;
};

}  // namespace caesura::transit
