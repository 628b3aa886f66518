#include "vol/bound_attributes.hpp"

#include <algorithm>

#include "store/hdf5_handle.hpp"
#include "vol/errors.hpp"
#include "vol/object.hpp"

namespace caesura::vol {
namespace {

using store::Handle;

H5VL_loc_params_t itself() {
    H5VL_loc_params_t location{};
    location.type = H5VL_OBJECT_BY_SELF;
    location.obj_type = H5I_DATASET;
    return location;
}

Status refused(const std::string& name) {
    return store::hdf5_error(StatusCode::internal, "attribute " + name);
}

/// Values as HDF5 is given them: dense, of one type.
struct Values {
    Handle type;
    std::vector<std::byte> bytes;
    hsize_t count = 1;
    bool scalar = true;
};

Values of_strings(std::span<const std::string> texts) {
    std::size_t longest = 1;
    for (const std::string& text : texts) longest = std::max(longest, text.size());
    Values values{Handle(H5Tcopy(H5T_C_S1), H5Tclose), {}, texts.size(), false};
    H5Tset_size(values.type.get(), longest);
    H5Tset_strpad(values.type.get(), H5T_STR_NULLPAD);
    H5Tset_cset(values.type.get(), H5T_CSET_UTF8);
    values.bytes.resize(longest * texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i)
        std::transform(texts[i].begin(), texts[i].end(), values.bytes.data() + i * longest,
                       [](char c) { return static_cast<std::byte>(c); });
    return values;
}

Values of_doubles(std::span<const double> numbers) {
    Values values{Handle(H5Tcopy(H5T_NATIVE_DOUBLE), H5Tclose), {}, numbers.size(), false};
    const auto bytes = std::as_bytes(numbers);
    values.bytes.assign(bytes.begin(), bytes.end());
    return values;
}

struct ToValues {
    Values operator()(const std::string& text) const { return one(of_strings({&text, 1})); }
    Values operator()(const std::vector<std::string>& texts) const { return of_strings(texts); }
    Values operator()(const std::vector<double>& numbers) const { return of_doubles(numbers); }
    Values operator()(std::int64_t number) const {
        const auto bytes = std::as_bytes(std::span(&number, 1));
        return {Handle(H5Tcopy(H5T_NATIVE_INT64), H5Tclose), {bytes.begin(), bytes.end()}};
    }
    template <class Number>
    Values operator()(Number number) const requires std::is_arithmetic_v<Number> {
        const double value = static_cast<double>(number);
        return one(of_doubles({&value, 1}));
    }
    template <class Number>
    Values operator()(
        const std::vector<Number>& numbers) const requires std::is_integral_v<Number> {
        return of_doubles(std::vector<double>(numbers.begin(), numbers.end()));
    }
    static Values one(Values values) {
        values.scalar = true;
        return values;
    }
};

Status remove(const NativeDataset& dataset, const std::string& name) {
    const H5VL_loc_params_t location = itself();
    hbool_t exists = false;
    H5VL_attr_specific_args_t args{};
    args.op_type = H5VL_ATTR_EXISTS;
    args.args.exists = {name.c_str(), &exists};
    if (H5VLattr_specific(dataset.under(), &location, native_connector(), &args,
                          H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
        return refused(name);
    if (!exists) return {};
    args.op_type = H5VL_ATTR_DELETE;
    args.args.del.name = name.c_str();
    if (H5VLattr_specific(dataset.under(), &location, native_connector(), &args,
                          H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
        return refused(name);
    return {};
}

}  // namespace

bool can_set_attributes() {
    const store::QuietErrors quiet;
    const KeepErrors keep;
    return H5Tget_size(H5T_NATIVE_DOUBLE) == sizeof(double);
}

Status set_attributes(const NativeDataset& dataset, std::span<const store::Attribute> attributes) {
    const H5VL_loc_params_t location = itself();
    for (const store::Attribute& attribute : attributes) {
        if (Status status = remove(dataset, attribute.name); !status.ok()) return status;
        const Values values = std::visit(ToValues{}, attribute.value);
        const Handle space(
            values.scalar ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &values.count, nullptr),
            H5Sclose);
        void* const made =
            H5VLattr_create(dataset.under(), &location, native_connector(), attribute.name.c_str(),
                            values.type.get(), space.get(), H5P_ATTRIBUTE_CREATE_DEFAULT,
                            H5P_ATTRIBUTE_ACCESS_DEFAULT, H5P_DATASET_XFER_DEFAULT, nullptr);
        if (made == nullptr) return refused(attribute.name);
        const herr_t written =
            H5VLattr_write(made, native_connector(), values.type.get(), values.bytes.data(),
                           H5P_DATASET_XFER_DEFAULT, nullptr);
        H5VLattr_close(made, native_connector(), H5P_DATASET_XFER_DEFAULT, nullptr);
        if (written < 0) return refused(attribute.name);
    }
    return {};
}

}  // namespace caesura::vol
