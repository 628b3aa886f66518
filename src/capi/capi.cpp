// The C API's Writer: translation of arguments and errors, nothing else. No exception leaves a
// function.
#include <algorithm>
#include <cstring>

#include "caesura/caesura.h"
#include "caesura/writer.hpp"
#include "capi/c_communicator.hpp"
#include "capi/errors.hpp"
#include "capi/options.hpp"
#include "capi/report.hpp"

struct caesura_writer {
    std::unique_ptr<caesura::Writer> writer;
    std::vector<int> axes;               // by field
    std::vector<std::size_t> grid_axes;  // by field: how many entries its grid_offset has
    std::optional<caesura::Iteration> iteration;
    std::optional<caesura::Dump> dump;
    std::vector<caesura::Busy> busy[2];
};

namespace {

using caesura::Status;
using caesura::StatusCode;
using caesura::capi::bound_of;
using caesura::capi::guarded;
using caesura::capi::invalid;
using caesura::capi::known;

// @param where  null: a new file.
Status make_writer(const char* path, const caesura_communicator* communicator,
                   const caesura_options* options, const caesura_open_options* where,
                   caesura_writer** writer) {
    if (!writer) return invalid("writer is NULL");
    *writer = nullptr;
    if (!path) return invalid("path is NULL");
    std::unique_ptr<caesura::Communicator> comm;
    if (communicator) {
        auto made = caesura::capi::make_c_communicator(*communicator);
        if (!made.ok()) return made.status();
        comm = std::move(*made);
    }
    Status refused;
    auto writer_options = caesura::capi::options_of(options, refused);
    caesura::OpenOptions open_options;
    if (where && where->has_after) open_options.after = where->after;
    auto made = where ? caesura::Writer::open(path, std::move(comm), std::move(writer_options),
                                              open_options)
                      : caesura::Writer::create(path, std::move(comm), std::move(writer_options));
    if (!refused.ok()) return refused;
    if (!made.ok()) return made.status();
    auto handle = std::make_unique<caesura_writer>();
    handle->writer = std::move(*made);
    *writer = handle.release();
    return {};
}

}  // namespace

