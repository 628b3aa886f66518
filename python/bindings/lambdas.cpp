// Functions on data: analyses, their states, and chains of transforms.
#include <nanobind/stl/tuple.h>

#include "arrays.hpp"
#include "lambda/chain.hpp"
#include "lambda/file_codec.hpp"
#include "lambda/registry.hpp"
#include "results.hpp"

namespace caesura::python {
namespace {

using lambda::AnalysisState;
using lambda::RegionView;
using lambda::Registry;

/// The built-in functions.
const Registry& registry() {
    static const Registry all;
    return all;
}

/// What identifies a region, as the package hands it over.
struct Place {
    std::string object;
    std::uint64_t id = 0;
    DType dtype = float32;
    Shape shape;
    Box box;
    double time = 0.0;
};

using PlaceTuple = std::tuple<std::string, std::uint64_t, std::string, std::vector<std::uint64_t>,
                              std::vector<std::uint64_t>, std::vector<std::uint64_t>, double>;

Place place_of(const PlaceTuple& given) {
    const auto& [object, id, dtype, shape, offset, extent, time] = given;
    return {object,
            id,
            by_name("dtype", dtype, k_dtypes),
            to_shape(shape),
            {to_shape(offset), to_shape(extent)},
            time};
}

RegionView view_of(const Place& place, std::span<const std::byte> values) {
    RegionView region;
    region.object = place.object;
    region.id = place.id;
    region.dtype = place.dtype;
    region.shape = place.shape;
    region.box = place.box;
    region.time = place.time;
    region.values = values;
    return region;
}

nb::bytes as_bytes_object(const std::vector<std::byte>& bytes) {
    return nb::bytes(bytes.data(), bytes.size());
}

nb::dict run(const std::string& call, const PlaceTuple& given, const Input& values) {
    const Place place = place_of(given);
    Result<lambda::Results> results = Status();
    {
        nb::gil_scoped_release release;
        results = registry().run(call, view_of(place, bytes_of(values)));
    }
    return to_python_results(value_or_raise(std::move(results)));
}

lambda::Operator operator_with(const std::string& key_path) {
    if (key_path.empty()) return {};
    return {value_or_raise(lambda::Key::read(key_path))};
}

nb::bytes apply(const std::string& text, const PlaceTuple& given, const Input& values,
                const std::string& key_path) {
    const Place place = place_of(given);
    const auto chain =
        value_or_raise(lambda::Chain::make(registry(), text, operator_with(key_path)));
    Result<std::vector<std::byte>> made = Status();
    {
        nb::gil_scoped_release release;
        made = chain.apply(view_of(place, bytes_of(values)));
    }
    return as_bytes_object(value_or_raise(std::move(made)));
}

nb::bytes restore(const nb::bytes& bytes, const PlaceTuple& given, const std::string& key_path) {
    const Place place = place_of(given);
    const lambda::Operator by = operator_with(key_path);
    const auto from = bytes_of(bytes);
    Result<std::vector<std::byte>> values = Status();
    {
        nb::gil_scoped_release release;
        values = lambda::restore(registry(), from, view_of(place, {}), by);
    }
    return as_bytes_object(value_or_raise(std::move(values)));
}

void add(AnalysisState& state, const PlaceTuple& given, const Input& values) {
    const Place place = place_of(given);
    Status status;
    {
        nb::gil_scoped_release release;
        status = state.add(view_of(place, bytes_of(values)));
    }
    raise_if_error(status);
}

nb::list functions() {
    nb::list out;
    for (const lambda::Function* function : registry().functions()) {
        nb::list parameters, variants;
        for (const lambda::Parameter& parameter : function->parameters)
            parameters.append(nb::make_tuple(parameter.name, std::string(to_string(parameter.type)),
                                             parameter.help));
        for (const lambda::Variant& variant : function->variants)
            variants.append(nb::make_tuple(variant.name, std::string(to_string(variant.device))));
        nb::dict one;
        one["name"] = function->name;
        one["kind"] = std::string(to_string(function->kind));
        one["help"] = function->help;
        one["parameters"] = parameters;
        one["variants"] = variants;
        out.append(one);
    }
    return out;
}

}  // namespace

void bind_lambdas(nb::module_& module) {
    module.def("lambda_functions", &functions);
    module.def("lambda_help", [] { return registry().help(); });
    module.def("file_codec", [](const std::string& chain) {
        const auto found = value_or_raise(lambda::file_codec(registry(), chain));
        return nb::make_tuple(found.codec.name, found.codec.cd_values,
                              name_of(found.bound.kind, k_kinds), found.bound.value);
    });
    module.def("lambda_run", &run, nb::arg("call"), nb::arg("place"), nb::arg("values"));
    module.def("lambda_apply", &apply, nb::arg("chain"), nb::arg("place"), nb::arg("values"),
               nb::arg("key_path"));
    module.def("lambda_restore", &restore, nb::arg("data"), nb::arg("place"), nb::arg("key_path"));
    nb::class_<AnalysisState>(module, "AnalysisState")
        .def_static("start",
                    [](const std::string& call) { return value_or_raise(registry().start(call)); })
        .def_static("from_bytes",
                    [](const nb::bytes& data) {
                        return value_or_raise(registry().parse_state(bytes_of(data)));
                    })
        .def("add", &add, nb::arg("place"), nb::arg("values"))
        .def("merge", [](AnalysisState& state,
                         const AnalysisState& other) { raise_if_error(state.merge(other)); })
        .def("finish",
             [](const AnalysisState& state) {
                 return to_python_results(value_or_raise(state.finish()));
             })
        .def("next_pass", [](AnalysisState& state) { raise_if_error(state.next_pass()); })
        .def_prop_ro("passes_left", &AnalysisState::passes_left)
        .def_prop_ro("call", &AnalysisState::call)
        .def("bytes", [](const AnalysisState& state) { return as_bytes_object(state.bytes()); });
}

}  // namespace caesura::python
