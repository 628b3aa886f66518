// The codec on plain bytes: what caesura/codec.py makes arrays of, and the HDF5 filter's
// parameters.
//
// Invariants:
//  - Arrays come as flat C-contiguous bytes; type and shape are beside them. The caller keeps them
//    alive, and the GIL is released while they are read or filled.
//  - What Python shares between threads is only touched with the GIL held: a call counts into
//    statistics of its own, which are added at its end; table sets never change.
#include "caesura/codec.hpp"

#include <hwy/targets.h>
#include <nanobind/ndarray.h>
#include <nanobind/operators.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdlib>

#include "arrays.hpp"
#include "bindings.hpp"
#include "codec/bundle/bundle.hpp"
#include "hdf5/filter/filter.hpp"
#include "hdf5/filter/kept_chunk.hpp"

namespace caesura::python {

namespace {

CompressOptions to_options(const std::string& mode, const TableSet* tables) {
    CompressOptions options;
    options.mode = by_name("mode", mode, k_modes);
    options.tables = tables;
    return options;
}

// ------------------------------------------------------------------------------ arrays and frames

/// A frame that is written where Python keeps it.
/// @param compress  given memory for the longest frame there can be, the frame's length.
template <class Compress>
nb::bytes frame_of(std::size_t raw_bytes, const Compress& compress) {
    const std::size_t most = raw_bytes + k_frame_overhead_bytes;
    PyObject* object = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(most));
    if (object == nullptr) throw nb::python_error();
    nb::bytes owner = nb::steal<nb::bytes>(object);
    auto* const memory = reinterpret_cast<std::byte*>(PyBytes_AsString(object));
    Result<std::size_t> length = Status();
    {
        nb::gil_scoped_release release;
        length = compress(std::span(memory, most));
    }
    const auto bytes = static_cast<Py_ssize_t>(value_or_raise(std::move(length)));
    owner.release();
    if (_PyBytes_Resize(&object, bytes) != 0) throw nb::python_error();
    return nb::steal<nb::bytes>(object);
}

nb::bytes codec_compress(const Input& values, const std::string& dtype,
                         const std::vector<std::uint64_t>& shape, const Bound& bound,
                         const std::string& mode, const TableSet* tables,
                         TableStatistics* statistics, bool checksum, int threads, bool drift_check,
                         const Input& missing) {
    CompressOptions options = to_options(mode, tables);
    const DType type = by_name("dtype", dtype, k_dtypes);
    const Shape extents = to_shape(shape);
    const ErrorBound limit = to_bound(bound);
    TableStatistics counts;
    if (statistics != nullptr) options.statistics = &counts;
    options.checksum = checksum;
    options.threads = threads;
    options.drift_check = drift_check;
    options.missing = bytes_of(missing);
    nb::bytes frame = frame_of(values.size(), [&](std::span<std::byte> memory) {
        return compress_into(memory, bytes_of(values), type, extents, limit, options);
    });
    if (statistics != nullptr) statistics->add(counts);
    return frame;
}

nb::bytes codec_compress_bytes(const Input& values, std::size_t value_bytes, bool checksum) {
    return frame_of(values.size(), [&](std::span<std::byte> memory) {
        return compress_bytes_into(memory, bytes_of(values), value_bytes, checksum);
    });
}

void codec_decompress(const Input& frame, const Output& values, const TableSet* tables,
                      int threads) {
    Status status;
    {
        nb::gil_scoped_release release;
        status = decompress(bytes_of(frame),
                            std::as_writable_bytes(std::span(values.data(), values.size())), tables,
                            threads);
    }
    raise_if_error(status);
}

std::uint64_t codec_estimate(const Input& values, const std::string& dtype,
                             const std::vector<std::uint64_t>& shape, const Bound& bound,
                             const std::string& mode, const TableSet* tables, int threads,
                             const Input& missing) {
    CompressOptions options = to_options(mode, tables);
    options.threads = threads;
    options.missing = bytes_of(missing);
    const DType type = by_name("dtype", dtype, k_dtypes);
    const Shape extents = to_shape(shape);
    const ErrorBound limit = to_bound(bound);
    Result<Estimate> estimated = Status();
    {
        nb::gil_scoped_release release;
        estimated = estimate(bytes_of(values), type, extents, limit, options);
    }
    return value_or_raise(std::move(estimated)).bytes;
}

nb::dict codec_info(const Input& frame) {
    Result<FrameInfo> read = Status();
    {
        nb::gil_scoped_release release;
        read = hdf5::stored_frame_info(bytes_of(frame));
    }
    const FrameInfo info = value_or_raise(std::move(read));
    nb::dict out;
    nb::list shape;
    for (int axis = 0; axis < info.shape.rank(); ++axis) shape.append(info.shape[axis]);
    out["version"] = info.version;
    out["dtype"] = info.untyped ? "" : name_of(info.dtype, k_dtypes);
    out["shape"] = nb::tuple(shape);
    out["raw_bytes"] = info.raw_bytes;
    out["value_bytes"] = info.value_bytes;
    out["bound"] = nb::make_tuple(name_of(info.bound.kind, k_kinds), info.bound.value);
    out["absolute_bound"] = info.absolute_bound;
    out["mode"] = info.stored_exactly ? "exact" : name_of(info.mode, k_modes);
    out["inline_tables"] = info.inline_tables;
    out["table_set_id"] = info.table_set_id;
    out["slabs"] = info.slabs;
    out["regions"] = info.regions;
    out["checksum"] = info.checksum;
    out["exact_values"] = info.exact_values;
    out["missing_values"] = info.missing_values;
    return out;
}

/// The arrays in a bundle; none: it is another frame.
nb::list codec_parts(const Input& frame) {
    nb::list parts;
    if (!codec::is_bundle(bytes_of(frame))) return parts;
    const auto bundle = value_or_raise(codec::read_bundle_info(bytes_of(frame)));
    for (const codec::BundleLine& line : bundle.parts) {
        nb::dict part;
        part["component"] = line.component;
        part["values"] = line.info.shape.count();
        part["stored_bytes"] = line.frame.size();
        part["bound"] =
            nb::make_tuple(name_of(line.info.bound.kind, k_kinds), line.info.bound.value);
        part["absolute_bound"] = line.info.absolute_bound;
        parts.append(part);
    }
    return parts;
}

void bind_frames(nb::module_& module) {
    module.def("codec_parts", &codec_parts, nb::arg("frame"));
    module.def("codec_compress", &codec_compress, nb::arg("values"), nb::arg("dtype"),
               nb::arg("shape"), nb::arg("bound"), nb::kw_only(), nb::arg("mode"),
               nb::arg("tables").none(), nb::arg("statistics").none(), nb::arg("checksum"),
               nb::arg("threads"), nb::arg("drift_check"), nb::arg("missing"));
    module.def("codec_compress_bytes", &codec_compress_bytes, nb::arg("values"), nb::kw_only(),
               nb::arg("value_bytes"), nb::arg("checksum"));
    module.def("codec_decompress", &codec_decompress, nb::arg("frame"), nb::arg("values"),
               nb::kw_only(), nb::arg("tables").none(), nb::arg("threads"));
    module.def("codec_estimate", &codec_estimate, nb::arg("values"), nb::arg("dtype"),
               nb::arg("shape"), nb::arg("bound"), nb::kw_only(), nb::arg("mode"),
               nb::arg("tables").none(), nb::arg("threads"), nb::arg("missing"));
    module.def("codec_info", &codec_info, nb::arg("frame"));
}

// ----------------------------------------------------------------------------------- table sets

template <class T>
T parsed(const nb::bytes& bytes) {
    return value_or_raise(T::parse(bytes_of(bytes)));
}

void bind_tables(nb::module_& module) {
    nb::class_<TableSet>(module, "TableSet",
                         "Probability tables that the frames of one field share.\n\n"
                         "TableSet() is the built-in one, whose id is 0. Others come from "
                         "TableStatistics.train(). A value: never changes, can be pickled and "
                         "compared; at most 1024 bytes.")
        .def(nb::init<>())
        .def_static("from_bytes", &parsed<TableSet>, nb::arg("data"),
                    "What bytes() gave. Raises CorruptError.")
        .def(
            "bytes", [](const TableSet& set) { return to_python(set.bytes()); },
            "The set as bytes, to be kept beside the frames that name it; empty: built in.")
        .def("__bytes__", [](const TableSet& set) { return to_python(set.bytes()); })
        .def_prop_ro("id", &TableSet::id, "Hash of the bytes, by which frames name their set.")
        .def(nb::self == nb::self)
        .def("__hash__", [](const TableSet& set) { return set.id(); })
        .def("__getstate__", [](const TableSet& set) { return to_python(set.bytes()); })
        .def("__setstate__", [](TableSet& set, const nb::bytes& state) {
            new (&set) TableSet(parsed<TableSet>(state));
        });
    nb::class_<TableStatistics>(
        module, "TableStatistics",
        "Counts of what was coded, from which train() makes the next table set.\n\n"
        "Give one to compress(statistics=...), add() those of other blocks, ranks or dumps of the "
        "same field, then train(). Can be pickled.")
        .def(nb::init<>())
        .def_static("from_bytes", &parsed<TableStatistics>, nb::arg("data"),
                    "What bytes() gave. Raises CorruptError.")
        .def(
            "bytes", [](const TableStatistics& self) { return to_python(self.bytes()); },
            "The counts as about 4 KiB, to be sent to another rank.")
        .def("__bytes__", [](const TableStatistics& self) { return to_python(self.bytes()); })
        .def("add", &TableStatistics::add, nb::arg("other"), "Add another's counts.")
        .def("train", &TableStatistics::train, "The set that codes these counts best.")
        .def_prop_ro("empty", &TableStatistics::empty)
        .def("__getstate__", [](const TableStatistics& self) { return to_python(self.bytes()); })
        .def("__setstate__", [](TableStatistics& self, const nb::bytes& state) {
            new (&self) TableStatistics(parsed<TableStatistics>(state));
        });
}

// ----------------------------------------------------------------- the filter, instruction sets

std::vector<unsigned> filter_cd_values(const Bound& bound, const std::string& mode, bool checksum,
                                       const TableSet* tables) {
    hdf5::Settings settings;
    settings.bound = to_bound(bound);
    settings.mode = by_name("mode", mode, k_modes);
    settings.checksum = checksum;
    if (tables != nullptr) settings.tables = *tables;
    return value_or_raise(hdf5::to_cd_values(settings));
}

/// For measurements. Highway's targets are bits, better ones lower; what lies below the named goes.
void limit_instruction_set(const std::string& name) {
#if HWY_ARCH_X86
    constexpr std::array<std::pair<const char*, std::int64_t>, 6> k_best = {
        {{"native", 1},
         {"avx512", HWY_AVX3},
         {"avx2", HWY_AVX2},
         {"sse4", HWY_SSE4},
         {"ssse3", HWY_SSSE3},
         {"scalar", HWY_EMU128}}};
#else
    constexpr std::array<std::pair<const char*, std::int64_t>, 2> k_best = {
        {{"native", 1}, {"scalar", HWY_EMU128}}};
#endif
    hwy::DisableTargets(by_name("instruction set", name, k_best) - 1);
}

std::string instruction_set() {
    const std::int64_t targets = hwy::SupportedTargets();
    return hwy::TargetName(targets & -targets);
}

}  // namespace

void bind_codec(nb::module_& module) {
    bind_frames(module);
    bind_tables(module);
    module.def("filter_cd_values", &filter_cd_values, nb::arg("bound"), nb::kw_only(),
               nb::arg("mode"), nb::arg("checksum"), nb::arg("tables").none());
    module.attr("FILTER_ID") = hdf5::k_filter_id;
    module.def("limit_instruction_set", &limit_instruction_set, nb::arg("name"));
    module.def("instruction_set", &instruction_set);
    if (const char* name = std::getenv("CAESURA_INSTRUCTION_SET")) limit_instruction_set(name);
}

}  // namespace caesura::python
