#include "store/hdf5_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "base/file.hpp"
#include "store/compound_type.hpp"
#include "store/hdf5_read.hpp"
#include "store/own_front.hpp"

namespace caesura::store {
namespace {

using Dims = std::array<hsize_t, k_max_rank>;

Dims dims_of(const Shape& shape) {
    Dims dims{};
    std::copy_n(shape.data(), shape.rank(), dims.begin());
    return dims;
}

/// The integer type below an enumeration, else the type itself.
Handle number_type(hid_t type) {
    if (H5Tget_class(type) == H5T_ENUM) return Handle(H5Tget_super(type), H5Tclose);
    return Handle(H5Tcopy(type), H5Tclose);
}

/// The same type as this machine has it; not ok() for one that is not known here.
Handle type_in_memory(hid_t type) {
    if (!members_of(type).empty()) return Handle(H5Tcopy(type), H5Tclose);
    Handle number = number_type(type);
    const H5T_class_t kind = H5Tget_class(number.get());
    if (kind != H5T_INTEGER && kind != H5T_FLOAT) return {};
    if (H5Tset_order(number.get(), H5Tget_order(H5T_NATIVE_INT)) < 0) return {};
    return number;
}

Status read_open(hid_t file, const std::string& path, const Box& box, std::span<std::byte> values) {
    const auto failed = [&](StatusCode code) { return hdf5_error(code, "dataset " + path); };
    const Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
    if (!dataset.ok()) return failed(StatusCode::corrupt);
    const Handle in_file(H5Dget_type(dataset.get()), H5Tclose);
    const Handle type = type_in_memory(in_file.get());
    if (!type.ok())
        return {StatusCode::unsupported,
                fmt::format("dataset {} is not one of integers or floats", path)};
    if (box.extent.count() * H5Tget_size(type.get()) != values.size())
        return {StatusCode::invalid_argument,
                fmt::format("dataset {}: {} values of {} bytes do not fill {} bytes", path,
                            to_string(box.extent), H5Tget_size(type.get()), values.size())};
    if (values.empty()) return {};
    const Handle space(H5Dget_space(dataset.get()), H5Sclose);
    const Handle memory(H5Screate_simple(box.extent.rank(), dims_of(box.extent).data(), nullptr),
                        H5Sclose);
    if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, dims_of(box.offset).data(), nullptr,
                            dims_of(box.extent).data(), nullptr) < 0)
        return failed(StatusCode::corrupt);
    if (H5Dread(dataset.get(), type.get(), memory.get(), space.get(), H5P_DEFAULT, values.data()) <
        0)
        return failed(StatusCode::corrupt);
    return {};
}

/// The superblock and what a commit overwrites first: changed, if one came between.
Result<std::vector<std::byte>> read_begin(base::File& file) {
    constexpr std::uint64_t k_begin_bytes = 65536;
    const auto bytes = file.size();
    if (!bytes.ok()) return bytes.status();
    std::vector<std::byte> begin(std::min(*bytes, k_begin_bytes));
    if (Status s = file.read_at(0, begin); !s.ok()) return s;
    return begin;
}

Status read_once(base::File& file, const std::string& path, const std::string& dataset,
                 const Box& box, std::span<std::byte> values) {
    const auto bytes = file.size();
    if (!bytes.ok()) return bytes.status();
    PlacingState state;
    state.file = &file;
    state.file_bytes = *bytes;
    if (auto own = read_own_front(state, path); !own.ok()) return own.status();
    const auto access = placing_access(state);
    if (!access.ok()) return access.status();
    const Handle opened(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access->get()), H5Fclose);
    if (!opened.ok()) return hdf5_error(StatusCode::corrupt, path);
    const Status status = read_open(opened.get(), dataset, box, values);
    return state.error.ok() ? status : state.error;
}

}  // namespace

std::optional<OtherDataset> describe_other(hid_t dataset, const std::string& path) {
    const Handle type(H5Dget_type(dataset), H5Tclose);
    const Handle space(H5Dget_space(dataset), H5Sclose);
    const Handle creation(H5Dget_create_plist(dataset), H5Pclose);
    const int rank = H5Sget_simple_extent_ndims(space.get());
    const Handle number = type_in_memory(type.get());
    if (rank < 1 || rank > k_max_rank || !number.ok()) return std::nullopt;
    OtherDataset out;
    out.path = path;
    out.members = members_of(type.get());
    const bool integer = H5Tget_class(number.get()) == H5T_INTEGER;
    out.kind = !integer                                    ? OtherDataset::Kind::floating
               : H5Tget_sign(number.get()) == H5T_SGN_NONE ? OtherDataset::Kind::unsigned_integer
                                                           : OtherDataset::Kind::signed_integer;
    out.value_bytes = H5Tget_size(number.get());
    Dims extent{}, chunk{};
    H5Sget_simple_extent_dims(space.get(), extent.data(), nullptr);
    chunk = extent;
    if (H5Pget_layout(creation.get()) == H5D_CHUNKED)
        H5Pget_chunk(creation.get(), rank, chunk.data());
    out.shape = out.chunk = Shape::filled(rank, 0);
    for (int axis = 0; axis < rank; ++axis) {
        out.shape[axis] = extent[static_cast<std::size_t>(axis)];
        out.chunk[axis] = chunk[static_cast<std::size_t>(axis)];
    }
    out.pipeline = read_pipeline(creation.get());
    out.stored_bytes = H5Dget_storage_size(dataset);
    return out;
}

std::mutex& hdf5_readers() {
    static std::mutex mutex;
    return mutex;
}

Status read_values(base::File& file, const std::string& path, const std::string& dataset,
                   const Box& box, std::span<std::byte> values) try {
    const std::lock_guard lock(hdf5_readers());
    const QuietErrors quiet;
    constexpr int k_attempts = 4;  // of which each saw a commit
    auto before = read_begin(file);
    for (int attempt = 1;; ++attempt) {
        if (!before.ok()) return before.status();
        const Status status = read_once(file, path, dataset, box, values);
        auto after = read_begin(file);
        if (attempt == k_attempts || (after.ok() && *after == *before)) return status;
        before = std::move(after);
    }
} catch (const std::bad_alloc&) {
    return {StatusCode::no_space, fmt::format("dataset {}: no memory to read a box", dataset)};
}

}  // namespace caesura::store
