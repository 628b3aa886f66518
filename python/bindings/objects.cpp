// Objects of a service: see transit/client/objects.hpp.
#include "transit/client/objects.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include "arrays.hpp"
#include "results.hpp"

namespace caesura::python {
namespace {

using transit::Objects;
using transit::Ticket;
using Extents = std::vector<std::uint64_t>;
using RangePair = std::optional<std::pair<double, double>>;

std::optional<transit::Range> to_range(const RangePair& pair) {
    if (!pair) return std::nullopt;
    return transit::Range{pair->first, pair->second};
}

nb::object range_to_python(const std::optional<transit::Range>& range) {
    if (!range) return nb::none();
    return nb::make_tuple(range->lowest, range->highest);
}

nb::tuple shape_to_python(const Shape& shape) {
    nb::list extents;
    for (int axis = 0; axis < shape.rank(); ++axis) extents.append(shape[axis]);
    return nb::tuple(extents);
}

nb::dict object_to_python(const transit::ObjectInfo& info) {
    static const char* const k_origins[] = {"put", "dumped", "filed"};
    static const char* const k_sides[] = {"client", "service"};
    static const char* const k_places[] = {"memory", "sink", "file", "passing", "member", "device"};
    nb::dict out, tags, results;
    for (const auto& [name, text] : info.tags) tags[name.c_str()] = text;
    for (const transit::ResultInfo& one : info.results) {
        const auto found = lambda::Results::parse(one.results);
        if (found.ok()) results[one.call.c_str()] = to_python_results(*found);
    }
    nb::list regions;
    for (const transit::RegionInfo& region : info.regions)
        regions.append(nb::make_tuple(shape_to_python(region.box.offset),
                                      shape_to_python(region.box.extent),
                                      k_places[static_cast<std::size_t>(region.place)],
                                      range_to_python(region.range), region.stored_bytes));
    out["id"] = info.id;
    out["origin"] = k_origins[static_cast<std::size_t>(info.origin)];
    out["container"] = info.container;
    out["name"] = info.name;
    out["dtype"] = name_of(info.dtype, k_dtypes);
    out["shape"] = shape_to_python(info.shape);
    out["time"] = info.time;
    out["chain"] = info.chain.text;
    out["chain_at"] = k_sides[static_cast<std::size_t>(info.chain.side)];
    out["owner"] = info.owner;
    out["tags"] = tags;
    out["values"] = info.values;
    out["stored_bytes"] = info.stored_bytes;
    out["range"] = range_to_python(info.range);
    out["results"] = results;
    out["regions"] = regions;
    return out;
}

std::unique_ptr<Objects> connect_objects(const std::string& service, const std::string& application,
                                         const std::string& key, bool encrypted_only) {
    Result<std::unique_ptr<Objects>> made = Status();
    {
        nb::gil_scoped_release release;
        made = Objects::connect(service, application, {key, encrypted_only});
    }
    return value_or_raise(std::move(made));
}

std::uint64_t create_object(Objects& objects, const std::string& container, const std::string& name,
                            const std::string& dtype, const Extents& shape, double time,
                            const Bound& bound, bool keep,
                            const std::vector<std::pair<std::string, std::string>>& tags,
                            const std::string& chain, bool at_service) {
    const Objects::NewObject wanted{
        container,
        name,
        by_name("dtype", dtype, k_dtypes),
        to_shape(shape),
        time,
        to_bound(bound),
        keep,
        false,
        tags,
        {chain, at_service ? transit::ChainSide::service : transit::ChainSide::client}};
    Result<std::uint64_t> id = Status();
    {
        nb::gil_scoped_release release;
        id = objects.create(wanted);
    }
    return value_or_raise(std::move(id));
}

Box to_box(const Extents& offset, const Extents& extent) {
    return {to_shape(offset), to_shape(extent)};
}

/// An array of another length than the box says would be read or written beyond its end.
void check_box_bytes(const Box& box, DType dtype, std::size_t bytes) {
    std::uint64_t wanted = size_of(dtype);
    for (int axis = 0; axis < box.extent.rank(); ++axis)
        wanted = box.extent[axis] > bytes ? 0 : wanted * box.extent[axis];
    if (wanted != bytes || bytes == 0)
        raise_if_error({StatusCode::invalid_argument,
                        std::to_string(bytes) + " bytes for a box at " + to_string(box)});
}

Ticket put_region(Objects& objects, std::uint64_t id, const Extents& offset, const Extents& extent,
                  const std::string& dtype, const Input& values) {
    const Box box = to_box(offset, extent);
    const DType type = by_name("dtype", dtype, k_dtypes);
    check_box_bytes(box, type, values.size());
    nb::gil_scoped_release release;
    return objects.put_bytes(id, box, values.data(), type);
}

Ticket get_region(Objects& objects, std::uint64_t id, const Extents& offset, const Extents& extent,
                  const std::string& dtype, const Output& values) {
    const Box box = to_box(offset, extent);
    const DType type = by_name("dtype", dtype, k_dtypes);
    check_box_bytes(box, type, values.size());
    nb::gil_scoped_release release;
    return objects.get_bytes(id, box, values.data(), type);
}

Ticket persist_objects(Objects& objects, const std::string& path, const std::string& container,
                       const std::vector<std::uint64_t>& ids, const std::string& codec,
                       const std::optional<Bound>& bound) {
    Objects::Persist what;
    what.path = path;
    what.container = container;
    what.objects = ids;
    what.codec.name = codec;
    if (bound) what.bound = to_bound(*bound);
    nb::gil_scoped_release release;
    return objects.persist(what);
}

void wait_for(const Ticket& ticket) {
    Status status;
    {
        nb::gil_scoped_release release;
        status = ticket.wait();
    }
    raise_if_error(status);
}

nb::dict run_on_object(Objects& objects, std::uint64_t id, const std::string& call,
                       const std::optional<std::pair<Extents, Extents>>& where) {
    std::optional<Box> box;
    if (where) box = to_box(where->first, where->second);
    Result<lambda::Results> results = Status();
    {
        nb::gil_scoped_release release;
        results = objects.run(id, call, box).wait();
    }
    return to_python_results(value_or_raise(std::move(results)));
}

nb::tuple find_objects(Objects& objects, const std::string& container, const std::string& name,
                       const std::vector<std::pair<std::string, std::string>>& tags,
                       const RangePair& times, const RangePair& values, bool regions) {
    const Objects::Query query{container, name, tags, to_range(times), to_range(values), regions};
    Result<Objects::Found> found = Status();
    {
        nb::gil_scoped_release release;
        found = objects.find(query);
    }
    const Objects::Found all = value_or_raise(std::move(found));
    nb::list list;
    for (const transit::ObjectInfo& info : all.objects) list.append(object_to_python(info));
    return nb::make_tuple(list, all.regions_kept, all.regions_skipped);
}

}  // namespace

void bind_objects(nb::module_& module) {
    nb::class_<Ticket>(module, "Ticket").def("wait", &wait_for).def("is_done", &Ticket::is_done);
    nb::class_<Objects>(module, "Objects")
        .def_static("connect", &connect_objects, nb::arg("service"), nb::arg("application"),
                    nb::arg("key"), nb::arg("encrypted_only"))
        .def("create", &create_object)
        .def("put", &put_region)
        .def("get", &get_region)
        .def("run", &run_on_object, nb::arg("id"), nb::arg("call"), nb::arg("box").none())
        .def("find", &find_objects, nb::arg("container"), nb::arg("name"), nb::arg("tags"),
             nb::arg("times").none(), nb::arg("values").none(), nb::arg("regions"))
        .def("persist", &persist_objects, nb::arg("path"), nb::arg("container"), nb::arg("ids"),
             nb::arg("codec"), nb::arg("bound").none())
        .def("remove",
             [](Objects& objects, std::uint64_t id) {
                 Status status;
                 {
                     nb::gil_scoped_release release;
                     status = objects.remove(id);
                 }
                 raise_if_error(status);
             })
        .def("functions", [](Objects& objects) {
            Result<std::string> text = Status();
            {
                nb::gil_scoped_release release;
                text = objects.functions();
            }
            return value_or_raise(std::move(text));
        });
}

}  // namespace caesura::python
