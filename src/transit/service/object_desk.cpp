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
constexpr double k_chain_s_per_byte = 4e-9;  // there and back

Result<base::Buffer> in_buffer(std::span<const std::byte> bytes) {
    auto buffer = ObjectStore::pool().take(bytes.size());
    if (buffer.ok()) std::memcpy(buffer->data(), bytes.data(), bytes.size());
    return buffer;
}

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
    auto buffer = in_buffer(bytes);
    if (!buffer.ok()) return answer(request, buffer.status());
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
    auto chain = chain_of(message);
    if (!chain.ok()) return answer(message.request, chain.status());
    const auto id = tools_.store.create(host_.asker, message, std::move(*chain));
    answer(message.request, id.status(), id.ok() ? *id : 0);
}

Result<std::optional<lambda::ChainedObject>> ObjectDesk::chain_of(
    const CreateObject& message) const {
    std::optional<lambda::ChainedObject> chain;
    if (message.chain.text.empty()) return chain;
    const bool is_ours = message.chain.side == ChainSide::service;
    lambda::RegionView object;
    object.object = message.name;
    object.dtype = message.dtype;
    object.shape = message.shape;
    object.time = message.time;
    // What a client has encrypted is not this service's to read, with whatever key.
    auto made = lambda::ChainedObject::make(tools_.functions, message.chain.text,
                                            is_ours ? tools_.by : lambda::Operator{}, object);
    if (!made.ok()) return made.status().with_context("object " + message.name);
    if (is_ours && !made->can_apply())
        return base::invalid(fmt::format(
            "object {}: {} needs a key, and the service has none; its operator names one (key), or "
            "the client applies the chain with his own",
            message.name, made->text()));
    chain = std::move(*made);
    return chain;
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
    Box box;
    DType dtype = float32;
    std::shared_ptr<const RegionForm> form;
    base::Buffer kept;  ///< first what came
    std::optional<Range> range;

    /// On a worker. It undoes the chain once before the client hears of it. So the values can be
    /// read again, and the range is that of the values which come back.
    Status prepare() {
        if (!form) return note_range(std::as_const(kept).bytes());
        if (form->is_sealed()) return form->object.check(box, std::as_const(kept).bytes());
        if (form->side == ChainSide::service) {
            const auto made = form->object.apply(box, std::as_const(kept).bytes());
            if (!made.ok()) return made.status();
            if (made->size() > chained_limit_bytes(kept.size()))
                return {StatusCode::no_space,
                        fmt::format("object {}: {} made {} bytes of {}", form->object.name(),
                                    form->object.text(), made->size(), kept.size())};
            auto buffer = in_buffer(*made);
            if (!buffer.ok()) return buffer.status();
            kept = std::move(*buffer);
        }
        const auto values = form->object.undo(box, std::as_const(kept).bytes());
        return values.ok() ? note_range(*values) : values.status();
    }
    Status note_range(std::span<const std::byte> values) {
        const read::ValueRange found = read::range_of(values, dtype);
        range = Range{found.lowest, found.highest};
        return {};
    }
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
        tools_.store.finish_put(put->object, put->region, std::move(payload), put->bytes, {}, true);
        return end_put(*put, {});
    }
    put->box = message.box;
    put->dtype = message.dtype;
    put->form = tools_.store.form_of(put->object);
    put->kept = std::move(payload);
    const double s_per_byte = put->form ? k_chain_s_per_byte : k_range_s_per_byte;
    send_errand(
        host_.errands, static_cast<double>(put->bytes) * s_per_byte,
        [put]() -> Status { return put->prepare(); },
        [this, put](const Status& status) {
            if (!status.ok()) {
                tools_.store.abandon_put(put->object, put->region, put->bytes);
                return end_put(*put, status);
            }
            tools_.store.finish_put(put->object, put->region, std::move(put->kept), put->bytes,
                                    put->range);
            make_room(put);
        });
}

