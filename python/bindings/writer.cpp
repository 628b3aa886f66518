// The writer. Arguments are checked for type here and for sense in the library; the Python class
// caesura.Writer gives them names and defaults.
//
// Invariants:
//  - No order of Python's garbage collection leaves a dangling pointer: an open iteration or mark
//    shares the Writer's ownership until it ends, a dump asks whether the Writer is still there.
//  - A closed Writer is destroyed at once (its file is locked while it lives), though Python may
//    hold the object for long: what may be asked afterwards is kept.
//  - The Writer is destroyed without the GIL: it may wait for threads that want to speak.
#include "caesura/writer.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "attributes.hpp"
#include "bindings.hpp"
#include "writer_report.hpp"

namespace caesura::python {

namespace {

struct Handle {
    std::unique_ptr<Writer> writer;
    ~Handle() {
        nb::gil_scoped_release release;
        writer.reset();
    }
};
using Shared = std::shared_ptr<Handle>;

template <class T>
T take(const nb::dict& options, const char* key, T fallback) {
    return options.contains(key) ? nb::cast<T>(options[key]) : std::move(fallback);
}

CodecSpec to_codec(const nb::dict& options) {
    CodecSpec codec;
    codec.name = take(options, "codec", codec.name);
    codec.cd_values = take(options, "cd_values", codec.cd_values);
    codec.verify = take(options, "verify", codec.verify);
    return codec;
}

ErrorBound to_bound(const std::pair<std::string, double>& bound) {
    if (bound.first == "absolute") return absolute(bound.second);
    if (bound.first == "relative") return relative(bound.second);
    if (bound.first == "pointwise_relative") return pointwise_relative(bound.second);
    if (bound.first == "psnr") return psnr(bound.second);
    return lossless();
}

/// The callback may outlive the frame that has the GIL, so its reference is dropped with the GIL.
std::function<void(std::string_view)> to_callback(nb::object callback) {
    if (callback.is_none()) return {};
    const std::shared_ptr<nb::object> shared(new nb::object(std::move(callback)),
                                             [](nb::object* held) {
                                                 nb::gil_scoped_acquire gil;
                                                 delete held;
                                             });
    return [shared](std::string_view message) {
        nb::gil_scoped_acquire gil;
        try {
            (*shared)(nb::str(message.data(), message.size()));
        } catch (nb::python_error& error) {
            error.discard_as_unraisable("caesura.Writer on_message");
        }
    };
}

// A name that means nothing becomes a number that means nothing: the other ranks are on their way
// into create(), which refuses it on all of them. `refused` says why on this one.
WriterOptions to_options(const nb::dict& from, Status& refused) {
    WriterOptions options;
    options.codec = to_codec(from);
    options.bound = to_bound(take(from, "bound", std::pair<std::string, double>("lossless", 0.0)));
    options.chunk_bytes = take(from, "chunk_bytes", options.chunk_bytes);
    options.memory_bytes = take(from, "memory_bytes", options.memory_bytes);
    options.write_buffer_bytes = take(from, "write_buffer_bytes", options.write_buffer_bytes);
    options.planning = take(from, "planning", options.planning);
    if (from.contains("algorithm")) {
        const auto algorithm = plan::algorithm_named(nb::cast<std::string>(from["algorithm"]));
        if (!algorithm.ok()) refused = algorithm.status();
        options.algorithm = algorithm.ok() ? *algorithm : plan::Algorithm{0xff};
    }
    if (from.contains("reserve")) {
        const auto reserve = reserve_named(nb::cast<std::string>(from["reserve"]));
        if (!reserve.ok()) refused = reserve.status();
        options.reserve = reserve.ok() ? *reserve : Reserve{0xff};
    }
    options.reserve_sigmas = take(from, "reserve_sigmas", options.reserve_sigmas);
    options.slot_space = take(from, "slot_space", options.slot_space);
    if (from.contains("slot_speed_weight") && !from["slot_speed_weight"].is_none())
        options.slot_speed_weight = nb::cast<double>(from["slot_speed_weight"]);
    options.reserve_factor = take(from, "reserve_factor", options.reserve_factor);
    options.stripe_bytes = take(from, "stripe_bytes", options.stripe_bytes);
    options.cooperative = take(from, "cooperative", options.cooperative);
    options.idle_priority = take(from, "idle_priority", options.idle_priority);
    options.balance_writes = take(from, "balance_writes", options.balance_writes);
    options.compress_threads = take(from, "compress_threads", options.compress_threads);
    options.durable = take(from, "durable", options.durable);
    options.max_delay_s = take(from, "max_delay", options.max_delay_s);
    options.calibration_path = take(from, "calibration", options.calibration_path);
    options.trace_path = take(from, "trace", options.trace_path);
    options.layout = take(from, "layout", options.layout);
    options.transport = take(from, "transport", options.transport);
    options.analyses = take(from, "analyses", options.analyses);
    options.dumps_per_file = take(from, "dumps_per_file", options.dumps_per_file);
    options.pending_files = take(from, "pending_files", options.pending_files);
    options.author = take(from, "author", options.author);
    options.software = take(from, "software", options.software);
    if (from.contains("root_attributes"))
        for (store::Attribute& one : to_attributes(nb::cast<nb::dict>(from["root_attributes"])))
            options.root_attributes.insert_or_assign(std::move(one.name), std::move(one.value));
    if (from.contains("on_message"))
        options.on_message = to_callback(nb::object(from["on_message"]));
    return options;
}

/// Rules as caesura.BoundMap.rules() has them: lists of numbers.
BoundMap to_bound_map(const nb::dict& from) {
    using Indices = std::vector<std::uint64_t>;
    BoundMap map;
    for (const auto& rule :
         nb::cast<std::vector<std::tuple<Indices, Indices, double>>>(from["boxes"])) {
        const auto& [offset, extent, bound] = rule;
        if (offset.size() > k_max_rank || extent.size() > k_max_rank)
            raise_if_error({StatusCode::invalid_argument, "bound map: a box of " +
                                                              std::to_string(extent.size()) +
                                                              " axes; 1 to 4 are possible"});
        map.boxes.push_back({{Shape(offset), Shape(extent)}, bound});
    }
    for (const auto& [lowest, highest, bound] :
         nb::cast<std::vector<std::tuple<double, double, double>>>(from["values"]))
        map.values.push_back({lowest, highest, bound});
    for (const auto& [change, bound] :
         nb::cast<std::vector<std::tuple<double, double>>>(from["steep"]))
        map.steep.push_back({change, bound});
    return map;
}

/// Integers stay such: those of 64 bits are more than a double holds.
FillValue to_fill_value(nb::handle value) {
    if (!nb::isinstance<nb::int_>(value)) return nb::cast<double>(value);
    std::int64_t with_sign = 0;
    if (nb::try_cast(value, with_sign)) return with_sign;
    std::uint64_t without = 0;
    if (!nb::try_cast(value, without))
        raise_if_error(
            {StatusCode::invalid_argument, "a fill or missing value is no integer of 64 bits"});
    return without;
}

nb::dlpack::dtype other_type(nb::dlpack::dtype_code code, std::uint8_t bits) {
    return {static_cast<std::uint8_t>(code), bits, 1};
}

/// @param named  "bfloat16": numpy has no such type, the array is of its bits.
DType dtype_of_array(const nb::dlpack::dtype& found, const std::string& named) {
    if (named == "bfloat16" && found == nb::dtype<std::uint16_t>()) return bfloat16;
    using Of = std::pair<nb::dlpack::dtype, DType>;
    static const Of k_all[] = {{nb::dtype<float>(), float32},
                               {nb::dtype<double>(), float64},
                               {nb::dtype<std::int8_t>(), int8},
                               {nb::dtype<std::int16_t>(), int16},
                               {nb::dtype<std::int32_t>(), int32},
                               {nb::dtype<std::int64_t>(), int64},
                               {nb::dtype<std::uint8_t>(), uint8},
                               {nb::dtype<std::uint16_t>(), uint16},
                               {nb::dtype<std::uint32_t>(), uint32},
                               {nb::dtype<std::uint64_t>(), uint64},
                               {nb::dtype<bool>(), boolean},
                               {other_type(nb::dlpack::dtype_code::Float, 16), float16},
                               {other_type(nb::dlpack::dtype_code::Bfloat, 16), bfloat16},
                               {other_type(nb::dlpack::dtype_code::Complex, 64), complex64},
                               {other_type(nb::dlpack::dtype_code::Complex, 128), complex128}};
    for (const auto& [theirs, ours] : k_all)
        if (theirs == found) return ours;
    raise_if_error({StatusCode::invalid_argument,
                    "the array is of none of the types that are stored; convert it first"});
    return float32;
}

/// What fields and records of particles have alike.
template <class Options>
void take_units(const nb::dict& from, Options& options) {
    if (from.contains("codec")) options.codec = to_codec(from);
    options.unit_si = take(from, "unit_si", options.unit_si);
    if (!from.contains("unit_dimension")) return;
    const auto powers = nb::cast<std::vector<double>>(from["unit_dimension"]);
    if (powers.size() != options.unit_dimension.size())
        raise_if_error({StatusCode::invalid_argument,
                        "unit_dimension has " + std::to_string(powers.size()) +
                            " powers; openPMD wants 7 (L, M, T, I, theta, N, J)"});
    std::copy(powers.begin(), powers.end(), options.unit_dimension.begin());
}

RecordOptions to_record_options(const nb::dict& from) {
    RecordOptions options;
    take_units(from, options);
    options.time_offset = take(from, "time_offset", options.time_offset);
    options.macro_weighted = take(from, "macro_weighted", options.macro_weighted);
    options.weighting_power = take(from, "weighting_power", options.weighting_power);
    return options;
}

FieldOptions to_field_options(const nb::dict& from) {
    FieldOptions options;
    take_units(from, options);
    options.axis_labels = take(from, "axis_labels", options.axis_labels);
    options.grid_spacing = take(from, "grid_spacing", options.grid_spacing);
    options.grid_offset = take(from, "grid_offset", options.grid_offset);
    options.grid_unit_si = take(from, "grid_unit_si", options.grid_unit_si);
    options.geometry = take(from, "geometry", options.geometry);
    options.geometry_parameters = take(from, "geometry_parameters", options.geometry_parameters);
    options.data_order = take(from, "data_order", options.data_order);
    options.position = take(from, "position", options.position);
    if (from.contains("time_offset")) options.time_offset = nb::cast<double>(from["time_offset"]);
    if (from.contains("attributes"))
        options.attributes = to_attributes(nb::cast<nb::dict>(from["attributes"]));
    if (from.contains("partial") && nb::cast<bool>(from["partial"]))
        options.coverage = Coverage::partial;
    if (from.contains("fill_value")) options.fill_value = to_fill_value(from["fill_value"]);
    if (from.contains("missing"))
        for (const nb::handle value : nb::cast<nb::list>(from["missing"]))
            options.missing.push_back(to_fill_value(value));
    if (from.contains("bound_map"))
        options.bound_map = to_bound_map(nb::cast<nb::dict>(from["bound_map"]));
    return options;
}

AttributeOwner to_owner(const std::pair<std::string, std::uint32_t>& of) {
    if (of.first == "record") return AttributeOwner::record({of.second});
    if (of.first == "field") return AttributeOwner::field({of.second});
    if (of.first == "species") return AttributeOwner::species({of.second});
    if (of.first == "iteration") return AttributeOwner::iteration();
    return of.first == "meshes" ? AttributeOwner::meshes() : AttributeOwner::file();
}

Status closed() { return {StatusCode::invalid_argument, "the writer is closed"}; }

struct PyBusy {
    Shared shared;
    std::optional<Busy> mark;
    void end() {
        mark.reset();
        shared.reset();
    }
};

struct PyDump {
    std::weak_ptr<Handle> handle;
    Dump dump;

