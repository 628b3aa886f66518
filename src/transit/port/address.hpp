// Where a service is to be found: a socket on this node, or a host and a port.
//
//     unix:/run/user/1000/caesura.sock
//     tcp:node17:4711        tcp:10.0.0.17:4711        tcp:[fe80::1]:4711
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "caesura/base.hpp"

namespace caesura::transit {

struct Address {
    enum class Kind { local, tcp };

    Kind kind = Kind::local;
    std::string path{};      ///< local: of the socket; absolute, at most 107 bytes
    std::string host{};      ///< tcp: a name or a number, without brackets
    std::uint16_t port = 0;  ///< tcp: 0 lets the system choose, where one listens

    /// Errors: invalid_argument, which names the text and the forms that there are.
    static Result<Address> parse(std::string_view text);
    /// What parse() takes.
    std::string text() const;
    friend bool operator==(const Address&, const Address&) = default;
};

}  // namespace caesura::transit
