// A Communicator implemented by a Python object, so that mpi4py can carry the library's messages
// without the library knowing any MPI.
//
// Invariants:
//  - The library calls from the caller's thread while that thread has released the GIL; every
//    method here takes it back for the call and for any reference count it touches.
//  - A Python exception becomes a Status and never crosses the library. The first one is sticky,
//    because ranks that have failed a collective no longer agree on the next.
#include <nanobind/stl/string.h>

#include <cstring>

#include "bindings.hpp"

namespace caesura::python {

namespace {

nb::bytes to_python(std::span<const std::byte> data) { return nb::bytes(data.data(), data.size()); }

Communicator::Bytes to_bytes(nb::handle object) {
    const auto data = nb::cast<nb::bytes>(object);
    const auto* begin = static_cast<const std::byte*>(data.data());
    return {begin, begin + data.size()};
}

std::vector<Communicator::Bytes> to_bytes_list(nb::handle list) {
    std::vector<Communicator::Bytes> result;
    for (nb::handle item : list) result.push_back(to_bytes(item));
    return result;
}

class PythonCommunicator final : public Communicator {
  public:
    explicit PythonCommunicator(nb::object comm)
        : comm_(std::move(comm)),
          rank_(nb::cast<int>(comm_.attr("rank"))),
          size_(nb::cast<int>(comm_.attr("size"))) {}
    ~PythonCommunicator() override {
        nb::gil_scoped_acquire gil;
        comm_.reset();
    }

    int rank() const override { return rank_; }
    int size() const override { return size_; }

    Status barrier() override {
        return guarded("barrier", [&] { comm_.attr("barrier")(); });
    }
    Status broadcast(std::span<std::byte> data, int root) override {
        return guarded("broadcast",
                       [&] { copy_exactly(comm_.attr("broadcast")(to_python(data), root), data); });
    }
    Status allgather(std::span<const std::byte> send, std::span<std::byte> receive) override {
        return guarded("allgather",
                       [&] { copy_exactly(comm_.attr("allgather")(to_python(send)), receive); });
    }
    Result<std::vector<Bytes>> allgatherv(std::span<const std::byte> send) override {
        std::vector<Bytes> parts;
        Status status = guarded("allgatherv", [&] {
            parts = to_bytes_list(comm_.attr("allgatherv")(to_python(send)));
        });
        return status.ok() ? Result<std::vector<Bytes>>(std::move(parts)) : status;
    }
    Result<std::vector<Bytes>> gatherv(std::span<const std::byte> send, int root) override {
        std::vector<Bytes> parts;
        Status status = guarded("gatherv", [&] {
            parts = to_bytes_list(comm_.attr("gatherv")(to_python(send), root));
        });
        return status.ok() ? Result<std::vector<Bytes>>(std::move(parts)) : status;
    }
    Result<std::vector<Bytes>> alltoallv(std::span<const Bytes> send) override {
        std::vector<Bytes> parts;
        Status status = guarded("alltoallv", [&] {
            nb::list list;
            for (const Bytes& part : send) list.append(to_python(part));
            parts = to_bytes_list(comm_.attr("alltoallv")(list));
        });
        return status.ok() ? Result<std::vector<Bytes>>(std::move(parts)) : status;
    }
    Result<std::unique_ptr<Communicator>> node_local() override {
        std::unique_ptr<Communicator> node;
        bool has_node = false;
        Status status = guarded("node_local", [&] {
            nb::object comm = comm_.attr("node_local")();
            has_node = !comm.is_none();
            if (has_node) node = std::make_unique<PythonCommunicator>(std::move(comm));
        });
        if (!status.ok()) return status;
        if (!has_node)
            return Status(StatusCode::unsupported, "the communicator does not know its nodes");
        return Result<std::unique_ptr<Communicator>>(std::move(node));
    }

  private:
    static void copy_exactly(nb::object source, std::span<std::byte> target) {
        const auto data = nb::cast<nb::bytes>(source);
        if (data.size() != target.size())
            throw std::length_error("got " + std::to_string(data.size()) + " bytes instead of " +
                                    std::to_string(target.size()));
        if (!target.empty()) std::memcpy(target.data(), data.data(), target.size());
    }

    template <class Call>
    Status guarded(const char* what, Call&& call) {
        if (!broken_.ok()) return broken_;
        nb::gil_scoped_acquire gil;
        std::string reason;
        try {
            call();
            return {};
        } catch (nb::python_error& error) {
            reason = nb::cast<std::string>(nb::str(error.value()));
        } catch (const std::exception& error) {
            reason = error.what();
        }
        broken_ =
            Status(StatusCode::io, std::string("rank ") + std::to_string(rank_) + ": " + what +
                                       " of the Python communicator failed: " + reason);
        return broken_;
    }

    nb::object comm_;
    int rank_;
    int size_;
    Status broken_;
};

}  // namespace

std::unique_ptr<Communicator> make_communicator(nb::object comm) {
    if (comm.is_none()) return Communicator::self();
    return std::make_unique<PythonCommunicator>(std::move(comm));
}

}  // namespace caesura::python
