#include "capi/options.hpp"

#include <algorithm>
#include <cstring>

#include "base/short_float.hpp"
#include "capi/errors.hpp"

namespace caesura::capi {
namespace {

// @param axes  how many entries of a box count.
Status add_rule(const caesura_bound_rule& rule, std::size_t axes, BoundMap& map) {
    const auto shape = [&](const uint64_t* extents) { return Shape(std::span(extents, axes)); };
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
FillValue fill_as(const void* value) {
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
FillValue short_fill(const void* value) {
    Short one;
    std::memcpy(&one, value, sizeof one);
    return static_cast<double>(base::to_float(one));
}

FillValue fill_of(const void* value, DType dtype) {
    switch (dtype) {
        case float32:
            return fill_as<float>(value);
        case float64:
            return fill_as<double>(value);
        case int8:
            return fill_as<std::int8_t>(value);
        case int16:
            return fill_as<std::int16_t>(value);
        case int32:
            return fill_as<std::int32_t>(value);
        case int64:
            return fill_as<std::int64_t>(value);
        case uint8:
            return fill_as<std::uint8_t>(value);
        case uint16:
            return fill_as<std::uint16_t>(value);
        case uint32:
            return fill_as<std::uint32_t>(value);
        case uint64:
            return fill_as<std::uint64_t>(value);
        case boolean:
            return fill_as<std::uint8_t>(value);  // fill_of() of the field sees what is no bool
        case float16:
            return short_fill<Float16>(value);
        case bfloat16:
            return short_fill<Bfloat16>(value);
        case complex64:  // one number, of both parts
            return fill_as<float>(value);
        case complex128:
            return fill_as<double>(value);
    }
    return 0.0;
}

template <class T>
store::AttributeValue numbers(const void* values, std::size_t count) {
    const auto* const first = static_cast<const T*>(values);
    if (count == CAESURA_ONE) return *first;
    return std::vector<T>(first, first + count);
}

}  // namespace

WriterOptions options_of(const caesura_options* given, Status& refused) {
    caesura_options all = CAESURA_OPTIONS_DEFAULT;
    if (given) std::memcpy(&all, given, std::min(sizeof all, given->struct_bytes));
    WriterOptions options;
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
        const auto algorithm = plan::algorithm_named(all.algorithm);
        if (!algorithm.ok()) refused = algorithm.status();
        options.algorithm = algorithm.ok() ? *algorithm : plan::Algorithm{0xff};
    }
    if (all.reserve) {
        const auto reserve = reserve_named(all.reserve);
        if (!reserve.ok()) refused = reserve.status();
        options.reserve = reserve.ok() ? *reserve : Reserve{0xff};
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

std::size_t n_grid_axes(std::string_view geometry, std::size_t axes) {
    return geometry == "thetaMode" && axes == 3 ? 2 : axes;
}

Result<FieldOptions> field_options_of(const caesura_field_options* given, DType dtype,
                                      std::size_t axes) {
    caesura_field_options all = CAESURA_FIELD_OPTIONS_DEFAULT;
    if (given) std::memcpy(&all, given, std::min(sizeof all, given->struct_bytes));
    const std::size_t n = n_grid_axes(all.geometry ? all.geometry : "", axes);
    for (std::size_t axis = 0; all.axis_labels && axis < n; ++axis)
        if (!all.axis_labels[axis])
            return invalid("axis_labels[" + std::to_string(axis) + "] is NULL");
    FieldOptions options;
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
    if (all.partial == 1) options.coverage = Coverage::partial;
    if (all.fill)
        options.fill_value = fill_of(all.fill, dtype);
    else
        options.fill_value = all.fill_value;
    if (all.missing_count > 0 && !all.missing) return invalid("missing is NULL");
    options.missing.assign(all.missing, all.missing + all.missing_count);
    if (all.bound_rule_count > 0 && !all.bound_rules) return invalid("bound_rules is NULL");
    for (std::size_t i = 0; i < all.bound_rule_count; ++i)
        if (Status status = add_rule(all.bound_rules[i], axes, options.bound_map); !status.ok())
            return status;
    return options;
}

RecordOptions record_options_of(const caesura_record_options* given) {
    caesura_record_options all = CAESURA_RECORD_OPTIONS_DEFAULT;
    if (given) std::memcpy(&all, given, std::min(sizeof all, given->struct_bytes));
    RecordOptions options;
    if (all.codec) options.codec.emplace().name = all.codec;
    options.unit_si = all.unit_si;
    std::copy_n(all.unit_dimension, options.unit_dimension.size(), options.unit_dimension.begin());
    options.time_offset = all.time_offset;
    options.macro_weighted = all.macro_weighted != 0;
    options.weighting_power = all.weighting_power;
    return options;
}

Result<ErrorBound> bound_of(const std::string& who, int dtype, int kind, double bound) {
    if (kind < CAESURA_LOSSLESS || kind > CAESURA_PSNR)
        return invalid(who + ": bound kind " + std::to_string(kind) + " is unknown");
    if (!known(dtype)) return invalid(who + ": dtype " + std::to_string(dtype) + " is unknown");
    return ErrorBound{static_cast<ErrorBound::Kind>(kind), kind == CAESURA_LOSSLESS ? 0.0 : bound};
}

Result<store::AttributeValue> attribute_value(int type, const void* values, std::size_t count) {
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
    if (count == CAESURA_ONE) return store::AttributeValue(all.front());
    return store::AttributeValue(std::move(all));
}

}  // namespace caesura::capi
