#include "store/hdf5_read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <set>

#include "store/compound_type.hpp"
#include "store/hdf5_attributes.hpp"
#include "store/hdf5_write.hpp"
#include "store/number_types.hpp"

namespace caesura::store {
namespace {

#if H5_VERSION_GE(1, 12, 0)
using LinkInfo = H5L_info2_t;
#else
using LinkInfo = H5L_info_t;
#endif

herr_t iterate_links(hid_t group, herr_t (*visit)(hid_t, const char*, const LinkInfo*, void*),
                     void* data) {
#if H5_VERSION_GE(1, 12, 0)
    return H5Literate2(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, visit, data);
#else
    return H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, visit, data);
#endif
}

/// Look one chunk up. Called with the driver watching, so that nothing reaches the buffer.
herr_t look_up(hid_t dataset, const hsize_t* offset, std::uint32_t* mask) {
    std::array<std::byte, 8> dummy{};
#if H5_VERSION_GE(2, 0, 0)
    return H5Dread_chunk1(dataset, H5P_DEFAULT, offset, mask, dummy.data());
#else
    return H5Dread_chunk(dataset, H5P_DEFAULT, offset, mask, dummy.data());
#endif
}

/// One value of what was never written, of a listed type, as this machine has it.
std::vector<std::byte> read_fill(hid_t creation, hid_t type, const FoundDataset& found) {
    std::vector<std::byte> fill(H5Tget_size(type));
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    H5Pfill_value_defined(creation, &defined);
    if (defined != H5D_FILL_VALUE_USER_DEFINED) return fill;
    // Members are this machine's already, and lie one after the other.
    const Handle number = native_type(found.spec.dtype);
    H5Pget_fill_value(creation, found.members.empty() ? number.get() : type, fill.data());
    return fill;
}

/// Shape, chunk, type and pipeline; nullopt for a dataset that is not ours to list.
std::optional<FoundDataset> read_spec(hid_t dataset, const std::string& path) {
    const Handle type(H5Dget_type(dataset), H5Tclose);
    const Handle space(H5Dget_space(dataset), H5Sclose);
    const Handle creation(H5Dget_create_plist(dataset), H5Pclose);
    const int rank = H5Sget_simple_extent_ndims(space.get());
    const H5D_layout_t layout = H5Pget_layout(creation.get());
    FoundDataset found;
    found.members = members_of(type.get());
    found.contiguous = layout == H5D_CONTIGUOUS && H5Pget_external_count(creation.get()) == 0;
    const auto number = number_of(type.get());
    const bool listed = (number || !found.members.empty()) && rank >= 1 && rank <= k_max_rank &&
                        (layout == H5D_CHUNKED || found.contiguous);
    if (!listed) return std::nullopt;
    std::array<hsize_t, k_max_rank> extent{}, chunk{};
    H5Sget_simple_extent_dims(space.get(), extent.data(), nullptr);
    chunk = extent;
    if (!found.contiguous) H5Pget_chunk(creation.get(), rank, chunk.data());
    DatasetSpec& spec = found.spec;
    const std::size_t bytes =
        H5Tget_size(type.get()) / std::max<std::size_t>(1, found.members.size());
    spec.path = path;
    spec.dtype = number ? *number : bytes == 4 ? float32 : float64;
    spec.shape = spec.chunk = Shape::filled(rank, 0);
    for (int a = 0; a < rank; ++a) {
        spec.shape[a] = extent[static_cast<std::size_t>(a)];
        spec.chunk[a] = chunk[static_cast<std::size_t>(a)];
    }
    spec.pipeline = read_pipeline(creation.get());
    found.big_endian = found.members.empty() && H5Tget_order(type.get()) == H5T_ORDER_BE;
    found.fill = read_fill(creation.get(), type.get(), found);
    return found;
}

/// A contiguous dataset's values as its one chunk; none if it has no place yet.
void read_place(hid_t dataset, FoundDataset& found) {
    const haddr_t address = H5Dget_offset(dataset);
    const std::uint64_t bytes = found.spec.shape.count() * found.fill.size();
    if (address == HADDR_UNDEF || bytes == 0) return;
    ChunkRecord record;
    record.address = address;
    record.bytes = bytes;
    found.chunks.push_back(record);
}

/// openPMD's constant: in the type that it has in the file, which AttributeValue does not keep.
void read_value(hid_t group, GroupInfo& out) {
    if (H5Aexists(group, "value") <= 0) return;
    const Handle attribute(H5Aopen(group, "value", H5P_DEFAULT), H5Aclose);
    const Handle type(H5Aget_type(attribute.get()), H5Tclose);
    const Handle space(H5Aget_space(attribute.get()), H5Sclose);
    if (!attribute.ok() || H5Sget_simple_extent_npoints(space.get()) != 1) return;
    std::vector<std::string> members = members_of(type.get());
    std::optional<DType> dtype = number_of(type.get());
    if (!members.empty()) dtype = H5Tget_size(type.get()) / members.size() == 4 ? float32 : float64;
    const H5T_class_t kind = H5Tget_class(type.get());
    if (!dtype && kind == H5T_FLOAT) dtype = float64;  // as HDF5 converts it
    if (!dtype && kind == H5T_INTEGER)
        dtype = H5Tget_sign(type.get()) == H5T_SGN_NONE ? uint64 : int64;
    if (!dtype) return;
    const Handle native = native_type(*dtype);
    const hid_t memory = members.empty() ? native.get() : type.get();
    std::vector<std::byte> value(H5Tget_size(memory));
    if (H5Aread(attribute.get(), memory, value.data()) < 0) return;
    out.value_dtype = dtype;
    out.value = std::move(value);
    out.members = std::move(members);
}

struct Names {
    std::vector<std::string> all;
    bool no_memory = false;
};

herr_t note_name(hid_t, const char* name, const LinkInfo* info, void* data) {
    auto& names = *static_cast<Names*>(data);
    try {
        if (info->type == H5L_TYPE_HARD) names.all.emplace_back(name);
        return 0;
    } catch (const std::bad_alloc&) {
        names.no_memory = true;
        return -1;
    }
}

/// Of all objects that a group has itself.
Result<std::vector<std::string>> names_in(hid_t group, const std::string& path) {
    Names names;
    const herr_t listed = iterate_links(group, note_name, &names);
    if (names.no_memory)
        return Status{StatusCode::no_space, fmt::format("group {}: no memory to list it", path)};
    if (listed < 0) return hdf5_error(StatusCode::corrupt, fmt::format("group {}", path));
    return std::move(names.all);
}

Result<std::vector<std::string>> names_of_groups(hid_t group, const std::string& path) {
    auto names = names_in(group, path);
    if (!names.ok()) return names;
    std::erase_if(*names, [&](const std::string& name) {
        const Handle object(H5Oopen(group, name.c_str(), H5P_DEFAULT), H5Oclose);
        return H5Iget_type(object.get()) != H5I_GROUP;
    });
    return names;
}

class Walk {
  public:
    Walk(PlacingState& state, Hdf5Content& out) : state_(state), out_(out) {}

