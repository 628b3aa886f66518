// The C API: translation of arguments and errors, nothing else. No exception leaves a function.
#include <algorithm>
#include <cstring>

#include "base/short_float.hpp"
#include "caesura/caesura.h"
#include "caesura/writer.hpp"
#include "capi/c_communicator.hpp"
#include "capi/errors.hpp"
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
using caesura::capi::finish;
using caesura::capi::guarded;
using caesura::capi::invalid;
using caesura::capi::known;

// Options may come from a caller compiled against an older, shorter struct.
// A name that means nothing becomes a number that means nothing: the other ranks are on their way
// into create(), which refuses it on all of them. `refused` says why on this one.
caesura::WriterOptions options_of(const caesura_options* given, Status& refused) {
    caesura_options all = CAESURA_OPTIONS_DEFAULT;
    if (given) std::memcpy(&all, given, std::min(sizeof all, given->struct_bytes));
    caesura::WriterOptions options;
    if (all.codec) options.codec.name = all.codec;
    if (!all.cd_values && all.cd_value_count > 0) refused = invalid("cd_values is NULL");
    if (all.cd_values)
        options.codec.cd_values.assign(all.cd_values, all.cd_values + all.cd_value_count);
    if (!all.analyses && all.analysis_count > 0) refused = invalid("analyses is NULL");
    for (std::size_t i = 0; all.analyses && i < all.analysis_count; ++i) {
        if (all.analyses[i])
            options.analyses.emplace_back(all.analyses[i]);
        else
            refused = invalid("analyses[" + std::to_string(i) + "] is NULL");
    }
    if (all.verify >= 0) options.codec.verify = all.verify != 0;
    options.memory_bytes = all.memory_bytes;
    if (all.chunk_bytes) options.chunk_bytes = all.chunk_bytes;
    options.planning = all.planning != 0;
    options.durable = all.durable != 0;
    if (all.compress_threads) options.compress_threads = all.compress_threads;
    if (all.trace_path) options.trace_path = all.trace_path;
    if (all.calibration_path) options.calibration_path = all.calibration_path;
    if (all.algorithm) {
        const auto algorithm = caesura::plan::algorithm_named(all.algorithm);
        if (!algorithm.ok()) refused = algorithm.status();
        options.algorithm = algorithm.ok() ? *algorithm : caesura::plan::Algorithm{0xff};
    }
    if (all.reserve) {
        const auto reserve = caesura::reserve_named(all.reserve);
        if (!reserve.ok()) refused = reserve.status();
        options.reserve = reserve.ok() ? *reserve : caesura::Reserve{0xff};
    }
    options.reserve_sigmas = all.reserve_sigmas;
    options.slot_space = all.slot_space;
    if (!(all.slot_speed_weight < 0.0)) options.slot_speed_weight = all.slot_speed_weight;
    options.reserve_factor = all.reserve_factor;
    options.stripe_bytes = all.stripe_bytes;
    options.idle_priority = all.idle_priority != 0;
    options.cooperative = all.cooperative != 0;
    options.balance_writes = all.balance_writes != 0;
    options.max_delay_s = all.max_delay_s;
    if (all.write_buffer_bytes) options.write_buffer_bytes = all.write_buffer_bytes;
    if (all.transport) options.transport = all.transport;
    if (all.layout) options.layout = all.layout;
    if (all.dumps_per_file) options.dumps_per_file = all.dumps_per_file;
    if (all.pending_files) options.pending_files = all.pending_files;
    // create() refuses it on all ranks, before it touches a file.
    if (!refused.ok()) options.chunk_bytes = 1;
    if (all.on_message)
        options.on_message = [call = all.on_message,
                              context = all.message_context](std::string_view message) {
            call(context, std::string(message).c_str());
        };
    return options;
}

// @param axes  how many entries of a box count.
Status add_rule(const caesura_bound_rule& rule, std::size_t axes, caesura::BoundMap& map) {
    const auto shape = [&](const uint64_t* extents) {
        return caesura::Shape(std::span(extents, axes));
    };
    switch (rule.kind) {
        case CAESURA_IN_BOX:
            map.boxes.push_back({{shape(rule.offset), shape(rule.extent)}, rule.bound});
            return {};
        case CAESURA_OF_VALUES:
            map.values.push_back({rule.lowest, rule.highest, rule.bound});
            return {};
        case CAESURA_WHERE_STEEP:
            map.steep.push_back({rule.change, rule.bound});
            return {};
        default:
            return invalid("a bound rule has the unknown kind " + std::to_string(rule.kind));
    }
}

