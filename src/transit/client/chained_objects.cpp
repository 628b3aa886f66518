// Objects that go through a chain at this end: regions are made and taken apart here, whole.
#include <fmt/format.h>

#include "base/invalid.hpp"
#include "transit/client/objects.hpp"

namespace caesura::transit {
namespace {

// Regions on their way while one is taken apart.
constexpr std::size_t k_regions_ahead = 4;

Status check_type(const lambda::ChainedObject& chain, DType dtype) {
    if (chain.dtype() == dtype) return {};
    return base::invalid(fmt::format("object {} is of {}, not of {}", chain.name(),
                                     to_string(chain.dtype()), to_string(dtype)));
}

}  // namespace

Result<ObjectInfo> Objects::ask_about(ObjectNumber object, bool regions) {
    FindObjects message;
    message.request = client_->next_number();
    message.regions = regions;
    message.most = 1;
    message.after = object - 1;
    const Status none =
        base::invalid(fmt::format("there is no object {}, or it is another user's", object));
    if (object == 0) return none;
    auto reply = ask(message.request, message);
    if (!reply.ok()) return reply.status();
    if (!reply->found) return Status{StatusCode::corrupt, "an answer of another kind"};
    if (!reply->found->status.ok()) return reply->found->status;
    if (reply->found->objects.empty() || reply->found->objects.front().id != object) return none;
    ObjectInfo info = std::move(reply->found->objects.front());
    if (regions && info.regions.empty() && info.regions_known > 0)
        return Status{StatusCode::no_space,
                      fmt::format("object {}: its {} regions do not fit in an answer", info.name,
                                  info.regions_known)};
    if (Status status = chains_.learn(info); !status.ok()) return status;
    return info;
}

Result<ObjectChains::Known> Objects::chain_of(ObjectNumber object) {
    auto known = chains_.find(object);
    if (known.ok() && !*known) {
        if (const auto info = ask_about(object, false); !info.ok()) return info.status();
        known = chains_.find(object);
    }
    if (!known.ok()) return known.status();
    return known->value_or(nullptr);
}

Ticket Objects::put_chained(const lambda::ChainedObject& chain, const Box& box, const void* values,
                            DType dtype) {
    PutRegion message{client_->next_number(), chain.id(), dtype, box, 0, true};
    if (Status status = check_type(chain, dtype); !status.ok()) return ended(status);
    message.payload_bytes = 1;  // so that the box is looked at before it is read
    if (Status status = encode(message).status(); !status.ok()) return ended(status);
    const std::span given(static_cast<const std::byte*>(values),
                          box.extent.count() * size_of(dtype));
    auto made = chain.apply(box, given);
    if (!made.ok()) return ended(made.status());
    const std::uint64_t most = client_->welcome().limits.io_bytes;
    if (made->size() > std::min(most, chained_limit_bytes(given.size())))
        return ended(base::invalid(fmt::format(
            "object {}: {} made {} bytes of a region of {}; the service gives {} at once: put "
            "smaller regions",
            chain.name(), chain.text(), made->size(), given.size(), most)));
    const auto held = std::make_shared<std::vector<std::byte>>(std::move(*made));
    message.payload_bytes = held->size();
    return send_region(message, *held, held);
}

Status Objects::get_chained(const lambda::ChainedObject& chain, const Box& box, void* values,
                            DType dtype) {
    if (Status status = check_type(chain, dtype); !status.ok()) return status;
    if (Status status = chain.validate(box); !status.ok()) return status;
    const auto info = ask_about(chain.id(), true);
    if (!info.ok()) return info.status();
    const auto parts = parts_of(box, info->regions, chain.name());
    if (!parts.ok()) return parts.status();
    std::deque<Ticket> ahead;
    std::size_t sent = 0;
    for (std::size_t i = 0; i < parts->size(); ++i) {
        for (; sent < parts->size() && ahead.size() < k_regions_ahead; ++sent) {
            const Box& region = (*parts)[sent].second;
            ahead.push_back(read_chained(
                chain.id(), region, chained_limit_bytes(region.extent.count() * size_of(dtype))));
        }
        const Ticket ticket = ahead.front();
        ahead.pop_front();
        if (Status status = ticket.wait(); !status.ok()) return status;
        const auto& [part, region] = (*parts)[i];
        const auto back = chain.undo(region, ticket.state_->payload);
        if (!back.ok()) return back.status();
        copy_box(part, region, back->data(), box, static_cast<std::byte*>(values), size_of(dtype));
    }
    return {};
}

}  // namespace caesura::transit
