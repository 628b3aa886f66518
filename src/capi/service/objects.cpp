// Connections, tickets and objects of caesura/service.h; found.cpp has the queries.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "capi/service/arguments.hpp"

using caesura::Result;
using caesura::Status;
using caesura::capi::guarded;
using caesura::capi::invalid;
using caesura::transit::Objects;

struct caesura_ticket {
    std::variant<caesura::transit::Ticket, caesura::transit::RunTicket> of;
    // Of a run, once they have been asked for.
    std::optional<caesura::lambda::Results> results = {};
    std::string json = {};
    std::map<std::string, std::vector<double>> lists = {};

    Status wait() const {
        if (const auto* run = std::get_if<caesura::transit::RunTicket>(&of))
            return run->wait().status();
        return std::get<caesura::transit::Ticket>(of).wait();
    }
};

namespace caesura::capi {

Result<DType> dtype_of(int dtype) {
    if (!known(dtype)) return invalid("dtype is " + std::to_string(dtype));
    return static_cast<DType>(dtype);
}

Result<Shape> shape_of(int rank, const std::uint64_t* extents) {
    if (rank < 1 || rank > k_max_rank)
        return invalid("rank is " + std::to_string(rank) + "; arrays have 1 to 4 axes");
    if (extents == nullptr) return invalid("a shape, an offset or an extent is NULL");
    Shape shape = Shape::filled(rank, 0);
    for (int axis = 0; axis < rank; ++axis) shape[axis] = extents[axis];
    return shape;
}

Result<Box> box_of(int rank, const std::uint64_t* offset, const std::uint64_t* extent) {
    const auto begin = shape_of(rank, offset), size = shape_of(rank, extent);
    if (!begin.ok()) return begin.status();
    if (!size.ok()) return size.status();
    return Box{*begin, *size};
}

Result<ErrorBound> bound_of(int kind, double value) {
    if (kind == CAESURA_LOSSLESS) return lossless();
    if (kind == CAESURA_ABSOLUTE) return absolute(value);
    if (kind == CAESURA_POINTWISE_RELATIVE) return pointwise_relative(value);
    return invalid("bound_kind is " + std::to_string(kind) +
                   "; objects have CAESURA_LOSSLESS, CAESURA_ABSOLUTE or "
                   "CAESURA_POINTWISE_RELATIVE");
}

Result<std::vector<transit::Tag>> tags_of(const caesura_tag* tags, std::size_t count) {
    if (tags == nullptr && count > 0) return invalid("tags is NULL");
    std::vector<transit::Tag> all;
    for (std::size_t i = 0; i < count; ++i) {
        if (tags[i].name == nullptr || tags[i].text == nullptr)
            return invalid("tag " + std::to_string(i) + " is NULL");
        all.emplace_back(tags[i].name, tags[i].text);
    }
    return all;
}

namespace {

/// What began goes to the caller, or is waited for.
template <class Begun>
Status give_ticket(Begun begun, caesura_ticket** ticket) {
    auto made = std::make_unique<caesura_ticket>();
    made->of = std::move(begun);
    if (ticket == nullptr) return made->wait();
    *ticket = made.release();
    return {};
}

Status results_of(caesura_ticket* ticket) {
    if (ticket == nullptr) return invalid("ticket is NULL");
    if (ticket->results) return {};
    const auto* const run = std::get_if<transit::RunTicket>(&ticket->of);
    if (run == nullptr) return invalid("the ticket is not one of caesura_object_run");
    auto results = run->wait();
    if (!results.ok()) return results.status();
    ticket->results = std::move(*results);
    return {};
}

/// Errors: also of there being none.
Result<const lambda::Value*> result_named(caesura_ticket* ticket, const char* name) {
    if (Status status = results_of(ticket); !status.ok()) return status;
    if (name == nullptr) return invalid("name is NULL");
    if (const lambda::Value* const value = ticket->results->find(name)) return value;
    std::string names;
    for (const auto& [one, value] : ticket->results->entries())
        names += (names.empty() ? "" : ", ") + one;
    return invalid(std::string("no result has the name ") + name + "; there are " + names);
}

/// Values of a box there or back: `call` begins it, with box and type. @param ticket  may be NULL.
template <class Call>
caesura_code move_box(const caesura_objects* objects, const void* values, int rank,
                      const uint64_t* offset, const uint64_t* extent, int dtype,
                      caesura_ticket** ticket, const Call& call) {
    return guarded([&]() -> Status {
        if (ticket != nullptr) *ticket = nullptr;
        if (objects == nullptr || values == nullptr) return invalid("objects or values is NULL");
        const auto type = dtype_of(dtype);
        if (!type.ok()) return type.status();
        const auto box = box_of(rank, offset, extent);
        if (!box.ok()) return box.status();
        return give_ticket(call(*box, *type), ticket);
    });
}

}  // namespace
}  // namespace caesura::capi