template <class T>
caesura::FillValue fill_as(const void* value) {
    T one;
    std::memcpy(&one, value, sizeof one);
    if constexpr (std::is_floating_point_v<T>)
        return static_cast<double>(one);
    else if constexpr (std::is_signed_v<T>)
        return static_cast<std::int64_t>(one);
    else
        return static_cast<std::uint64_t>(one);
}

template <class Short>
caesura::FillValue short_fill(const void* value) {
    Short one;
    std::memcpy(&one, value, sizeof one);
    return static_cast<double>(caesura::base::to_float(one));
}

caesura::FillValue fill_of(const void* value, caesura::DType dtype) {
    switch (dtype) {
        case caesura::float32:
            return fill_as<float>(value);
        case caesura::float64:
            return fill_as<double>(value);
        case caesura::int8:
            return fill_as<std::int8_t>(value);
        case caesura::int16:
            return fill_as<std::int16_t>(value);
        case caesura::int32:
            return fill_as<std::int32_t>(value);
        case caesura::int64:
            return fill_as<std::int64_t>(value);
        case caesura::uint8:
            return fill_as<std::uint8_t>(value);
        case caesura::uint16:
            return fill_as<std::uint16_t>(value);
        case caesura::uint32:
            return fill_as<std::uint32_t>(value);
        case caesura::uint64:
            return fill_as<std::uint64_t>(value);
        case caesura::boolean:
            return fill_as<std::uint8_t>(value);  // fill_of() of the field sees what is no bool
        case caesura::float16:
            return short_fill<caesura::Float16>(value);
        case caesura::bfloat16:
            return short_fill<caesura::Bfloat16>(value);
        case caesura::complex64:  // one number, of both parts
            return fill_as<float>(value);
        case caesura::complex128:
            return fill_as<double>(value);
    }
    return 0.0;
}

// How many entries the caller's arrays have: the first of three axes counts modes.
std::size_t n_grid_axes(std::string_view geometry, std::size_t axes) {
    return geometry == "thetaMode" && axes == 3 ? 2 : axes;
}

// @param axes  of the field.
caesura::Result<caesura::FieldOptions> field_options_of(const caesura_field_options* given,
                                                        caesura::DType dtype, std::size_t axes) {
    caesura_field_options all = CAESURA_FIELD_OPTIONS_DEFAULT;
    if (given) std::memcpy(&all, given, std::min(sizeof all, given->struct_bytes));
    const std::size_t n = n_grid_axes(all.geometry ? all.geometry : "", axes);
    for (std::size_t axis = 0; all.axis_labels && axis < n; ++axis)
        if (!all.axis_labels[axis])
            return invalid("axis_labels[" + std::to_string(axis) + "] is NULL");
    caesura::FieldOptions options;
    if (all.codec) options.codec.emplace().name = all.codec;
    if (all.cd_value_count > 0) {
        if (!all.cd_values || !all.codec)
            return invalid("cd_values belong to a codec; cd_values or codec is NULL");
        options.codec->cd_values.assign(all.cd_values, all.cd_values + all.cd_value_count);
    }
    options.unit_si = all.unit_si;
    std::copy_n(all.unit_dimension, options.unit_dimension.size(), options.unit_dimension.begin());
    if (all.axis_labels) options.axis_labels.assign(all.axis_labels, all.axis_labels + n);
    if (all.grid_spacing) options.grid_spacing.assign(all.grid_spacing, all.grid_spacing + n);
    if (all.grid_offset) options.grid_offset.assign(all.grid_offset, all.grid_offset + n);
    options.grid_unit_si = all.grid_unit_si;
    if (all.geometry) options.geometry = all.geometry;
    if (all.geometry_parameters) options.geometry_parameters = all.geometry_parameters;
    if (all.data_order) options.data_order = all.data_order;
    if (all.position) options.position.assign(all.position, all.position + n);
    if (all.time_offset) options.time_offset = *all.time_offset;
    if (all.partial != 0 && all.partial != 1)
        return invalid("partial is " + std::to_string(all.partial) + "; use 0 or 1");
    if (all.partial == 1) options.coverage = caesura::Coverage::partial;
    if (all.fill)
        options.fill_value = fill_of(all.fill, dtype);
    else
        options.fill_value = all.fill_value;
    if (all.bound_rule_count > 0 && !all.bound_rules) return invalid("bound_rules is NULL");
    for (std::size_t i = 0; i < all.bound_rule_count; ++i)
        if (Status status = add_rule(all.bound_rules[i], axes, options.bound_map); !status.ok())
            return status;
    return options;
}

