// Prediction of a block's size, and the block's codec to compare it with: what
// caesura/prediction.py makes arrays of.
//
// Invariants:
//  - Sampling, encoding and decoding release the GIL; models are small and are touched with it.
//  - Seconds are those of the call alone: the array is there already, the result is not yet copied.
#include "predict/predict.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <ctime>

#include "arrays.hpp"
#include "bindings.hpp"
#include "hdf5/block_codec.hpp"

namespace caesura::python {

namespace {

using Extents = std::vector<std::uint64_t>;

struct Timer {
    static double thread_now_s() {
        timespec now{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    }
    double cpu_s() const { return thread_now_s() - cpu_begin_s; }
    double wall_s() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_begin).count();
    }
    double cpu_begin_s = thread_now_s();
    std::chrono::steady_clock::time_point wall_begin = std::chrono::steady_clock::now();
};

// The box [offset, offset + extent) of an array of that shape. ValueError if it is not inside.
Box to_part(const Shape& shape, const Extents& offset, const Extents& extent) {
    const Box part{to_shape(offset), to_shape(extent)};
    bool inside = part.offset.rank() == shape.rank() && part.extent.rank() == shape.rank();
    for (int axis = 0; inside && axis < shape.rank(); ++axis)
        inside = part.extent[axis] >= 1 && part.offset[axis] <= shape[axis] &&
                 part.extent[axis] <= shape[axis] - part.offset[axis];
    if (!inside)
        raise_if_error({StatusCode::invalid_argument,
                        "the box " + to_string(part) + " does not lie inside the array"});
    return part;
}

Box whole(const Shape& shape) { return {Shape::filled(shape.rank(), 0), shape}; }

/// A part of an array, and the bound that it is to keep.
struct Block {
    const std::byte* values;
    DType dtype;
    Box array, part;
    ErrorBound bound;
};

Block to_block(const Input& values, const std::string& dtype, const Extents& shape,
               const Extents& offset, const Extents& extent, const Bound& bound) {
    const DType type = by_name("dtype", dtype, k_dtypes);
    const Shape extents = to_shape(shape);
    const Block block{bytes_of(values).data(), type, whole(extents),
                      to_part(extents, offset, extent), to_bound(bound)};
    if (values.size() != extents.count() * size_of(type))
        raise_if_error({StatusCode::invalid_argument,
                        "the array has " + std::to_string(values.size()) + " bytes, its shape " +
                            std::to_string(extents.count() * size_of(type))});
    return block;
}

// -------------------------------------------------------------------------------- features, models

predict::Features sample_block(const Input& values, const std::string& dtype, const Extents& shape,
                               const Extents& offset, const Extents& extent, const Bound& bound,
                               const std::string& codec) {
    const Block at = to_block(values, dtype, shape, offset, extent, bound);
    nb::gil_scoped_release release;
    return predict::sample_block(at.values, at.dtype, at.array, at.part, at.bound, codec);
}

predict::Features estimate_block(const Input& values, const std::string& dtype,
                                 const Extents& shape, const Extents& offset, const Extents& extent,
                                 const Bound& bound, const std::string& mode,
                                 const TableSet* tables,
                                 const std::optional<codec::Choice>& settings) {
    const Block at = to_block(values, dtype, shape, offset, extent, bound);
    const Mode how = by_name("mode", mode, k_modes);
    nb::gil_scoped_release release;
    return predict::estimate_block(at.values, at.dtype, at.array, at.part, at.bound, how,
                                   tables != nullptr ? *tables : TableSet(), settings);
}

std::optional<double> glance(const Input& values, const std::string& dtype, const Extents& shape,
                             const Extents& offset, const Extents& extent, const Bound& bound) {
    const Block at = to_block(values, dtype, shape, offset, extent, bound);
    nb::gil_scoped_release release;
    return predict::glance(at.values, at.dtype, at.array, at.part, at.bound);
}

void bind_models(nb::module_& module) {
    nb::class_<codec::Choice>(module, "BlockSettings",
                              "Predictor and settings of a block: SizeModel.settings.");
    nb::class_<predict::Features>(module, "Features",
                                  "What a small sample of a block tells: see predict/predict.hpp.")
        .def(nb::init<>())
        .def_rw("bits_per_value", &predict::Features::bits_per_value)
        .def_rw("smooth_bits_per_value", &predict::Features::smooth_bits_per_value)
        .def_rw("zero_share", &predict::Features::zero_share)
        .def_rw("values", &predict::Features::values)
        .def_rw("estimated", &predict::Features::estimated)
        .def_rw("exact", &predict::Features::exact)
        .def_rw("finite", &predict::Features::finite)
        .def_rw("interpolated_bits_per_value", &predict::Features::interpolated_bits_per_value)
        .def_rw("symbols", &predict::Features::symbols)
        .def_rw("interpolated_symbols", &predict::Features::interpolated_symbols)
        .def_rw("block", &predict::Features::block)
        .def_rw("activity", &predict::Features::activity)
        .def_ro("recalled", &predict::Features::recalled)
        .def_ro("settings", &predict::Features::settings)
        .def_ro("assumed", &predict::Features::assumed)
        .def_ro("adaptive", &predict::Features::adaptive)
        .def_prop_ro("mode", [](const predict::Features& features) {
            return name_of(features.mode, k_modes);
        });
    nb::class_<predict::SizeModel>(
        module, "SizeModel",
        "What the finished blocks of one field have taught about the sizes of the next.\n\n"
        "predict(features) -> (mean, sigma, shared sigma) in bytes; learn(features, "
        "stored_bytes).")
        .def(
            "__init__",
            [](predict::SizeModel* self, const std::string& codec, const std::string& dtype) {
                new (self) predict::SizeModel(codec, by_name("dtype", dtype, k_dtypes));
            },
            nb::arg("codec"), nb::arg("dtype") = "float32")
        .def(
            "predict",
            [](const predict::SizeModel& self, const predict::Features& features) {
                const predict::Bytes bytes = self.predict(features);
                return nb::make_tuple(bytes.mean, bytes.sigma, bytes.shared_sigma);
            },
            nb::arg("features"))
        .def(
            "learn",
            [](predict::SizeModel& self, const predict::Features& features,
               std::uint64_t stored_bytes) { self.learn(features, stored_bytes); },
            nb::arg("features"), nb::arg("stored_bytes"))
        .def("recall", &predict::SizeModel::recall, nb::arg("block"), nb::arg("values"),
             nb::arg("activity"))
        .def("settings", &predict::SizeModel::settings, nb::arg("block"), nb::arg("values"),
             nb::arg("activity"));
    module.def("sample_block", &sample_block, nb::arg("values"), nb::kw_only(), nb::arg("dtype"),
               nb::arg("shape"), nb::arg("offset"), nb::arg("extent"), nb::arg("bound"),
               nb::arg("codec"));
    module.def("glance", &glance, nb::arg("values"), nb::kw_only(), nb::arg("dtype"),
               nb::arg("shape"), nb::arg("offset"), nb::arg("extent"), nb::arg("bound"));
    module.def("estimate_block", &estimate_block, nb::arg("values"), nb::kw_only(),
               nb::arg("dtype"), nb::arg("shape"), nb::arg("offset"), nb::arg("extent"),
               nb::arg("bound"), nb::arg("mode"), nb::arg("tables").none(),
               nb::arg("settings").none());
}

// ------------------------------------------------------------------------------ the block's codec

struct Codec {
    std::unique_ptr<BlockCodec> codec;
    DType dtype;
    Shape chunk;
};

std::unique_ptr<Codec> make_codec(const std::string& name, const std::string& dtype,
                                  const Extents& chunk, const Bound& bound,
                                  const std::vector<unsigned>& cd_values,
                                  std::optional<bool> verify, const TableSet* tables) {
    const DType type = by_name("dtype", dtype, k_dtypes);
    const Shape shape = to_shape(chunk);
    const ErrorBound limit = to_bound(bound);
    const CodecSpec spec{.name = name, .cd_values = cd_values, .verify = verify};
    SharedTables shared;
    if (tables != nullptr) shared.set = *tables;
    // With the GIL: the plugin search is HDF5's, which one thread at a time may ask.
    auto codec = value_or_raise(make_block_codec(spec, type, shape, limit, shared));
    return std::make_unique<Codec>(Codec{std::move(codec), type, shape});
}

nb::dict encode(const Codec& self, const Input& values, const Extents& valid) {
    const Shape inside = to_shape(valid);
    Result<EncodedBlock> made = Status();
    double cpu_s = 0.0;
    double wall_s = 0.0;
    {
        nb::gil_scoped_release release;
        const Timer timer;
        made = self.codec->encode(bytes_of(values), inside);
        cpu_s = timer.cpu_s();
        wall_s = timer.wall_s();
    }
    const EncodedBlock block = value_or_raise(std::move(made));
    nb::dict out;
    out["data"] = to_python(block.bytes);
    out["filter_mask"] = block.filter_mask;
    out["max_error"] = block.max_error;
    out["fell_back"] = block.fell_back;
    out["cpu_s"] = cpu_s;
    out["wall_s"] = wall_s;
    return out;
}

void decode(const Codec& self, const Input& stored, const Output& chunk,
            std::uint32_t filter_mask) {
    Status status;
    {
        nb::gil_scoped_release release;
        status = self.codec->decode(bytes_of(stored), filter_mask,
                                    std::as_writable_bytes(std::span(chunk.data(), chunk.size())));
    }
    raise_if_error(status);
}

void bind_block_codec(nb::module_& module) {
    nb::class_<Codec>(module, "BlockCodec", "A dataset's codec: see hdf5/block_codec.hpp.")
        .def_prop_ro("reentrant", [](const Codec& self) { return self.codec->reentrant(); })
        .def_prop_ro("wants_padding", [](const Codec& self) { return self.codec->wants_padding(); })
        .def("encode", &encode, nb::arg("values"), nb::arg("valid"))
        .def("decode", &decode, nb::arg("stored"), nb::arg("chunk"), nb::kw_only(),
             nb::arg("filter_mask"));
    module.def("make_block_codec", &make_codec, nb::arg("codec"), nb::kw_only(), nb::arg("dtype"),
               nb::arg("chunk"), nb::arg("bound"), nb::arg("cd_values"), nb::arg("verify").none(),
               nb::arg("tables").none());
}

}  // namespace

void bind_predict(nb::module_& module) {
    bind_models(module);
    bind_block_codec(module);
}

}  // namespace caesura::python