    void put(std::uint32_t field, nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu> array,
             const std::vector<std::uint64_t>& offset, bool borrow, const std::string& named) {
        const DType dtype = dtype_of_array(array.dtype(), named);
        std::vector<std::uint64_t> extent;
        for (std::size_t axis = 0; axis < array.ndim(); ++axis) extent.push_back(array.shape(axis));
        if (extent.size() != offset.size() || extent.size() > k_max_rank)
            raise_if_error({StatusCode::invalid_argument,
                            "the array has " + std::to_string(extent.size()) +
                                " axes and its offset " + std::to_string(offset.size()) +
                                "; they must agree (1 to 4)"});
        const Box box{Shape(offset), Shape(extent)};
        const Shared shared = handle.lock();
        if (!shared) raise_if_error(closed());
        Status status;
        {
            nb::gil_scoped_release release;
            status = dump.put_bytes(Field{field}, box, array.data(), dtype,
                                    borrow ? Ownership::borrow : Ownership::copy);
        }
        raise_if_error(status);
    }
    void declare_missing(std::uint32_t field, nb::handle value) {
        const Shared shared = handle.lock();
        if (!shared) raise_if_error(closed());
        raise_if_error(dump.declare_missing(Field{field}, to_fill_value(value)));
    }
    /// Values at an address of a device.
    void put_address(std::uint32_t field, std::uint64_t address,
                     const std::vector<std::uint64_t>& shape,
                     const std::vector<std::uint64_t>& offset, const std::string& dtype) {
        const DType type = by_name("dtype", dtype, k_dtypes);
        const Box box{to_shape(offset), to_shape(shape)};
        const Shared shared = handle.lock();
        if (!shared) raise_if_error(closed());
        Status status;
        {
            nb::gil_scoped_release release;
            status = dump.put_bytes(Field{field}, box, reinterpret_cast<const void*>(address), type,
                                    Ownership::copy);
        }
        raise_if_error(status);
    }
    void put_particles(std::uint32_t record,
                       nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu> array, bool borrow,
                       const std::string& named) {
        const DType dtype = dtype_of_array(array.dtype(), named);
        if (array.ndim() != 1)
            raise_if_error(
                {StatusCode::invalid_argument, "the array has " + std::to_string(array.ndim()) +
                                                   " axes; what particles have in a record has 1"});
        const Shared shared = handle.lock();
        if (!shared) raise_if_error(closed());
        Status status;
        {
            nb::gil_scoped_release release;
            status = dump.put_particle_bytes(Field{record}, array.shape(0), array.data(), dtype,
                                             borrow ? Ownership::borrow : Ownership::copy);
        }
        raise_if_error(status);
    }
    void set_attribute(const std::pair<std::string, std::uint32_t>& of, const std::string& name,
                       const std::string& type, nb::handle value) {
        const Shared shared = handle.lock();
        if (!shared) raise_if_error(closed());
        raise_if_error(dump.set_attribute(to_owner(of), name, to_attribute_value(type, value)));
    }
};

struct PyIteration {
    Shared shared;
    std::optional<Iteration> iteration;

