#include "transit/port/fabric.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "transit/port/fabric_context.hpp"
#include "transit/port/quiet.hpp"
#include "transit/port/ucx.hpp"

namespace caesura::transit {
namespace {

std::string place_text(const sockaddr_storage& address) {
    char text[INET6_ADDRSTRLEN] = "";
    if (address.ss_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
        ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
        return fmt::format("tcp:{}:{}", text, ntohs(v4.sin_port));
    }
    if (address.ss_family == AF_INET6) {
        const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
        ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
        return fmt::format("tcp:[{}]:{}", text, ntohs(v6.sin6_port));
    }
    return "an unknown place";
}

// What UCX may do to end a link by itself, before its worker is taken away.
constexpr int k_end_rounds = 1000;

}  // namespace

// What UCX works on. Lives until UCX has said that it is over.
struct Fabric::Operation {
    enum class Kind { send, fetch, close };
    Fabric* fabric;
    Kind kind;
    std::uint64_t number = 0;
    std::vector<std::byte> head{};
    std::vector<std::byte> owned{};
};

struct Fabric::Callbacks {
    static ucs_status_t on_message(Fabric& fabric, Channel channel, const void* header,
                                   std::size_t header_bytes, void* data, std::size_t bytes,
                                   const ucp_am_recv_param_t* param) {
        Event event;
        event.channel = channel;
        const auto* head = static_cast<const std::byte*>(header);
        const bool waits = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
        event.arrival.head_bytes = header_bytes;
        event.arrival.bytes.reserve(header_bytes + (waits ? 0 : bytes));
        event.arrival.bytes.assign(head, head + header_bytes);
        if (waits) {
            event.arrival.waiting = {data, bytes};
        } else if (bytes > 0) {
            const auto* first = static_cast<const std::byte*>(data);
            event.arrival.bytes.insert(event.arrival.bytes.end(), first, first + bytes);
        }
        fabric.events_.push_back(std::move(event));
        return waits ? UCS_INPROGRESS : UCS_OK;
    }
    static ucs_status_t on_packet(void* fabric, const void* header, std::size_t header_bytes,
                                  void* data, std::size_t bytes, const ucp_am_recv_param_t* param) {
        return on_message(*static_cast<Fabric*>(fabric), Channel::packet, header, header_bytes,
                          data, bytes, param);
    }
    static ucs_status_t on_greeting(void* fabric, const void* header, std::size_t header_bytes,
                                    void* data, std::size_t bytes,
                                    const ucp_am_recv_param_t* param) {
        return on_message(*static_cast<Fabric*>(fabric), Channel::greeting, header, header_bytes,
                          data, bytes, param);
    }
    static void on_sent(void* request, ucs_status_t status, void* operation) {
        done(request, status, operation);
    }
    static void on_fetched(void* request, ucs_status_t status, std::size_t, void* operation) {
        done(request, status, operation);
    }
    static void done(void* request, ucs_status_t status, void* data) {
        auto* operation = static_cast<Operation*>(data);
        ucx().request_free(request);
        if (!operation->fabric->abandoned_) operation->fabric->finish(operation, status);
    }
    static void on_failed(void* data, ucp_ep_h, ucs_status_t status) {
        auto* fabric = static_cast<Fabric*>(data);
        if (fabric->closing_) return;
        Event event;
        event.kind = Event::Kind::failed;
        event.status = {StatusCode::io, ucx().status_string(status)};
        fabric->events_.push_back(std::move(event));
    }
    static void on_asked(ucp_conn_request_h request, void* data) {
        Event event;
        event.kind = Event::Kind::asked;
        event.request = request;
        ucp_conn_request_attr_t attributes{};
        attributes.field_mask = UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ADDR;
        if (ucx().conn_request_query(request, &attributes) == UCS_OK)
            event.from = place_text(attributes.client_address);
        static_cast<Fabric*>(data)->events_.push_back(std::move(event));
    }
};

// --------------------------------------------------------------------------- open and close

Result<std::unique_ptr<Fabric>> Fabric::make(std::shared_ptr<Context> context) {
    std::unique_ptr<Fabric> fabric(new Fabric(std::move(context)));
    if (Status status = fabric->open(); !status.ok()) return status;
    return fabric;
}

Fabric::Fabric(std::shared_ptr<Context> context) : context_(std::move(context)) {}

Status Fabric::open() {
    const Quiet quiet;
    ucp_worker_params_t params{};
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = UCS_THREAD_MODE_SINGLE;
    ucs_status_t status = ucx().worker_create(context_->handle(), &params, &worker_);
    if (status != UCS_OK) return ucx_failure("UCX: worker", status, quiet);
    status = ucx().worker_get_efd(worker_, &descriptor_);
    if (status != UCS_OK) return ucx_failure("UCX: the worker's descriptor", status, quiet);
    ucp_worker_attr_t attributes{};
    attributes.field_mask = UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
    status = ucx().worker_query(worker_, &attributes);
    if (status != UCS_OK) return ucx_failure("UCX: limits", status, quiet);
    max_head_bytes_ = attributes.max_am_header;
    for (const Channel channel : {Channel::packet, Channel::greeting}) {
        ucp_am_handler_param_t handler{};
        handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                             UCP_AM_HANDLER_PARAM_FIELD_ARG | UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
        handler.id = static_cast<unsigned>(channel);
        handler.flags = UCP_AM_FLAG_WHOLE_MSG;
        handler.cb = channel == Channel::packet ? Callbacks::on_packet : Callbacks::on_greeting;
        handler.arg = this;
        status = ucx().worker_set_am_recv_handler(worker_, &handler);
        if (status != UCS_OK) return ucx_failure("UCX: active messages", status, quiet);
    }
    return {};
}

Fabric::~Fabric() {
    const Quiet quiet;
    if (endpoint_ != nullptr) close();
    abandoned_ = true;  // whatever UCX still says
    for (const Event& event : events_) {
        if (event.arrival.waiting.handle != nullptr) leave(event.arrival.waiting);
        if (event.kind == Event::Kind::asked) reject(event.request);
    }
    if (listener_ != nullptr) ucx().listener_destroy(listener_);
    if (worker_ != nullptr) ucx().worker_destroy(worker_);
    for (Operation* operation : operations_) delete operation;
}

Result<std::vector<std::byte>> Fabric::worker_address() const {
    const Quiet quiet;
    ucp_address_t* address = nullptr;
    std::size_t bytes = 0;
    const ucs_status_t status = ucx().worker_get_address(worker_, &address, &bytes);
    if (status != UCS_OK) return ucx_failure("UCX: the worker's address", status, quiet);
    const auto* first = reinterpret_cast<const std::byte*>(address);
    std::vector<std::byte> copy(first, first + bytes);
    ucx().worker_release_address(worker_, address);
    return copy;
}

Result<std::uint16_t> Fabric::listen(const sockaddr_storage& address, socklen_t bytes) {
    const Quiet quiet;
    ucp_listener_params_t params{};
    params.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
    params.sockaddr.addr = reinterpret_cast<const sockaddr*>(&address);
    params.sockaddr.addrlen = bytes;
    params.conn_handler.cb = Callbacks::on_asked;
    params.conn_handler.arg = this;
    ucs_status_t status = ucx().listener_create(worker_, &params, &listener_);
    if (status != UCS_OK)
        return ucx_failure("UCX: listening at " + place_text(address), status, quiet);
    ucp_listener_attr_t attributes{};
    attributes.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR;
    status = ucx().listener_query(listener_, &attributes);
    if (status != UCS_OK) return ucx_failure("UCX: the listener's port", status, quiet);
    const auto& place = attributes.sockaddr;
    return ntohs(place.ss_family == AF_INET6
                     ? reinterpret_cast<const sockaddr_in6&>(place).sin6_port
                     : reinterpret_cast<const sockaddr_in&>(place).sin_port);
}

// --------------------------------------------------------------------------- links

Status Fabric::make_link(const void* endpoint_params) {
    const Quiet quiet;
    awake_ = true;
    auto params = *static_cast<const ucp_ep_params_t*>(endpoint_params);
    params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.cb = Callbacks::on_failed;
    params.err_handler.arg = this;
    const ucs_status_t status = ucx().ep_create(worker_, &params, &endpoint_);
    if (status == UCS_OK) return {};
    endpoint_ = nullptr;
    return ucx_failure("UCX: no way to the peer", status, quiet);
}

Status Fabric::connect(std::span<const std::byte> worker_address) {
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address = reinterpret_cast<const ucp_address_t*>(worker_address.data());
    return make_link(&params);
}

Status Fabric::connect(const sockaddr_storage& address, socklen_t bytes) {
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS;
    params.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
    params.sockaddr.addr = reinterpret_cast<const sockaddr*>(&address);
    params.sockaddr.addrlen = bytes;
    return make_link(&params);
}

Status Fabric::accept(void* request) {
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST;
    params.conn_request = static_cast<ucp_conn_request_h>(request);
    return make_link(&params);
}

void Fabric::reject(void* request) {
    const Quiet quiet;
    // Refused: the connection breaks by itself.
    if (listener_ != nullptr)
        (void)ucx().listener_reject(listener_, static_cast<ucp_conn_request_h>(request));
}

void Fabric::close() {
    const Quiet quiet;
    if (endpoint_ == nullptr || closing_) return;
    closing_ = true;
    Operation* operation = begin({this, Operation::Kind::close});
    ucp_request_param_t param{};
    param.op_attr_mask =
        UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.flags = UCP_EP_CLOSE_FLAG_FORCE;
    param.cb.send = Callbacks::on_sent;
    param.user_data = operation;
    start(operation, ucx().ep_close_nbx(endpoint_, &param));
    endpoint_ = nullptr;
    for (int i = 0; i < k_end_rounds && !operations_.empty(); ++i)
        (void)ucx().worker_progress(worker_);
    // UCX waits for one who does not answer any more. Nothing but this worker knows the memory that
    // UCX still has, and it does not run again: so the memory is free.
    abandoned_ = true;
    for (const Operation* one : operations_)
        if (one->kind != Operation::Kind::close) note(*one, UCS_ERR_CANCELED);
    Event event;
    event.kind = Event::Kind::closed;
    events_.push_back(std::move(event));
}

std::string Fabric::describe() const {
    if (endpoint_ == nullptr) return {};
    const Quiet quiet;
    char* text = nullptr;
    std::size_t bytes = 0;
    std::FILE* stream = ::open_memstream(&text, &bytes);
    if (stream == nullptr) return {};
    ucx().ep_print_info(endpoint_, stream);
    (void)std::fclose(stream);
    std::string copy(text, bytes);
    std::free(text);
    return copy;
}

// --------------------------------------------------------------------------- messages

void Fabric::send(Channel channel, Outgoing&& outgoing) {
    const Quiet quiet;
    Operation* operation = begin({this, Operation::Kind::send, outgoing.number,
                                  std::move(outgoing.head), std::move(outgoing.owned)});
    ucp_request_param_t param{};
    param.op_attr_mask =
        UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.flags = outgoing.large ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER;
    param.cb.send = Callbacks::on_sent;
    param.user_data = operation;
    start(operation, ucx().am_send_nbx(endpoint_, static_cast<unsigned>(channel),
                                       operation->head.data(), operation->head.size(),
                                       outgoing.data.data(), outgoing.data.size(), &param));
}

void Fabric::fetch(std::uint64_t number, const Waiting& waiting, std::span<std::byte> target) {
    const Quiet quiet;
    Operation* operation = begin({this, Operation::Kind::fetch, number});
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.cb.recv_am = Callbacks::on_fetched;
    param.user_data = operation;
    start(operation,
          ucx().am_recv_data_nbx(worker_, waiting.handle, target.data(), waiting.bytes, &param));
}

void Fabric::leave(const Waiting& waiting) {
    const Quiet quiet;
    awake_ = true;
    ucx().am_data_release(worker_, waiting.handle);
}

Fabric::Operation* Fabric::begin(Operation&& operation) {
    awake_ = true;
    return *operations_.insert(new Operation(std::move(operation))).first;
}

// UCX may be done at once; then it calls nobody. Or it has called already, from inside the call.
void Fabric::start(Operation* operation, void* request) {
    if (!UCS_PTR_IS_PTR(request) && operations_.contains(operation))
        finish(operation, UCS_PTR_STATUS(request));
}

void Fabric::finish(Operation* operation, int ucs_status) {
    const std::unique_ptr<Operation> owner(operation);
    operations_.erase(operation);
    if (operation->kind != Operation::Kind::close) note(*operation, ucs_status);
}

void Fabric::note(const Operation& operation, int ucs_status) {
    Event event;
    const bool send = operation.kind == Operation::Kind::send;
    event.kind = send ? Event::Kind::sent : Event::Kind::fetched;
    event.number = operation.number;
    const auto status = static_cast<ucs_status_t>(ucs_status);
    if (status != UCS_OK)
        event.status = {
            status == UCS_ERR_CANCELED ? StatusCode::cancelled : StatusCode::io,
            fmt::format("{}: {}", send ? "sending" : "receiving", ucx().status_string(status))};
    events_.push_back(std::move(event));
}

void Fabric::progress(std::vector<Event>& events) {
    const Quiet quiet;
    // As long as there is work, but events are due now and then.
    for (int i = 0; i < 64 && !abandoned_ && ucx().worker_progress(worker_) != 0; ++i) {
    }
    events.swap(events_);
}

bool Fabric::sleep() {
    const Quiet quiet;
    if (!events_.empty()) return false;
    if (!abandoned_ && ucx().worker_arm(worker_) != UCS_OK) return false;
    awake_ = false;
    return true;
}

}  // namespace caesura::transit