using namespace caesura::capi;

extern "C" {

// ------------------------------------------------------------------------------ connection

caesura_code caesura_objects_connect(const char* service, const char* application,
                                     caesura_objects** objects) {
    return guarded([&]() -> Status {
        if (objects == nullptr) return invalid("objects is NULL");
        *objects = nullptr;
        if (service == nullptr) return invalid("service is NULL");
        auto made = Objects::connect(service, application == nullptr ? "c" : application);
        if (!made.ok()) return made.status();
        *objects = new caesura_objects{std::move(*made)};
        return {};
    });
}

void caesura_objects_disconnect(caesura_objects* objects) { delete objects; }

// --------------------------------------------------------------------------------- tickets

caesura_code caesura_ticket_wait(const caesura_ticket* ticket) {
    return guarded([&] { return ticket == nullptr ? invalid("ticket is NULL") : ticket->wait(); });
}

int caesura_ticket_is_done(const caesura_ticket* ticket) {
    if (ticket == nullptr) return 1;
    return std::visit([](const auto& one) { return one.is_done() ? 1 : 0; }, ticket->of);
}

void caesura_ticket_free(caesura_ticket* ticket) { delete ticket; }

caesura_code caesura_ticket_number(caesura_ticket* ticket, const char* name, double* value) {
    return guarded([&]() -> Status {
        if (value == nullptr) return invalid("value is NULL");
        *value = 0.0;
        const auto found = result_named(ticket, name);
        if (!found.ok()) return found.status();
        if (const auto* count = std::get_if<std::int64_t>(*found))
            *value = static_cast<double>(*count);
        else if (const auto* number = std::get_if<double>(*found))
            *value = *number;
        else
            return invalid(std::string(name) + " is no number");
        return {};
    });
}

caesura_code caesura_ticket_list(caesura_ticket* ticket, const char* name, const double** values,
                                 size_t* count) {
    return guarded([&]() -> Status {
        if (values == nullptr || count == nullptr) return invalid("values or count is NULL");
        *values = nullptr;
        *count = 0;
        const auto found = result_named(ticket, name);
        if (!found.ok()) return found.status();
        std::vector<double> numbers;
        if (const auto* counts = std::get_if<std::vector<std::int64_t>>(*found))
            for (const std::int64_t one : *counts) numbers.push_back(static_cast<double>(one));
        else if (const auto* list = std::get_if<std::vector<double>>(*found))
            numbers = *list;
        else
            return invalid(std::string(name) + " is no list");
        const auto& kept = ticket->lists.try_emplace(name, std::move(numbers)).first->second;
        *values = kept.data();
        *count = kept.size();
        return {};
    });
}

caesura_code caesura_ticket_json(caesura_ticket* ticket, const char** text) {
    return guarded([&]() -> Status {
        if (text == nullptr) return invalid("text is NULL");
        *text = nullptr;
        if (Status status = results_of(ticket); !status.ok()) return status;
        if (ticket->json.empty()) ticket->json = ticket->results->to_json().dump();
        *text = ticket->json.c_str();
        return {};
    });
}

// --------------------------------------------------------------------------------- objects

caesura_code caesura_object_create(caesura_objects* objects, const char* container,
                                   const char* name, int dtype, int rank, const uint64_t* shape,
                                   const caesura_object_options* options, uint64_t* id) {
    return guarded([&]() -> Status {
        if (id == nullptr) return invalid("id is NULL");
        *id = 0;
        if (objects == nullptr || name == nullptr) return invalid("objects or name is NULL");
        const auto all = struct_of(options, caesura_object_options(CAESURA_OBJECT_OPTIONS_DEFAULT));
        const auto type = dtype_of(dtype);
        if (!type.ok()) return type.status();
        const auto extents = shape_of(rank, shape);
        if (!extents.ok()) return extents.status();
        const auto bound = bound_of(all.bound_kind, all.bound);
        if (!bound.ok()) return bound.status();
        auto tags = tags_of(all.tags, all.tag_count);
        if (!tags.ok()) return tags.status();
        const auto made =
            objects->objects->create({text_of(container), name, *type, *extents, all.time, *bound,
                                      all.keep != 0, false, std::move(*tags)});
        if (made.ok()) *id = *made;
        return made.status();
    });
}

caesura_code caesura_object_put(caesura_objects* objects, uint64_t id, int rank,
                                const uint64_t* offset, const uint64_t* extent, const void* values,
                                int dtype, caesura_ticket** ticket) {
    return move_box(objects, values, rank, offset, extent, dtype, ticket,
                    [&](const caesura::Box& box, caesura::DType type) {
                        return objects->objects->put_bytes(id, box, values, type);
                    });
}

caesura_code caesura_object_get(caesura_objects* objects, uint64_t id, int rank,
                                const uint64_t* offset, const uint64_t* extent, void* values,
                                int dtype, caesura_ticket** ticket) {
    return move_box(objects, values, rank, offset, extent, dtype, ticket,
                    [&](const caesura::Box& box, caesura::DType type) {
                        return objects->objects->get_bytes(id, box, values, type);
                    });
}

caesura_code caesura_object_delete(caesura_objects* objects, uint64_t id) {
    return guarded([&] {
        return objects == nullptr ? invalid("objects is NULL") : objects->objects->remove(id);
    });
}

caesura_code caesura_object_run(caesura_objects* objects, uint64_t id, const char* call, int rank,
                                const uint64_t* offset, const uint64_t* extent,
                                caesura_ticket** ticket) {
    return guarded([&]() -> Status {
        if (ticket != nullptr) *ticket = nullptr;
        if (objects == nullptr || call == nullptr) return invalid("objects or call is NULL");
        std::optional<caesura::Box> box;
        if (offset != nullptr || extent != nullptr) {
            const auto part = box_of(rank, offset, extent);
            if (!part.ok()) return part.status();
            box = *part;
        }
        return give_ticket(objects->objects->run(id, call, box), ticket);
    });
}

caesura_code caesura_objects_functions(caesura_objects* objects, char** text) {
    return guarded([&]() -> Status {
        if (text == nullptr) return invalid("text is NULL");
        *text = nullptr;
        if (objects == nullptr) return invalid("objects is NULL");
        const auto all = objects->objects->functions();
        if (!all.ok()) return all.status();
        *text = ::strdup(all->c_str());
        return *text == nullptr ? Status{caesura::StatusCode::no_space, {}} : Status{};
    });
}

void caesura_text_free(char* text) { std::free(text); }

// ----------------------------------------------------------------------------------- files

caesura_code caesura_objects_persist(caesura_objects* objects, const caesura_persist* what,
                                     caesura_ticket** ticket) {
    return guarded([&]() -> Status {
        if (ticket != nullptr) *ticket = nullptr;
        if (objects == nullptr || what == nullptr) return invalid("objects or what is NULL");
        const auto all = struct_of(what, caesura_persist(CAESURA_PERSIST_DEFAULT));
        if (all.path == nullptr) return invalid("path is NULL");
        if (all.container == nullptr && all.object_count == 0)
            return invalid("neither a container nor objects");
        if (all.objects == nullptr && all.object_count > 0) return invalid("objects is NULL");
        Objects::Persist order;
        order.path = all.path;
        order.container = text_of(all.container);
        if (all.object_count > 0) order.objects.assign(all.objects, all.objects + all.object_count);
        if (all.codec != nullptr) order.codec.name = all.codec;
        if (all.has_bound != 0) {
            const auto bound = bound_of(all.bound_kind, all.bound);
            if (!bound.ok()) return bound.status();
            order.bound = *bound;
        }
        return give_ticket(objects->objects->persist(order), ticket);
    });
}

}  // extern "C"