    Iteration& live() {
        if (!iteration)
            raise_if_error({StatusCode::invalid_argument, "this iteration has ended already"});
        return *iteration;
    }
    PyBusy busy(int lane) {
        PyBusy busy{shared, std::nullopt};
        busy.mark.emplace(live().busy(lane == 0 ? Lane::compress : Lane::write));
        return busy;
    }
    double compress_for(double seconds) {
        Iteration& target = live();
        nb::gil_scoped_release release;
        return target.compress_for(seconds);
    }
    bool wait_until(const nb::callable& done, double at_most_s) {
        Iteration& target = live();
        std::exception_ptr raised;  // by done(): ends the wait and goes on to the caller
        bool is_done = false;
        {
            nb::gil_scoped_release release;
            is_done = target.wait_until(
                [&] {
                    nb::gil_scoped_acquire gil;
                    try {
                        return nb::cast<bool>(nb::bool_(done()));
                    } catch (...) {
                        raised = std::current_exception();
                        return true;
                    }
                },
                at_most_s);
        }
        if (raised) std::rethrow_exception(raised);
        return is_done;
    }
    PyDump begin_dump(double time, double dt, double time_unit_si) {
        return {shared, live().begin_dump(time, dt, time_unit_si)};
    }
    void end() {
        Status status;
        {
            Iteration& target = live();
            nb::gil_scoped_release release;
            status = target.end();
        }
        iteration.reset();
        shared.reset();
        raise_if_error(status);
    }
};

nb::dict to_python(const WriterReport& report) {
    nb::dict out;
    for_each_member(report, [&](const char* name, auto value) { out[name] = value; });
    return out;
}

struct PyWriter {
    Shared shared = std::make_shared<Handle>();
    // Answers of a Writer that is closed.
    Status close_status;
    WriterReport last_report;
    std::optional<std::uint64_t> last_committed;

