// News: a process tells another one of its job that something has happened, in a message of fixed
// size. A collective call of MPI would need both at the same time, and no thread of ours calls MPI.
//
// Messages go through a local socket inside a node, over TCP between nodes. Each has a connection
// of its own, so that a rank that hears thousands of others needs no thousands of descriptors.
//
// Invariants:
//  - A message that is heard comes whole, from somebody who knows the key (HMAC of libsodium), and
//    may come twice. One that is not heard is no error: the application's next call finds out what
//    it would have said.
//  - What comes in takes no more memory than k_most_peers messages. A peer that says nothing keeps
//    nobody else waiting.
#pragma once

#include <functional>
#include <memory>

#include "caesura/base.hpp"
#include "message/address.hpp"

namespace caesura::message {

struct News {
    std::uint64_t about = 0;  ///< a number that the hearer has given out
    std::uint64_t from = 0;   ///< the sender's rank
};

/// Hears messages on a thread of its own until it is destroyed.
class Listener {
  public:
    using Heard = std::function<void(const News&)>;
    static constexpr std::size_t k_most_peers = 256;

    /// @param beyond_node  other nodes reach it too: over TCP, through all its interfaces.
    /// @param heard        on the listener's thread.
    /// Errors: unsupported (no socket, no thread).
    static Result<std::unique_ptr<Listener>> open(bool beyond_node, Heard heard);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    const Address& address() const;

  private:
    struct State;
    explicit Listener(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// Any thread. Waits at most about `within_s`. Errors: unsupported (cannot be reached).
Status tell(const Address& whom, const News& news, double within_s = 2.0);

}  // namespace caesura::message
