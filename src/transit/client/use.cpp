#include "transit/client/use.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <mutex>

#include "base/invalid.hpp"
#include "transit/client/port_channel.hpp"
#include "transit/client/service_transport.hpp"

// The linker is told to want it, so that what follows is in every program that links this library.
extern "C" const int caesura_transit_client_anchor;
const int caesura_transit_client_anchor = 1;

namespace caesura::transit {
namespace {

constexpr double k_silence_limit_s = 3600.0;

const bool k_registered = [] {
    writer::register_transport("service", connect_to_service);
    return true;
}();

Result<bool> yes_or_no(std::string_view key, std::string_view value) {
    if (value == "yes") return true;
    if (value == "no") return false;
    return base::invalid(fmt::format("{} is '{}'; use yes or no", key, value));
}

Status set_number(std::string_view key, std::string_view value, double limit, double& number) {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool whole = error == std::errc() && end == value.data() + value.size();
    if (!whole || !(number > 0.0) || !std::isfinite(number) || number > limit)
        return base::invalid(fmt::format("{} is '{}'; it must lie in (0, {}]", key, value, limit));
    return {};
}

Status set(ServiceAddress& service, std::string_view key, std::string_view value) {
    if (key == "on_loss") {
        if (value != "error" && value != "write")
            return base::invalid(fmt::format("on_loss is '{}'; use error or write", value));
        service.client.on_loss = value == "write" ? OnLoss::write_here : OnLoss::fail;
        return {};
    }
    if (key == "secret") return service.port.secret_path = value, Status{};
    if (key == "weight") return set_number(key, value, k_weight_limit, service.client.weight);
    if (key == "silence_s")
        return set_number(key, value, k_silence_limit_s, service.port.silence_s);
    if (key == "trusted" || key == "copies") {
        const auto said = yes_or_no(key, value);
        if (!said.ok()) return said.status();
        if (key == "trusted")
            service.port.trusted_network = *said;
        else
            service.client.share_memory = !*said;
        return {};
    }
    return base::invalid(fmt::format(
        "there is no '{}'; use on_loss, secret, weight, silence_s, trusted or copies", key));
}

/// Never destroyed: Writers may end after our statics.
std::shared_ptr<Absence> absence_of(const std::string& text) {
    static auto& mutex = *new std::mutex;
    static auto& known = *new std::map<std::string, std::shared_ptr<Absence>>;
    const std::lock_guard lock(mutex);
    auto& absence = known[text];
    if (absence == nullptr) absence = std::make_shared<Absence>();
    return absence;
}

}  // namespace

Result<ServiceAddress> parse_service_address(std::string_view text) {
    ServiceAddress service;
    std::size_t comma = text.find(',');
    service.address = text.substr(0, comma);
    service.client.of_this_node = service.address.starts_with("unix:");
    while (comma != std::string_view::npos) {
        text.remove_prefix(comma + 1);
        comma = text.find(',');
        const std::string_view part = text.substr(0, comma);
        const std::size_t equals = part.find('=');
        if (equals == std::string_view::npos)
            return base::invalid(
                fmt::format("'{}' behind a service's address is no KEY=VALUE", part));
        if (Status status = set(service, part.substr(0, equals), part.substr(equals + 1));
            !status.ok())
            return status;
    }
    return service;
}

Result<std::shared_ptr<Client>> connect_client(std::string_view text,
                                               const writer::TransportOptions& options) {
    auto service = parse_service_address(text);
    if (!service.ok()) return service.status();
    service->client.writer = options;
    service->port.identity = options.name;
    auto channel = PortChannel::make(service->address, service->port);
    if (!channel.ok()) return channel.status();
    auto client = Client::make(std::move(*channel), service->client);
    if (!client.ok()) return client.status().with_context("service " + service->address);
    return client;
}

Result<std::shared_ptr<writer::Transport>> connect_to_service(
    std::string_view text, const writer::TransportOptions& options) {
    auto service = parse_service_address(text);
    if (!service.ok()) return service.status();
    service->client.writer = options;
    service->port.identity = options.name;
    auto made = ServiceTransport::make(
        [address = service->address, port = service->port]() -> Result<std::unique_ptr<Channel>> {
            auto channel = PortChannel::make(address, port);
            if (!channel.ok()) return channel.status();
            return std::unique_ptr<Channel>(std::move(*channel));
        },
        service->client, absence_of(std::string(text)));
    if (!made.ok()) return made.status().with_context("service " + service->address);
    return std::shared_ptr<writer::Transport>(std::move(*made));
}

}  // namespace caesura::transit