    PyWriter(const std::string& path, nb::object comm, const nb::dict& options) {
        auto communicator = make_communicator(std::move(comm));
        Status refused;
        WriterOptions plain = to_options(options, refused);
        std::optional<OpenOptions> where;  // unset: a new file
        if (options.contains("open"))
            where = OpenOptions{nb::cast<std::optional<std::uint64_t>>(options["open"])};
        Result<std::unique_ptr<Writer>> result = Status();
        {
            nb::gil_scoped_release release;
            result = where ? Writer::open(path, std::move(communicator), std::move(plain), *where)
                           : Writer::create(path, std::move(communicator), std::move(plain));
        }
        raise_if_error(refused);
        shared->writer = value_or_raise(std::move(result));
    }
    Writer& live() {
        if (!shared) raise_if_error(closed());
        return *shared->writer;
    }
    std::uint32_t define_field(const std::string& name, const std::string& dtype,
                               const std::vector<std::uint64_t>& shape,
                               const std::pair<std::string, double>& bound,
                               const nb::dict& options) {
        if (shape.empty() || shape.size() > k_max_rank)
            raise_if_error({StatusCode::invalid_argument, "field '" + name + "' has " +
                                                              std::to_string(shape.size()) +
                                                              " axes; 1 to 4 are possible"});
        const DType type = by_name("dtype", dtype, k_dtypes);
        const FieldOptions plain = to_field_options(options);
        Result<Field> field = Status();
        Writer& writer = live();
        {
            nb::gil_scoped_release release;
            field = writer.define_field(name, type, Shape(shape), to_bound(bound), plain);
        }
        return value_or_raise(std::move(field)).index;
    }
    void reshape(std::uint32_t field, const std::vector<std::uint64_t>& shape,
                 const std::vector<double>& grid_offset) {
        if (shape.empty() || shape.size() > k_max_rank)
            raise_if_error({StatusCode::invalid_argument,
                            "a shape of " + std::to_string(shape.size()) + " axes"});
        raise_if_error(live().reshape({field}, Shape(shape), grid_offset));
    }
    std::uint32_t define_species(const std::string& name, bool any_order, bool keep_index) {
        SpeciesOptions options;
        if (any_order) options.order = Order::any;
        options.keep_index = keep_index;
        return value_or_raise(live().define_species(name, options)).index;
    }
    std::uint32_t define_record(std::uint32_t species, const std::string& name,
                                const std::string& dtype,
                                const std::pair<std::string, double>& bound,
                                const nb::dict& options) {
        const DType type = by_name("dtype", dtype, k_dtypes);
        return value_or_raise(live().define_record({species}, name, type, to_bound(bound),
                                                   to_record_options(options)))
            .index;
    }
    void define_constant(std::uint32_t species, const std::string& name, double value,
                         const nb::dict& options) {
        raise_if_error(live().define_constant({species}, name, value, to_record_options(options)));
    }
    void set_attribute(const std::pair<std::string, std::uint32_t>& of, const std::string& name,
                       const std::string& type, nb::handle value) {
        raise_if_error(live().set_attribute(to_owner(of), name, to_attribute_value(type, value)));
    }
    PyIteration begin_iteration(std::uint64_t number, const std::string& label) {
        PyIteration iteration{shared, std::nullopt};
        iteration.iteration.emplace(live().begin_iteration(number, label));
        return iteration;
    }
    std::optional<std::uint64_t> committed() const {
        return shared ? shared->writer->committed() : last_committed;
    }
    bool released(std::uint64_t number) const {
        return shared ? shared->writer->released(number) : true;
    }
    nb::dict report() const { return to_python(shared ? shared->writer->report() : last_report); }
    void finish_by(double seconds) {
        Status status;
        Writer& writer = live();
        {
            nb::gil_scoped_release release;
            status = writer.finish_by(seconds);
        }
        raise_if_error(status);
    }
    void close() {
        if (shared) {
            nb::gil_scoped_release release;
            close_status = shared->writer->close();
            last_report = shared->writer->report();
            last_committed = shared->writer->committed();
        }
        shared.reset();
        raise_if_error(close_status);
    }
};

}  // namespace

void bind_writer(nb::module_& module) {
    nb::list members;
    for_each_member(WriterReport{}, [&](const char* name, auto value) {
        members.append(
            nb::make_tuple(name, std::is_same_v<decltype(value), double> ? "float" : "int"));
    });
    module.attr("WRITER_REPORT") = nb::tuple(members);
    nb::class_<PyBusy>(module, "Busy").def("end", &PyBusy::end);
    nb::class_<PyDump>(module, "Dump")
        .def("put", &PyDump::put, nb::arg("field"), nb::arg("array"), nb::arg("offset"),
             nb::arg("borrow"), nb::arg("named") = "")
        .def("declare_missing", &PyDump::declare_missing, nb::arg("field"), nb::arg("value"))
        .def("put_address", &PyDump::put_address, nb::arg("field"), nb::arg("address"),
             nb::arg("shape"), nb::arg("offset"), nb::arg("dtype"))
        .def("put_particles", &PyDump::put_particles, nb::arg("record"), nb::arg("array"),
             nb::arg("borrow"), nb::arg("named") = "")
        .def("set_attribute", &PyDump::set_attribute, nb::arg("of"), nb::arg("name"),
             nb::arg("type"), nb::arg("value"));
    nb::class_<PyIteration>(module, "Iteration")
        .def("busy", &PyIteration::busy, nb::arg("lane"))
        .def("compress_for", &PyIteration::compress_for, nb::arg("seconds"))
        .def("wait_until", &PyIteration::wait_until, nb::arg("done"), nb::arg("at_most_s"))
        .def("begin_dump", &PyIteration::begin_dump, nb::arg("time"), nb::arg("dt"),
             nb::arg("time_unit_si"))
        .def("end", &PyIteration::end);
    nb::class_<PyWriter>(module, "Writer")
        .def(nb::init<const std::string&, nb::object, const nb::dict&>(), nb::arg("path"),
             nb::arg("comm").none(), nb::arg("options"))
        .def("define_field", &PyWriter::define_field, nb::arg("name"), nb::arg("dtype"),
             nb::arg("shape"), nb::arg("bound"), nb::arg("options"))
        .def("reshape", &PyWriter::reshape, nb::arg("field"), nb::arg("shape"),
             nb::arg("grid_offset"))
        .def("define_species", &PyWriter::define_species, nb::arg("name"), nb::arg("any_order"),
             nb::arg("keep_index"))
        .def("define_record", &PyWriter::define_record, nb::arg("species"), nb::arg("name"),
             nb::arg("dtype"), nb::arg("bound"), nb::arg("options"))
        .def("define_constant", &PyWriter::define_constant, nb::arg("species"), nb::arg("name"),
             nb::arg("value"), nb::arg("options"))
        .def("set_attribute", &PyWriter::set_attribute, nb::arg("of"), nb::arg("name"),
             nb::arg("type"), nb::arg("value"))
        .def("begin_iteration", &PyWriter::begin_iteration, nb::arg("number"), nb::arg("label"))
        .def("committed", &PyWriter::committed)
        .def("released", &PyWriter::released, nb::arg("iteration"))
        .def("report", &PyWriter::report)
        .def("finish_by", &PyWriter::finish_by, nb::arg("seconds"))
        .def("close", &PyWriter::close);
}

}  // namespace caesura::python
