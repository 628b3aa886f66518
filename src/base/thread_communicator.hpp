// A group of ranks that are threads of one process: what the tests run the writer on, several
// ranks without MPI, under sanitizers.
//
// Invariants:
//  - The contract of Communicator; each rank's object is used by its own thread.
//  - Ranks wait for each other at every call; a rank that leaves (its object is destroyed or
//    fail() was called) makes the others' calls return an error instead of waiting for ever.
#pragma once

#include <functional>

#include "caesura/base.hpp"

namespace caesura::base {

inline constexpr int k_one_node = -1;

/// One Communicator per rank; hand each to its own thread.
/// @param ranks_per_node  what node_local() says; 0: that it is unsupported.
std::vector<std::unique_ptr<Communicator>> make_thread_communicators(
    int size, int ranks_per_node = k_one_node);

/// Run `body(communicator)` on `size` threads as ranks; returns when all have.
void run_ranks(int size, const std::function<void(std::unique_ptr<Communicator>)>& body,
               int ranks_per_node = k_one_node);

/// Passes calls on until call number `fail_at` (from 0, counted on this rank), which fails with
/// `io`, as does every later one: how an MPI error reaches the library.
std::unique_ptr<Communicator> make_failing_communicator(std::unique_ptr<Communicator> inner,
                                                        int fail_at);

}  // namespace caesura::base
