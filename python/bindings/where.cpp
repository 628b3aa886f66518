// Which device a request would go to: the service's own choice, taught by runs of a trace.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "where/placer.hpp"

namespace caesura::python {
namespace {

/// name, requests at once
using DeviceTuple = std::tuple<std::string, int>;
/// device, variant, field, bytes, result bytes, utilisation, to, compute and from in s
using RunTuple = std::tuple<std::size_t, std::string, std::string, double, double, double, double,
                            double, double>;
/// variant, field, bytes, where the data are and where they go (a device, -1: the host)
using RequestTuple = std::tuple<std::string, std::string, double, int, int>;
/// can take it, utilisation, waiting, these in s
using PresentTuple = std::tuple<bool, double, std::size_t, double>;
/// latency, queue, to, compute, from in s; result bytes; what is known: 0 nothing, 2 like sizes
using OptionTuple = std::tuple<double, double, double, double, double, double, int>;
/// device (-1: none), is it a trial, of each device
using ChoiceTuple = std::tuple<int, bool, std::vector<OptionTuple>>;

std::size_t place_of(int number) {
    return number < 0 ? where::k_host : static_cast<std::size_t>(number);
}

std::vector<ChoiceTuple> where_choices(const std::vector<DeviceTuple>& devices,
                                       const std::vector<RunTuple>& runs,
                                       const std::vector<RequestTuple>& requests,
                                       const std::vector<PresentTuple>& present) {
    const auto wrong = [](const char* what) {
        raise_if_error({StatusCode::invalid_argument, what});
    };
    if (devices.empty()) wrong("no devices");
    if (present.size() != devices.size()) wrong("say of each device how it is");
    where::Placer placer;
    for (const auto& [name, at_once] : devices) placer.add(name, at_once);
    for (const auto& [device, variant, field, bytes, result, busy, to, compute, from] : runs) {
        if (device >= devices.size()) wrong("a run on a device that is not there");
        placer.teach(device, {variant, field, bytes}, {bytes, result, busy, to, compute, from});
    }
    std::vector<where::Present> now;
    for (const auto& [takes, busy, waiting, waiting_s] : present)
        now.push_back({takes, busy, waiting, waiting_s, -1.0});
    std::vector<ChoiceTuple> choices;
    for (const auto& [variant, field, bytes, from, to] : requests) {
        if (from >= static_cast<int>(devices.size()) || to >= static_cast<int>(devices.size()))
            wrong("data on a device that is not there");
        where::Placer once = placer;  // a choice is remembered, and these are alternatives
        const auto decision =
            once.choose({variant, field, bytes, place_of(from), place_of(to)}, now, 0.0);
        ChoiceTuple& choice = choices.emplace_back(-1, false, std::vector<OptionTuple>());
        if (!decision) continue;
        std::get<0>(choice) = static_cast<int>(decision->device);
        std::get<1>(choice) = decision->where.is_trial;
        for (const where::Option& one : decision->options) {
            const where::Expected& expected = one.expected;
            std::get<2>(choice).emplace_back(
                one.latency_s, one.queue_s, expected.to_s, expected.compute_s, expected.from_s,
                expected.result_bytes, static_cast<int>(expected.known));
        }
    }
    return choices;
}

}  // namespace

void bind_where(nb::module_& module) {
    module.def("where_choices", &where_choices, nb::arg("devices"), nb::arg("runs"),
               nb::arg("requests"), nb::arg("present"));
}

}  // namespace caesura::python