extern "C" {

caesura_code caesura_writer_create(const char* path, const caesura_communicator* communicator,
                                   const caesura_options* options, caesura_writer** writer) {
    return guarded([&] { return make_writer(path, communicator, options, nullptr, writer); });
}

caesura_code caesura_writer_open(const char* path, const caesura_communicator* communicator,
                                 const caesura_options* options, const caesura_open_options* where,
                                 caesura_writer** writer) {
    return guarded([&] {
        caesura_open_options all = CAESURA_OPEN_OPTIONS_DEFAULT;
        if (where) std::memcpy(&all, where, std::min(sizeof all, where->struct_bytes));
        return make_writer(path, communicator, options, &all, writer);
    });
}

caesura_code caesura_define_field(caesura_writer* writer, const char* name, int dtype, int rank,
                                  const uint64_t* shape, int kind, double bound, uint32_t* field) {
    return caesura_define_field_with(writer, name, dtype, rank, shape, kind, bound, nullptr, field);
}

caesura_code caesura_define_field_with(caesura_writer* writer, const char* name, int dtype,
                                       int rank, const uint64_t* shape, int kind, double bound,
                                       const caesura_field_options* options, uint32_t* field) {
    return guarded([&]() -> Status {
        if (!writer || !name || !shape || !field) return invalid("an argument is NULL");
        if (rank < 1 || rank > caesura::k_max_rank)
            return invalid("field '" + std::string(name) + "': " + std::to_string(rank) +
                           " axes; 1 to 4 are possible");
        const auto limit = bound_of("field '" + std::string(name) + "'", dtype, kind, bound);
        if (!limit.ok()) return limit.status();
        const auto axes = static_cast<std::size_t>(rank);
        const auto described =
            caesura::capi::field_options_of(options, static_cast<caesura::DType>(dtype), axes);
        if (!described.ok())
            return invalid("field '" + std::string(name) + "': " + described.status().message());
        auto defined = writer->writer->define_field(name, static_cast<caesura::DType>(dtype),
                                                    caesura::Shape(std::span(shape, axes)), *limit,
                                                    *described);
        if (!defined.ok()) return defined.status();
        writer->axes.push_back(rank);
        writer->grid_axes.push_back(caesura::capi::n_grid_axes(described->geometry, axes));
        *field = defined->index;
        return {};
    });
}

caesura_code caesura_reshape(caesura_writer* writer, uint32_t field, const uint64_t* shape,
                             const double* grid_offset) {
    return guarded([&]() -> Status {
        if (!writer || !shape) return invalid("an argument is NULL");
        if (field >= writer->axes.size())
            return invalid("field " + std::to_string(field) + " is not defined");
        const auto axes = static_cast<std::size_t>(writer->axes[field]);
        std::vector<double> offset;
        if (grid_offset) offset.assign(grid_offset, grid_offset + writer->grid_axes[field]);
        return writer->writer->reshape({field}, caesura::Shape(std::span(shape, axes)), offset);
    });
}

caesura_code caesura_define_species(caesura_writer* writer, const char* name, uint32_t* species) {
    return caesura_define_species_with(writer, name, nullptr, species);
}

caesura_code caesura_define_species_with(caesura_writer* writer, const char* name,
                                         const caesura_species_options* options,
                                         uint32_t* species) {
    return guarded([&]() -> Status {
        if (!writer || !name || !species) return invalid("an argument is NULL");
        caesura_species_options all = CAESURA_SPECIES_OPTIONS_DEFAULT;
        if (options) std::memcpy(&all, options, std::min(sizeof all, options->struct_bytes));
        caesura::SpeciesOptions plain;
        if (all.any_order != 0) plain.order = caesura::Order::any;
        plain.keep_index = all.keep_index != 0;
        const auto defined = writer->writer->define_species(name, plain);
        if (!defined.ok()) return defined.status();
        if (plain.keep_index) {  // a record of its own
            writer->axes.push_back(1);
            writer->grid_axes.push_back(1);
        }
        *species = defined->index;
        return {};
    });
}

caesura_code caesura_define_record(caesura_writer* writer, uint32_t species, const char* name,
                                   int dtype, int kind, double bound,
                                   const caesura_record_options* options, uint32_t* record) {
    return guarded([&]() -> Status {
        if (!writer || !name || !record) return invalid("an argument is NULL");
        const auto limit = bound_of("record '" + std::string(name) + "'", dtype, kind, bound);
        if (!limit.ok()) return limit.status();
        const auto defined =
            writer->writer->define_record({species}, name, static_cast<caesura::DType>(dtype),
                                          *limit, caesura::capi::record_options_of(options));
        if (!defined.ok()) return defined.status();
        writer->axes.push_back(1);
        writer->grid_axes.push_back(1);
        *record = defined->index;
        return {};
    });
}

caesura_code caesura_define_constant(caesura_writer* writer, uint32_t species, const char* name,
                                     double value, const caesura_record_options* options) {
    return guarded([&]() -> Status {
        if (!writer || !name) return invalid("an argument is NULL");
        return writer->writer->define_constant({species}, name, value,
                                               caesura::capi::record_options_of(options));
    });
}

caesura_code caesura_set_attribute(caesura_writer* writer, int when, int owner, uint32_t field,
                                   const char* name, int type, const void* values, size_t count) {
    return guarded([&]() -> Status {
        using caesura::AttributeOwner;
        if (!writer || !name) return invalid("an argument is NULL");
        const std::string who = "attribute '" + std::string(name) + "': ";
        if (when != CAESURA_EVERY_DUMP && when != CAESURA_THIS_DUMP)
            return invalid(who + "when is " + std::to_string(when) + "; use 0 or 1");
        if (owner < CAESURA_OF_FILE || owner > CAESURA_OF_SPECIES)
            return invalid(who + "owner " + std::to_string(owner) + " is unknown");
        auto value = caesura::capi::attribute_value(type, values, count);
        if (!value.ok()) return invalid(who + value.status().message());
        if (when == CAESURA_THIS_DUMP && !writer->dump) return invalid(who + "outside a dump");
        const AttributeOwner of{static_cast<AttributeOwner::Kind>(owner), {field}};
        if (when == CAESURA_THIS_DUMP)
            return writer->dump->set_attribute(of, name, std::move(*value));
        return writer->writer->set_attribute(of, name, std::move(*value));
    });
}

caesura_code caesura_begin_iteration(caesura_writer* writer, uint64_t number) {
    return caesura_begin_iteration_of(writer, number, nullptr);
}

caesura_code caesura_begin_iteration_of(caesura_writer* writer, uint64_t number,
                                        const char* label) {
    return guarded([&]() -> Status {
        if (!writer) return invalid("writer is NULL");
        writer->iteration.emplace(writer->writer->begin_iteration(number, label ? label : ""));
        writer->dump.reset();
        return {};
    });
}

caesura_code caesura_busy_begin(caesura_writer* writer, int lane) {
    return guarded([&]() -> Status {
        if (!writer || !writer->iteration) return invalid("busy_begin outside an iteration");
        if (lane != CAESURA_LANE_COMPRESS && lane != CAESURA_LANE_WRITE)
            return invalid("lane " + std::to_string(lane) + " is unknown");
        writer->busy[lane].push_back(writer->iteration->busy(static_cast<caesura::Lane>(lane)));
        return {};
    });
}

caesura_code caesura_busy_end(caesura_writer* writer, int lane) {
    return guarded([&]() -> Status {
        if (!writer || (lane != CAESURA_LANE_COMPRESS && lane != CAESURA_LANE_WRITE) ||
            writer->busy[lane].empty())
            return invalid("busy_end without busy_begin");
        writer->busy[lane].pop_back();
        return {};
    });
}

caesura_code caesura_compress_for(caesura_writer* writer, double seconds, double* spent_s) {
    return guarded([&]() -> Status {
        if (!writer || !writer->iteration) return invalid("compress_for outside an iteration");
        const double spent = writer->iteration->compress_for(seconds);
        if (spent_s) *spent_s = spent;
        return {};
    });
}

caesura_code caesura_wait_until(caesura_writer* writer, int (*done)(void* context), void* context,
                                double at_most_s, int* is_done) {
    return guarded([&]() -> Status {
        if (!writer || !writer->iteration) return invalid("wait_until outside an iteration");
        if (!done) return invalid("done is NULL");
        const bool reached =
            writer->iteration->wait_until([&] { return done(context) != 0; }, at_most_s);
        if (is_done) *is_done = reached ? 1 : 0;
        return {};
    });
}

caesura_code caesura_begin_dump(caesura_writer* writer, double time, double dt) {
    return guarded([&]() -> Status {
        if (!writer || !writer->iteration) return invalid("begin_dump outside an iteration");
        writer->dump.emplace(writer->iteration->begin_dump(time, dt));
        return {};
    });
}

caesura_code caesura_declare_missing(caesura_writer* writer, uint32_t field, double value) {
    return guarded([&]() -> Status {
        if (!writer || !writer->dump) return invalid("declare_missing outside a dump");
        return writer->dump->declare_missing({field}, value);
    });
}

caesura_code caesura_put(caesura_writer* writer, uint32_t field, const uint64_t* offset,
                         const uint64_t* extent, const void* data, int dtype, int borrow) {
    return guarded([&]() -> Status {
        if (!writer || !offset || !extent) return invalid("an argument is NULL");
        if (!writer->dump) return invalid("put outside a dump");
        if (!known(dtype)) return invalid("dtype " + std::to_string(dtype) + " is unknown");
        if (field >= writer->axes.size())
            return invalid("field handle " + std::to_string(field) + " was not defined");
        const auto rank = static_cast<std::size_t>(writer->axes[field]);
        const caesura::Box box{caesura::Shape(std::span(offset, rank)),
                               caesura::Shape(std::span(extent, rank))};
        return writer->dump->put_bytes(
            caesura::Field{field}, box, data, static_cast<caesura::DType>(dtype),
            borrow ? caesura::Ownership::borrow : caesura::Ownership::copy);
    });
}

caesura_code caesura_put_within(caesura_writer* writer, uint32_t field, const uint64_t* offset,
                                const uint64_t* extent, const void* array,
                                const uint64_t* array_extent, const uint64_t* begin, int dtype,
                                int borrow) {
    return guarded([&]() -> Status {
        if (!writer || !offset || !extent || !array_extent || !begin)
            return invalid("an argument is NULL");
        if (!writer->dump) return invalid("put outside a dump");
        if (!known(dtype)) return invalid("dtype " + std::to_string(dtype) + " is unknown");
        if (field >= writer->axes.size())
            return invalid("field handle " + std::to_string(field) + " was not defined");
        const auto shape = [&, rank = static_cast<std::size_t>(writer->axes[field])](
                               const uint64_t* of) { return caesura::Shape(std::span(of, rank)); };
        return writer->dump->put_within_bytes(
            caesura::Field{field}, {shape(offset), shape(extent)}, array, shape(array_extent),
            shape(begin), static_cast<caesura::DType>(dtype),
            borrow ? caesura::Ownership::borrow : caesura::Ownership::copy);
    });
}

caesura_code caesura_put_particles(caesura_writer* writer, uint32_t record, uint64_t count,
                                   const void* data, int dtype, int borrow) {
    return guarded([&]() -> Status {
        if (!writer) return invalid("writer is NULL");
        if (!writer->dump) return invalid("put outside a dump");
        if (!known(dtype)) return invalid("dtype " + std::to_string(dtype) + " is unknown");
        return writer->dump->put_particle_bytes(
            caesura::Field{record}, count, data, static_cast<caesura::DType>(dtype),
            borrow ? caesura::Ownership::borrow : caesura::Ownership::copy);
    });
}

caesura_code caesura_end_iteration(caesura_writer* writer) {
    return guarded([&]() -> Status {
        if (!writer || !writer->iteration) return invalid("end_iteration outside an iteration");
        for (auto& marks : writer->busy) marks.clear();
        const Status status = writer->iteration->end();
        writer->dump.reset();
        writer->iteration.reset();
        return status;
    });
}

int caesura_released(caesura_writer* writer, uint64_t iteration) {
    return writer && writer->writer->released(iteration) ? 1 : 0;
}

int caesura_committed(caesura_writer* writer, uint64_t* iteration) {
    const auto committed = writer ? writer->writer->committed() : std::nullopt;
    if (committed && iteration) *iteration = *committed;
    return committed ? 1 : 0;
}

caesura_code caesura_finish_by(caesura_writer* writer, double seconds) {
    return guarded([&]() -> Status {
        if (!writer) return invalid("writer is NULL");
        return writer->writer->finish_by(seconds);
    });
}

caesura_code caesura_writer_get_report(caesura_writer* writer, caesura_writer_report* report) {
    return guarded([&]() -> Status {
        if (!writer) return invalid("writer is NULL");
        const Status can = caesura::capi::check_report(report);
        if (can.ok()) caesura::capi::fill(*report, writer->writer->report());
        return can;
    });
}

caesura_code caesura_writer_close(caesura_writer* writer) {
    return caesura_writer_close_and_report(writer, nullptr);
}

caesura_code caesura_writer_close_and_report(caesura_writer* writer,
                                             caesura_writer_report* report) {
    return guarded([&]() -> Status {
        if (!writer) return invalid("writer is NULL");
        const Status can = report ? caesura::capi::check_report(report) : Status{};
        const std::unique_ptr<caesura_writer> owned(writer);
        for (auto& marks : owned->busy) marks.clear();
        const Status closed = owned->writer->close();
        if (report && can.ok()) caesura::capi::fill(*report, owned->writer->report());
        return closed.ok() ? can : closed;
    });
}

void caesura_writer_abandon(caesura_writer* writer) {
    if (!writer) return;
    for (auto& marks : writer->busy) marks.clear();
    delete writer;
}

}  // extern "C"
