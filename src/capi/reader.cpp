// Reading in C: translation of arguments and errors, nothing else.
#include "caesura/reader.h"

#include <algorithm>
#include <cstring>

#include "caesura/reader.hpp"
#include "capi/c_communicator.hpp"
#include "capi/errors.hpp"

struct caesura_reader {
    std::unique_ptr<caesura::Reader> reader;
};

namespace {

using caesura::Box;
using caesura::FieldInfo;
using caesura::Result;
using caesura::Shape;
using caesura::Status;
using caesura::capi::guarded;
using caesura::capi::invalid;

Status open_reader(const char* path, const caesura_communicator* table,
                   const caesura_reader_options* given, caesura_reader** reader) {
    std::unique_ptr<caesura::Communicator> comm;
    if (table) {
        auto made = caesura::capi::make_c_communicator(*table);
        if (!made.ok()) return made.status();
        comm = *std::move(made);
    }
    if (!reader) return invalid("reader is NULL");
    *reader = nullptr;
    if (!path) return invalid("path is NULL");
    caesura_reader_options all = CAESURA_READER_OPTIONS_DEFAULT;
    if (given) std::memcpy(&all, given, std::min(sizeof all, given->struct_bytes));
    caesura::ReaderOptions options;
    options.threads = all.threads;
    options.verify = all.verify != 0;
    if (all.round_bytes) options.round_bytes = all.round_bytes;
    auto opened = comm ? caesura::Reader::open(path, std::move(comm), options)
                       : caesura::Reader::open(path, options);
    if (!opened.ok()) return opened.status();
    *reader = new caesura_reader{*std::move(opened)};
    return {};
}

Status no_field(const caesura_reader& reader, std::size_t field) {
    return invalid("there is no field " + std::to_string(field) + " of " +
                   std::to_string(reader.reader->fields().size()));
}

/// Runs a call about a field that is there.
template <class Body>
caesura_code with_field(const caesura_reader* reader, std::size_t field, Body body) {
    return guarded([&]() -> Status {
        if (!reader) return invalid("reader is NULL");
        const auto& fields = reader->reader->fields();
        if (field >= fields.size()) return no_field(*reader, field);
        return body(fields[field]);
    });
}

caesura_field_info info_of(const FieldInfo& from) {
    caesura_field_info info{};
    info.kind = static_cast<int>(from.kind);
    info.name = from.name.c_str();
    info.path = from.path.c_str();
    info.codec = from.codec.c_str();
    info.iteration = from.iteration;
    info.number_kind = static_cast<int>(from.type.kind);
    info.number_bytes = from.type.bytes;
    info.members = std::max<std::size_t>(1, from.type.members.size());
    info.rank = from.shape.rank();
    const auto rank = static_cast<std::size_t>(info.rank);
    info.has_grid = from.grid_spacing.size() == rank && from.grid_offset.size() == rank;
    for (std::size_t axis = 0; axis < rank; ++axis) {
        info.shape[axis] = from.shape[static_cast<int>(axis)];
        info.chunk[axis] = from.chunk[static_cast<int>(axis)];
        info.grid_spacing[axis] = info.has_grid ? from.grid_spacing[axis] : 1.0;
        info.grid_offset[axis] = info.has_grid ? from.grid_offset[axis] : 0.0;
    }
    info.bound_known = from.bound.has_value();
    if (from.bound) {
        info.bound_kind = static_cast<int>(from.bound->kind);
        info.bound = from.bound->value;
    }
    info.raw_bytes = from.raw_bytes;
    info.stored_bytes = from.stored_bytes;
    info.unit_si = from.unit_si;
    info.grid_unit_si = from.grid_unit_si;
    return info;
}

template <class Info>
void give(const Info& all, Info* to) {
    const std::size_t bytes = std::min(sizeof all, to->struct_bytes);
    Info copy = all;
    copy.struct_bytes = to->struct_bytes;
    std::memcpy(to, &copy, bytes);
}

Result<const caesura::store::Attribute*> attribute_of(const FieldInfo& field, const char* name) {
    if (!name) return invalid("attribute is NULL");
    const auto* const found = caesura::find_attribute(field, name);
    if (found == nullptr)
        return invalid("dataset " + field.path + " has no attribute '" + name + "'");
    return found;
}

std::vector<double> as_numbers(const caesura::store::AttributeValue& value) {
    return std::visit(
        [](const auto& of) -> std::vector<double> {
            using T = std::decay_t<decltype(of)>;
            if constexpr (std::is_arithmetic_v<T>)
                return {static_cast<double>(of)};
            else if constexpr (std::is_same_v<T, std::vector<double>> ||
                               std::is_same_v<T, std::vector<std::uint64_t>> ||
                               std::is_same_v<T, std::vector<std::int64_t>>)
                return std::vector<double>(of.begin(), of.end());
            else
                return {};
        },
        value);
}

Shape shape_of(const std::uint64_t* extents, int rank) {
    return Shape(std::span(extents, static_cast<std::size_t>(rank)));
}

/// Runs read(box, values, strides). What is wrong with the arguments, it says: a collective call
/// has to be made in any case.
template <class Read>
caesura_code read_with(const caesura_reader* reader, std::size_t field, const std::uint64_t* offset,
                       const std::uint64_t* extent, void* values, std::size_t bytes,
                       const std::uint64_t* stride_bytes, Read read) {
    return guarded([&]() -> Status {
        if (!reader) return invalid("reader is NULL");
        const auto& fields = reader->reader->fields();
        const int rank = field < fields.size() ? fields[field].shape.rank() : 0;
        std::optional<Shape> strides;
        if (stride_bytes) strides = shape_of(stride_bytes, rank);
        Box box;  // lies in no field
        if (offset && extent && (values || bytes == 0))
            box = {shape_of(offset, rank), shape_of(extent, rank)};
        return read(box, std::span(static_cast<std::byte*>(values), values ? bytes : 0), strides);
    });
}

}  // namespace