caesura::RecordOptions record_options_of(const caesura_record_options* given) {
    caesura_record_options all = CAESURA_RECORD_OPTIONS_DEFAULT;
    if (given) std::memcpy(&all, given, std::min(sizeof all, given->struct_bytes));
    caesura::RecordOptions options;
    if (all.codec) options.codec.emplace().name = all.codec;
    options.unit_si = all.unit_si;
    std::copy_n(all.unit_dimension, options.unit_dimension.size(), options.unit_dimension.begin());
    options.time_offset = all.time_offset;
    options.macro_weighted = all.macro_weighted != 0;
    options.weighting_power = all.weighting_power;
    return options;
}

// What define calls of fields and records are told alike.
caesura::Result<caesura::ErrorBound> bound_of(const std::string& who, int dtype, int kind,
                                              double bound) {
    if (kind < CAESURA_LOSSLESS || kind > CAESURA_PSNR)
        return invalid(who + ": bound kind " + std::to_string(kind) + " is unknown");
    if (!known(dtype)) return invalid(who + ": dtype " + std::to_string(dtype) + " is unknown");
    return caesura::ErrorBound{static_cast<caesura::ErrorBound::Kind>(kind),
                               kind == CAESURA_LOSSLESS ? 0.0 : bound};
}

template <class T>
caesura::store::AttributeValue numbers(const void* values, std::size_t count) {
    const auto* const first = static_cast<const T*>(values);
    if (count == CAESURA_ONE) return *first;
    return std::vector<T>(first, first + count);
}

caesura::Result<caesura::store::AttributeValue> attribute_value(int type, const void* values,
                                                                std::size_t count) {
    if (!values && count != 0) return invalid("values is NULL");
    switch (type) {
        case CAESURA_ATTRIBUTE_INT64:
            return numbers<std::int64_t>(values, count);
        case CAESURA_ATTRIBUTE_UINT64:
            return numbers<std::uint64_t>(values, count);
        case CAESURA_ATTRIBUTE_FLOAT64:
            return numbers<double>(values, count);
        case CAESURA_ATTRIBUTE_TEXT:
            break;
        default:
            return invalid("type " + std::to_string(type) + " is unknown");
    }
    const auto* const texts = static_cast<const char* const*>(values);
    std::vector<std::string> all;
    for (std::size_t i = 0; i < (count == CAESURA_ONE ? 1 : count); ++i) {
        if (!texts[i]) return invalid("values[" + std::to_string(i) + "] is NULL");
        all.emplace_back(texts[i]);
    }
    if (count == CAESURA_ONE) return caesura::store::AttributeValue(all.front());
    return caesura::store::AttributeValue(std::move(all));
}

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
    auto writer_options = options_of(options, refused);
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
        const auto described = field_options_of(options, static_cast<caesura::DType>(dtype), axes);
        if (!described.ok())
            return invalid("field '" + std::string(name) + "': " + described.status().message());
        auto defined = writer->writer->define_field(name, static_cast<caesura::DType>(dtype),
                                                    caesura::Shape(std::span(shape, axes)), *limit,
                                                    *described);
        if (!defined.ok()) return defined.status();
        writer->axes.push_back(rank);
        writer->grid_axes.push_back(n_grid_axes(described->geometry, axes));
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
                                          *limit, record_options_of(options));
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
        return writer->writer->define_constant({species}, name, value, record_options_of(options));
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
        auto value = attribute_value(type, values, count);
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