    /// Everything below `group`, whose path ends with a slash.
    Status group(hid_t id, const std::string& path) {
        auto address = object_address(id);
        if (!address.ok()) return address.status();
        if (!visited_.insert(*address).second) return {};  // hard links may form a cycle
        auto names = names_in(id, path);
        if (!names.ok()) return names.status();
        for (const std::string& name : *names) {
            const Handle object(H5Oopen(id, name.c_str(), H5P_DEFAULT), H5Oclose);
            if (!object.ok())
                return hdf5_error(StatusCode::corrupt, fmt::format("object {}{}", path, name));
            const H5I_type_t kind = H5Iget_type(object.get());
            Status status;
            if (kind == H5I_GROUP) status = child(object.get(), path + name);
            if (kind == H5I_DATASET) status = dataset(object.get(), path + name);
            if (!status.ok()) return status;
        }
        return {};
    }

  private:
    Status child(hid_t id, const std::string& path) {
        auto attributes = read_attributes(id);
        if (!attributes.ok()) return attributes.status().with_context("group " + path);
        out_.groups.push_back({path, std::move(*attributes)});
        read_value(id, out_.groups.back());
        return group(id, path + "/");
    }

    Status dataset(hid_t id, const std::string& path) {
        auto found = read_spec(id, path);
        if (!found || found->contiguous) out_.other_bytes += H5Dget_storage_size(id);
        if (!found) {
            out_.others.push_back(path);
            auto other = describe_other(id, path);
            if (!other) return {};
            auto attributes = read_attributes(id);
            if (!attributes.ok()) return attributes.status().with_context("dataset " + path);
            other->attributes = std::move(*attributes);
            out_.other_datasets.push_back(std::move(*other));
            return {};
        }
        auto attributes = read_attributes(id);
        if (!attributes.ok()) return attributes.status().with_context("dataset " + path);
        found->spec.attributes = std::move(*attributes);
        out_.datasets.push_back(std::move(*found));
        FoundDataset& kept = out_.datasets.back();
        if (!kept.contiguous) return chunks(id, kept);
        read_place(id, kept);
        return {};
    }

