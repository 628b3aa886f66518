// Checkpoints of a GPU. Data come as addresses: caesura/checkpointing.py has looked at the arrays.
//
// Invariants:
//  - A Checkpointer shares its device, so that no order of garbage collection ends the device
//    first.
//  - It is destroyed without the GIL: it waits for the disk.
#include "caesura/checkpointer.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "caesura/checkpoint_file.hpp"
#include "caesura/device.hpp"

namespace caesura::python {
namespace {

struct PyDevice {
    std::shared_ptr<device::Device> device;
    device::EmulatedDevice* emulated = nullptr;  ///< the same, if it is one

    void work(double seconds) {
        if (!emulated || !(seconds >= 0.0))
            raise_if_error({StatusCode::invalid_argument,
                            "work of " + std::to_string(seconds) + " seconds, or no emulation"});
        emulated->work(seconds);
    }
    double now_s() const { return device->now_s(); }
    /// An array of the host's, in memory of the device from now on: its address.
    std::uint64_t upload(const Input& values) {
        const auto bytes = bytes_of(values);
        std::byte* const memory = value_or_raise(device->allocate(bytes.size()));
        const device::Transfer sent = value_or_raise(device->to_device(memory, bytes));
        raise_if_error(device->wait(sent));
        return reinterpret_cast<std::uintptr_t>(memory);
    }
};

std::shared_ptr<PyDevice> emulated_device(std::uint64_t memory_bytes, double link_bytes_per_s,
                                          double copy_bytes_per_s,
                                          const std::vector<std::pair<double, double>>& points) {
    std::vector<plan::CompressPoint> curve;
    for (const auto& [bytes, seconds] : points) curve.push_back({bytes, seconds});
    if (curve.empty())
        raise_if_error({StatusCode::invalid_argument, "compress_curve has no points"});
    device::EmulatedMachine machine;
    machine.memory_bytes = memory_bytes;
    machine.link_bytes_per_s = link_bytes_per_s;
    machine.copy_bytes_per_s = copy_bytes_per_s;
    machine.compress_s = [curve](double bytes) { return plan::compress_s(curve, bytes); };
    auto device = std::make_shared<device::EmulatedDevice>(
        value_or_raise(device::EmulatedDevice::create(std::move(machine))));
    auto handle = std::make_shared<PyDevice>();
    handle->emulated = device.get();
    handle->device = std::move(device);
    return handle;
}

std::shared_ptr<PyDevice> cuda_device(int ordinal, std::uintptr_t stream) {
    device::CudaOptions options;
    options.ordinal = ordinal;
    options.stream = reinterpret_cast<void*>(stream);
    auto handle = std::make_shared<PyDevice>();
    handle->device = value_or_raise(device::create_cuda_device(options));
    return handle;
}

class PyCheckpointer {
  public:
    PyCheckpointer(std::shared_ptr<PyDevice> device, const plan::CheckpointProfile& expected,
                   const std::string& dtype, const std::vector<std::uint64_t>& shape,
                   const Bound& bound, const std::optional<std::string>& path, bool reopens,
                   std::optional<std::uint64_t> host_bytes, bool write_all, bool durable,
                   double commit_every_s, std::uint64_t checkpoints)
        : device_(std::move(device)) {
        CheckpointerOptions options;
        options.content.dtype = by_name("dtype", dtype, k_dtypes);
        if (!shape.empty()) options.content.shape = to_shape(shape);
        options.content.bound = to_bound(bound);
        if (host_bytes) options.host_bytes = *host_bytes;
        options.write_all = write_all;
        options.commit_every_s = commit_every_s;
        options.checkpoints = checkpoints;
        Result<std::unique_ptr<Checkpointer>> made = Status();
        {
            const nb::gil_scoped_release release;
            made = make(expected, options, path, reopens, durable);
        }
        checkpointer_ = value_or_raise(std::move(made));
    }
    PyCheckpointer(const PyCheckpointer&) = delete;
    ~PyCheckpointer() { close(); }

    void checkpoint(std::uint64_t id, std::uintptr_t data) {
        call([&](Checkpointer& it) {
            return it.checkpoint(id, reinterpret_cast<const std::byte*>(data));
        });
    }
    void restore(std::uint64_t id, std::uintptr_t data) {
        call([&](Checkpointer& it) { return it.restore(id, reinterpret_cast<std::byte*>(data)); });
    }
    void flush() {
        call([](Checkpointer& it) { return it.flush(); });
    }
    void save() {
        call([](Checkpointer& it) { return it.save(); });
    }
    std::vector<std::uint64_t> ids() { return live().ids(); }
    std::string recorded() { return plan::to_json(live().recorded()); }
    nb::dict report();
    void close() {
        const nb::gil_scoped_release release;
        checkpointer_.reset();
    }