// Regions leave memory until there is room. Only then the client hears of his put, and may send
// more.
void ObjectDesk::make_room(const std::shared_ptr<Putting>& put) {
    auto victim = tools_.store.next_victim();
    if (!victim) return end_put(*put, {});
    const auto held = std::make_shared<const ObjectStore::Victim>(std::move(*victim));
    if (tools_.store.far() != nullptr && !held->values->is_chained())
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
        [victim, far, there = tools_.store.far()]() -> Status {
            auto made = there->put(victim->object, victim->object_as_guest, victim->box,
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
    struct Made {
        std::vector<std::byte> frame;
        ObjectStore::DeviceRoom copy;
    };
    const auto made = std::make_shared<Made>();
    made->copy = tools_.store.room_on_device(victim->values->bytes().size());
    send_errand(
        host_.errands, static_cast<double>(victim->values->bytes().size()) * k_compress_s_per_byte,
        [victim, made]() -> Status {
            if (!victim->values->is_chained()) {
                auto frame = compress(victim->values->bytes(), victim->dtype, victim->box.extent,
                                      victim->bound);
                if (!frame.ok()) return frame.status();
                made->frame = std::move(*frame);
            }
            // What comes of it the store sees: without a copy it lies in the sink alone.
            if (made->copy) (void)made->copy->write(victim->values->bytes());
            return {};
        },
        [this, put, victim, made](const Status& status) {
            Status sunk = status;
            if (sunk.ok())
                sunk = tools_.store.sink(*victim,
                                         victim->values->is_chained()
                                             ? victim->values->bytes()
                                             : std::span<const std::byte>(made->frame),
                                         std::move(made->copy));
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
    if (message.chained) return get_chained(message, what);
    if (what->form && what->form->is_sealed())
        return answer(message.request, what->form->refuse("values need his key"));
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
        struct Decoded {
            RegionId region = 0;
            base::Buffer values;
            ObjectStore::DeviceRoom copy;
        };
        std::vector<Decoded> decoded;
        std::vector<ObjectStore::DeviceRoom> rooms;  ///< of the parts, in turn; null: none
    };
    const auto got = std::make_shared<Got>();
    for (const Reading::Part& part : what->parts)
        got->rooms.push_back(part.wants_copy ? tools_.store.free_room_on_device(
                                                   part.box.extent.count() * size_of(what->dtype))
                                             : nullptr);
    const auto bring_all = [what, got, bytes]() -> Status {
        auto buffer = ObjectStore::pool().take(bytes);
        if (!buffer.ok()) return buffer.status();
        const std::size_t value_bytes = size_of(what->dtype);
        for (std::size_t i = 0; i < what->parts.size(); ++i) {
            const Reading::Part& part = what->parts[i];
            if (!part.is_sunk || !part.is_whole) {
                Status status = part.values->read(part.box, what->box, buffer->data());
                if (!status.ok()) return status;
                continue;
            }
            base::Buffer decoded;
            const auto values = bring(*what, part, decoded);
            if (!values.ok()) return values.status();
            copy_box(part.box, part.box, values->data(), what->box, buffer->data(), value_bytes);
            if (got->rooms[i]) (void)got->rooms[i]->write(*values);
            got->decoded.push_back({part.region, std::move(decoded), std::move(got->rooms[i])});
        }
        got->values = std::move(*buffer);
        return {};
    };
    const auto then = [this, what, got, bytes, request = message.request](const Status& status) {
        reading_bytes_ -= bytes;
        for (auto& [region, values, copy] : got->decoded)
            tools_.store.bring_back(what->object, region, std::move(values), std::move(copy));
        answer(request, status, 0, status.ok() ? std::move(got->values) : base::Buffer());
    };
    if (what->is_guest) return then(bring_all());  // never waits for a worker: see FarMemory
    send_errand(host_.errands, static_cast<double>(bytes) * k_compress_s_per_byte, bring_all, then);
}

// A region as its client's chain has made it.
void ObjectDesk::get_chained(const GetRegion& message,
                             const std::shared_ptr<const Reading>& reading) {
    if (!reading->form || reading->form->side != ChainSide::client || reading->parts.size() != 1 ||
        !reading->parts.front().is_whole)
        return answer(message.request,
                      base::invalid(fmt::format("object {}: at {} lies no region that a client's "
                                                "chain has made",
                                                reading->name, to_string(message.box))));
    const std::uint64_t most =
        chained_limit_bytes(message.box.extent.count() * size_of(reading->dtype));
    if (reading_bytes_ > 0 && reading_bytes_ + most > std::max(host_.credits_bytes, most))
        return answer(message.request,
                      {StatusCode::no_space,
                       fmt::format("{} bytes are being read beside {}; ask for less at once",
                                   reading_bytes_, most)});
    reading_bytes_ += most;
    const auto got = std::make_shared<std::vector<std::byte>>();
    send_errand(
        host_.errands, static_cast<double>(most) * k_range_s_per_byte,
        [reading, got]() -> Status {
            auto bytes = reading->parts.front().values->chained();
            if (bytes.ok()) *got = std::move(*bytes);
            return bytes.status();
        },
        [this, got, most, request = message.request](const Status& status) {
            reading_bytes_ -= most;
            if (!status.ok()) return answer(request, status);
            answer_bytes(request, *got);
        });
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
