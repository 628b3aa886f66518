#include "message/socket.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace caesura::message {

SocketAddress local_address(const Address& hearer) {
    SocketAddress out;
    auto& local = reinterpret_cast<sockaddr_un&>(out.storage);
    local.sun_family = AF_UNIX;
    constexpr std::string_view k_prefix = "caesura-";
    char* to = local.sun_path + 1;  // after the zero of an abstract name
    to = std::copy(k_prefix.begin(), k_prefix.end(), to);
    for (const std::uint8_t byte : hearer.name)
        for (const int digit : {byte >> 4, byte & 15}) *to++ = "0123456789abcdef"[digit];
    out.bytes = static_cast<socklen_t>(to - reinterpret_cast<char*>(&local));
    return out;
}

SocketAddress internet_address(const Host& host, std::uint16_t port) {
    SocketAddress out;
    if (host.version == 4) {
        auto& four = reinterpret_cast<sockaddr_in&>(out.storage);
        four.sin_family = AF_INET;
        four.sin_port = htons(port);
        std::memcpy(&four.sin_addr, host.bytes.data(), 4);
        out.bytes = sizeof four;
    } else {
        auto& six = reinterpret_cast<sockaddr_in6&>(out.storage);
        six.sin6_family = AF_INET6;
        six.sin6_port = htons(port);
        std::memcpy(&six.sin6_addr, host.bytes.data(), 16);
        out.bytes = sizeof six;
    }
    return out;
}

std::array<Host, 4> own_hosts() {
    std::array<Host, 4> out{};
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0) return out;
    std::size_t n = 0;
    for (const int family : {AF_INET, AF_INET6})
        for (const ifaddrs* one = all; one != nullptr && n < out.size(); one = one->ifa_next) {
            const bool usable = one->ifa_addr != nullptr && one->ifa_addr->sa_family == family &&
                                (one->ifa_flags & IFF_UP) != 0 &&
                                (one->ifa_flags & IFF_LOOPBACK) == 0;
            if (!usable) continue;
            Host host;
            if (family == AF_INET) {
                host.version = 4;
                std::memcpy(host.bytes.data(),
                            &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, 4);
            } else {
                const auto& six = *reinterpret_cast<const sockaddr_in6*>(one->ifa_addr);
                if (IN6_IS_ADDR_LINKLOCAL(&six.sin6_addr)) continue;
                host.version = 6;
                std::memcpy(host.bytes.data(), &six.sin6_addr, 16);
            }
            out[n++] = host;
        }
    ::freeifaddrs(all);
    return out;
}

base::Descriptor new_socket(int family, int type) {
    return base::Descriptor(::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace caesura::message