  private:
    Result<std::unique_ptr<Checkpointer>> make(const plan::CheckpointProfile& expected,
                                               CheckpointerOptions& options,
                                               const std::optional<std::string>& path, bool reopens,
                                               bool durable) {
        const CheckpointFileOptions how{durable, nullptr};
        if (path && reopens) {
            auto file = CheckpointFile::open(*path, how);
            if (!file.ok()) return file.status();
            options.store = *std::move(file);
        } else if (path) {
            options.store = CheckpointFile::create_at_begin(*path, how);
        }
        return Checkpointer::create(*device_->device, expected, options);
    }
    Checkpointer& live() {
        if (!checkpointer_)
            raise_if_error({StatusCode::invalid_argument, "the checkpointer is closed"});
        return *checkpointer_;
    }
    template <class Body>
    void call(Body body) {
        Checkpointer& it = live();
        Status status;
        {
            const nb::gil_scoped_release release;
            status = body(it);
        }
        raise_if_error(status);
    }

    std::shared_ptr<PyDevice> device_;
    std::unique_ptr<Checkpointer> checkpointer_;
};

nb::dict PyCheckpointer::report() {
    const CheckpointerReport from = live().report();
    nb::dict out;
    out["word"] = from.word;
    out["checkpoint_s"] = from.checkpoint_s;
    out["restore_s"] = from.restore_s;
    out["raw_bytes"] = from.raw_bytes;
    out["link_bytes"] = from.link_bytes;
    out["restores"] = from.restores;
    out["prefetched"] = from.prefetched;
    out["peak_cache_bytes"] = from.peak_cache_bytes;
    out["peak_host_bytes"] = from.peak_host_bytes;
    out["written_bytes"] = from.written_bytes;
    out["reads"] = from.reads;
    out["read_ahead"] = from.read_ahead;
    out["store_wait_s"] = from.store_wait_s;
    out["trouble"] = from.trouble;
    return out;
}

}  // namespace

void bind_checkpointer(nb::module_& module) {
    nb::class_<PyDevice>(module, "Device")
        .def("work", &PyDevice::work, nb::arg("seconds"))
        .def("now_s", &PyDevice::now_s)
        .def("upload", &PyDevice::upload, nb::arg("values"));
    module.def(
        "owns_device_memory",
        [](std::uint64_t address) {
            return device::owns_memory(reinterpret_cast<const void*>(address));
        },
        nb::arg("address"));
    module.def("emulated_device", &emulated_device, nb::kw_only(), nb::arg("memory_bytes"),
               nb::arg("link_bytes_per_s"), nb::arg("copy_bytes_per_s"), nb::arg("compress_curve"));
    module.def("cuda_device", &cuda_device, nb::kw_only(), nb::arg("ordinal"), nb::arg("stream"));
    nb::class_<PyCheckpointer>(module, "Checkpointer")
        .def(nb::init<std::shared_ptr<PyDevice>, const plan::CheckpointProfile&, const std::string&,
                      const std::vector<std::uint64_t>&, const Bound&,
                      const std::optional<std::string>&, bool, std::optional<std::uint64_t>, bool,
                      bool, double, std::uint64_t>(),
             nb::arg("device"), nb::arg("expected"), nb::kw_only(), nb::arg("dtype"),
             nb::arg("shape"), nb::arg("bound"), nb::arg("path").none(), nb::arg("reopens"),
             nb::arg("host_bytes").none(), nb::arg("write_all"), nb::arg("durable"),
             nb::arg("commit_every_s"), nb::arg("checkpoints"))
        .def("checkpoint", &PyCheckpointer::checkpoint, nb::arg("id"), nb::arg("data"))
        .def("restore", &PyCheckpointer::restore, nb::arg("id"), nb::arg("data"))
        .def("flush", &PyCheckpointer::flush)
        .def("save", &PyCheckpointer::save)
        .def("ids", &PyCheckpointer::ids)
        .def("recorded", &PyCheckpointer::recorded)
        .def("report", &PyCheckpointer::report)
        .def("close", &PyCheckpointer::close);
}

}  // namespace caesura::python