extern "C" {

caesura_code caesura_reader_open(const char* path, const caesura_communicator* communicator,
                                 const caesura_reader_options* options, caesura_reader** reader) {
    return guarded([&] { return open_reader(path, communicator, options, reader); });
}

void caesura_reader_close(caesura_reader* reader) { delete reader; }

caesura_code caesura_reader_count(const caesura_reader* reader, size_t* dumps, size_t* fields) {
    return guarded([&]() -> Status {
        if (!reader) return invalid("reader is NULL");
        if (dumps) *dumps = reader->reader->dumps().size();
        if (fields) *fields = reader->reader->fields().size();
        return {};
    });
}

caesura_code caesura_reader_dump(const caesura_reader* reader, size_t dump,
                                 caesura_dump_info* info) {
    return guarded([&]() -> Status {
        if (!reader || !info) return invalid("an argument is NULL");
        const auto& dumps = reader->reader->dumps();
        if (dump >= dumps.size())
            return invalid("there is no dump " + std::to_string(dump) + " of " +
                           std::to_string(dumps.size()));
        const caesura::DumpInfo& from = dumps[dump];
        give(caesura_dump_info{0, from.iteration, from.time, from.dt, from.time_unit_si,
                               from.fields.size()},
             info);
        return {};
    });
}

caesura_code caesura_reader_field(const caesura_reader* reader, size_t field,
                                  caesura_field_info* info) {
    return with_field(reader, field, [&](const FieldInfo& from) -> Status {
        if (!info) return invalid("info is NULL");
        give(info_of(from), info);
        return {};
    });
}

caesura_code caesura_reader_find(const caesura_reader* reader, const char* name, uint64_t iteration,
                                 size_t* field) {
    return guarded([&]() -> Status {
        if (!reader || !name || !field) return invalid("an argument is NULL");
        const auto found = reader->reader->find(name, iteration);
        if (found.ok()) *field = *found;
        return found.status();
    });
}

caesura_code caesura_reader_find_path(const caesura_reader* reader, const char* path,
                                      size_t* field) {
    return guarded([&]() -> Status {
        if (!reader || !path || !field) return invalid("an argument is NULL");
        const auto found = reader->reader->find(path);
        if (found.ok()) *field = *found;
        return found.status();
    });
}

caesura_code caesura_reader_numbers(const caesura_reader* reader, size_t field,
                                    const char* attribute, double* numbers, size_t room,
                                    size_t* count) {
    return with_field(reader, field, [&](const FieldInfo& info) -> Status {
        if (!count || (!numbers && room > 0)) return invalid("an argument is NULL");
        const auto found = attribute_of(info, attribute);
        if (!found.ok()) return found.status();
        const std::vector<double> all = as_numbers((*found)->value);
        if (all.empty())
            return invalid("dataset " + info.path + ": attribute '" + attribute +
                           "' has no numbers");
        *count = all.size();
        std::copy_n(all.begin(), std::min(room, all.size()), numbers);
        return {};
    });
}

caesura_code caesura_reader_text(const caesura_reader* reader, size_t field, const char* attribute,
                                 size_t number, const char** text) {
    return with_field(reader, field, [&](const FieldInfo& info) -> Status {
        if (!text) return invalid("text is NULL");
        const auto found = attribute_of(info, attribute);
        if (!found.ok()) return found.status();
        const auto& value = (*found)->value;
        const auto* const one = std::get_if<std::string>(&value);
        const auto* const list = std::get_if<std::vector<std::string>>(&value);
        if (one != nullptr && number == 0)
            *text = one->c_str();
        else if (list != nullptr && number < list->size())
            *text = (*list)[number].c_str();
        else
            return invalid("dataset " + info.path + ": attribute '" + attribute + "' has no text " +
                           std::to_string(number));
        return {};
    });
}

caesura_code caesura_reader_read(const caesura_reader* reader, size_t field, const uint64_t* offset,
                                 const uint64_t* extent, void* values, size_t bytes,
                                 const uint64_t* stride_bytes) {
    return read_with(reader, field, offset, extent, values, bytes, stride_bytes,
                     [&](const auto& box, const auto& to, const auto& strides) {
                         return reader->reader->read(field, box, to, strides);
                     });
}

caesura_code caesura_reader_read_all(caesura_reader* reader, size_t field, const uint64_t* offset,
                                     const uint64_t* extent, void* values, size_t bytes,
                                     const uint64_t* stride_bytes) {
    return read_with(reader, field, offset, extent, values, bytes, stride_bytes,
                     [&](const auto& box, const auto& to, const auto& strides) {
                         return reader->reader->read_all(field, box, to, strides);
                     });
}

caesura_code caesura_reader_refresh(caesura_reader* reader, int* changed) {
    return guarded([&]() -> Status {
        if (!reader) return invalid("reader is NULL");
        const auto result = reader->reader->refresh();
        if (result.ok() && changed) *changed = *result ? 1 : 0;
        return result.status();
    });
}

}  // extern "C"
