// Putting, getting and finding; object_runs.cpp has the analyses.
#include "transit/service/object_desk.hpp"

#include <fmt/format.h>

#include <cstring>

#include "base/invalid.hpp"
#include "caesura/codec.hpp"
#include "read/source.hpp"

namespace caesura::transit {
namespace {

constexpr double k_range_s_per_byte = 1e-10, k_compress_s_per_byte = 1e-9;

}  // namespace

bool ObjectDesk::admit(std::uint64_t request) {
    ++open_;  // answer() takes it back
    if (open_ <= k_requests_limit) return true;
    answer(request, {StatusCode::no_space,
                     fmt::format("{} requests are under way, the most that a client may have",
                                 k_requests_limit)});
    return false;
}

void ObjectDesk::answer(std::uint64_t request, Status status, std::uint64_t number,
                        base::Buffer payload) {
    --open_;
    Answer message;
    message.request = request;
    message.status = std::move(status);
    message.number = number;
    message.payload_bytes = payload.size();
    host_.replies.send(host_.errands.client, message, std::move(payload));
}

void ObjectDesk::answer_bytes(std::uint64_t request, std::span<const std::byte> bytes) {
    if (bytes.size() > k_io_limit_bytes)
        return answer(request,
                      {StatusCode::no_space, fmt::format("{} bytes; an answer has at most {}",
                                                         bytes.size(), k_io_limit_bytes)});
    auto buffer = ObjectStore::pool().take(bytes.size());
    if (!buffer.ok()) return answer(request, buffer.status());
    std::memcpy(buffer->data(), bytes.data(), bytes.size());
    answer(request, {}, 0, std::move(*buffer));
}

Result<std::shared_ptr<const Reading>> ObjectDesk::read(ObjectId object,
                                                        const std::optional<Box>& box) {
    const std::lock_guard hdf5(host_.hdf5);
    auto reading = tools_.store.read(host_.asker, object, box);
    if (!reading.ok()) return reading.status();
    return std::shared_ptr<const Reading>(std::make_shared<Reading>(std::move(*reading)));
}

void ObjectDesk::take(const CreateObject& message) {
    if (!admit(message.request)) return;
    const auto id = tools_.store.create(host_.asker, message);
    answer(message.request, id.status(), id.ok() ? *id : 0);
}

void ObjectDesk::take(const DeleteObject& message) {
    if (!admit(message.request)) return;
    answer(message.request, tools_.store.remove(host_.asker, message.object));
}

void ObjectDesk::end() {
    for (const auto& [request, under_way] : persisting_) under_way->drop();
    tools_.store.forget_client(host_.asker.client);
}

void ObjectDesk::take(const PersistObjects& message) {
    if (!admit(message.request)) return;
    if (persisting_.size() >= k_persisting_limit)
        return answer(message.request, {StatusCode::no_space,
                                        fmt::format("{} files of objects are being written, the "
                                                    "most that a client may have",
                                                    persisting_.size())});
    if (persisting_.contains(message.request))
        return answer(message.request, base::invalid("a request of this number is under way"));
    const auto then = [this, request = message.request](const Result<std::uint64_t>& outcome) {
        persisting_.erase(request);
        answer(request, outcome.status(), outcome.ok() ? *outcome : 0);
    };
    auto begun =
        std::make_shared<Persisting>(Persisting::Host{host_.errands, host_.dispatch, tools_.store,
                                                      host_.hdf5, host_.asker, tools_.strands},
                                     then);
    if (Status status = begun->begin(message); !status.ok()) return answer(message.request, status);
    persisting_[message.request] = std::move(begun);
}

// ---------------------------------------------------------------------------------- put

struct ObjectDesk::Putting {
    std::uint64_t request = 0, bytes = 0;
    ObjectId object = 0;
    RegionId region = 0;
    base::Buffer values;
    read::ValueRange range;
};

void ObjectDesk::end_put(const Putting& put, const Status& status) {
    putting_bytes_ -= put.bytes;
    answer(put.request, status);
    host_.replies.send(host_.errands.client, Credit{put.bytes});
}

void ObjectDesk::take(const PutRegion& message, base::Buffer payload) {
    auto put = std::make_shared<Putting>();
    put->request = message.request;
    put->bytes = message.payload_bytes;
    put->object = message.object;
    putting_bytes_ += put->bytes;
    ++open_;  // as many as the credit lets him, of a value at least
    const auto region = tools_.store.begin_put(host_.asker, message);
    if (!region.ok()) return end_put(*put, region.status());
    put->region = *region;
    if (tools_.store.is_guest(put->object)) {  // never waits for a worker: see FarMemory
        tools_.store.finish_put(put->object, put->region, std::move(payload), {}, true);
        return end_put(*put, {});
    }
    put->values = std::move(payload);
    const DType dtype = message.dtype;
    send_errand(
        host_.errands, static_cast<double>(put->bytes) * k_range_s_per_byte,
        [put, dtype]() -> Status {
            put->range = read::range_of(std::as_const(put->values).bytes(), dtype);
            return {};
        },
        [this, put](const Status& status) {
            if (!status.ok()) {
                tools_.store.abandon_put(put->object, put->region, put->bytes);
                return end_put(*put, status);
            }
            tools_.store.finish_put(put->object, put->region, std::move(put->values),
                                    Range{put->range.lowest, put->range.highest});
            make_room(put);
        });
}

// Regions leave memory until there is room. Only then the client hears of his put, and may send
// more.
void ObjectDesk::make_room(const std::shared_ptr<Putting>& put) {
    auto victim = tools_.store.next_victim();
    if (!victim) return end_put(*put, {});
    const auto held = std::make_shared<const ObjectStore::Victim>(std::move(*victim));
    if (tools_.store.far() != nullptr)
        move_away(put, held);
    else
        sink(put, held);
}

// As it is, into the memory of another service; if none has room, into the sink.
void ObjectDesk::move_away(const std::shared_ptr<Putting>& put,
                           const std::shared_ptr<const ObjectStore::Victim>& victim) {
    using Outcome = std::shared_ptr<const FarValues>;
    const auto far = std::make_shared<Outcome>();
    send_errand(
        host_.errands, static_cast<double>(victim->values->bytes().size()) * k_range_s_per_byte,
        [victim, far, &store = tools_.store]() -> Status {
            auto made = store.far()->put(victim->object, victim->object_as_guest, victim->box,
                                         victim->values->bytes());
            if (!made.ok()) return made.status();
            *far = std::move(*made);
            return {};
        },
        [this, put, victim, far](const Status& status) {
            if (status.ok()) {
                tools_.store.move_away(*victim, std::move(*far));
                return make_room(put);
            }
            if (tools_.store.has_spool()) return sink(put, victim);
            tools_.store.spare(*victim);
            tools_.store.withdraw(put->object, put->region);
            end_put(*put, status);
        });
}

void ObjectDesk::sink(const std::shared_ptr<Putting>& put,
                      const std::shared_ptr<const ObjectStore::Victim>& victim) {
    const auto frame = std::make_shared<std::vector<std::byte>>();
    send_errand(
        host_.errands, static_cast<double>(victim->values->bytes().size()) * k_compress_s_per_byte,
        [victim, frame]() -> Status {
            auto made =
                compress(victim->values->bytes(), victim->dtype, victim->box.extent, victim->bound);
            if (!made.ok()) return made.status();
            *frame = std::move(*made);
            return {};
        },
        [this, put, victim, frame](const Status& status) {
            Status sunk = status;
            if (sunk.ok())
                sunk = tools_.store.sink(*victim, *frame);
            else
                tools_.store.spare(*victim);
            if (sunk.ok()) return make_room(put);
            tools_.store.withdraw(put->object, put->region);
            end_put(*put, sunk);
        });
}

// ---------------------------------------------------------------------------------- get

void ObjectDesk::take(const GetRegion& message) {
    if (!admit(message.request)) return;
    auto reading = read(message.object, message.box);
    if (!reading.ok()) return answer(message.request, reading.status());
    const std::shared_ptr<const Reading> what = std::move(*reading);
    const std::uint64_t bytes = message.box.extent.count() * size_of(what->dtype);
    if (bytes > k_io_limit_bytes)
        return answer(message.request,
                      base::invalid(fmt::format("object {}: {} bytes at once; at most {}",
                                                what->name, bytes, k_io_limit_bytes)));
    if (reading_bytes_ > 0 && reading_bytes_ + bytes > std::max(host_.credits_bytes, bytes))
        return answer(message.request,
                      {StatusCode::no_space,
                       fmt::format("{} bytes are being read beside {}; ask for less at once",
                                   reading_bytes_, bytes)});
    reading_bytes_ += bytes;
    struct Got {
        base::Buffer values;
        std::vector<std::pair<RegionId, base::Buffer>> decoded;
    };
    const auto got = std::make_shared<Got>();
    const auto bring_all = [what, got, bytes]() -> Status {
        auto buffer = ObjectStore::pool().take(bytes);
        if (!buffer.ok()) return buffer.status();
        const std::size_t value_bytes = size_of(what->dtype);
        for (const Reading::Part& part : what->parts) {
            if (!part.is_sunk || !part.is_whole) {
                Status status = part.values->read(part.box, what->box, buffer->data());
                if (!status.ok()) return status;
                continue;
            }
            base::Buffer decoded;
            const auto values = bring(*what, part, decoded);
            if (!values.ok()) return values.status();
            copy_box(part.box, part.box, values->data(), what->box, buffer->data(), value_bytes);
            got->decoded.emplace_back(part.region, std::move(decoded));
        }
        got->values = std::move(*buffer);
        return {};
    };
    const auto then = [this, what, got, bytes, request = message.request](const Status& status) {
        reading_bytes_ -= bytes;
        for (auto& [region, values] : got->decoded)
            tools_.store.bring_back(what->object, region, std::move(values));
        answer(request, status, 0, status.ok() ? std::move(got->values) : base::Buffer());
    };
    if (what->is_guest) return then(bring_all());  // never waits for a worker: see FarMemory
    send_errand(host_.errands, static_cast<double>(bytes) * k_compress_s_per_byte, bring_all, then);
}

// --------------------------------------------------------------------------------- find

void ObjectDesk::take(const FindObjects& message) {
    ++open_;  // found() takes it back
    if (open_ > k_requests_limit) {
        FoundObjects none;
        none.request = message.request;
        none.status = {StatusCode::no_space, "too many requests are under way"};
        return send_found(none);
    }
    if (message.container.starts_with('/')) {
        Status listed;
        {
            const std::lock_guard hdf5(host_.hdf5);
            listed = tools_.store.list_file(host_.asker, message.container);
        }
        FindObjects any;
        any.container = message.container;
        any.most = 1;
        if (!listed.ok() && tools_.store.find(host_.asker, any).objects.empty()) {
            FoundObjects none;
            none.request = message.request;
            none.status = listed;
            return send_found(none);
        }
    }
    if (!message.values) return found(message);
    find_ranges(std::make_shared<FindObjects>(message),
                tools_.store.without_range(host_.asker, message));
}

void ObjectDesk::send_found(const FoundObjects& found) {
    --open_;
    host_.replies.send(host_.errands.client, found);
}

void ObjectDesk::found(const FindObjects& query) {
    send_found(tools_.store.find(host_.asker, query));
}

// Of datasets of which nobody has asked before: all their regions are decoded, and remembered.
// What cannot be decoded stays without a range, and may hold anything.
void ObjectDesk::find_ranges(const std::shared_ptr<FindObjects>& query,
                             std::vector<ObjectId> objects) {
    while (!objects.empty()) {
        const ObjectId object = objects.back();
        objects.pop_back();
        auto reading = read(object, std::nullopt);
        if (!reading.ok()) continue;
        const std::shared_ptr<const Reading> what = std::move(*reading);
        using Ranges = std::vector<std::pair<RegionId, Range>>;
        const auto ranges = std::make_shared<std::vector<Ranges>>(tools_.strands);
        walk(
            host_.errands, what, tools_.strands,
            [what, ranges](std::size_t strand, const Reading::Part& part,
                           std::span<const std::byte> values) -> Status {
                const read::ValueRange range = read::range_of(values, what->dtype);
                (*ranges)[strand].push_back({part.region, {range.lowest, range.highest}});
                return {};
            },
            [this, query, what, ranges, objects](const Status&) {
                for (const Ranges& some : *ranges)
                    for (const auto& [region, range] : some)
                        tools_.store.set_range(what->object, region, range);
                find_ranges(query, objects);
            });
        return;
    }
    found(*query);
}

}  // namespace caesura::transit
