#include <fmt/format.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "message/packet.hpp"
#include "message/socket.hpp"

namespace caesura::message {
namespace {

using Clock = std::chrono::steady_clock;

/// @return  is the socket ready before that?
bool wait_for(const base::Descriptor& socket, short events, Clock::time_point until) {
    for (;;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
        if (left <= 0) return false;
        pollfd one{socket.get(), events, 0};
        const int ready = ::poll(&one, 1, static_cast<int>(left));
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) return false;
    }
}

/// The hearer's queue may be full for a moment.
bool tell_here(const Address& whom, const Packet& packet, Clock::time_point until) {
    const base::Descriptor socket = new_socket(AF_UNIX, SOCK_DGRAM);
    const SocketAddress address = local_address(whom);
    if (!socket.is_open() || ::connect(socket.get(), address.get(), address.bytes) != 0)
        return false;
    for (;;) {
        const auto sent = ::send(socket.get(), packet.data(), packet.size(), MSG_NOSIGNAL);
        if (sent == static_cast<ssize_t>(packet.size())) return true;
        if (errno != EAGAIN && errno != EINTR) return false;
        if (!wait_for(socket, POLLOUT, until)) return false;
    }
}

/// @return  has the hearer answered that it has read the message?
bool tell_there(const Host& host, std::uint16_t port, const Packet& packet,
                Clock::time_point until) {
    const SocketAddress address = internet_address(host, port);
    const base::Descriptor socket = new_socket(address.storage.ss_family, SOCK_STREAM);
    if (!socket.is_open()) return false;
    if (::connect(socket.get(), address.get(), address.bytes) != 0) {
        int error = 0;
        socklen_t bytes = sizeof error;
        if (errno != EINPROGRESS || !wait_for(socket, POLLOUT, until) ||
            ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &bytes) != 0 || error != 0)
            return false;
    }
    // Less than any socket's buffer holds.
    if (::send(socket.get(), packet.data(), packet.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(packet.size()))
        return false;
    std::byte answer{};
    return wait_for(socket, POLLIN, until) && ::recv(socket.get(), &answer, 1, MSG_DONTWAIT) == 1;
}

}  // namespace

Status tell(const Address& whom, const News& news, double within_s) {
    const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                          std::chrono::duration<double>(within_s));
    if (Status status = prepare_cryptography(); !status.ok()) return status;
    const Packet packet = encode(whom, news);
    if (tell_here(whom, packet, until)) return {};
    if (whom.port != 0)
        for (const Host& host : whom.hosts) {
            // One that does not answer leaves time for the next.
            const auto now = Clock::now();
            if (host.version != 0 && tell_there(host, whom.port, packet, now + (until - now) / 2))
                return {};
        }
    return {StatusCode::unsupported,
            fmt::format("the rank that completes files cannot be reached from rank {}", news.from)};
}

}  // namespace caesura::message
