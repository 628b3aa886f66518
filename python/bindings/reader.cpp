// The Reader: lists as dictionaries, values into any writable buffer of Python.
//
// Invariant: a buffer is held for the call, which runs without the GIL.
#include "caesura/reader.hpp"

#include "attributes.hpp"
#include "bindings.hpp"

namespace caesura::python {

namespace {

constexpr const char* k_field_kinds[] = {"mesh", "particles", "other"};
constexpr const char* k_bound_kinds[] = {"lossless", "absolute", "relative", "pointwise_relative",
                                         "psnr"};

/// numpy's name of one number.
std::string number_name(const ValueType& type) {
    return to_string(ValueType{type.kind, type.bytes, {}});
}

nb::dict to_python(const FieldInfo& field) {
    nb::dict out;
    out["kind"] = k_field_kinds[static_cast<std::size_t>(field.kind)];
    out["name"] = field.name;
    out["path"] = field.path;
    out["iteration"] = field.iteration;
    out["dtype"] = number_name(field.type);
    out["members"] = nb::cast(field.type.members);
    out["shape"] = shape_to_python(field.shape);
    out["chunk"] = shape_to_python(field.chunk);
    out["codec"] = field.codec;
    out["bound"] = nb::none();
    if (field.bound)
        out["bound"] = nb::make_tuple(k_bound_kinds[static_cast<std::size_t>(field.bound->kind)],
                                      field.bound->value);
    out["raw_bytes"] = field.raw_bytes;
    out["stored_bytes"] = field.stored_bytes;
    out["attributes"] = attributes_to_python(field.attributes);
    out["record_attributes"] = attributes_to_python(field.record_attributes);
    out["unit_si"] = field.unit_si;
    out["axis_labels"] = nb::cast(field.axis_labels);
    out["grid_spacing"] = nb::cast(field.grid_spacing);
    out["grid_offset"] = nb::cast(field.grid_offset);
    out["grid_unit_si"] = field.grid_unit_si;
    return out;
}

nb::dict to_python(const DumpInfo& dump) {
    nb::dict out;
    out["iteration"] = dump.iteration;
    out["time"] = dump.time;
    out["dt"] = dump.dt;
    out["time_unit_si"] = dump.time_unit_si;
    out["attributes"] = attributes_to_python(dump.attributes);
    return out;
}

/// A writable buffer of Python, for as long as this lives.
class Buffer {
  public:
    explicit Buffer(nb::handle object) {
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_STRIDES | PyBUF_WRITABLE) != 0)
            throw nb::python_error();
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { PyBuffer_Release(&view_); }

    /// The values, from the first to the last.
    std::span<std::byte> bytes() const {
        std::size_t last = 0;
        for (int axis = 0; axis < view_.ndim; ++axis) {
            if (view_.shape[axis] == 0) return {};
            last += static_cast<std::size_t>((view_.shape[axis] - 1) * view_.strides[axis]);
        }
        return {static_cast<std::byte*>(view_.buf),
                last + static_cast<std::size_t>(view_.itemsize)};
    }
    Shape strides() const {
        std::vector<std::uint64_t> strides;
        for (int axis = 0; axis < view_.ndim; ++axis) {
            if (view_.strides[axis] < 0)
                raise_if_error({StatusCode::invalid_argument, "the array has a negative stride"});
            strides.push_back(static_cast<std::uint64_t>(view_.strides[axis]));
        }
        return Shape(strides);
    }
    Shape extent() const {
        std::vector<std::uint64_t> extent(view_.shape, view_.shape + view_.ndim);
        return Shape(extent);
    }
    void check(const FieldInfo* field) const {
        if (view_.ndim > k_max_rank)
            raise_if_error({StatusCode::invalid_argument,
                            "an array of " + std::to_string(view_.ndim) + " axes; 4 at most go"});
        if (field && static_cast<std::size_t>(view_.itemsize) != field->type.value_bytes())
            raise_if_error({StatusCode::invalid_argument,
                            "dataset " + field->path + " has values of " +
                                std::to_string(field->type.value_bytes()) +
                                " bytes, the array of " + std::to_string(view_.itemsize)});
    }

  private:
    Py_buffer view_{};
};

Shape to_offset(const std::vector<std::uint64_t>& offset) {
    if (offset.size() > k_max_rank)
        raise_if_error({StatusCode::invalid_argument,
                        "an offset of " + std::to_string(offset.size()) + " axes; 4 at most go"});
    return Shape(offset);
}

class PythonReader {
  public:
    PythonReader(const std::string& path, nb::object comm, int threads, bool verify,
                 std::uint64_t round_bytes) {
        const ReaderOptions options{threads, verify, round_bytes};
        std::unique_ptr<Communicator> ranks;
        if (!comm.is_none()) ranks = make_communicator(std::move(comm));
        Result<std::unique_ptr<Reader>> opened = Status();
        {
            nb::gil_scoped_release release;
            opened =
                ranks ? Reader::open(path, std::move(ranks), options) : Reader::open(path, options);
        }
        reader_ = value_or_raise(std::move(opened));
    }

    nb::list fields() const {
        nb::list out;
        for (const FieldInfo& field : reader_->fields()) out.append(to_python(field));
        return out;
    }
    nb::list dumps() const {
        nb::list out;
        for (const DumpInfo& dump : reader_->dumps()) out.append(to_python(dump));
        return out;
    }
    nb::dict attributes() const { return attributes_to_python(reader_->attributes()); }
    std::vector<std::string> unreadable() const { return reader_->unreadable(); }
    std::size_t find(const std::string& name, std::uint64_t iteration) const {
        return value_or_raise(reader_->find(name, iteration));
    }
    std::size_t find_path(const std::string& path) const {
        return value_or_raise(reader_->find(path));
    }
    void read(std::size_t field, const std::vector<std::uint64_t>& offset, nb::object values,
              bool together) {
        const Buffer buffer(values);
        buffer.check(field < reader_->fields().size() ? &reader_->fields()[field] : nullptr);
        const Box box{to_offset(offset), buffer.extent()};
        const Shape strides = buffer.strides();
        Status status;
        {
            nb::gil_scoped_release release;
            status = together ? reader_->read_all(field, box, buffer.bytes(), strides)
                              : reader_->read(field, box, buffer.bytes(), strides);
        }
        raise_if_error(status);
    }
    bool refresh() {
        Result<bool> changed = Status();
        {
            nb::gil_scoped_release release;
            changed = reader_->refresh();
        }
        return value_or_raise(std::move(changed));
    }

  private:
    std::unique_ptr<Reader> reader_;
};

}  // namespace

void bind_reader(nb::module_& module) {
    nb::class_<PythonReader>(module, "Reader")
        .def(nb::init<const std::string&, nb::object, int, bool, std::uint64_t>(), nb::arg("path"),
             nb::arg("comm").none(), nb::arg("threads"), nb::arg("verify"), nb::arg("round_bytes"))
        .def("fields", &PythonReader::fields)
        .def("dumps", &PythonReader::dumps)
        .def("attributes", &PythonReader::attributes)
        .def("unreadable", &PythonReader::unreadable)
        .def("find", &PythonReader::find, nb::arg("name"), nb::arg("iteration"))
        .def("find_path", &PythonReader::find_path, nb::arg("path"))
        .def("read", &PythonReader::read, nb::arg("field"), nb::arg("offset"), nb::arg("values"),
             nb::arg("together"))
        .def("refresh", &PythonReader::refresh);
}

}  // namespace caesura::python
