// Where a process of a job hears messages, as it tells the others in one of their collective calls.
#pragma once

#include <array>
#include <cstdint>

namespace caesura::message {

/// An address of the internet, version 4 or 6.
struct Host {
    std::uint8_t version = 0;  ///< 0: nothing
    std::array<std::uint8_t, 16> bytes{};
};

/// Travels as bytes between the ranks of one job.
struct Address {
    /// Secret: who knows it belongs to the job. Made anew by each process.
    std::array<std::uint8_t, 32> key{};
    std::array<std::uint8_t, 16> name{};  ///< of the local socket
    std::uint16_t port = 0;               ///< 0: heard on this node alone
    std::array<Host, 4> hosts{};
};

/// A number that is the same for the processes of one node (of one network namespace of one
/// kernel), and hardly ever for two nodes. 0: not known.
std::uint64_t node_number();

}  // namespace caesura::message
