#include "vol/native_attribute.hpp"

#include <algorithm>
#include <array>

#include "vol/object.hpp"

namespace caesura::vol {

using store::Handle;

NativeAttribute::NativeAttribute(const NativeObject& through, const char* path,
                                 const std::string& name) {
    H5VL_loc_params_t place{};
    place.type = H5VL_OBJECT_BY_NAME;
    place.obj_type = through.kind;
    place.loc_data.loc_by_name = {path, H5P_LINK_ACCESS_DEFAULT};
    under_ = H5VLattr_open(through.under, &place, native_connector(), name.c_str(),
                           H5P_ATTRIBUTE_ACCESS_DEFAULT, H5P_DATASET_XFER_DEFAULT, nullptr);
}

NativeAttribute::~NativeAttribute() {
    if (under_ != nullptr && is_ours_)
        H5VLattr_close(under_, native_connector(), H5P_DATASET_XFER_DEFAULT, nullptr);
}

bool NativeAttribute::exists(const NativeObject& object, const char* name) {
    H5VL_loc_params_t place{};
    place.type = H5VL_OBJECT_BY_SELF;
    place.obj_type = object.kind;
    hbool_t exists = false;
    H5VL_attr_specific_args_t args{};
    args.op_type = H5VL_ATTR_EXISTS;
    args.args.exists = {name, &exists};
    return H5VLattr_specific(object.under, &place, native_connector(), &args,
                             H5P_DATASET_XFER_DEFAULT, nullptr) >= 0 &&
           exists;
}

std::string NativeAttribute::name() const {
    std::array<char, 64> buffer{};  // longer ones are none that we look for
    std::size_t length = 0;
    H5VL_attr_get_args_t args{};
    args.op_type = H5VL_ATTR_GET_NAME;
    args.args.get_name.loc_params.type = H5VL_OBJECT_BY_SELF;
    args.args.get_name.loc_params.obj_type = H5I_ATTR;
    args.args.get_name.buf = buffer.data();
    args.args.get_name.buf_size = buffer.size();
    args.args.get_name.attr_name_len = &length;
    return get(args) ? std::string(buffer.data()) : std::string();
}

std::optional<std::int64_t> NativeAttribute::integer() const {
    std::int64_t value = 0;
    if (!is_one(H5T_INTEGER) || !read(H5T_NATIVE_INT64, &value)) return std::nullopt;
    return value;
}

std::optional<std::string> NativeAttribute::text() const {
    if (!is_one(H5T_STRING)) return std::nullopt;
    const Handle type = this->type();
    if (H5Tis_variable_str(type.get()) > 0) {
        char* value = nullptr;
        if (!read(type.get(), &value) || value == nullptr) return std::nullopt;
        std::string copy = value;
        H5free_memory(value);
        return copy;
    }
    std::string value(H5Tget_size(type.get()), '\0');
    if (!read(type.get(), value.data())) return std::nullopt;
    value.resize(std::min(value.find('\0'), value.size()));
    value.resize(value.find_last_not_of(' ') + 1);  // npos + 1 is 0
    return value;
}

Handle NativeAttribute::type() const {
    H5VL_attr_get_args_t args{};
    args.op_type = H5VL_ATTR_GET_TYPE;
    return Handle(get(args) ? args.args.get_type.type_id : H5I_INVALID_HID, H5Tclose);
}

std::optional<std::vector<double>> NativeAttribute::numbers() const {
    std::vector<double> values(count_of(H5T_FLOAT));
    if (values.empty() || !read(H5T_NATIVE_DOUBLE, values.data())) return std::nullopt;
    return values;
}

std::optional<std::vector<std::string>> NativeAttribute::texts() const {
    const std::size_t n = count_of(H5T_STRING);
    if (n == 0) return std::nullopt;
    const Handle type = this->type();
    if (H5Tis_variable_str(type.get()) > 0) return std::nullopt;
    const std::size_t length = H5Tget_size(type.get());
    std::string all(n * length, '\0');
    if (!read(type.get(), all.data())) return std::nullopt;
    std::vector<std::string> values(n);
    for (std::size_t i = 0; i < n; ++i) {
        values[i] = all.substr(i * length, length);
        values[i].resize(std::min(values[i].find('\0'), length));
    }
    return values;
}

/// How many values of this kind it has.
std::size_t NativeAttribute::count_of(H5T_class_t kind) const {
    if (under_ == nullptr || H5Tget_class(type().get()) != kind) return 0;
    H5VL_attr_get_args_t args{};
    args.op_type = H5VL_ATTR_GET_SPACE;
    const Handle space(get(args) ? args.args.get_space.space_id : H5I_INVALID_HID, H5Sclose);
    const hssize_t n = space.ok() ? H5Sget_simple_extent_npoints(space.get()) : 0;
    return n > 0 ? static_cast<std::size_t>(n) : 0;
}

bool NativeAttribute::get(H5VL_attr_get_args_t& args) const {
    return H5VLattr_get(under_, native_connector(), &args, H5P_DATASET_XFER_DEFAULT, nullptr) >= 0;
}

bool NativeAttribute::read(hid_t type, void* value) const {
    return H5VLattr_read(under_, native_connector(), type, value, H5P_DATASET_XFER_DEFAULT,
                         nullptr) >= 0;
}

}  // namespace caesura::vol
