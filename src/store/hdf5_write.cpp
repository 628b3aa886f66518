#include "store/hdf5_write.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "store/hdf5_attributes.hpp"
#include "store/manifest.hpp"
#include "store/number_types.hpp"

namespace caesura::store {
namespace {

constexpr std::uint64_t k_max_chunk_bytes = (std::uint64_t{1} << 32) - 1;

/// Of a complex128.
constexpr std::size_t k_most_value_bytes = 16;

/// Few large dense heaps otherwise: openPMD gives a dataset more than the eight attributes that
/// HDF5 keeps in the object header by default.
constexpr unsigned k_max_compact = 64, k_min_dense = 32;
/// Links of a group to which dumps are added. In its header they can be moved by one write
/// (continuations.hpp), in a heap they cannot.
constexpr unsigned k_max_compact_links = 1024, k_min_dense_links = 512;

bool prepare_object(hid_t creation) {
    return H5Pset_obj_track_times(creation, 0) >= 0 &&
           H5Pset_attr_phase_change(creation, k_max_compact, k_min_dense) >= 0;
}

bool keep_links_in_header(hid_t creation) {
    return H5Pset_link_phase_change(creation, k_max_compact_links, k_min_dense_links) >= 0;
}

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// Fixed length, padded with zeros: h5py, openPMD-api, h5dump and Fortran all read it.
Handle string_type(std::size_t bytes, bool ascii) {
    Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.get(), std::max<std::size_t>(bytes, 1));
    H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
    H5Tset_cset(type.get(), ascii ? H5T_CSET_ASCII : H5T_CSET_UTF8);
    return type;
}

struct AttributeWriter {
    hid_t object;
    const std::string& name;

    Status put(hid_t file_type, hid_t memory_type, const void* data,
               std::optional<hsize_t> count) const {
        Handle space(count ? H5Screate_simple(1, &*count, nullptr) : H5Screate(H5S_SCALAR),
                     H5Sclose);
        Handle attribute(
            H5Acreate2(object, name.c_str(), file_type, space.get(), H5P_DEFAULT, H5P_DEFAULT),
            H5Aclose);
        const bool empty = count && *count == 0;
        if (attribute.ok() && (empty || H5Awrite(attribute.get(), memory_type, data) >= 0))
            return {};
        return hdf5_error(StatusCode::internal, fmt::format("attribute '{}'", name));
    }
    Status operator()(std::int64_t v) const {
        return put(H5T_STD_I64LE, H5T_NATIVE_INT64, &v, std::nullopt);
    }
    Status operator()(std::uint64_t v) const {
        return put(H5T_STD_U64LE, H5T_NATIVE_UINT64, &v, std::nullopt);
    }
    Status operator()(std::uint32_t v) const {
        return put(H5T_STD_U32LE, H5T_NATIVE_UINT32, &v, std::nullopt);
    }
    Status operator()(double v) const {
        return put(H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &v, std::nullopt);
    }
    Status operator()(float v) const {
        return put(H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, &v, std::nullopt);
    }
    Status operator()(const std::string& v) const {
        const Handle type = string_type(v.size(), is_ascii(v));
        // data() of an empty string is its terminator: the one byte that the type has.
        return put(type.get(), type.get(), v.data(), std::nullopt);
    }
    Status operator()(const std::vector<double>& v) const {
        return put(H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, v.data(), v.size());
    }
    Status operator()(const std::vector<std::uint64_t>& v) const {
        return put(H5T_STD_U64LE, H5T_NATIVE_UINT64, v.data(), v.size());
    }
    Status operator()(const std::vector<std::int64_t>& v) const {
        return put(H5T_STD_I64LE, H5T_NATIVE_INT64, v.data(), v.size());
    }
    Status operator()(const std::vector<std::string>& v) const {
        std::size_t longest = 1;
        bool ascii = true;
        for (const std::string& text : v) {
            longest = std::max(longest, text.size());
            ascii = ascii && is_ascii(text);
        }
        std::vector<char> table(longest * v.size(), '\0');
        for (std::size_t i = 0; i < v.size(); ++i)
            std::copy(v[i].begin(), v[i].end(), table.data() + i * longest);
        const Handle type = string_type(longest, ascii);
        return put(type.get(), type.get(), table.data(), v.size());
    }
};

Status write_attributes(hid_t object, const std::string& path,
                        std::span<const Attribute> attributes) {
    for (const Attribute& attribute : attributes) {
        const htri_t exists = H5Aexists(object, attribute.name.c_str());
        if (exists > 0) continue;
        if (exists < 0) return hdf5_error(StatusCode::internal, path);
        if (Status status = std::visit(AttributeWriter{object, attribute.name}, attribute.value);
            !status.ok())
            return status.with_context(path);
    }
    return {};
}

}  // namespace

