#include "store/hdf5_attributes.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>

namespace caesura::store {
namespace {

/// An open attribute with its type and number of values.
struct Source {
    hid_t id;
    hid_t type;
    std::size_t count;
    bool scalar;

    template <class T>
    std::optional<std::vector<T>> read(hid_t memory_type) const {
        std::vector<T> values(count);
        if (count > 0 && H5Aread(id, memory_type, values.data()) < 0) return std::nullopt;
        return values;
    }
};

std::optional<AttributeValue> integer_value(const Source& source) {
    if (H5Tget_sign(source.type) == H5T_SGN_NONE) {
        auto values = source.read<std::uint64_t>(H5T_NATIVE_UINT64);
        if (!values) return std::nullopt;
        if (source.scalar) return (*values)[0];
        return std::move(*values);
    }
    const auto values = source.read<std::int64_t>(H5T_NATIVE_INT64);
    if (!values) return std::nullopt;
    if (source.scalar) return (*values)[0];
    // There is no list of signed integers; doubles hold those that occur as attributes.
    if (std::all_of(values->begin(), values->end(), [](std::int64_t v) { return v >= 0; }))
        return std::vector<std::uint64_t>(values->begin(), values->end());
    return std::vector<double>(values->begin(), values->end());
}

std::optional<AttributeValue> float_value(const Source& source) {
    auto values = source.read<double>(H5T_NATIVE_DOUBLE);
    if (!values) return std::nullopt;
    if (!source.scalar) return std::move(*values);
    if (H5Tget_size(source.type) == 4) return static_cast<float>((*values)[0]);
    return (*values)[0];
}

/// Without the padding.
std::string trimmed(const char* text, std::size_t bytes, H5T_str_t padding) {
    std::string out(text, bytes);
    if (padding == H5T_STR_NULLTERM) return out.substr(0, std::min(out.find('\0'), out.size()));
    const char pad = padding == H5T_STR_SPACEPAD ? ' ' : '\0';
    const std::size_t last = out.find_last_not_of(pad);
    return last == std::string::npos ? std::string() : out.substr(0, last + 1);
}

void reclaim(hid_t type, hid_t space, void* data) {
#if H5_VERSION_GE(1, 12, 0)
    H5Treclaim(type, space, H5P_DEFAULT, data);
#else
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, data);
#endif
}

std::optional<AttributeValue> string_value(const Source& source) {
    std::vector<std::string> out;
    if (H5Tis_variable_str(source.type) > 0) {
        const Handle memory(H5Tcopy(H5T_C_S1), H5Tclose);
        H5Tset_size(memory.get(), H5T_VARIABLE);
        H5Tset_cset(memory.get(), H5Tget_cset(source.type));
        auto pointers = source.read<char*>(memory.get());
        if (!pointers) return std::nullopt;
        for (const char* text : *pointers) out.emplace_back(text == nullptr ? "" : text);
        const Handle space(H5Aget_space(source.id), H5Sclose);
        if (source.count > 0) reclaim(memory.get(), space.get(), pointers->data());
    } else {
        const std::size_t bytes = H5Tget_size(source.type);
        std::vector<char> table(bytes * source.count);
        if (source.count > 0 && H5Aread(source.id, source.type, table.data()) < 0)
            return std::nullopt;
        for (std::size_t i = 0; i < source.count; ++i)
            out.push_back(trimmed(table.data() + i * bytes, bytes, H5Tget_strpad(source.type)));
    }
    if (source.scalar) return out[0];
    return out;
}

std::optional<AttributeValue> value_of(hid_t attribute) {
    const Handle type(H5Aget_type(attribute), H5Tclose);
    const Handle space(H5Aget_space(attribute), H5Sclose);
    const H5S_class_t extent = H5Sget_simple_extent_type(space.get());
    if (extent != H5S_SCALAR && extent != H5S_SIMPLE) return std::nullopt;
    const hssize_t count = H5Sget_simple_extent_npoints(space.get());
    if (count < 0) return std::nullopt;
    const Source source{attribute, type.get(), static_cast<std::size_t>(count),
                        extent == H5S_SCALAR};
    switch (H5Tget_class(type.get())) {
        case H5T_INTEGER:
            return integer_value(source);
        case H5T_FLOAT:
            return float_value(source);
        case H5T_STRING:
            return string_value(source);
        default:
            return std::nullopt;
    }
}

struct Found {
    std::vector<Attribute> attributes;
    bool no_memory = false;
};

extern "C" herr_t caesura_read_attribute(hid_t object, const char* name, const H5A_info_t*,
                                         void* data) {
    auto& found = *static_cast<Found*>(data);
    try {
        const Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
        if (!attribute.ok()) return -1;
        if (auto value = value_of(attribute.get()))
            found.attributes.push_back({name, std::move(*value)});
        return 0;
    } catch (const std::bad_alloc&) {
        found.no_memory = true;
        return -1;
    } catch (const std::exception&) {
        return -1;
    }
}

}  // namespace

Result<std::vector<Attribute>> read_attributes(hid_t object) {
    Found found;
    const herr_t done =
        H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, caesura_read_attribute, &found);
    if (found.no_memory) return Status(StatusCode::no_space, "no memory to read attributes");
    if (done < 0) return hdf5_error(StatusCode::corrupt, "reading attributes");
    return std::move(found.attributes);
}

}  // namespace caesura::store
