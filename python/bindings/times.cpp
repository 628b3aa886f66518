// Durations: fits of what was measured, profiles, the models that start from them, and the class of
// this machine; what caesura/times.py makes objects of.
//
// Invariants:
//  - Curves travel as they lie in a profile's JSON: one reader and one writer, both in C++.
#include "predict/times.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "arrays.hpp"
#include "base/host.hpp"
#include "bindings.hpp"

namespace caesura::python {

namespace {

using predict::CompressCurve;
using predict::CompressSample;
using predict::Profile;
using predict::WriteCurve;
using predict::WriteSample;

std::vector<CompressSample> to_compressions(
    const std::vector<std::tuple<std::uint64_t, double, double>>& samples) {
    std::vector<CompressSample> out;
    for (const auto& [raw_bytes, bits, s] : samples) out.push_back({raw_bytes, bits, s});
    return out;
}

std::vector<WriteSample> to_writes(const std::vector<std::tuple<std::uint64_t, double>>& samples) {
    std::vector<WriteSample> out;
    for (const auto& [bytes, s] : samples) out.push_back({bytes, s});
    return out;
}

CompressCurve fit_compress(const std::vector<std::tuple<std::uint64_t, double, double>>& samples,
                           const std::string& form) {
    const auto found = to_compressions(samples);
    if (form == "best") return value_or_raise(predict::fit_compress(found));
    if (form != "power" && form != "points")
        raise_if_error(
            {StatusCode::invalid_argument, "form is '" + form + "'; use best, power or points"});
    return value_or_raise(predict::fit_compress(
        found, form == "power" ? CompressCurve::Form::power : CompressCurve::Form::points));
}

void bind_curves(nb::module_& module) {
    nb::class_<CompressCurve>(module, "CompressCurve",
                              "Seconds of a compression over the bits per value that come of it.")
        .def("predict_s", &CompressCurve::predict_s, nb::arg("raw_bytes"),
             nb::arg("bits_per_value"))
        .def_prop_ro("form",
                     [](const CompressCurve& curve) {
                         return curve.form == CompressCurve::Form::power ? "power" : "points";
                     })
        .def_ro("low_bytes_per_s", &CompressCurve::low_bytes_per_s)
        .def_ro("high_bytes_per_s", &CompressCurve::high_bytes_per_s)
        .def_ro("exponent", &CompressCurve::exponent)
        .def_ro("bits", &CompressCurve::bits)
        .def_ro("s_per_byte", &CompressCurve::s_per_byte)
        .def_ro("per_block_s", &CompressCurve::per_block_s)
        .def("median_error",
             [](const CompressCurve& curve,
                const std::vector<std::tuple<std::uint64_t, double, double>>& samples) {
                 return predict::median_error(curve, to_compressions(samples));
             });
    nb::class_<WriteCurve>(module, "WriteCurve", "Seconds of one write over its bytes.")
        .def("predict_s", &WriteCurve::predict_s, nb::arg("bytes"))
        .def_ro("latency_s", &WriteCurve::latency_s)
        .def_ro("bytes", &WriteCurve::bytes)
        .def_ro("s_per_byte", &WriteCurve::s_per_byte)
        .def("median_error",
             [](const WriteCurve& curve,
                const std::vector<std::tuple<std::uint64_t, double>>& samples) {
                 return predict::median_error(curve, to_writes(samples));
             })
        .def(
            "ordered_share",
            [](const WriteCurve& curve,
               const std::vector<std::tuple<std::uint64_t, double>>& samples,
               double tie) { return predict::ordered_share(curve, to_writes(samples), tie); },
            nb::arg("samples"), nb::arg("tie") = 0.0);
    module.def("fit_compress", &fit_compress, nb::arg("samples"), nb::arg("form") = "best");
    module.def(
        "fit_write",
        [](const std::vector<std::tuple<std::uint64_t, double>>& samples) {
            return value_or_raise(predict::fit_write(to_writes(samples)));
        },
        nb::arg("samples"));
}

void bind_profile(nb::module_& module) {
    nb::class_<Profile>(module, "Profile", "What was measured on one class of machines.")
        .def(nb::init<>())
        .def_rw("host_class", &Profile::host_class)
        .def_rw("processor", &Profile::processor)
        .def_rw("cores", &Profile::cores)
        .def_rw("created", &Profile::created)
        .def_static(
            "parse",
            [](const std::string& json) { return value_or_raise(predict::parse_profile(json)); },
            nb::arg("json"))
        .def("to_json", &predict::to_json)
        .def(
            "add_compress",
            [](Profile& self, const std::string& codec, const std::string& mode,
               const std::string& dtype, const CompressCurve& curve, double median_error,
               std::uint64_t samples) {
                const DType type = by_name("dtype", dtype, k_dtypes);
                std::erase_if(self.compress, [&](const Profile::Compress& entry) {
                    return entry.codec == codec && entry.mode == mode && entry.dtype == type;
                });
                self.compress.push_back({codec, mode, type, curve, median_error, samples});
            },
            nb::arg("codec"), nb::arg("mode"), nb::arg("dtype"), nb::arg("curve"),
            nb::arg("median_error"), nb::arg("samples"))
        .def(
            "add_write",
            [](Profile& self, const std::string& file_system, bool synced, const WriteCurve& curve,
               double median_error, std::uint64_t samples) {
                std::erase_if(self.write, [&](const Profile::Write& entry) {
                    return entry.file_system == file_system && entry.synced == synced;
                });
                self.write.push_back({file_system, synced, curve, median_error, samples});
            },
            nb::arg("file_system"), nb::arg("synced"), nb::arg("curve"), nb::arg("median_error"),
            nb::arg("samples"))
        .def(
            "find",
            [](const Profile& self, const std::string& codec, const std::string& mode,
               const std::string& dtype) -> const CompressCurve* {
                return self.find(codec, mode, by_name("dtype", dtype, k_dtypes));
            },
            nb::arg("codec"), nb::arg("mode"), nb::arg("dtype"), nb::rv_policy::reference_internal)
        .def("find_write", &Profile::find_write, nb::arg("file_system"), nb::arg("synced"),
             nb::rv_policy::reference_internal);
}

void bind_time_models(nb::module_& module) {
    using predict::CompressModel;
    using predict::WriteModel;
    nb::class_<CompressModel>(module, "CompressModel",
                              "Seconds that one field's blocks take to compress.")
        .def(
            "__init__",
            [](CompressModel* self, const std::string& codec, const std::string& dtype,
               const Profile* profile) {
                new (self) CompressModel(codec, by_name("dtype", dtype, k_dtypes), profile);
            },
            nb::arg("codec"), nb::arg("dtype") = "float32", nb::arg("profile").none() = nb::none())
        .def_prop_ro("calibrated", &CompressModel::calibrated)
        .def(
            "predict_s",
            [](const CompressModel& self, std::uint64_t raw_bytes, double bits_per_value,
               const std::string& mode, bool adaptive) {
                return self.predict_s(raw_bytes, bits_per_value, by_name("mode", mode, k_modes),
                                      adaptive);
            },
            nb::arg("raw_bytes"), nb::arg("bits_per_value"), nb::arg("mode") = "auto",
            nb::arg("adaptive") = false)
        .def(
            "learn",
            [](CompressModel& self, std::uint64_t raw_bytes, double bits_per_value,
               double compress_s, const std::string& mode, bool adaptive) {
                self.learn(raw_bytes, bits_per_value, compress_s, by_name("mode", mode, k_modes),
                           adaptive);
            },
            nb::arg("raw_bytes"), nb::arg("bits_per_value"), nb::arg("compress_s"),
            nb::arg("mode") = "auto", nb::arg("adaptive") = false);
    nb::class_<WriteModel>(module, "WriteModel", "Seconds of one write of so many bytes.")
        .def(nb::init<>())
        .def(nb::init<WriteCurve>(), nb::arg("curve"))
        .def("predict_s", &WriteModel::predict_s, nb::arg("bytes"))
        .def("learn", &WriteModel::learn, nb::arg("bytes"), nb::arg("write_s"));
}

}  // namespace

void bind_times(nb::module_& module) {
    bind_curves(module);
    bind_profile(module);
    bind_time_models(module);
    module.def("host_class", [] {
        const HostClass host = host_class();
        return nb::make_tuple(host.name, host.processor, host.cores);
    });
    module.def("file_system_type", &file_system_type, nb::arg("path"));
    module.def("calibration_path", &calibration_path, nb::arg("host_class"));
}

}  // namespace caesura::python
