#include "transit/service/service.hpp"

namespace caesura::transit {
namespace {

Dispatch::Options dispatch_options(const ServiceOptions& options) {
    Dispatch::Options dispatch;
    dispatch.placer = options.placer;
    dispatch.host_threads = options.press.threads;
    dispatch.host_last = options.host_last;
    dispatch.probe = options.probe;
    dispatch.trace = options.trace;
    return dispatch;
}

}  // namespace

Service::Service(const ServiceOptions& options, Replies& replies, std::unique_ptr<Spool> spool)
    : options_(options),
      replies_(replies),
      functions_(options.functions ? options.functions : std::make_shared<lambda::Registry>()),
      store_(options.objects, std::move(spool), options.far,
             options.make_device_memories ? options.make_device_memories()
                                          : std::vector<std::unique_ptr<DeviceMemory>>()),
      tools_{store_, *functions_, options_.by, options_.on_dump,
             static_cast<std::size_t>(std::max(1, options.press.threads))},
      press_(options.press),
      dispatch_(press_, dispatch_options(options),
                options.make_devices ? options.make_devices()
                                     : std::vector<std::unique_ptr<BlockDevice>>()) {
    for (int i = 0; i < options.lanes; ++i) lanes_.push_back(std::make_unique<Lane>());
}

Service::~Service() {
    ending_.store(true);
    while (!sessions_.empty()) lost(sessions_.begin()->first);
    if (options_.far != nullptr) options_.far->end();
    press_.stop();     // workers hand what they have done to the lanes
    dispatch_.stop();  // so do devices
    lanes_.clear();    // which do what is left
}

void Service::connected(ClientId client, Permit permit) {
    Lane& lane = *lanes_[next_lane_++ % lanes_.size()];
    const Workshop workshop{
        press_,         dispatch_, replies_,         paths_,          hdf5_,           tools_,
        valid_until_s_, ending_,   options_.lease_s, options_.limits, options_.recover};
    sessions_[client] = std::make_shared<Session>(client, std::move(permit), workshop, lane);
}

void Service::message(ClientId client, std::span<const std::byte> message, base::Buffer payload,
                      std::shared_ptr<void> held) {
    const auto found = sessions_.find(client);
    if (found == sessions_.end()) return;
    const std::shared_ptr<Session>& session = found->second;
    auto parsed = parse_client(message, payload.size());
    if (!parsed.ok()) {
        session->lost();
        replies_.drop(client, parsed.status());
        return;
    }
    // A function must be copyable, and a buffer has one owner.
    auto values = std::make_shared<base::Buffer>(std::move(payload));
    session->lane().give([session, values, held, what = std::move(*parsed)] {
        session->handle(what, std::move(*values));
    });
}

void Service::lost(ClientId client) {
    const auto found = sessions_.find(client);
    if (found == sessions_.end()) return;
    const std::shared_ptr<Session> session = found->second;
    sessions_.erase(found);
    session->lost();
    session->lane().give([session] { session->end(); });
}

std::vector<ClientStatus> Service::status() const {
    std::vector<ClientStatus> all;
    for (const auto& [id, session] : sessions_) {
        const SessionCounters& counters = session->counters();
        all.push_back({id, session->application(), session->weight(), session->age_s(),
                       counters.blocks, counters.raw_bytes, counters.stored_bytes, counters.dumps,
                       counters.waiting_blocks, counters.outstanding_bytes});
    }
    return all;
}

}  // namespace caesura::transit