    Status chunks(hid_t id, FoundDataset& found) {
        const DatasetSpec& spec = found.spec;
        const int rank = spec.shape.rank();
        Shape grid = Shape::filled(rank, 0);
        for (int a = 0; a < rank; ++a)
            grid[a] = (spec.shape[a] + spec.chunk[a] - 1) / spec.chunk[a];
        // A sparse dataset may have a huge grid and nothing in it.
        if (H5Dget_storage_size(id) == 0) return {};
        for (std::uint64_t n = 0; n < grid.count(); ++n) {
            std::array<hsize_t, k_max_rank> offset{};
            std::uint64_t rest = n;
            for (int a = rank - 1; a >= 0; --a) {
                offset[static_cast<std::size_t>(a)] = rest % grid[a] * spec.chunk[a];
                rest /= grid[a];
            }
            std::uint32_t mask = 0;
            state_.seen.reset();
            state_.watching = true;
            const herr_t done = look_up(id, offset.data(), &mask);
            state_.watching = false;
            if (!state_.error.ok()) return state_.error;
            if (done < 0 || !state_.seen) continue;  // a chunk that was never written
            ChunkRecord record;
            record.filter_mask = mask;
            record.chunk = n;
            record.address = state_.seen->address;
            record.bytes = state_.seen->bytes;
            found.chunks.push_back(record);
        }
        return {};
    }

    PlacingState& state_;
    Hdf5Content& out_;
    std::set<std::uint64_t> visited_;
};

}  // namespace

std::vector<FilterSpec> read_pipeline(hid_t creation) {
    std::vector<FilterSpec> out;
    const int n = H5Pget_nfilters(creation);
    for (int i = 0; i < n; ++i) {
        unsigned flags = 0;
        std::size_t n_values = 0;
        std::array<char, 256> name{};
        const auto index = static_cast<unsigned>(i);
        H5Pget_filter2(creation, index, &flags, &n_values, nullptr, 0, nullptr, nullptr);
        FilterSpec filter;
        filter.cd_values.resize(n_values);
        const H5Z_filter_t id =
            H5Pget_filter2(creation, index, &flags, &n_values, filter.cd_values.data(), name.size(),
                           name.data(), nullptr);
        filter.id = static_cast<unsigned>(id);
        filter.optional = (flags & H5Z_FLAG_OPTIONAL) != 0;
        filter.name = name.data();
        out.push_back(std::move(filter));
    }
    return out;
}

Result<OpenedForReading> OpenedForReading::open(PlacingState& state, const std::string& path) {
    const QuietErrors quiet;
    auto access = placing_access(state);
    if (!access.ok()) return access.status();
    OpenedForReading opened;
    opened.state_ = &state;
    opened.file_ = Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access->get()), H5Fclose);
    if (opened.file_.ok()) return opened;
    const Status status = hdf5_error(StatusCode::corrupt, path);
    return state.error.ok() ? status : state.error;
}

Result<std::vector<Attribute>> OpenedForReading::root() const {
    const QuietErrors quiet;
    const Handle root(H5Gopen2(file_.get(), "/", H5P_DEFAULT), H5Gclose);
    if (!root.ok()) return hdf5_error(StatusCode::corrupt, "group /");
    return read_attributes(root.get());
}

Result<std::vector<std::string>> OpenedForReading::groups_in(const std::string& group) const {
    const QuietErrors quiet;
    if (group != "/" && H5Lexists(file_.get(), group.c_str(), H5P_DEFAULT) <= 0)
        return std::vector<std::string>();
    const Handle id(H5Gopen2(file_.get(), group.c_str(), H5P_DEFAULT), H5Gclose);
    if (!id.ok()) return hdf5_error(StatusCode::corrupt, "group " + group);
    return names_of_groups(id.get(), group);
}

Result<Hdf5Content> OpenedForReading::below(const std::string& group) const {
    const QuietErrors quiet;
    const Handle id(H5Gopen2(file_.get(), group.c_str(), H5P_DEFAULT), H5Gclose);
    if (!id.ok()) return hdf5_error(StatusCode::corrupt, "group " + group);
    Hdf5Content out;
    const Status status = Walk(*state_, out).group(id.get(), group == "/" ? group : group + "/");
    if (!status.ok()) return status;
    return out;
}

Result<Hdf5Content> read_hdf5(PlacingState& state, const std::string& path) {
    auto file = OpenedForReading::open(state, path);
    if (!file.ok()) return file.status();
    auto attributes = file->root();
    if (!attributes.ok()) return attributes.status().with_context(path);
    auto out = file->below("/");
    if (!out.ok()) return out.status().with_context(path);
    out->root = std::move(*attributes);
    return out;
}

}  // namespace caesura::store
