// What WriterOptions::transport says of a service: service:ADDRESS[,KEY=VALUE...].
//
//     service:unix:/run/user/1000/caesura.sock
//     service:tcp:node17:4711,secret=/etc/caesura/secret,on_loss=write
//
// | key       | values       | default | meaning                                                |
// |-----------|--------------|---------|--------------------------------------------------------|
// | on_loss   | error, write | error   | the service is gone: an error, or this process goes on |
// | secret    | a path       | none    | tcp: what both sides know; its owner's file alone      |
// | weight    | > 0          | 1       | share beside other clients, as the operator lets       |
// | silence_s | > 0          | 10      | a service that is not heard for so long is gone; the   |
// |           |              |         | operator's lease_s says the same of clients            |
// | trusted   | yes, no      | no      | tcp: payloads carry no tag; as the service says        |
// | copies    | yes, no      | no      | values are sent although memory could be shared        |
//
// A program that links caesura_transit_client has the scheme; it need not call anything.
#pragma once

#include "transit/client/client.hpp"
#include "transit/port/port.hpp"

namespace caesura::transit {

struct ServiceAddress {
    std::string address;  ///< as Address::parse() takes it
    PortOptions port;
    ClientOptions client;
};
/// @param text  behind "service:". Errors: invalid_argument, naming key, value and what there is.
Result<ServiceAddress> parse_service_address(std::string_view text);

/// Connects, and waits for the welcome. Errors: also those of Client::make().
Result<std::shared_ptr<Client>> connect_client(std::string_view text,
                                               const writer::TransportOptions& options);
/// Connects, and waits for the welcome. Errors: also those of Client::make().
Result<std::shared_ptr<writer::Transport>> connect_to_service(
    std::string_view text, const writer::TransportOptions& options);

}  // namespace caesura::transit