Status set_attributes(hid_t object, const std::string& path,
                      std::span<const Attribute> attributes) {
    for (const Attribute& attribute : attributes)
        if (H5Aexists(object, attribute.name.c_str()) > 0 &&
            H5Adelete(object, attribute.name.c_str()) < 0)
            return hdf5_error(StatusCode::internal, path);
    return write_attributes(object, path, attributes);
}

namespace {

Status bad(const DatasetSpec& dataset, std::string_view reason) {
    return {StatusCode::invalid_argument, fmt::format("dataset {}: {}", dataset.path, reason)};
}

/// The group at an absolute path, made with its parents if it is not there.
/// @param grows  each dump adds a link to the groups that this call makes.
Result<Handle> open_group(hid_t file, const std::string& path, bool grows = false) {
    if (path.empty() || path.front() != '/')
        return Status{StatusCode::invalid_argument,
                      fmt::format("'{}' is not an absolute HDF5 path", path)};
    Handle group(H5Gopen2(file, "/", H5P_DEFAULT), H5Gclose);
    for (std::size_t at = 1; at < path.size();) {
        const std::size_t slash = std::min(path.find('/', at), path.size());
        const std::string name = path.substr(at, slash - at);
        at = slash + 1;
        if (name.empty()) continue;
        const htri_t exists = H5Lexists(group.get(), name.c_str(), H5P_DEFAULT);
        Handle next;
        if (exists > 0) {
            next = Handle(H5Gopen2(group.get(), name.c_str(), H5P_DEFAULT), H5Gclose);
        } else if (exists == 0) {
            const Handle creation(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
            if (prepare_object(creation.get()) && (!grows || keep_links_in_header(creation.get())))
                next = Handle(
                    H5Gcreate2(group.get(), name.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                    H5Gclose);
        }
        if (!next.ok()) return hdf5_error(StatusCode::internal, fmt::format("group {}", path));
        group = std::move(next);
    }
    if (!group.ok()) return hdf5_error(StatusCode::internal, fmt::format("group {}", path));
    return group;
}

Result<Handle> dataset_creation(const DatasetSpec& dataset, FilterAliases& aliases) {
    Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    std::array<hsize_t, k_max_rank> chunk{};
    for (int a = 0; a < dataset.chunk.rank(); ++a)
        chunk[static_cast<std::size_t>(a)] = dataset.chunk[a];
    // Where chunks are missing HDF5 must fill in: "never" would leave the reader's memory as it is.
    const bool partial = dataset.partial_chunks.has_value();
    bool ok = prepare_object(creation.get()) &&
              H5Pset_chunk(creation.get(), dataset.chunk.rank(), chunk.data()) >= 0 &&
              H5Pset_fill_time(creation.get(),
                               partial ? H5D_FILL_TIME_IFSET : H5D_FILL_TIME_NEVER) >= 0 &&
              H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_INCR) >= 0;
    if (!dataset.fill.empty())
        ok = ok && H5Pset_fill_value(creation.get(), native_type(dataset.dtype).get(),
                                     dataset.fill.data()) >= 0;
    for (const FilterSpec& filter : dataset.pipeline) {
        auto number = aliases.alias(filter);
        if (!number.ok()) return number.status().with_context("dataset " + dataset.path);
        ok = ok && H5Pset_filter(creation.get(), static_cast<H5Z_filter_t>(*number),
                                 filter.optional ? H5Z_FLAG_OPTIONAL : H5Z_FLAG_MANDATORY,
                                 filter.cd_values.size(), filter.cd_values.data()) >= 0;
    }
    if (!ok) return hdf5_error(StatusCode::internal, "dataset " + dataset.path);
    return creation;
}

}  // namespace

Result<Handle> file_creation() {
    Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
    // No free list: what the state before needs must not be given out in the commit that frees it.
    if (!creation.ok() || !prepare_object(creation.get()) ||
        !keep_links_in_header(creation.get()) ||
        H5Pset_file_space_strategy(creation.get(), H5F_FSPACE_STRATEGY_NONE, false, 1) < 0)
        return hdf5_error(StatusCode::internal, "preparing a new file");
    return creation;
}

Status write_root_attributes(hid_t file, std::span<const Attribute> attributes) {
    if (attributes.empty()) return {};
    auto root = open_group(file, "/");
    if (!root.ok()) return root.status();
    const int present = H5Aget_num_attrs(root->get());
    if (present < 0) return hdf5_error(StatusCode::internal, "attributes of /");
    if (present == 0) return write_attributes(root->get(), "/", attributes);
    // A run that went on with the file may be the first with particles.
    for (const Attribute& attribute : attributes)
        if (attribute.name == "particlesPath")
            return write_attributes(root->get(), "/", {&attribute, 1});
    return {};
}

Status replace_root_attributes(hid_t file, std::span<const Attribute> attributes) {
    if (attributes.empty()) return {};
    auto root = open_group(file, "/");
    if (!root.ok()) return root.status();
    const auto there = read_attributes(root->get());
    if (!there.ok()) return there.status().with_context("group /");
    std::vector<Attribute> other;
    for (const Attribute& one : attributes)
        if (std::find(there->begin(), there->end(), one) == there->end()) other.push_back(one);
    const auto has = [](std::span<const Attribute> list, std::string_view name) {
        return std::any_of(list.begin(), list.end(), [&](auto& one) { return one.name == name; });
    };
    constexpr const char* k_version = "softwareVersion";
    if (has(other, "software") && !has(attributes, k_version) && has(*there, k_version) &&
        H5Adelete(root->get(), k_version) < 0)
        return hdf5_error(StatusCode::internal, "attributes of /");
    return set_attributes(root->get(), "/", other);
}

Status make_group_of_dumps(hid_t file, const std::string& path) {
    return open_group(file, path, true).status();
}

Status write_group(hid_t file, const GroupSpec& group) {
    auto handle = open_group(file, group.path);
    if (!handle.ok()) return handle.status();
    const std::string value = "value";
    if (group.zero_of && H5Aexists(handle->get(), value.c_str()) == 0) {
        const std::array<std::byte, k_most_value_bytes> zero{};
        const Handle type = file_type(*group.zero_of);
        const AttributeWriter writer{handle->get(), value};
        if (Status status = writer.put(type.get(), type.get(), zero.data(), std::nullopt);
            !status.ok())
            return status.with_context(group.path);
    }
    return write_attributes(handle->get(), group.path, group.attributes);
}

Result<Shape> chunk_grid(const DatasetSpec& dataset) {
    const int rank = dataset.shape.rank();
    if (rank < 1 || dataset.chunk.rank() != rank)
        return bad(dataset, "needs 1 to 4 axes, the same for shape and chunk");
    Shape grid = Shape::filled(rank, 0);
    // Checked one by one, so that no product of extents can overflow.
    std::uint64_t chunk_bytes = size_of(dataset.dtype), chunks = 1;
    for (int a = 0; a < rank; ++a) {
        if (dataset.chunk[a] == 0 || dataset.chunk[a] > dataset.shape[a])
            return bad(dataset, fmt::format("chunk {} must have 1 to {} values along axis {}",
                                            to_string(dataset.chunk), dataset.shape[a], a));
        if (dataset.chunk[a] > k_max_chunk_bytes / chunk_bytes)
            return bad(dataset, fmt::format("chunk {} is 4 GiB or more; use smaller chunks",
                                            to_string(dataset.chunk)));
        chunk_bytes *= dataset.chunk[a];
        grid[a] = (dataset.shape[a] - 1) / dataset.chunk[a] + 1;
        if (grid[a] > (std::uint64_t{1} << 62) / chunks)
            return bad(dataset, "has too many chunks; use larger chunks");
        chunks *= grid[a];
    }
    if (dataset.pipeline.size() > H5Z_MAX_NFILTERS)
        return bad(dataset, fmt::format("has {} filters, HDF5 allows {}", dataset.pipeline.size(),
                                        H5Z_MAX_NFILTERS));
    return grid;
}

namespace {

/// @param creation  a dataset creation list.
Result<Handle> create_at(hid_t file, const std::string& path, hid_t type, hid_t space,
                         hid_t creation) {
    const std::size_t slash = path.rfind('/');
    const auto bad_path = [&](std::string_view reason) {
        return Status{StatusCode::invalid_argument, fmt::format("dataset {}: {}", path, reason)};
    };
    if (slash == std::string::npos || slash + 1 == path.size())
        return bad_path("is not an absolute HDF5 path");
    auto parent = open_group(file, path.substr(0, std::max<std::size_t>(slash, 1)));
    if (!parent.ok()) return parent.status();
    const std::string name = path.substr(slash + 1);
    if (H5Lexists(parent->get(), name.c_str(), H5P_DEFAULT) > 0)
        return bad_path("is in the file already; every dump needs paths of its own");
    Handle handle(
        H5Dcreate2(parent->get(), name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT),
        H5Dclose);
    if (!handle.ok()) return hdf5_error(StatusCode::internal, "dataset " + path);
    return handle;
}

}  // namespace

Result<Handle> create_dataset(hid_t file, const DatasetSpec& dataset, FilterAliases& aliases) {
    auto creation = dataset_creation(dataset, aliases);
    if (!creation.ok()) return creation.status();
    std::array<hsize_t, k_max_rank> extent{};
    for (int a = 0; a < dataset.shape.rank(); ++a)
        extent[static_cast<std::size_t>(a)] = dataset.shape[a];
    const Handle space(H5Screate_simple(dataset.shape.rank(), extent.data(), nullptr), H5Sclose);
    auto handle =
        create_at(file, dataset.path, file_type(dataset.dtype).get(), space.get(), creation->get());
    if (!handle.ok()) return handle;
    if (Status status = write_attributes(handle->get(), dataset.path, dataset.attributes);
        !status.ok())
        return status;
    return handle;
}

Status write_array(hid_t file, const ArraySpec& array) {
    const auto* const floats = std::get_if<std::vector<double>>(&array.values);
    const auto* const counts = std::get_if<std::vector<std::uint64_t>>(&array.values);
    if (floats == nullptr && counts == nullptr)
        return {StatusCode::invalid_argument,
                fmt::format("dataset {}: its values are no list of float64 or uint64", array.path)};
    const hsize_t count = floats != nullptr ? floats->size() : counts->size();
    const DType dtype = floats != nullptr ? float64 : uint64;
    const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    if (!prepare_object(creation.get()))
        return hdf5_error(StatusCode::internal, "dataset " + array.path);
    const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
    auto handle = create_at(file, array.path, file_type(dtype).get(), space.get(), creation.get());
    if (!handle.ok()) return handle.status();
    const void* const values = floats != nullptr ? static_cast<const void*>(floats->data())
                                                 : static_cast<const void*>(counts->data());
    if (count > 0 && H5Dwrite(handle->get(), native_type(dtype).get(), H5S_ALL, H5S_ALL,
                              H5P_DEFAULT, values) < 0)
        return hdf5_error(StatusCode::internal, "dataset " + array.path);
    return write_attributes(handle->get(), array.path, array.attributes);
}

Result<std::uint64_t> object_address(hid_t object) {
#if H5_VERSION_GE(1, 12, 0)
    H5O_info2_t info;
    haddr_t address = 0;
    const bool ok = H5Oget_info3(object, &info, H5O_INFO_BASIC) >= 0 &&
                    H5VLnative_token_to_addr(object, info.token, &address) >= 0;
#else
    H5O_info_t info;
    const bool ok = H5Oget_info2(object, &info, H5O_INFO_BASIC) >= 0;
    const haddr_t address = ok ? info.addr : 0;
#endif
    if (!ok) return hdf5_error(StatusCode::internal, "address of an object");
    return static_cast<std::uint64_t>(address);
}

}  // namespace caesura::store
