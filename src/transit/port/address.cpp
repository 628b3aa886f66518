#include "transit/port/address.hpp"

#include <fmt/format.h>
#include <sys/un.h>

#include <charconv>

#include "base/invalid.hpp"

namespace caesura::transit {
namespace {

constexpr std::size_t k_path_bytes = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::size_t k_host_bytes = 253;  // of a name in the DNS

Status wrong(std::string_view text, std::string_view why) {
    return base::invalid(fmt::format(
        "address '{}': {}; there are unix:/path/of/socket and tcp:HOST:PORT", text, why));
}

Result<Address> parse_local(std::string_view text, std::string_view path) {
    if (path.empty() || path.front() != '/') return wrong(text, "the path must begin with '/'");
    if (path.find('\0') != std::string_view::npos) return wrong(text, "a zero in the path");
    if (path.size() > k_path_bytes)
        return wrong(text, fmt::format("the path has {} bytes, a socket's at most {}", path.size(),
                                       k_path_bytes));
    return Address{Address::Kind::local, std::string(path)};
}

Result<Address> parse_tcp(std::string_view text, std::string_view rest) {
    const std::size_t colon = rest.rfind(':');
    if (colon == std::string_view::npos) return wrong(text, "no port");
    std::string_view host = rest.substr(0, colon);
    const std::string_view digits = rest.substr(colon + 1);
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), port);
    if (error != std::errc{} || end != digits.end())
        return wrong(text, fmt::format("the port is '{}', not a number up to 65535", digits));
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) host = host.substr(1, host.size() - 2);
    if (!bracketed && host.find(':') != std::string_view::npos)
        return wrong(text, "a host with ':' stands in brackets, as tcp:[::1]:4711");
    if (host.empty() || host.size() > k_host_bytes || host.find('\0') != std::string_view::npos)
        return wrong(text, "no host");
    return Address{Address::Kind::tcp, {}, std::string(host), port};
}

}  // namespace

Result<Address> Address::parse(std::string_view text) {
    if (text.starts_with("unix:")) return parse_local(text, text.substr(5));
    if (text.starts_with("tcp:")) return parse_tcp(text, text.substr(4));
    return wrong(text, "no such kind");
}

std::string Address::text() const {
    if (kind == Kind::local) return "unix:" + path;
    const bool bracket = host.find(':') != std::string::npos;
    return fmt::format("tcp:{}{}{}:{}", bracket ? "[" : "", host, bracket ? "]" : "", port);
}

}  // namespace caesura::transit
