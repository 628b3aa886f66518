#include "writer/transport.hpp"

#include <fmt/format.h>

namespace caesura::writer {
namespace {

std::map<std::string, TransportFactory, std::less<>>& factories() {
    static auto& all = *new std::map<std::string, TransportFactory, std::less<>>;
    return all;
}

}  // namespace

void register_transport(std::string_view scheme, TransportFactory factory) {
    factories()[std::string(scheme)] = std::move(factory);
}

Result<std::shared_ptr<Transport>> make_transport(std::string_view text,
                                                  const TransportOptions& options) {
    const std::size_t colon = text.find(':');
    const std::string_view scheme = text.substr(0, colon);
    if (colon == std::string_view::npos || scheme != "service")
        return Status{StatusCode::invalid_argument,
                      fmt::format("transport is '{}'; use service:ADDRESS, as `caesura serve` "
                                  "prints it, or leave it out",
                                  text)};
    const auto found = factories().find(scheme);
    if (found == factories().end())
        return Status{StatusCode::unsupported,
                      fmt::format("transport '{}': Caesura was built without the client of the "
                                  "service; install UCX and libsodium (libucx-dev, "
                                  "libsodium-dev) and build it again",
                                  text)};
    return found->second(text.substr(colon + 1), options);
}

}  // namespace caesura::writer
