// The sockets that messages go through.
#pragma once

#include <sys/socket.h>

#include "base/descriptor.hpp"
#include "message/address.hpp"

namespace caesura::message {

/// An address as the operating system wants it.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t bytes = 0;
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// Of the hearer's local socket, which has no name in any file system.
SocketAddress local_address(const Address& hearer);
SocketAddress internet_address(const Host& host, std::uint16_t port);
/// Of this machine's interfaces that are up, without loopback and link-local ones.
std::array<Host, 4> own_hosts();
/// Closed where there is no such socket.
base::Descriptor new_socket(int family, int type);

}  // namespace caesura::message
